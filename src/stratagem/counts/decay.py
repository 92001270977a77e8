"""alpha = exp(-epsilon), the decay between neighbouring counts, as an exact fraction."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from stratagem.mechanism.client import SCALE, exp_below
from stratagem.privacy import check


def decay(alpha: float | str | Fraction | None = None, epsilon: float | None = None) -> Fraction:
    """Return alpha as a fraction: the decimal number that was given, or just above exp(-epsilon).

    Guarantee:
        For a given epsilon, 1/alpha <= exp(epsilon), proved in whole numbers.

    Raises:
        ValueError: unless exactly one is given, alpha between 0 and 1.
    """
    if (alpha is None) == (epsilon is None):
        raise ValueError("give either alpha, for example 0.9, or epsilon, for example 0.1.")
    if epsilon is not None:
        numerator, denominator = float(check(epsilon)).as_integer_ratio()
        return Fraction(1 << SCALE, exp_below(numerator, denominator))
    return fraction("alpha", alpha)


def fraction(name: str, value: Any) -> Fraction:
    """Return a number between 0 and 1 as a fraction, decimals as they were written.

    Raises:
        ValueError: for anything else; it speaks of the number by its name.
    """
    try:
        floating = isinstance(value, Real) and not isinstance(value, Rational)
        found = Fraction(repr(float(value)) if floating else value)
    except (TypeError, ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found < 1:
        raise ValueError(f"{name} is {value!r}; give a number between 0 and 1, for example 0.9 or 10/11.")
    return found


def whole_size(size: int) -> int:
    """Return the group size n as an integer.

    Raises:
        ValueError: unless it is a whole number of at least 1.
    """
    if isinstance(size, bool) or not isinstance(size, Rational) or size.denominator != 1 or size < 1:
        raise ValueError(f"size is {size!r}; give a whole number of people of at least 1, for example 8.")
    return int(size)
