"""Ranges of one ordered attribute, all of them or the short ones."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.number import integer
from stratagem.workloads.domain import Domain, check_one_attribute
from stratagem.workloads.harmonics import averaged
from stratagem.workloads.norm import Norms, all_range_norms, short_range_norms
from stratagem.workloads.query import Query, Span
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Array, Workload

DECOMPOSED = 4096
"""Values up to which an eigendecomposition gives the norms of short ranges in seconds, nothing lost."""


@final
@dataclass(frozen=True)
class AllRange(Workload):
    """Count the users in every range of at most `width` consecutive values; width = n asks for all ranges.

    Queries are grouped by length 1, ..., width, and within a length go from left to right, so
    p = width n - width (width - 1) / 2. With T(k) = (k + 1)(k + 2) / 2 for k >= 0 and 0 below,
    lo = min(i, j), hi = max(i, j) and s = width - 1 - (hi - lo),
    V[i, j] = T(s) - T(s - lo - 1) - T(s - (n - hi)) + T(s - lo - 1 - (n - hi)):
    the ways to extend [lo, hi] to both sides by at most s in all, less those that leave the domain.
    For width = n this is (lo + 1)(n - hi).

    Raises:
        ValueError: for a domain of several attributes, or a width outside 1, ..., n.
    """

    __repr__ = brief

    domain: Domain
    width: int

    def __post_init__(self):
        n = check_one_attribute(self.domain, "all-range")
        advice = "choose a width in that range, or leave it out for all ranges"
        object.__setattr__(self, "width", integer(self.width, "the width", 1, n, advice))

    @property
    def queries(self) -> int:
        """The number of queries: width n - width (width - 1) / 2."""
        return self.width * self.domain.size - self.width * (self.width - 1) // 2

    @property
    def frobenius_squared(self) -> float:
        """The trace of V: the sum of length times ranges of that length."""
        w = self.width
        return float((self.domain.size + 1) * (w * (w + 1) // 2) - w * (w + 1) * (2 * w + 1) // 6)

    @property
    def structure(self) -> Structure:
        """Norms, lower bounds for short ranges of many values; no symmetry, because the values have an order."""
        return Structure(translation_spectrum=self._averaged, closed_norms=self._norms)

    def _norms(self) -> Norms | None:
        n = self.domain.size
        if self.width == n:
            return all_range_norms(n)
        return short_range_norms(n, self.width) if n > DECOMPOSED else None

    def _averaged(self) -> Array:
        """Return the eigenvalues of the average: a range of length l holds l - k pairs u, u + k."""
        length = np.arange(1, self.domain.size + 1)
        ranges = np.where(length <= self.width, self.domain.size + 1.0 - length, 0.0)
        longer = np.cumsum(ranges[::-1])[::-1]
        return averaged(np.cumsum(longer[::-1])[::-1])

    def _gram(self) -> Array:
        n = self.domain.size
        left = np.arange(n, dtype=np.float64)[:, None]
        right = n - left.T  # n - hi above the diagonal, where lo is the row and hi the column
        if self.width == n:
            upper = (left + 1) * right
        else:
            s = self.width - 1 - (left.T - left)
            upper = _triangle(s) - _triangle(s - left - 1) - _triangle(s - right)
            upper += _triangle(s - left - 1 - right)
        upper = np.triu(upper)
        return upper + np.triu(upper, 1).T

    def _describe(self, query: int) -> Query:
        shorter = bisect_right(range(self.width), query, key=self._start) - 1
        low = query - self._start(shorter)
        return Query((Span(0, low, low + shorter),))

    def _start(self, shorter: int) -> int:
        """Return the number of ranges of at most `shorter` values, the index of the first longer range."""
        return shorter * self.domain.size - shorter * (shorter - 1) // 2

    def _answer(self, x: Array) -> Array:
        below = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
        answers = np.empty((self.queries, x.shape[1]))
        for length, rows in self._lengths():
            np.subtract(below[length:], below[:-length], out=answers[rows])
        return answers

    def _adjoint(self, y: Array) -> Array:
        steps = np.zeros(
            (self.domain.size + 1, y.shape[1])
        )  # a range adds y where it starts, takes it off after
        for length, rows in self._lengths():
            steps[:-length] += y[rows]
            steps[length:] -= y[rows]
        return np.cumsum(steps, axis=0)[:-1]

    def _lengths(self) -> Iterator[tuple[int, slice]]:
        start = 0
        for length in range(1, self.width + 1):
            stop = start + self.domain.size - length + 1
            yield length, slice(start, stop)
            start = stop


def _triangle(k: Array) -> Array:
    k = np.maximum(k, -1.0)  # T(-1) = 0
    return (k + 1) * (k + 2) / 2
