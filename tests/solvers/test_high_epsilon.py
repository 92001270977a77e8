"""Budgets so high that variances fall below the rounding of what they are differences of."""

import math
from fractions import Fraction

import numpy as np
import pytest

import stratagem as st
from stratagem.math.linalg import squared_distances

EPSILONS = (10.0, 24.0, 32.0, 40.0)


def response_variance(n, epsilon):
    """Total variance of the histogram under randomised response, one user, in a form without cancellation."""
    q = 1 / (math.exp(epsilon) + n - 1)
    return ((n - 1) * q * (1 - (n - 1) * q) + (n - 1) * q * (1 - q)) / (math.expm1(epsilon) * q) ** 2


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_variances_keep_their_digits(epsilon):
    n, strategy = 8, st.published.randomised_response(8, epsilon)
    truth = response_variance(n, epsilon)
    assert st.evaluate(st.histogram(n), strategy).per_type == pytest.approx(np.full(n, truth), rel=1e-9)
    each = st.per_query_variance(st.histogram(n), strategy, np.full(n, 1 / n))
    assert each == pytest.approx(np.full(n, truth / n), rel=1e-9)


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", ["worst-case", "worst-query"])
def test_worst_cases_are_positive_and_their_gap_is_a_number(kind, epsilon):
    """Randomised response is optimal in the limit; the pairwise bound sees one of its n - 1 other types."""
    solution = st.optimise(st.histogram(4), epsilon, st.Certified(max_steps=2), objective=kind)
    assert 0 < solution.lower_bound <= solution.objective
    assert solution.objective <= response_variance(4, epsilon) * (1 + 1e-9)
    assert solution.gap <= 4
    assert solution.status is not st.solvers.Status.OPTIMAL


def test_the_total_alone_is_exactly_free_at_any_budget():
    for epsilon in (0.01, 1.0, 40.0):
        solution = st.optimise(st.total(6), epsilon, objective="worst-case")
        assert (solution.objective, solution.lower_bound, solution.gap) == (0.0, 0.0, 0.0)


def test_squared_distances_lose_no_digits_where_points_are_near():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((7, 5))
    B = np.concatenate([A + 1e-9 * rng.standard_normal(A.shape), rng.standard_normal((3, 5))])
    exact = np.square(A[:, None] - B).sum(axis=2)
    np.testing.assert_allclose(squared_distances(A, B), exact, rtol=1e-9)


EXTREMES = {
    "tiny epsilon, worst query": (st.histogram(3), 1e-6, {"objective": "worst-query"}),
    "tiny epsilon, order one": (st.marginals("2^3", 1), 1e-6, {}),
    "tiny epsilon, one query": (st.explicit(np.array([[1, 1, 0, 0.0]])), 1e-5, {}),
    "huge epsilon, worst case": (
        st.explicit(np.array([[0, 0, 0], [1, 0, 0.0]])),
        300,
        {"objective": "worst-case"},
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", EXTREMES)
def test_the_ends_of_the_budget_have_answers(name):
    """Where a search meets what double precision cannot hold, the best published strategy is the answer."""
    workload, epsilon, options = EXTREMES[name]
    solution = st.optimise(workload, epsilon, st.Auto(max_seconds=0.5), **options)
    assert solution.objective >= solution.lower_bound * (1 - 1e-9)
    assert solution.strategy.epsilon <= epsilon


def exact_objective(workload, matrix, prior):
    """n tr(V M^-1), M = Q^T diag(Q p)^-1 Q, in fractions: no digit is lost."""
    q = np.vectorize(Fraction, otypes=[object])(matrix)
    p = np.vectorize(Fraction, otypes=[object])(np.array(prior, dtype=float))
    q, p, n = q / q.sum(axis=0), p / p.sum(), len(p)
    left = np.hstack([(q.T / (q @ p)) @ q, np.vectorize(Fraction, otypes=[object])(workload.gram().round())])
    for k in range(n):
        left[k] = left[k] / left[k, k]
        for i in range(n):
            if i != k:
                left[i] = left[i] - left[i, k] * left[k]
    return float(n * left[:, n:].trace())


PRIORS = {
    "zeros": [1, 0, 0, 2, 0, 0],
    "one type": [0, 1, 0, 0, 0, 0],
    "nearly one type": [1, 1e-6, 0, 1e-12, 0, 0],
    "rare types": [1, 1e-9, 1, 1e-5, 0, 0],
    "no zeros": [1, 2, 3, 4, 5, 6],
}


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 16.0, 23.0, 28.0, 34.0])
@pytest.mark.parametrize("name", PRIORS)
def test_objectives_keep_their_digits_under_priors_with_zeros(name, epsilon):
    """Types without probability have e^epsilon times the information of others, which must not drown theirs."""
    workload, strategy = st.prefix(6), st.published.randomised_response(6, epsilon)
    truth = exact_objective(workload, strategy.matrix, PRIORS[name])
    prior = np.array(PRIORS[name]) / sum(PRIORS[name])
    assert st.evaluate(workload, strategy, prior).objective == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize("epsilon", [22.0, 23.0, 28.0, 34.0, 300.0])
@pytest.mark.parametrize("name", ["zeros", "one type", "rare types"])
def test_priors_with_zeros_have_answers_at_any_budget(name, epsilon):
    solution = st.optimise(st.prefix(6), epsilon, st.Auto(max_seconds=0.2), prior=PRIORS[name])
    assert solution.lower_bound * (1 - 1e-9) <= solution.objective <= solution.lower_bound * (1 + 1e-6)
    assert solution.strategy.epsilon <= epsilon


def test_rows_of_tiny_sums_have_finite_variances():
    """The inverse of a row sum of 8e-170 has no square in double precision; the row itself hardly matters."""
    Q = np.vstack([st.published.randomised_response(8, 1.0).matrix, np.full((1, 8), 1e-170)])
    found = st.evaluate(st.histogram(8), st.strategies.MatrixStrategy(Q))
    expected = st.evaluate(st.histogram(8), st.published.randomised_response(8, 1.0))
    np.testing.assert_allclose(found.per_type, expected.per_type, rtol=1e-12)


@pytest.mark.parametrize("make", [st.histogram, st.prefix, st.all_range])
def test_at_large_epsilon_the_noiseless_bound_leaves_no_gap(make):
    """Bounds that shrink like exp(-epsilon) alone would leave all of tr V."""
    workload = make(16)
    solution = st.optimise(workload, 30.0, st.Certified(max_steps=2))
    assert solution.bounds["noiseless"].value == pytest.approx(workload.frobenius_squared)
    assert solution.gap <= 1e-9 < 0.5 * solution.objective / solution.bounds["closed"].value
