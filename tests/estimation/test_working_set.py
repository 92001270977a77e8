"""The quadratic minimum from a working set is certified; the data vector of largest entropy is."""

from itertools import product

import numpy as np
import pytest

import stratagem as st
from stratagem.estimation import working_set
from stratagem.estimation.postprocessing import largest_entropy
from stratagem.estimation.working_set import (
    GAP,
    duality_gap,
    likelihood_slope,
    minimise_quadratic,
    most_likely,
    sparse_minimum,
)
from tables import WORKLOADS

N = 256


def problem(name: str, users: float, rng):
    """The Gram matrix of a workload, and a noisy data vector: few users have a sparse minimum."""
    V = WORKLOADS[name](N).gram()
    x = rng.multinomial(users, rng.dirichlet(np.full(N, 0.1))) / users
    noisy = x + 2 / np.sqrt(users) * rng.standard_normal(N)
    return V, noisy + (1 - noisy.sum()) / N, 1e-8 * np.trace(V) / users


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("users", [300, 10_000, 10**7])
def test_the_certificate_is_that_of_all_cells(name, users, rng):
    V, centre, gap = problem(name, users, rng)
    for slope in (np.zeros(N), np.trace(V) / N * rng.standard_normal(N) / np.sqrt(users)):
        z = sparse_minimum(V, centre, slope, gap)
        assert (z >= 0).all()
        assert z.sum() == pytest.approx(1)
        assert duality_gap(slope + V @ (z - centre), z) <= gap
        peer = minimise_quadratic(V, centre, slope, gap)
        difference = z - peer
        assert difference @ V @ difference <= 8 * gap


@pytest.mark.parametrize("rank", [1, 5, 100])
def test_low_rank_and_constant_functions_end_too(rank, rng):
    B = rng.standard_normal((N, rank))
    for H, slope in product((B @ B.T, np.zeros((N, N))), (np.zeros(N), rng.standard_normal(N))):
        centre = rng.dirichlet(np.full(N, 0.1)) + 0.1 * rng.standard_normal(N)
        gap = 1e-8 * (np.trace(H) + 1)
        z = sparse_minimum(H, centre, slope, gap)
        assert duality_gap(slope + H @ (z - centre), z) <= gap


def test_few_users_are_solved_for_in_few_cells(monkeypatch, rng):
    """No interior-point step has more than half of the cells; with many users one has them all."""
    sizes = []

    def recorded(H, *rest):
        sizes.append(len(H))
        return minimise_quadratic(H, *rest)

    monkeypatch.setattr(working_set, "minimise_quadratic", recorded)
    sparse_minimum(*problem("prefix", 100, rng)[:2], np.zeros(N), 1e-7)
    assert max(sizes) <= N / 2
    sparse_minimum(*problem("prefix", 10**9, rng)[:2], np.zeros(N), 1e-12)
    assert sizes[-1] == N


@pytest.mark.parametrize("users", [10**4, 10**7, 10**9])
def test_the_likelihood_is_as_large_as_certified_with_many_users(users, rng):
    """Near the end a Newton step gains less than rounding or its own accuracy, and is taken all the same."""
    Q = st.published.hierarchical(64, 1.0)
    counts = Q.histogram(rng.multinomial(users, rng.dirichlet(np.full(64, 0.1))), rng).astype(float)
    z = most_likely(Q, counts)
    assert duality_gap(likelihood_slope(Q, counts, z), z) <= GAP


def tilt(A, t) -> float:
    """How far log t is from a combination of rows of A and of ones: zero where the entropy is largest."""
    rows = np.vstack([A, np.ones(A.shape[1])]).T
    seen = t > 1e-12
    return float(
        np.abs(
            np.log(t[seen]) - rows[seen] @ np.linalg.lstsq(rows[seen], np.log(t[seen]), rcond=None)[0]
        ).max()
    )


@pytest.mark.parametrize("name", ["2-way marginals", "3-way marginals", "parity of weight <= 3"])
@pytest.mark.parametrize("evenness", [0.1, 1.0])
def test_the_largest_entropy_keeps_the_answers_and_fulfils_its_conditions(name, evenness, rng):
    A, z = WORKLOADS[name](64).matrix(), rng.dirichlet(np.full(64, evenness))
    t = largest_entropy(A, z, 1e-10)
    assert pytest.approx(A @ z, abs=1e-9) == A @ t
    assert t.sum() == pytest.approx(1)
    assert tilt(A, t) < 1e-8
    assert tilt(A, z) > 0.1, "the control: where it came from"


def test_the_largest_entropy_of_empty_answers_is_empty(rng):
    """A marginal of zero leaves nothing; the multiplier runs away, the answers do not."""
    A, z = st.marginals("2^4", 1).matrix(), np.zeros(16)
    z[[0, 1, 2]] = 0.5, 0.25, 0.25
    t = largest_entropy(A, z, 1e-9)
    assert t.reshape(2, 2, 2, 2)[1].sum() < 1e-8
    assert t.reshape(2, 2, 2, 2)[0, 0].ravel() == pytest.approx([9 / 16, 3 / 16, 3 / 16, 1 / 16], abs=1e-7)


def test_maximum_entropy_answers_as_wnnls_and_is_more_even(rng):
    Q, W = st.published.randomised_response(64, 2.0), st.marginals("2^6", 2)
    x = rng.multinomial(20_000, rng.dirichlet(np.full(64, 0.2)))
    counts = Q.histogram(x, rng)
    even = st.estimate(Q, counts, W, method="maximum-entropy")
    near = st.estimate(Q, counts, W, method="wnnls")
    error = np.linalg.norm(near.standard_errors)
    assert np.linalg.norm(even.answers - near.answers) <= 3e-4 * error

    def entropy(x):
        return -np.sum(x[x > 0] * np.log(x[x > 0])) / 20_000

    assert entropy(even.data) > entropy(near.data) + 0.01
    assert tilt(W.matrix(), even.data) < 1e-6


@pytest.mark.parametrize("W", [st.histogram(8), st.prefix(8), st.all_range(8), st.all_marginals("2^3")])
def test_maximum_entropy_is_wnnls_where_answers_tell_all(W, rng):
    Q = st.published.randomised_response(8, 1.0)
    counts = Q.histogram(np.array([600, 300, 90, 10, 0, 0, 0, 0]), rng)
    data = [st.estimate(Q, counts, W, method=method).data for method in ("maximum-entropy", "wnnls")]
    assert (data[0] == data[1]).all()
