"""A count mechanism held as a table of whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from stratagem.counts.exact import Whole, decay, fixed_point, repaired, whole_size
from stratagem.counts.mechanism import CountMechanism, check_ratio, whole_count
from stratagem.counts.property import Property, holding, privacy
from stratagem.counts.sampling import ColumnSampler


@dataclass(frozen=True, eq=False)
class CountTable(CountMechanism):
    """A mechanism held as whole numbers, the columns of equal sum."""

    size: int
    alpha: Fraction
    numbers: Whole
    name: str = "table"

    @classmethod
    def near(cls, P: np.ndarray, alpha: Fraction, name: str) -> CountTable:
        """Return the table nearest to a matrix that is private but for rounding."""
        n = len(P) - 1
        return cls(n, alpha, repaired(fixed_point(P), privacy(alpha, n), weakly_honest=False), name)

    def whole(self) -> Whole:
        return self.numbers

    def column(self, count: int) -> np.ndarray:
        return (self.numbers.cells[:, whole_count(count, self.size)] / self.numbers.total).astype(float)

    def ratio(self) -> Fraction:
        return worst_ratio(self.numbers)

    def log_likelihood(self, output: int) -> np.ndarray:
        row = self.numbers.cells[whole_count(output, self.size)].tolist()
        return np.array([math.log(number) if number else -math.inf for number in row])

    def sampler(self) -> ColumnSampler:
        if (self.numbers.cells.sum(axis=0) != self.numbers.total).any():
            raise ValueError("a column does not sum to the total of the table: do not use it")
        check_ratio(self)
        return ColumnSampler(self.numbers)

    @property
    def properties(self) -> frozenset[Property]:
        return self._properties

    @cached_property
    def _properties(self) -> frozenset[Property]:
        return holding(self.numbers.cells.ravel(), self.numbers.total, self.size)


def worst_ratio(whole: Whole) -> Fraction:
    """Return the largest ratio of neighbours in a row of whole numbers; outputs that never occur hide nothing."""
    high, low = 1, 1
    for left, right in zip(whole.cells[:, :-1].ravel(), whole.cells[:, 1:].ravel(), strict=True):
        less, more = min(left, right), max(left, right)
        if more and not less:
            raise ValueError("a zero faces a positive probability: no epsilon is enough for that")
        if more * low > high * less:
            high, low = more, less
    return Fraction(int(high), int(low))


def exponential(size: int, alpha: float | str | None = None, *, epsilon: float | None = None) -> CountTable:
    """Return the exponential mechanism for counts 0 to `size` with the quality -|i - j|.

    P[i, j] is proportional to alpha^(|i - j|/2): the price of columns that are normalised one by one. The
    powers are rounded to whole numbers with all ratios kept. For one person it is randomised response with
    half the budget (Theorem 11 of the thesis).

    Reference:
        McSherry, Talwar, FOCS 2007.

    Raises:
        ValueError: unless size is a whole number >= 1 and exactly one of alpha in (0, 1), epsilon is given.
    """
    n, a = whole_size(size), decay(alpha, epsilon)
    count = np.arange(n + 1)
    P = float(a) ** (np.abs(count[:, None] - count) / 2)
    return CountTable.near(P / P.sum(axis=0), a, "exponential")
