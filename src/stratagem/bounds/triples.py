"""What three user types in one pattern of binary attributes may be, averaged over the symmetries of the cube."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np

from stratagem.bounds.krawtchouk import krawtchouk


@dataclass(frozen=True)
class Triples:
    """What y = (1, f, a_1, ..., a_d, q_ijl for i <= j <= l) of a pattern of k = n f types meets; N entries.

    Each of the eight chances that T holds some of three types and not the others is nonnegative. The matrices
    R_uv and R'_uv of the chances that T holds u and v, and 0 or not 0, are positive semidefinite; in the basis in
    which the Terwilliger algebra is block diagonal they have blocks of rows r, ..., d - r, r = 0, ..., d/2. As T
    holds k types, the row u = 0 of R is a combination of the others, and that of R' is zero: they are left out.
    """

    d: int

    @cached_property
    def corners(self) -> tuple[tuple[int, ...], ...]:
        """The distances i <= j <= l of three types, l <= i + j; where i = 0 two of them are the same."""
        d, found = self.d, combinations_with_replacement(range(self.d + 1), 3)
        return tuple(t for t in found if sum(t) % 2 == 0 and t[2] <= t[0] + t[1] and sum(t) <= 2 * d)

    @cached_property
    def held(self) -> dict[tuple[int, ...], np.ndarray]:
        """The row (N,) whose product with y is the chance that T holds three types at these distances."""
        proper = [t for t in self.corners if t[0] > 0]
        unit = np.eye(2 + self.d + len(proper))
        places = {t: 2 + self.d + place for place, t in enumerate(proper)}
        return {t: unit[places[t] if t[0] else 1 + t[2]] for t in self.corners}

    def chance(self, *distances: int) -> np.ndarray:
        """Return the row of the chance that T holds three types at these distances, in any order."""
        return self.held[tuple(sorted(distances))]

    @cached_property
    def energies(self) -> np.ndarray:
        """B_1, ..., B_d (d x N)."""
        d = self.d
        a = np.array([comb(d, i) * self.chance(0, i, i) for i in range(d + 1)])
        mean = krawtchouk(d, 2, np.arange(d + 1))[1:]
        return np.array([comb(d, level) for level in range(1, d + 1)])[:, None] * (mean @ a) / 2**d

    @cached_property
    def chances(self) -> np.ndarray:
        """Rows whose products with y are nonnegative (r x N)."""
        rows = np.array([row for t in self.corners for row in self._eight(t)])
        return np.unique(rows[rows.any(axis=1)], axis=0)

    def _eight(self, corner: tuple[int, ...]) -> Iterator[np.ndarray]:
        """Yield the rows of the chances that T holds three types, two, one and none of them."""
        q, sides = self.chance(*corner), [self.chance(0, i, i) for i in corner]
        one, f = np.eye(len(q))[:2]
        yield q
        for side, other in zip(sides, (sides[1:], sides[::2], sides[:2]), strict=True):
            yield side - q
            yield f - sum(other) + q
        yield one - 3 * f + sum(sides) - q

    @cached_property
    def blocks(self) -> tuple[np.ndarray, ...]:
        """Matrices (b x b x N) whose products with y are positive semidefinite."""
        return tuple(block for r in range(self.d // 2 + 1) for block in self._pair(r))

    def _pair(self, r: int) -> tuple[np.ndarray, np.ndarray]:
        """Return block r of R and of R', for an orthonormal basis of the functions of a level (Schrijver, (23))."""
        d, levels = self.d, range(max(r, 1), self.d - r + 1)
        inside = np.zeros((len(levels), len(levels), len(self.chance(0, 0, 0))))
        both = np.zeros_like(inside)
        for (p, i), (s, j) in product(enumerate(levels), repeat=2):
            norm = math.sqrt(comb(d - 2 * r, i - r) * comb(d - 2 * r, j - r))
            for t in range(max(0, i + j - d), min(i, j) + 1):
                share, apart = _share(d, i, j, r, t) / norm, i + j - 2 * t
                inside[p, s] += share * self.chance(i, j, apart)
                both[p, s] += share * self.chance(0, apart, apart)
        return inside, both - inside

    @cached_property
    def sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows (d + 1 x N): the product of the first with y is k times that of the second, as T holds k types."""
        d, pairs = self.d, np.array([self.chance(0, i, i) for i in range(self.d + 1)])
        total = np.zeros_like(pairs)
        for i, j in product(range(d + 1), repeat=2):
            for t in range(max(0, i + j - d), min(i, j) + 1):
                total[i] += comb(i, t) * comb(d - i, j - t) * self.chance(i, j, i + j - 2 * t)
        return total, pairs

    def rows(self, k: int, beyond: float) -> np.ndarray:
        """Return all constraints on (1, a, q): what is zero, what is nonnegative, then the triangles of the blocks.

        `beyond` is a lower bound on B_3 + ... + B_d.
        """
        total, pairs = self.sums
        rest = self.energies[2:].sum(axis=0) - beyond * np.eye(1, pairs.shape[1])
        triangles = [triangle(block) for block in self.blocks]
        return self.folded(np.concatenate([total - k * pairs, self.chances, rest, *triangles]), k)

    def folded(self, rows: np.ndarray, k: int) -> np.ndarray:
        """Return rows on (1, a, q) from rows on y."""
        return np.column_stack([rows[:, 0] + k / 2**self.d * rows[:, 1], rows[:, 2:]])

    @property
    def counts(self) -> tuple[int, int]:
        """How many of the rows are zero, and how many nonnegative."""
        return self.d + 1, len(self.chances) + 1


triples = cache(Triples)


def _share(d: int, i: int, j: int, r: int, t: int) -> int:
    """Return Schrijver's beta_ijr^t."""
    return sum(
        (-1) ** (u - t)
        * comb(u, t)
        * comb(d - 2 * r, u - r)
        * comb(d - r - u, i - u)
        * comb(d - r - u, j - u)
        for u in range(max(r, t), min(i, j) + 1)
    )


def triangle(matrix: np.ndarray) -> np.ndarray:
    """Return the lower triangle of a symmetric matrix (b x b x ...), so scaled that products of two are traces."""
    i, j = np.tril_indices(len(matrix))
    return (matrix[i, j].T * np.where(i == j, 1.0, math.sqrt(2))).T


def matrix(triangle: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix (b x b) of a triangle (b (b + 1)/2,)."""
    size = (math.isqrt(8 * len(triangle) + 1) - 1) // 2
    i, j = np.tril_indices(size)
    full = np.zeros((size, size))
    full[i, j] = full[j, i] = triangle / np.where(i == j, 1.0, math.sqrt(2))
    return full
