"""Projective geometry response: the published estimate, its variance, and how near the optimum it comes."""

import math

import numpy as np
import pytest

import stratagem as st
from published import expectation, pure_variance, variance
from stratagem.estimators import estimator
from stratagem.math.privacy import ratio
from stratagem.published.design import (
    PROJECTIVE_GEOMETRY,
    histogram_variance,
    orders,
    projective_geometry_response,
    subset_design,
)
from tables import assert_private

CASES = [
    (n, q, e)
    for n, q in ((1, 2), (2, 2), (7, 2), (10, 3), (13, 3), (40, 3), (20, 4), (9, 8))
    for e in (0.3, 1, 3)
]


@pytest.mark.parametrize(("n", "q", "epsilon"), CASES)
def test_the_published_estimate_is_unbiased_with_the_published_variance(n, q, epsilon):
    """Score (1[y in H_u] - q*)/(p* - q*); the variance from the probabilities against that of a pure protocol."""
    strategy = projective_geometry_response(n, epsilon, q)
    assert_private(strategy, epsilon)
    assert strategy.epsilon == pytest.approx(epsilon if n > 1 else 0, abs=1e-9)
    E, K = math.exp(epsilon), strategy.outputs
    c = int(strategy.dense().matrix[:, 0].round(12).tolist().count(strategy.dense().matrix.max().round(12)))
    shared = (c - 1) // q
    true, other = E * c / (E * c + K - c), (E * shared + c - shared) / (E * c + K - c)
    inside = np.unpackbits(strategy.patterns, axis=1, count=n).T
    Q, R, x = strategy.dense().matrix, (inside - other) / (true - other), np.arange(1.0, n + 1)
    np.testing.assert_allclose(expectation(R, Q), np.eye(n), atol=1e-9)
    np.testing.assert_allclose(variance(R, Q, x), pure_variance(true, other, x), rtol=1e-8)
    spread = variance(R, Q, np.full(n, 1 / n)).sum()
    assert histogram_variance(n, E, q) == pytest.approx(spread, rel=1e-8)


@pytest.mark.parametrize(("n", "q"), [(7, 2), (13, 3), (31, 5), (40, 3)])
def test_the_whole_geometry_is_subset_selection(n, q):
    size = (n - 1) // q
    ours, theirs = projective_geometry_response(n, 1.0, q), subset_design(n, 1.0, size)
    assert ours.outputs == theirs.outputs == n
    np.testing.assert_allclose(ours.information(), theirs.information(), atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [37, 64, 100])
def test_it_comes_near_the_optimum(n, epsilon):
    workload = st.histogram(n)
    value = estimator(projective_geometry_response(n, epsilon)).objective(workload)
    bound = st.lower_bounds(workload, epsilon)["integer"].value
    assert bound * (1 - 1e-9) <= value <= 1.04 * bound
    best = orders(n, ratio(epsilon), 1 << 27)[0]
    assert value <= n * (histogram_variance(n, ratio(epsilon), best) + 1) * (1 + 1e-9)


@pytest.mark.parametrize("n", [1, 2, 37, 256, 3000, 10_000])
def test_comparisons_get_at_most_three_cheap_candidates(n):
    class Sized:
        domain_size = n

    candidates = list(PROJECTIVE_GEOMETRY.candidates(Sized(), 1.0))  # type: ignore[arg-type]
    assert len(candidates) <= 3
    assert bool(candidates) == (n < 1000)
    for words, strategy in candidates:
        assert words.startswith("order ")
        assert strategy.outputs * n <= 1 << 21


def test_large_epsilon_is_private_too():
    for epsilon in (12.0, 50.0, 300.0):
        assert_private(projective_geometry_response(20, epsilon), epsilon)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((0, 1.0), "number of values"),
        ((10**5, 1.0), "number of values"),
        ((8, -1.0), "epsilon"),
        ((8, 1.0, 6), "power of a prime"),
        ((8, 1.0, 1), "the order"),
        ((8, 1.0, 2.5), "the order"),
        ((8, 1.0, 4093), "lower order"),
    ],
)
def test_bad_input_is_one_sentence(arguments, word):
    with pytest.raises(ValueError, match=word) as caught:
        projective_geometry_response(*arguments)
    assert "\n" not in str(caught.value)
