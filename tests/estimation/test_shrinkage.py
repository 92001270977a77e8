"""Shrinkage: its minimum, what it gains on smooth data, and where it has nothing to gain."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimation.working_set import WIDER, _priors, duality_gap, most_plausible

NOISE = 30


def case(n, seed, reports=1000):
    """Return unbiased shares, the covariance of one report's, and even shares."""
    rng = np.random.default_rng(seed)
    strategy = st.published.subset_selection(n, 1.0).dense()
    Q, e = strategy.matrix, np.full(n, 1 / n)
    A = np.linalg.pinv(Q.T @ (Q / (Q @ e)[:, None])) @ (Q / (Q @ e)[:, None]).T  # x_hat = A y
    noise = A @ np.diag(Q @ e) @ A.T - np.outer(e, e)
    p = rng.dirichlet(np.full(n, 0.5))
    return A @ rng.multinomial(reports, Q @ p) / reports, noise, e


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_minimum_for_the_most_likely_of_all_priors(seed, ordered):
    n, users = 12, 1000
    data, noise, e = case(n, seed, users)
    z = most_plausible(data, users, noise, e, ordered=ordered)
    assert z.min() >= 0
    assert z.sum() == pytest.approx(1)
    helmert = np.linalg.svd(np.ones((1, n)))[2][1:]
    best = []
    for S in _priors(np.diag(e) - np.outer(e, e), e, ordered=ordered):
        for t in np.geomspace(3e-3, 3e2, 26) / (n + 1):
            C = helmert @ (noise / users + t * S) @ helmert.T
            off = helmert @ (data - e)
            best.append((-np.linalg.slogdet(C)[1] - off @ np.linalg.solve(C, off), t, S))
    _, t, S = max(best, key=lambda one: one[0])
    H = np.linalg.pinv(noise / users, 1e-9) + np.linalg.pinv(WIDER * t * S, 1e-9)
    slope = np.linalg.pinv(noise / users, 1e-9) @ (z - data) + np.linalg.pinv(WIDER * t * S, 1e-9) @ (z - e)
    assert duality_gap(slope, z) < 1e-6 * np.trace(H) / n
    other = np.full(n, 1 / n) if not np.allclose(z, 1 / n, atol=1e-3) else np.eye(n)[0]
    far = np.linalg.pinv(noise / users, 1e-9) @ (other - data)
    far += np.linalg.pinv(WIDER * t * S, 1e-9) @ (other - e)
    assert duality_gap(far, other) > 1e-6 * np.trace(H) / n, "the negative control"


def ratio(shape, workload, users, method="shrinkage"):
    """Return the mean squared error of a method over that of wnnls, on average over repeated surveys."""
    strategy, rng, p = (
        st.optimise(workload, 1.0, "quick").strategy,
        np.random.default_rng(5),
        shape / shape.sum(),
    )
    errors = np.zeros(2)
    for _ in range(NOISE):
        x = rng.multinomial(users, p)
        counts = strategy.histogram(x, rng)
        for k, name in enumerate((method, "wnnls")):
            told = st.estimate(strategy, counts, workload, method=name)
            errors[k] += np.square(told.answers - workload.answer(x)).sum()
    return errors[0] / errors[1]


BELL = np.exp(-np.square(np.arange(32) - 12.0) / 100)


@pytest.mark.parametrize(
    ("shape", "workload", "users", "low", "high"),
    [
        (BELL, st.prefix(32), 500, 0.0, 0.8),
        (BELL, st.histogram(32), 500, 0.0, 0.8),
        (np.arange(1, 13.0), st.marginals((3, 4), 2), 500, 0.0, 0.9),
        (BELL, st.prefix(32), 10_000_000, 0.95, 1.05),
        (np.eye(32)[5], st.histogram(32), 500, 1.2, np.inf),  # the negative control: one value has all people
    ],
    ids=["smooth, ordered", "smooth", "table", "many people", "one value"],
)
def test_few_people_gain_where_shares_are_even_or_alike(shape, workload, users, low, high):
    assert low <= ratio(shape, workload, users) <= high


def test_the_order_of_unordered_values_does_not_matter():
    data, noise, e = case(10, 9)
    order = np.random.default_rng(1).permutation(10)
    z = most_plausible(data, 1000, noise, e, ordered=False)
    same = most_plausible(data[order], 1000, noise[np.ix_(order, order)], e, ordered=False)
    np.testing.assert_allclose(same, z[order], atol=1e-6)


def test_reports_about_few_queries_are_refused():
    workload = st.mean(np.linspace(0, 1, 74))
    strategy = st.optimise(workload, 1.0, "quick").strategy
    counts = strategy.histogram(np.full(74, 10), np.random.default_rng(1))
    with pytest.raises(
        ValueError, match="shrinkage was asked for, but needs reports that tell about all values"
    ):
        st.estimate(strategy, counts, workload, method="shrinkage")
