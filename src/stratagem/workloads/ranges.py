"""Prefixes and ranges of one ordered attribute, and the cosines that make their Gram matrices almost diagonal."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from stratagem.domain.domain import Domain, check_one_attribute
from stratagem.io.screen import brief
from stratagem.math.number import integer
from stratagem.workloads.harmonics import averaged
from stratagem.workloads.query import Query, Span
from stratagem.workloads.structure import Norms, Structure, all_range_norms, prefix_norms, short_range_norms
from stratagem.workloads.workload import Array, Workload

DECOMPOSED = 4096
"""Values up to which an eigendecomposition gives the norms of short ranges in seconds, nothing lost."""


@final
@dataclass(frozen=True)
class Prefix(Workload):
    """Count the users at or below each value: (W x)_i = x_0 + ... + x_i, p = n.

    V[i, j] = n - max(i, j) and tr V = n (n + 1) / 2, with i, j = 0, ..., n - 1.

    Raises:
        ValueError: for a domain of several attributes.
    """

    __repr__ = brief

    domain: Domain

    def __post_init__(self):
        check_one_attribute(self.domain, "prefix")

    @property
    def in_order(self) -> bool:
        return True

    @property
    def cumulative(self) -> bool:
        return True

    @property
    def range_lengths(self) -> np.ndarray:
        return np.arange(1, self.domain.size + 1)

    @property
    def queries(self) -> int:
        return self.domain.size

    @property
    def frobenius_squared(self) -> float:
        return float(self.domain.size * (self.domain.size + 1) // 2)

    @property
    def structure(self) -> Structure:
        norms = partial(prefix_norms, self.domain.size)
        return Structure(translation_spectrum=lambda: averaged(self.diagonals()), closed_norms=norms)

    def diagonals(self) -> Array:
        """Return the sums of V[u, u + k] over u, (n - k) (n - k + 1) / 2 for k = 0, ..., n - 1."""
        left = self.domain.size - np.arange(self.domain.size, dtype=np.float64)
        return left * (left + 1) / 2

    def _gram(self) -> Array:
        left = float(self.domain.size) - np.arange(self.domain.size)
        return np.minimum.outer(left, left)

    def _describe(self, query: int) -> Query:
        return Query((Span(0, None, query),))

    def _answer(self, x: Array) -> Array:
        return np.cumsum(x, axis=0)

    def _adjoint(self, y: Array) -> Array:
        return np.cumsum(y[::-1], axis=0)[::-1]


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
    def in_order(self) -> bool:
        return True

    @property
    def range_lengths(self) -> np.ndarray:
        return np.arange(1, self.width + 1)

    @property
    def range_classes(self) -> np.ndarray:
        return np.repeat(np.arange(self.width), self.domain.size - np.arange(self.width))

    @property
    def queries(self) -> int:
        return self.width * self.domain.size - self.width * (self.width - 1) // 2

    @property
    def frobenius_squared(self) -> float:
        w = self.width
        return float((self.domain.size + 1) * (w * (w + 1) // 2) - w * (w + 1) * (2 * w + 1) // 6)

    @property
    def structure(self) -> Structure:
        return Structure(translation_spectrum=lambda: averaged(self.diagonals()), closed_norms=self._norms)

    def _norms(self) -> Norms | None:
        n = self.domain.size
        if self.width == n:
            return all_range_norms(n)
        return short_range_norms(n, self.width) if n > DECOMPOSED else None

    def diagonals(self) -> Array:
        """Return the sums of V[u, u + k] over u, k = 0, ..., n - 1: a range of length l holds l - k pairs u, u + k."""
        length = np.arange(1, self.domain.size + 1)
        ranges = np.where(length <= self.width, self.domain.size + 1.0 - length, 0.0)
        longer = np.cumsum(ranges[::-1])[::-1]
        return np.cumsum(longer[::-1])[::-1]

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

    def number(self, low: int, high: int) -> int:
        """Return the number of the query that counts the values from `low` to `high`."""
        return self._start(high - low) + low

    def _start(self, shorter: int) -> int:
        """Return the number of ranges of at most `shorter` values, the index of the first longer range."""
        return shorter * self.domain.size - shorter * (shorter - 1) // 2

    def _answer(self, x: Array) -> Array:
        below = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
        answers = np.empty((self.queries, x.shape[1]))
        for length, rows in self.lengths():
            np.subtract(below[length:], below[:-length], out=answers[rows])
        return answers

    def _adjoint(self, y: Array) -> Array:
        steps = np.zeros(
            (self.domain.size + 1, y.shape[1])
        )  # a range adds y where it starts, takes it off after
        for length, rows in self.lengths():
            steps[:-length] += y[rows]
            steps[length:] -= y[rows]
        return np.cumsum(steps, axis=0)[:-1]

    def lengths(self) -> Iterator[tuple[int, slice]]:
        """Yield every length with the numbers of its ranges, from left to right."""
        start = 0
        for length in range(1, self.width + 1):
            stop = start + self.domain.size - length + 1
            yield length, slice(start, stop)
            start = stop


def _triangle(k: Array) -> Array:
    k = np.maximum(k, -1.0)  # T(-1) = 0
    return (k + 1) * (k + 2) / 2


@dataclass(frozen=True)
class PathGram:
    """The Gram matrix of all prefixes or all ranges of n values, P V P = scale (L^+ - share r r^T), P = I - 11^T/n.

    L = tridiag(-1, 2, -1) with ones at its ends is the Laplacian of the path. Its vectors are the cosines
    e_j(u) = (2/n)^(1/2) cos(pi j (u + 1/2)/n), j = 1, ..., n - 1, its eigenvalues 4 sin^2(pi j/(2 n)).

    Prefixes: P V P = L^+. Ranges: with d = e_1 - e_n of the standard basis, (n + 1) V^-1 is L + e_1 e_1^T + e_n e_n^T,
    whose Schur complement on 1^perp is L + d d^T/2. As d^T L^+ d = n - 1, Sherman and Morrison give
    P V P = (n + 1) L^+ - r r^T with the ramp r = L^+ d, r_u = (n - 1)/2 - u.
    """

    n: int
    scale: float
    """Factor of L^+."""
    share: float
    """0 for prefixes, 1/(n + 1) for ranges."""
    total: float
    """1^T V 1/n."""

    def roots(self, j: np.ndarray) -> Array:
        """Return the square roots of the eigenvalues of scale L^+ at the cosines j."""
        return math.sqrt(self.scale) / (2 * np.sin(math.pi / (2 * self.n) * j))

    def ramp(self, j: np.ndarray) -> Array:
        """Return (scale share)^(1/2) e_j^T r, zero at even j."""
        angles = math.pi / (2 * self.n) * j
        waves = math.sqrt(2 / self.n) * np.cos(angles) / (2 * np.square(np.sin(angles)))
        return math.sqrt(self.scale * self.share) * np.where(j % 2 == 1, waves, 0.0)


def line(workload: Workload) -> PathGram | None:
    """Return the structure of all prefixes or all ranges of at least two values, weighted or not; None for others."""
    n, norms = workload.domain_size, workload.structure.norms
    weight, workload = workload.unweighted
    square = weight**2
    total = 0.0 if norms is None else n * norms.total
    match workload:
        case Prefix() if n > 1:
            return PathGram(n, square, 0.0, total)
        case AllRange(width=width) if width == n > 1:
            return PathGram(n, square * (n + 1), 1 / (n + 1), total)
    return None
