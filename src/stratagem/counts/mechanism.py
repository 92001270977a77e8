"""What every count mechanism offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stratagem.counts.exact import Whole
from stratagem.counts.loss import Aggregate, Loss, total_cost, weights_of
from stratagem.counts.property import Property

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATRIX = 4096
"""Group size up to which a matrix of probabilities is made."""


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

    @property
    @abstractmethod
    def properties(self) -> frozenset[Property]:
        """The properties that hold, exactly."""

    @cached_property
    def matrix(self) -> np.ndarray:
        """P (n+1 x n+1).

        Raises:
            ValueError: above n = 4096.
        """
        if self.size > MATRIX:
            raise ValueError(f"a matrix for {self.size} people would be huge; ask for column(count) instead.")
        return np.column_stack([self.column(count) for count in range(self.size + 1)])

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
        from stratagem.plots import plot_counts

        return plot_counts(self, path)


def whole_count(count: int, size: int) -> int:
    """Return a count as an integer.

    Raises:
        ValueError: unless it is a whole number from 0 to n.
    """
    if isinstance(count, bool) or not isinstance(count, Rational | np.integer) or not 0 <= count <= size:
        raise ValueError(f"the count is {count!r}; it must be a whole number from 0 to {size}.")
    if int(count) != count:
        raise ValueError(f"the count is {count!r}; it must be a whole number from 0 to {size}.")
    return int(count)
