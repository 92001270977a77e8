"""Whole numbers that obey all inequalities of a matrix that nearly does, and alpha = exp(-epsilon) as a fraction."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from math import gcd
from numbers import Rational, Real
from typing import Any, NamedTuple

import numpy as np

from stratagem.counts.criteria import Inequalities, least_majorant
from stratagem.io.numeral import plain_digits
from stratagem.math.number import integer
from stratagem.math.privacy import check
from stratagem.mechanism.client import SCALE, exp_below

BITS = 80
"""Number of bits: the whole numbers of a column sum to about 2^80 before the repair."""
FINE = 40
"""Number of bits that the repair appends, so that it can add a very small multiple of the inner matrix."""


class Whole(NamedTuple):
    """A matrix of whole numbers; every column sums to `total`."""

    cells: np.ndarray
    """Entries of the matrix (n+1 x n+1), Python integers."""
    total: int


def fixed_point(P: np.ndarray) -> np.ndarray:
    """Return non-negative numbers as multiples of 2^-80, Python integers in the same shape."""
    flat = [int(value) for value in np.ldexp(np.clip(np.asarray(P, dtype=float), 0, None).ravel(), BITS)]
    return np.array(flat, dtype=object).reshape(np.shape(P))


def repaired(cells: np.ndarray, families: list[Inequalities], weakly_honest: bool) -> Whole:
    """Return whole numbers near given ones (n+1 x n+1, multiples of 2^-80) that obey every inequality.

    1. The least majorant obeys the inequalities, but its columns sum to a little more than before.
    2. What a column lacks to the heaviest is spread evenly over the cells off its diagonal.
    3. That may break an inequality by a little; as much of a matrix that obeys all of them strictly is added
       as it takes, and everything is checked.

    Where columns are wrong by d at first, the cost rises by about n^3/(1 - alpha) d times the largest loss.
    """
    n = len(cells) - 1
    cells = _majorant(cells.ravel(), families).reshape(n + 1, n + 1) * (n << FINE)
    sums = cells.sum(axis=0)
    lacking = (max(sums) - sums) // n
    cells = cells + np.where(np.eye(n + 1, dtype=bool), 0, lacking[None, :])
    inner = strict_matrix(n, max(family.factor for family in families if family.factor < 1))
    cells = cells + _needed(cells, families, weakly_honest, inner) * inner
    sums = cells.sum(axis=0)
    honest = not weakly_honest or (n + 1) * min(np.diagonal(cells)) >= sums[0]
    if (sums != sums[0]).any() or not honest or not all(family.holds(cells.ravel()) for family in families):
        raise ArithmeticError("a repaired matrix does not hold what was asked for: please report this")
    return reduced(cells)


def _majorant(cells: np.ndarray, families: list[Inequalities]) -> np.ndarray:
    """Return the least majorant of whole numbers; where it is far off, floating point goes ahead."""
    rough = least_majorant(cells.astype(float), families)
    far = rough > cells.astype(float) * (1 + 1e-9)
    ahead = np.where(far, np.array([int(value) for value in rough], dtype=object), cells)
    return least_majorant(ahead, families)


def strict_matrix(n: int, factor: Fraction) -> np.ndarray:
    """Return positive whole numbers (n+1 x n+1) with every property, no inequality tight but F and S.

    With k = |i - j| and m = min(j, n - j), a column ranks its cells from the diagonal: pairs at distance
    k <= m share the rank 2k - 1/2, the others have k + m, so all columns hold the same ranks. Rows tie where
    k > m; moving 1/(2n) (n - 2m)/2 onto every pair and m/(2n) off every other cell parts them. A constant
    minus these numbers is strictly monotone in rows and columns; a large one keeps all ratios above `factor`.
    """
    i, j = np.indices((n + 1, n + 1))
    k, m = np.abs(i - j), np.minimum(j, n - j)
    paired = 2 * n * (4 * k - 1) + n - 2 * m
    single = 4 * n * (k + m) - 2 * m
    ranks = np.where(k == 0, 0, np.where(k <= m, paired, single))
    constant = -(-2 * int(ranks.max()) // (1 - factor))
    return constant - ranks.astype(object)


def _needed(cells: np.ndarray, families: list[Inequalities], weakly_honest: bool, inner: np.ndarray) -> int:
    """Return how many times `inner` must be added to the cells until every inequality holds."""
    flat, strict, times = cells.ravel(), inner.ravel(), 0
    for family in families:
        missing = family.shortfall(flat)
        broken = missing > 0
        if broken.any():
            slack = -family.shortfall(strict)[broken]
            times = max(times, *(-(-a // b) for a, b in zip(missing[broken], slack, strict=True)), 0)
    if weakly_honest:
        missing = cells[:, 0].sum() - len(cells) * min(np.diagonal(cells))
        slack = len(cells) * min(np.diagonal(inner)) - inner[:, 0].sum()
        times = max(times, -(-missing // slack))
    return times


def reduced(cells: np.ndarray) -> Whole:
    """Return the matrix divided by the greatest common divisor of its entries."""
    common = gcd(*cells.ravel())
    return Whole(cells // common, int(cells[:, 0].sum() // common))


LARGEST = 10**9
"""Largest number of people in a group."""
LEAST = Fraction(1, 10**131)
"""Smallest alpha: just below exp(-300)."""


def decay(alpha: float | str | Fraction | None = None, epsilon: float | None = None) -> Fraction:
    """Return alpha as a fraction: the decimal number that was given, or just above exp(-epsilon).

    Guarantee:
        For a given epsilon, 1/alpha <= exp(epsilon), proved in whole numbers.
    """
    if (alpha is None) == (epsilon is None):
        raise ValueError("give either alpha, for example 0.9, or epsilon, for example 0.1")
    if epsilon is not None:
        numerator, denominator = float(check(epsilon)).as_integer_ratio()
        return Fraction(1 << SCALE, exp_below(numerator, denominator))
    return proper_fraction(alpha, "alpha")


def proper_fraction(value: object, name: str) -> Fraction:
    """Return the decimal number or quotient that was given for `name`, exactly."""
    try:
        found = Fraction(_written(value))
    except (TypeError, ValueError, ArithmeticError):
        found = Fraction(0)
    if not LEAST <= found < 1:
        raise ValueError(
            f"{name} is {_short(value)}: give a number between 0 and 1 (1e-131 at least), for example 0.9 or 10/11"
        )
    return found


@singledispatch
def _written(value: Any) -> Any:
    """Return a number as it is written, which a fraction is exactly: a double by its fewest digits."""
    return value


@_written.register
def _(value: str) -> str:
    return plain_digits(value)


@_written.register
def _(value: Real) -> str:
    return repr(float(value))


@_written.register
def _(value: Rational) -> Rational:
    return value


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
