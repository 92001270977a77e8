"""The mixing weights of patterns: optimal within a proven gap."""

import numpy as np
import pytest

from stratagem.solvers.pattern_weights import simplex_weights


def problem(patterns, characters, seed):
    """Noisy power spectra of different slopes, and costs that fall like those of ranges."""
    rng = np.random.default_rng(seed)
    frequency = np.arange(1.0, characters + 1)
    energies = rng.gamma(1.0, 1.0, (patterns, characters))
    energies *= (frequency + rng.uniform(0, 16, (patterns, 1))) ** -rng.uniform(0.5, 2.2, (patterns, 1))
    return energies / energies.sum(axis=1, keepdims=True), frequency**-2


def value(energies, costs, w):
    return float((costs / (w @ energies)).sum())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("shape", [(1, 4), (5, 3), (300, 512), (50, 2000), (1000, 20), (3000, 100), (40, 1)])
def test_the_gap_is_proven_and_tiny(shape, repeats, dtype):
    energies, costs = problem(*shape, seed=sum(shape))
    energies = np.tile(energies, (repeats, 1)).astype(dtype)
    found = simplex_weights(energies, costs)
    assert found.gap <= 1e-9
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1)
    assert found.value == pytest.approx(value(energies.astype(float), costs, found.weights))
    gains = energies.astype(float) @ (costs / (found.weights @ energies.astype(float)) ** 2)
    assert gains.max() <= found.value * (1 + 2e-9)
    rng = np.random.default_rng(0)
    for w in rng.dirichlet(np.full(len(energies), 0.1), 50):
        nearby = 0.99 * found.weights + 0.01 * w
        assert value(energies.astype(float), costs, nearby) >= found.value * (1 - 1e-9)


def test_two_patterns_by_hand():
    """Minimise 4/w + 1/(1 - w): w = 2/3, value 9."""
    found = simplex_weights(np.eye(2), np.array([4.0, 1.0]))
    assert found.weights == pytest.approx([2 / 3, 1 / 3])
    assert found.value == pytest.approx(9)


def test_the_gap_of_wrong_weights_is_seen():
    """Negative control: with no tolerance to reach, a coarse answer admits that it is coarse."""
    energies, costs = problem(300, 512, seed=1)
    coarse, fine = simplex_weights(energies, costs, tolerance=0.5), simplex_weights(energies, costs)
    assert coarse.gap > 1e-6
    assert fine.value < coarse.value <= (1 + coarse.gap) * fine.value


@pytest.mark.parametrize("start", [None, "best", "worst"])
def test_any_start_gives_the_same_value(start):
    energies, costs = problem(60, 100, seed=2)
    best = simplex_weights(energies, costs)
    first = {None: None, "best": best.weights, "worst": 1.0 * (best.weights < 1e-6)}[start]
    assert simplex_weights(energies, costs, first).value == pytest.approx(best.value, rel=1e-9)


def test_what_costs_nothing_is_left_out():
    energies, costs = problem(30, 50, seed=3)
    padded = np.concatenate([energies, np.zeros((30, 5))], axis=1)
    found = simplex_weights(padded, np.concatenate([costs, np.zeros(5)]))
    assert found.value == pytest.approx(simplex_weights(energies, costs).value)
    assert simplex_weights(energies, np.zeros(50)).value == 0


def test_a_query_without_energy_is_refused():
    energies, costs = problem(30, 50, seed=4)
    energies[:, 7] = 0
    with pytest.raises(ValueError, match="no pattern tells apart"):
        simplex_weights(energies, costs)


@pytest.mark.parametrize("seed", [2, 7, 9, 12])
def test_queries_of_little_cost_keep_a_pattern(seed):
    rng = np.random.default_rng(seed)
    energies = np.kron(np.eye(20), np.ones((40, 1))) * rng.uniform(0.99, 1, (800, 1))
    costs = 10.0 ** -rng.uniform(0, 6, 20)
    found = simplex_weights(energies, costs)
    best = np.sqrt(costs / energies.max(axis=0)).sum() ** 2  # the best pattern of each query, shares by sqrt
    assert found.value == pytest.approx(best, rel=1e-8)
