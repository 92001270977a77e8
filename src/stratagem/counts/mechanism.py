"""What every count mechanism offers, and the one that is held as a table of whole numbers."""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stratagem.counts.criteria import Aggregate, Loss, Property, holding, privacy, total_cost, weights_of
from stratagem.counts.exact import Whole, decay, fixed_point, log_decay, repaired, whole_size
from stratagem.counts.sampling import ColumnSampler, Sampler, Source, pseudo_random
from stratagem.io.screen import show
from stratagem.math.number import integer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATRIX = 4096
"""Largest group size for which a matrix of probabilities is made."""


class CountMechanism(ABC):
    """A random answer i to a count j of 0 to n: P[i, j] = Pr[output i | count j], columns sum to one.

    It is epsilon-DP in the central model where one person's answer changes: neighbouring entries of a row
    differ by a factor of at most 1/alpha = exp(epsilon).
    """

    name: str
    size: int
    """n, the number of people in a group."""
    alpha: Fraction

    @abstractmethod
    def column(self, count: int) -> np.ndarray:
        """Return the probabilities of the outputs (n+1,) at a count."""

    @abstractmethod
    def whole(self) -> Whole:
        """Return the probabilities as whole numbers with a common total, exactly."""

    @abstractmethod
    def ratio(self) -> Fraction:
        """Return the largest ratio of neighbouring entries in a row, exactly: the privacy that is realised."""

    @abstractmethod
    def log_likelihood(self, output: int) -> np.ndarray:
        """Return log Pr[output | count] for every count (n+1,) but for a constant, -inf where impossible."""

    @abstractmethod
    def sampler(self) -> Sampler:
        """Return the exact sampler of the outputs."""

    @property
    @abstractmethod
    def properties(self) -> frozenset[Property]:
        """The properties that hold exactly."""

    @cached_property
    def matrix(self) -> np.ndarray:
        """The matrix P (n+1 x n+1), P[i, j] = Pr[output i | count j].

        Raises:
            ValueError: above n = 4096.
        """
        if self.size > MATRIX:
            raise ValueError(f"a matrix for {self.size} people would be huge: ask for column(count) instead")
        return np.column_stack([self.column(count) for count in range(self.size + 1)])

    @cached_property
    def _sampler(self) -> Sampler:
        return self.sampler()

    def draw(self, count: int, source: Source = secrets.token_bytes) -> int:
        """Return a random output for a count, exactly, with randomness of the operating system.

        `source` gives the random bytes; another is for tests alone.

        Raises:
            ValueError: unless the count is a whole number from 0 to n, before any randomness is drawn.
        """
        return int(self._sampler.release(np.array([whole_count(count, self.size)]), source)[0])

    def release(self, counts: Sequence[int] | np.ndarray, source: Source = secrets.token_bytes) -> np.ndarray:
        """Return a random output for the count of every group (k,), exactly, each independent of the others.

        Raises:
            ValueError: unless all counts are whole numbers from 0 to n, before any randomness is drawn.
        """
        return self._sampler.release(whole_counts(counts, self.size), source)

    def simulate(self, counts: Sequence[int] | np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return outputs (k,) for counts (k,) with pseudo-random numbers: for simulation alone, never a release.

        Raises:
            ValueError: unless all counts are whole numbers from 0 to n.
        """
        return self._sampler.release(whole_counts(counts, self.size), pseudo_random(rng))

    def by_count(self, loss: str | Sequence | np.ndarray) -> np.ndarray:
        """Return the expected loss at every count (n+1,)."""
        return (Loss.of(loss, self.size).cost * self.matrix).sum(axis=0)

    def cost(
        self,
        loss: str | Sequence | np.ndarray = "L0",
        prior: Sequence[float] | np.ndarray | None = None,
        aggregate: Aggregate = "sum",
    ) -> float:
        """Return the loss weighted by a prior over the counts (default uniform), or at the worst count.

        Raises:
            ValueError: for an unknown loss or a prior that is not n + 1 weights.
        """
        return total_cost(self.by_count(loss), weights_of(prior, self.size), aggregate)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the matrix as a heat map, its properties marked; write an .svg, .png or .pdf if a path is given.

        Raises:
            ValueError: without matplotlib, for a path that cannot be written, or above n = 4096.
        """
        return show("plot_counts", self, path)


def check_ratio(mechanism: CountMechanism) -> Fraction:
    """Return the exact ratio of a mechanism, checked against its alpha."""
    ratio = mechanism.ratio()
    if ratio * mechanism.alpha > 1:
        measured, allowed = -log_decay(1 / ratio), -log_decay(mechanism.alpha)
        raise ValueError(
            f"the table breaks its alpha: neighbours differ by a factor of exp({measured:.9g}), but 1/alpha is "
            f"exp({allowed:.9g}): do not use it"
        )
    return ratio


def whole_count(count: int, size: int) -> int:
    """Return a count as an integer.

    Raises:
        ValueError: unless it is a whole number from 0 to n.
    """
    return integer(count, "the count", 0, size, "give how many people of the group have the property")


def whole_counts(counts: Sequence[int] | np.ndarray, size: int, what: str = "counts") -> np.ndarray:
    """Return counts (k,) as an array of integers."""
    try:
        found = np.asarray(counts)
    except ValueError:
        found = np.empty((0, 0))
    if found.ndim == 1 and not len(found):
        return np.empty(0, dtype=np.int64)
    if (
        found.ndim != 1
        or found.dtype.kind not in "iu"
        or not 0 <= int(found.min()) <= int(found.max()) <= size
    ):
        raise ValueError(f"the {what} must be a list of whole numbers from 0 to {size}, one a group")
    return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CountTable(CountMechanism):
    """A mechanism held as whole numbers, the columns of equal sum."""

    size: int
    alpha: Fraction
    numbers: Whole
    name: str = "table"

    @classmethod
    def near(cls, P: np.ndarray, alpha: Fraction, name: str) -> CountTable:
        """Return the table nearest to a square matrix (n + 1 x n + 1) that is private but for rounding."""
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
        """Return the exact sampler of the columns, after a check of their sums and ratios.

        Raises:
            ValueError: if the columns do not sum to the total, or neighbours break alpha.
        """
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
