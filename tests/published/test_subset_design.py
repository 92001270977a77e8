"""Subset selection from designs: optimal on histograms and parities, with few outputs."""

import math
from itertools import combinations

import numpy as np
import pytest

import stratagem as st
from published import expectation, pure_variance, variance
from stratagem.bounds.formulas import pattern_information, pattern_size
from stratagem.estimators import estimator
from stratagem.math.linalg import centre
from stratagem.math.privacy import ratio
from stratagem.published.design import (
    SUBSET_DESIGN,
    best_sizes,
    subset_design,
)
from stratagem.workloads import Workload
from stratagem.workloads.centring import total_term
from tables import assert_private, setting

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
CASES = [(n, e) for n in (2, 3, 16, 37, 64, 100) for e in EPSILONS] + [(256, 1.0), (256, 2.0)]


def subset_selection_objective(workload: Workload, epsilon: float, size: int) -> float:
    """Return L = 1^T V 1/n + (n - 1) tr(P V P)/(n g(k) - 1), the exact objective of subset selection of size k.

    g(k) = (k E^2 + n - k)/(k E + n - k)^2 and M = 11^T/n + mu P, P = I - 11^T/n, with (n - 1) mu = n g(k) - 1,
    from all k-subsets as from every 2-design with blocks of k; 1 <= k < n.
    """
    n, V = workload.domain_size, workload.gram()
    return total_term(workload) + (n - 1) * float(np.trace(centre(V))) / pattern_information(n, epsilon, size)


@pytest.mark.parametrize(("n", "epsilon"), CASES)
def test_it_is_optimal_on_histograms(n, epsilon):
    workload, strategy = st.histogram(n), subset_design(n, epsilon)
    assert_private(strategy, epsilon)
    assert strategy.epsilon == pytest.approx(epsilon, abs=1e-9)
    size = pattern_size(n, epsilon)
    assert (strategy.sizes == size).all()
    value = estimator(strategy).objective(workload)
    assert value == pytest.approx(st.lower_bounds(workload, epsilon)["integer"].value, rel=1e-9)
    assert value == pytest.approx(subset_selection_objective(workload, epsilon, size), rel=1e-12)
    assert value == pytest.approx(n * (variance_per_user(n, epsilon, size) + 1), rel=1e-9)


def variance_per_user(n, epsilon, size):
    """Total variance of the published estimate, the best linear one because it sums to the number of users."""
    E, k = math.exp(epsilon), size
    p = E * k / (E * k + n - k)
    q = p * (k - 1) / (n - 1) + (1 - p) * k / (n - 1)
    return float(pure_variance(p, q, np.full(n, 1 / n)).sum())


@pytest.mark.parametrize(
    ("n", "size", "histogram", "parity"), [(64, 17, 14618.7, 935594.4), (256, 69, 239468.7, 256 * 239468.7)]
)
def test_golden_values_at_epsilon_one(n, size, histogram, parity):
    """Optima computed independently of this package; parity has V = n I."""
    strategy = subset_design(n, 1.0)
    assert strategy.sizes[0] == size
    assert estimator(strategy).objective(st.histogram(n)) == pytest.approx(histogram, rel=1e-5)
    assert estimator(strategy).objective(st.parity(f"2^{int(np.log2(n))}")) == pytest.approx(parity, rel=1e-5)


@pytest.mark.parametrize("size", range(1, 8))
def test_a_design_is_as_good_as_all_subsets_on_every_workload(size):
    n, epsilon, rng = 8, 1.3, np.random.default_rng(size)
    E = ratio(epsilon)
    patterns = np.array([[u in chosen for u in range(n)] for chosen in combinations(range(n), size)])
    Q = (1 + (E - 1) * patterns) / math.comb(n, size) * n / (n + (E - 1) * size)
    for workload in (st.prefix(n), st.all_range(n), st.explicit(rng.standard_normal((5, n)))):
        value = estimator(st.strategies.MatrixStrategy(Q)).objective(workload)
        assert estimator(subset_design(n, epsilon, size)).objective(workload) == pytest.approx(
            value, rel=1e-9
        )
        assert subset_selection_objective(workload, epsilon, size) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("n", "epsilon"), [(5, 1.0), (13, 1.0), (16, 0.5), (22, 0.7)])
def test_the_published_estimate_is_unbiased_with_the_published_variance(n, epsilon):
    """Score (1[u in T] - q*)/(p* - q*), the variance from the probabilities against the closed form."""
    strategy = subset_design(n, epsilon)
    Q, k, E = strategy.dense().matrix, int(strategy.sizes[0]), math.exp(epsilon)
    inside = np.unpackbits(strategy.patterns, axis=1, count=n).T
    p = E * k / (E * k + n - k)
    q = (k * (k - 1) * E + k * (n - k)) / ((n - 1) * (E * k + n - k))
    R, x = (inside - q) / (p - q), np.arange(1.0, n + 1)
    np.testing.assert_allclose(expectation(R, Q), np.eye(n), atol=1e-9)
    np.testing.assert_allclose(variance(R, Q, x), pure_variance(p, q, x), rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "epsilon", "outputs"),
    [
        (16, 0.5, 16),
        (13, 1.0, 13),
        (64, 2.0, 72),
        (256, 1.0, 2304),
        (256, 0.1, 16 * 1024),
        (255, 0.5, 16 * 1024),
    ],
)
def test_outputs_are_few(n, epsilon, outputs):
    assert subset_design(n, epsilon).outputs <= outputs


def test_reports_are_those_of_the_strategy_and_all_values_have_room(rng):
    strategy, x = subset_design(37, 1.0), np.arange(37)
    counts = np.bincount(strategy.randomise(np.repeat(x, x), rng), minlength=strategy.outputs)
    assert counts.sum() == x.sum()


@pytest.mark.parametrize("n", [1, 2, 37, 127, 300, 509])
def test_comparisons_get_one_cheap_candidate(n):
    candidates = list(SUBSET_DESIGN.candidates(setting(st.total(n)), 1.0))
    assert len(candidates) == (n > 1)
    for words, strategy in candidates:
        assert strategy.outputs * n <= 1 << 25
        assert f"size {strategy.sizes[0]}, " in words
        assert strategy.sizes[0] in best_sizes(n, 1.0)
        assert_private(strategy, 1.0)


def test_one_value_needs_no_report():
    assert subset_design(1, 1.0).outputs == 1
    assert subset_design(1, 1.0).epsilon == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((0, 1.0), "number of values"),
        ((4096, 1.0), "number of values"),
        ((2.5, 1.0), "number of values"),
        ((8, 0.0), "epsilon"),
        ((8, math.nan), "epsilon"),
        ((1, -1.0), "epsilon"),
        ((8, 1.0, 0), "size of a subset"),
        ((8, 1.0, 8), "size of a subset"),
        ((8, 1.0, True), "size of a subset"),
        ((1019, 1.0, 275), "no design"),
    ],
)
def test_bad_input_is_one_sentence(arguments, word):
    with pytest.raises(ValueError, match=word) as caught:
        subset_design(*arguments)
    assert "\n" not in str(caught.value)
