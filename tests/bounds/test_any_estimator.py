"""The bound for every estimator: each step of its proof, and simulated populations of its prior."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import stratagem as st
from commands import assert_refused, run, run_json
from stratagem.bounds import Case, any_estimator
from stratagem.bounds.any_estimator import _duals, slack
from stratagem.bounds.generation import Generation
from stratagem.bounds.proof import all_patterns
from stratagem.workloads.given import workload_of

QUERIES = np.array([np.arange(9.0), np.arange(9) < 3])
CASES = {
    "prefix": (st.prefix(16), 1.0, 3000),
    "prefix, large epsilon": (st.prefix(16), 3.0, 30_000),
    "histogram": (st.histogram(16), 1.0, 3000),
    "marginals": (st.marginals("2^4", 2), 2.0, 1000),
    "ranges": (st.all_range(12), 0.5, 100_000),
    "queries": (workload_of(QUERIES), 1.0, 1000),
}
DRAWS = 200


def simulated(workload, epsilon, found, methods):
    """Return the squared errors (draws,) of methods and of the best linear estimate on populations of the prior."""
    rng, strategy = np.random.default_rng(7), st.optimise(workload, epsilon, "quick").strategy
    Q = strategy.forward(np.eye(workload.domain_size))
    W, N, types = workload.matrix(), found.people, found.types
    m, alpha = len(types), found.concentration
    # the posterior mean that is linear in the reports: E p = 1/m, Cov p = (I - 1 1^T/m)/(m (m alpha + 1))
    mean, cov = np.zeros(W.shape[1]), np.zeros((W.shape[1], W.shape[1]))
    mean[types] = 1 / m
    cov[np.ix_(types, types)] = (np.eye(m) - 1 / m) / (m * (m * alpha + 1))
    expected = Q @ mean
    noise = (np.diag(expected) - Q @ (cov + np.outer(mean, mean)) @ Q.T) / N
    gain = W @ cov @ Q.T @ np.linalg.pinv(Q @ cov @ Q.T + noise)
    errors = {name: np.empty(DRAWS) for name in (*methods, "linear")}
    for k in range(DRAWS):
        p = np.zeros(W.shape[1])
        p[types] = rng.dirichlet(np.full(m, alpha))
        counts = strategy.histogram(rng.multinomial(N, p), rng)
        for name in methods:
            told = st.estimate(strategy, counts, workload, method=name)
            errors[name][k] = np.square(told.answers / N - W @ p).sum()
        errors["linear"][k] = np.square(W @ mean + gain @ (counts / N - expected) - W @ p).sum()
    return errors


@pytest.mark.parametrize("name", CASES)
def test_no_estimator_has_a_smaller_error_on_the_populations_of_the_bound(name):
    # an error whose mean is the bound itself fails this once in 30,000 tests; the best linear estimate is near it
    workload, epsilon, people = CASES[name]
    found = any_estimator(workload, epsilon, people)
    methods = ["unbiased", "wnnls", *(["norm-sub"] if workload.by_cell else [])]
    seen = simulated(workload, epsilon, found, methods)
    for one in seen.values():
        assert one.mean() + 4 * one.std() / math.sqrt(DRAWS) > found.squared_error
    # the negative control: four times the bound is none
    assert seen["linear"].mean() < 4 * found.squared_error


def informed(G, epsilon, p):
    """Return the most that one report of any strategy tells about p, tr(G I(p)), by a linear programme."""
    S = 1 + math.expm1(epsilon) * all_patterns(len(p))
    value = ((S @ G) * S).sum(axis=1) / (S @ p)
    found = optimize.linprog(-value, A_eq=S.T, b_eq=np.ones(len(p)))
    assert found.success
    return -found.fun


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [0.7, 3.0, 20.0])
def test_one_report_tells_as_much_as_the_slack_allows_at_every_population(epsilon, alpha):
    rng, n, told = np.random.default_rng(3), 6, []
    case = Case(st.prefix(n), epsilon)
    search = Generation.of(case)
    search.run(1.0)
    proof = search.best
    P = np.eye(n) - 1 / n
    for dual in _duals(case, proof):
        if len(dual.types) < n:
            continue
        G = P @ (proof.matrix(proof.definite) if dual.trace != n - 1 else np.eye(n)) @ P
        assert dual.trace == pytest.approx(np.trace(G))
        for p in (np.full(n, 1 / n), *rng.dirichlet(np.full(n, alpha), 12)):
            apart = math.sqrt(n * np.square(p - 1 / n).sum())
            most = informed(G, epsilon, p)
            assert most <= n * dual.D * slack(epsilon, apart, dual.uneven) * (1 + 1e-9)
            told.append(most / (n * dual.D))
    assert max(told) > 1.001, "the negative control: without the slack it fails"


@pytest.mark.parametrize("alpha", [2.5, 4.0, 12.0])
def test_the_information_of_the_prior_is_that_of_a_dirichlet_density(alpha):
    beta = stats.beta(alpha, alpha)
    square = integrate.quad(lambda t: beta.pdf(t) * ((alpha - 1) * (1 / t - 1 / (1 - t))) ** 2, 0, 1)[0]
    assert square == pytest.approx(
        2 * (2 * alpha - 1) * (2 * alpha - 2) / (alpha - 2), rel=1e-6
    )  # |(1, -1)|^2 = 2


@pytest.mark.parametrize("name", CASES)
def test_for_many_people_it_is_the_bound_on_unbiased_estimates(name):
    workload, epsilon, _ = CASES[name]
    n, bounds = workload.domain_size, st.lower_bounds(workload, epsilon, people=10**12)
    closed = (bounds["closed"].value - Case(workload, epsilon).total) / n / 10**12
    assert 0.99 * closed < bounds.any_estimator.squared_error
    errors = [any_estimator(workload, epsilon, 10**k).squared_error for k in range(9)]
    assert np.all(np.diff(errors) < 0)
    assert np.all(np.diff(np.array(errors) * 10.0 ** np.arange(9)) > 0)


def test_a_proof_makes_it_larger_for_many_people():
    workload, epsilon = st.prefix(16), 3.0
    tight = st.tighten(st.lower_bounds(workload, epsilon), workload, epsilon, seconds=5)
    proof = tight["nonnegative"].proof
    with_proof, without = (any_estimator(workload, epsilon, 10**6, proof=one) for one in (proof, None))
    assert with_proof.squared_error > 1.2 * without.squared_error
    total = Case(workload, epsilon).total
    assert with_proof.squared_error < (tight.best - total) / 16 / 10**6


def test_means_far_from_zero_do_not_count():
    rows = np.vstack([np.arange(8.0), 1e9 + np.arange(8)])
    near = any_estimator(rows[:1], 1.0, 10**5)
    far = any_estimator(rows[1:], 1.0, 10**5)
    assert far.squared_error == pytest.approx(near.squared_error, rel=1e-3)


@pytest.mark.parametrize(
    "workload",
    [st.prefix(1 << 16), st.marginals("2^40", 1), st.histogram(5000)],
    ids=["prefix", "bits", "cells"],
)
def test_large_domains_have_it_on_some_of_their_types(workload):
    found = any_estimator(workload, 1.0, 100_000)
    assert found.typical_error > 1e-4
    assert 2 <= len(found.types) <= 64
    small = any_estimator(st.prefix(256), 1.0, 100_000).typical_error
    assert found.queries != 1 << 16 or 0.7 * small < found.typical_error < 1.3 * small


def test_one_type_or_one_total_has_no_error():
    assert any_estimator("histogram", 1.0, 10, domain=1).squared_error == 0
    assert any_estimator("total", 1.0, 10, domain=8).squared_error == 0


def test_the_command_says_it_in_a_sentence_and_as_values(capsys):
    asked = ["bound", "prefix", "--domain", "16", "--epsilon", "1", "--people", "100000"]
    found = any_estimator("prefix", 1.0, 100_000, domain=16)
    assert run_json(capsys, *asked)["any_estimator"] == found.record()
    said = " ".join(run(capsys, *asked)[1].split())
    assert (
        f"typically off by at least {100 * found.typical_error:.3g} % of all people, for some population"
        in said
    )
    line = run_json(capsys, *asked, "--over", "epsilon=1,2")["places"]
    assert line[0]["bounds"]["any_estimator"] == found.record()
    told = run(capsys, *asked, "--over", "epsilon=1,2")[1]
    assert "any estimator, 100,000 people" in told
    assert f"{found.typical_error:.4g}" in told
    sweep = st.bound_sweep(st.prefix(16), [1.0, 2.0], people=100_000)
    assert sweep.records()[0]["typical_error"] == found.typical_error
    assert (
        f"any estimator, 100,000 people: typical error of a share at least {found.typical_error:.4g}"
        in str(st.lower_bounds(st.prefix(16), 1.0, people=100_000))
    )
    assert_refused(capsys, ["bound", "all-range", "--domain", "70000", *asked[4:]], "ask fewer queries")
    for wrong in ("0", "-3", "2.5"):
        assert_refused(capsys, [*asked[:-1], wrong], "people|whole number|integer")
