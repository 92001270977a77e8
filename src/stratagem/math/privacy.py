"""The privacy budget: what an epsilon may be, and the ratio of probabilities that it allows."""

from __future__ import annotations

import math

MINIMUM, MAXIMUM = 1e-6, 300.0
"""Smallest and largest epsilon. Below the smallest, rounding outweighs exp(epsilon) - 1; above the largest,
exp(2 epsilon) exceeds the range of double precision."""


def check(epsilon: float) -> float:
    """Return epsilon as a float.

    Raises:
        ValueError: if it is not a number from 1e-6 to 300.
    """
    try:
        value = float(epsilon)
    except (TypeError, ValueError):
        value = math.nan
    if not MINIMUM <= value <= MAXIMUM:
        raise ValueError(
            f"epsilon is {epsilon!r}; give a number from {MINIMUM:g} to {MAXIMUM:g}, for example 1.0."
        )
    return value


def ratio(epsilon: float) -> float:
    """Return a ratio E just under exp(epsilon) that floating-point matrices may use.

    Guarantee:
        E = exp(epsilon) (1 - 1e-14): a matrix whose rows satisfy max <= E min before a few roundings of
        1e-16 each measures at most epsilon afterwards; the objective pays about 1e-14 of its value.
    """
    return math.exp(check(epsilon)) * (1 - 1e-14)


def probability(odds: float) -> float:
    """Return the probability p whose odds p/(1 - p) are those given, rounded so that they are never exceeded.

    Near p = 1 a double keeps 16 digits of p but few of 1 - p, which the privacy loss is measured from.
    """
    p = min(odds / (1 + odds), 1 - 2.0**-53)
    while p / (1 - p) > odds:
        p = math.nextafter(p, 0)
    return p
