"""alpha = exp(-epsilon), the decay between neighbouring counts, as an exact fraction."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational, Real

from stratagem.io.numeral import plain_digits
from stratagem.math.number import integer
from stratagem.math.privacy import check
from stratagem.mechanism.client import SCALE, exp_below

LARGEST = 10**9
"""Largest number of people in a group."""
LEAST = Fraction(1, 10**131)
"""Smallest alpha: just below exp(-300)."""


def decay(alpha: float | str | Fraction | None = None, epsilon: float | None = None) -> Fraction:
    """Return alpha as a fraction: the decimal number that was given, or just above exp(-epsilon).

    Guarantee:
        For a given epsilon, 1/alpha <= exp(epsilon), proved in whole numbers.

    Raises:
        ValueError: unless exactly one is given, alpha between 1e-131 and 1.
    """
    if (alpha is None) == (epsilon is None):
        raise ValueError("give either alpha, for example 0.9, or epsilon, for example 0.1")
    if epsilon is not None:
        numerator, denominator = float(check(epsilon)).as_integer_ratio()
        return Fraction(1 << SCALE, exp_below(numerator, denominator))
    return proper_fraction(alpha, "alpha")


def proper_fraction(value: object, name: str) -> Fraction:
    """Return the decimal number or quotient that was given for `name`, exactly.

    Raises:
        ValueError: unless it is below 1 and at least 1e-131, just below exp(-300).
    """
    try:
        floating = isinstance(value, Real) and not isinstance(value, Rational)
        written = plain_digits(value) if isinstance(value, str) else value
        found = Fraction(repr(float(value)) if floating else written)  # type: ignore[arg-type]
    except (TypeError, ValueError, ArithmeticError):
        found = Fraction(0)
    if not LEAST <= found < 1:
        raise ValueError(
            f"{name} is {_short(value)}: give a number between 0 and 1 (1e-131 at least), for example 0.9 or 10/11"
        )
    return found


def _short(value: object) -> str:
    """Return how a value is written, cut where it is long."""
    try:
        written = repr(value)
    except ValueError:
        written = "a fraction of thousands of digits"
    return written if len(written) <= 40 else f"{written[:37]}..."


def log_decay(alpha: Fraction) -> float:
    """Return log(alpha) = -epsilon, accurate near 1 as well."""
    p, q = alpha.as_integer_ratio()
    return math.log1p(float(alpha - 1)) if 2 * p > q else math.log(p) - math.log(q)


def whole_size(size: int) -> int:
    """Return the group size n as an integer.

    Raises:
        ValueError: unless it is a whole number from 1 to a billion.
    """
    return integer(size, "size", 1, LARGEST, "give the number of people in a group, for example 8")
