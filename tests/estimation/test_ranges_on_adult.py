"""Ranges of Adult's fnlwgt: two rounds, one round, and the errors that adaptive trees are measured to have."""

import numpy as np
import pytest

import stratagem as st
from adult import lines

EPSILON, BINS, FIRST, REPETITIONS = 0.8, 1024, 64, 20
ADAPTIVE_TREE = 4.5e-4
"""Mean squared error of shares that the published code of PriPL-Tree has for half-width ranges here."""


@pytest.fixture(scope="module")
def weights():
    """The bins of 32,561 people's weights (N,), and 1,000 ranges of 512 of the 1,024 bins, one a row."""
    given = np.array([int(row[2]) for row in lines()[:32_561]])
    bins = np.minimum((given - given.min()) * BINS // (given.max() - given.min()), BINS - 1)
    starts = np.random.default_rng(12345).integers(0, BINS // 2 + 1, 1000)
    inside = np.arange(BINS) - starts[:, None]
    return bins, ((inside >= 0) & (inside < BINS // 2)).astype(float)


def errors(weights, method):
    """Return the mean squared error of the shares of each repetition, and what the standard errors say of it."""
    bins, ranges = weights
    truth = ranges @ np.bincount(bins, minlength=BINS) / len(bins)
    first = st.optimise(st.all_range(FIRST), EPSILON, gap=0.02, seconds=5).mechanism()
    asked = st.explicit(ranges.reshape(len(ranges), FIRST, -1).mean(axis=2))
    observed, stated = [], []
    for seed in range(REPETITIONS):
        rng = np.random.default_rng(seed)
        told, rest = np.split(rng.permutation(bins // (BINS // FIRST)), [len(bins) // 10])
        one = first.strategy.histogram(np.bincount(told, minlength=FIRST), rng)
        second = st.study.second_round(first, one, users=len(rest))
        edges = np.array(second.attributes[0].values.edges, dtype=float)
        cells = np.histogram(rest, np.append(edges[:-1], FIRST))[0]
        two = second.strategy.histogram(cells, rng)
        found = st.study.combine(first, one, second, two, asked, method=method)
        observed.append(np.square(found.answers / found.users - truth).mean())
        stated.append(np.square(found.standard_errors / found.users).mean())
    return np.array(observed), np.array(stated)


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["unbiased", "recommended"])
def test_two_rounds_have_half_the_error_of_an_adaptive_tree(weights, method):
    """The seeds are those of this test alone; 64 bins, a tenth of the people and the bins' shares were fixed on others.

    Seen: 2.0e-4 with a standard error of 0.24e-4, 1.8e-4 after non-negative least squares; one round 1.1e-3.
    The error within merged bins, where people count as even, adds less than a third to the stated variance.
    """
    observed, stated = errors(weights, method)
    spread = observed.std(ddof=1) / np.sqrt(REPETITIONS)
    assert observed.mean() + 5 * spread < ADAPTIVE_TREE
    assert observed.mean() < 4 / 3 * stated.mean() + 3 * spread


@pytest.mark.exhaustive
def test_the_control_one_round_has_a_larger_error(weights):
    bins, ranges = weights
    strategy = st.optimise(st.all_range(BINS), EPSILON, gap=0.02, seconds=5).strategy.dense()
    x, observed = np.bincount(bins, minlength=BINS), []
    for seed in range(3):
        counts = strategy.histogram(x, np.random.default_rng(seed))
        found = st.estimate(strategy, counts, st.explicit(ranges), method="recommended")
        observed.append(np.square((found.answers - ranges @ x) / len(bins)).mean())
    assert np.mean(observed) > ADAPTIVE_TREE
