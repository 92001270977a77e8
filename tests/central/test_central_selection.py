"""The exponential mechanism: privacy over all small scores, exact draws, what it is in known cases."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

from stratagem import central
from stratagem.central.selection import power_bounds
from stratagem.counts.sampling import pseudo_random


def worst_loss(mechanism, options, monotone):
    """The largest loss between scores of 0..3 and those that one person makes of them, and far-off scores."""
    unit, worst, far = mechanism.sensitivity, 0.0, math.ceil(20 / mechanism.rate)
    changes = [c for c in product((-unit, 0, unit), repeat=options) if not monotone or min(c) >= 0]
    for scores in (*product(range(4), repeat=options), (0, *[far] * (options - 1))):
        before = np.log(mechanism.probabilities(scores))
        after = np.log([mechanism.probabilities(np.add(scores, change)) for change in changes])
        worst = max(worst, np.abs(after - before).max())
    return worst


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_the_loss_is_the_budget(epsilon, sensitivity, monotone):
    """It is attained where the option that changes has hardly a chance."""
    mechanism = central.selection(epsilon, sensitivity, monotone)
    worst = worst_loss(mechanism, 3, monotone)
    assert worst <= mechanism.epsilon * (1 + 1e-12)
    assert mechanism.epsilon <= epsilon
    assert worst == pytest.approx(epsilon, rel=1e-3)


def test_scores_that_are_wrongly_said_to_be_monotone_break_the_promise():
    assert worst_loss(central.selection(1.0, 1, monotone=True), 3, monotone=False) > 1.9


def test_monotone_scores_are_worth_twice_the_budget():
    scores = [3, 1, 4, 1, 5]
    general, monotone = central.selection(2.0), central.selection(1.0, monotone=True)
    assert general.probabilities(scores) == pytest.approx(monotone.probabilities(scores))


def test_distances_as_scores_give_geometric_noise_of_half_the_budget():
    z = np.arange(-200, 201)
    alpha = math.exp(-0.5)
    found = central.selection(1.0).probabilities(-np.abs(z))
    assert found == pytest.approx((1 - alpha) / (1 + alpha) * alpha ** np.abs(z))


def test_most_frequent_values_are_found(rng):
    """Utility: of k options the chance of one that is t behind is at most exp(-rate t) each."""
    scores = rng.integers(0, 50, 100)
    scores[17] = 200
    mechanism = central.selection(1.0, monotone=True)
    assert mechanism.probabilities(scores)[17] > 1 - 1e-9
    assert mechanism.select(scores) == 17


def p_value(draws, chances):
    expected = len(draws) * chances
    counts = np.bincount(draws, minlength=len(chances))
    return chi2.sf((np.square(counts - expected) / expected).sum(), len(chances) - 1)


def test_draws_follow_the_probabilities(rng):
    """Pearson's test at level 1e-4 on one seeded run; a budget 10 % higher must fail it."""
    scores, mechanism = [0, 3, 5, 5, -1], central.selection(1.0)
    source = pseudo_random(rng)
    draws = np.array([mechanism.select(scores, source) for _ in range(40000)])
    assert p_value(draws, mechanism.probabilities(scores)) > 1e-4
    assert p_value(draws, central.selection(1.1).probabilities(scores)) < 1e-4


@pytest.mark.parametrize("exponent", [0, 1, 2, 7, 100, 1023])
@pytest.mark.parametrize("precision", [64, 256])
@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(0.999), Fraction(math.exp(-0.1))])
def test_powers_are_bounded_on_both_sides(alpha, exponent, precision):
    low, high = power_bounds(alpha, exponent, precision)
    exact = alpha**exponent * 2**precision
    assert low <= exact <= high
    assert high - low <= 2


@pytest.mark.parametrize(("rest", "option"), [(0, 1), (255, 0)])
def test_undecided_draws_read_on(rest, option):
    """A uniform number that starts like the chance of the second option is decided by its next 64 bits."""
    mechanism = central.selection(2.0)
    like = power_bounds(mechanism._alpha, 3, 64)[0].to_bytes(8, "big")
    read = iter([b"\x80", like, bytes([rest] * 8), b"\0", bytes(8)])
    assert mechanism.select([3, 0], lambda size: next(read)) == option


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: central.selection(0.0), "epsilon"),
        (lambda: central.selection(1.0, 0), "sensitivity"),
        (lambda: central.selection(1.0, 0.5), "sensitivity"),  # type: ignore
        (lambda: central.selection(1.0, 2**40), "too fine"),
        (lambda: central.selection(1.0).select([]), "whole number for each"),
        (lambda: central.selection(1.0).select([[1]]), "whole number for each"),
        (lambda: central.selection(1.0).select([0.5, 1]), "whole number for each"),
        (lambda: central.selection(1.0).probabilities([1, math.nan]), "whole number for each"),
        (lambda: central.selection(1.0).probabilities(["a"]), "whole number for each"),
        (lambda: central.selection(1.0).select([2.0**62, 0]), "62 bits"),
    ],
)
def test_wrong_input_is_refused(call, word):
    with pytest.raises(ValueError, match=word) as caught:
        call()
    assert "\n" not in str(caught.value)
