"""alpha = exp(-epsilon), the decay between neighbouring counts, as an exact fraction."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational, Real

from stratagem.mechanism.client import SCALE, exp_below
from stratagem.privacy import check

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
        raise ValueError("give either alpha, for example 0.9, or epsilon, for example 0.1.")
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
        if isinstance(value, Real) and not isinstance(value, Rational):
            value = repr(float(value))
        found = Fraction(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, ArithmeticError):
        found = Fraction(0)
    if not LEAST <= found < 1:
        raise ValueError(
            f"{name} is {value!r}; give a number between 0 and 1 (1e-131 at least), for example 0.9 or 10/11."
        )
    return found


def whole_size(size: int) -> int:
    """Return the group size n as an integer.

    Raises:
        ValueError: unless it is a whole number of at least 1.
    """
    if isinstance(size, bool) or not isinstance(size, Rational) or size.denominator != 1 or size < 1:
        raise ValueError(f"size is {size!r}; give a whole number of people of at least 1, for example 8.")
    return int(size)
