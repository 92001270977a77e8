"""Strategies: the matrix kind and the published baselines."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import stratagem as st
from stratagem.estimators import estimator
from stratagem.published.hierarchical import level_widths
from tables import FINITE, assert_private, finite

EPSILONS = (0.01, 0.5, 1.0, 4.0, 12.0)
SIZES = (1, 2, 3, 8, 37, 100)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("baseline", FINITE, ids=lambda b: b.name)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", SIZES)
def test_baselines_are_private_and_unbiased(baseline, n, epsilon):
    for strategy in finite(baseline, st.histogram(n), epsilon):
        assert_private(strategy, epsilon)
        assert strategy.domain_size == n
        if n > 1:
            assert strategy.epsilon == pytest.approx(epsilon, abs=1e-9)
        everybody = np.eye(n)
        estimates = estimator(strategy).estimated_data(strategy.forward(everybody))
        assert np.allclose(estimates, everybody, atol=1e-8)
        assert np.allclose(strategy.reconstruct(strategy.forward(everybody[0])), everybody[0], atol=1e-8)


def test_randomised_response_is_the_textbook_matrix():
    n, E = 5, math.e
    Q = st.published.randomised_response(n, 1.0).matrix
    assert np.allclose(np.diag(Q), E / (E + n - 1))
    assert np.allclose(Q[~np.eye(n, dtype=bool)], 1 / (E + n - 1))


@pytest.mark.parametrize(("n", "blocks"), [(5, 1), (5, 2), (64, 1), (64, 4), (100, 8)])
def test_hadamard_response_gives_each_value_half_a_block(n, blocks):
    Q = st.published.hadamard_response(n, 2.0, blocks).matrix
    b = Q.shape[0] // blocks
    high = Q > Q.min() * 2
    assert (high.sum(axis=0) == b // 2).all()
    block = np.arange(n) // (b - 1)
    assert all((np.flatnonzero(high[:, u]) // b == block[u]).all() for u in range(n))
    together = high.astype(int).T @ high.astype(int)
    same = (block[:, None] == block[None]) & ~np.eye(n, dtype=bool)
    assert (together[same] == b // 4).all()


@pytest.mark.parametrize(
    ("n", "branching", "widths"), [(64, 2, [1, 2, 4, 8, 16, 32]), (100, 4, [1, 4, 16, 64])]
)
def test_hierarchical_levels_cover_any_domain(n, branching, widths):
    assert level_widths(n, branching) == widths
    strategy = st.published.hierarchical(n, 1.0, branching, "randomised")
    assert strategy.outputs == sum(math.ceil(n / width) for width in widths)


def test_hierarchical_does_not_tell_members_of_a_node_apart_above_the_leaves():
    strategy = st.published.hierarchical(8, 1.0, branching=4, oracle="randomised")
    top = strategy.dense().matrix[8:]
    assert np.array_equal(top[:, 0], top[:, 3])
    assert not np.array_equal(top[:, 0], top[:, 4])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: st.published.hadamard_response(8, 1.0, blocks=3), "power of two"),
        (lambda: st.published.hierarchical(8, 1.0, branching=1), "at least 2"),
        (lambda: st.published.hierarchical(8, 1.0, oracle="guess"), "hadamard"),  # type: ignore[arg-type]
        (lambda: st.published.randomised_response(8, 0.0), "epsilon"),
        (lambda: st.published.randomised_response(8, math.nan), "epsilon"),
        (lambda: st.published.randomised_response(8, math.inf), "epsilon"),
        (lambda: st.strategies.MatrixStrategy(np.ones((2, 2))), "sum to one"),
        (lambda: st.strategies.MatrixStrategy(np.array([[1.5], [-0.5]])), "negative"),
        (lambda: st.strategies.MatrixStrategy(np.array([[np.nan], [1.0]])), "non-finite"),
        (lambda: st.strategies.MatrixStrategy(np.ones(3)), "shape"),
    ],
)
def test_bad_input_is_one_sentence(make, word):
    with pytest.raises(ValueError, match=word) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_epsilon_is_measured_from_the_probabilities():
    Q = np.array([[0.5, 0.25], [0.5, 0.75], [0.0, 0.0]])
    assert st.strategies.MatrixStrategy(Q).epsilon == pytest.approx(math.log(2))
    assert st.strategies.MatrixStrategy(np.eye(2)).epsilon == math.inf
    assert st.strategies.MatrixStrategy(np.full((4, 3), 0.25)).epsilon == 0.0


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 7.3, 50.0, 300.0])
def test_measured_epsilon_holds_in_rational_arithmetic(epsilon):
    """The stored doubles themselves, as rationals, stay below a rational lower bound of exp(epsilon)."""
    Q = st.published.randomised_response(6, epsilon).matrix
    worst = max(Fraction(row.max()) / Fraction(row.min()) for row in Q)
    terms, term, k = Fraction(0), Fraction(1), 0
    x = Fraction(epsilon)
    while k < 4 * epsilon + 60:
        terms, k = terms + term, k + 1
        term = term * x / k
    assert worst <= terms


def test_the_matrix_cannot_be_changed():
    strategy = st.published.randomised_response(3, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        strategy.matrix[0, 0] = 1.0


def _goodness_of_fit(counts: np.ndarray, expected: np.ndarray) -> float:
    """p-value of Pearson's chi-squared test."""
    keep = expected > 0
    statistic = (np.square(counts[keep] - expected[keep]) / expected[keep]).sum()
    return float(chi2.sf(statistic, keep.sum() - 1))


@pytest.mark.parametrize("path", ["randomise", "histogram"])
def test_simulation_follows_the_matrix(path, rng):
    """Pearson's test at level 1e-4 on one seeded run; drawing from a matrix of epsilon 1.05 must fail it."""
    users, n = 200_000, 6
    x = np.full(n, users // n)
    truth, wrong = st.published.randomised_response(n, 1.0), st.published.randomised_response(n, 1.05)

    def draw(strategy):
        if path == "histogram":
            return strategy.histogram(np.eye(n, dtype=int)[0] * users, rng)
        return np.bincount(strategy.randomise(np.zeros(users, dtype=int), rng), minlength=n)

    expected = truth.matrix[:, 0] * users
    assert _goodness_of_fit(draw(truth), expected) > 1e-4
    assert _goodness_of_fit(draw(wrong), expected) < 1e-4
    assert truth.histogram(x, rng).sum() == x.sum()


@pytest.mark.parametrize("values", [[-1], [6], [0.5], [[1]]])
def test_values_outside_the_domain_are_refused(values, rng):
    with pytest.raises(ValueError, match="0 to 5"):
        st.published.randomised_response(6, 1.0).randomise(np.array(values), rng)


@pytest.mark.parametrize("x", [[1, 2], [1, 2, -3], [0.5, 1, 1]])
def test_bad_data_vectors_are_refused(x, rng):
    with pytest.raises(ValueError, match="3 nonnegative whole numbers"):
        st.published.randomised_response(3, 1.0).histogram(np.array(x), rng)
