"""The three-point bound of equal binary attributes, from the chances of three user types in a pattern (Schrijver 2005).

1. `Triples` holds what the chances (1, f, a, q) of any pattern meet: nonnegative rows, and blocks of the Terwilliger
   algebra that are positive semidefinite.
2. `ThreePointSearch.solved` lets a conic solver find prices of the levels and multipliers of these constraints.
3. `ThreePointSearch.proved` makes a bound of whatever it returned: blocks projected, signs cut off, equations fitted.
4. For queries about two of six bits `beyond` lists all sets whose energy nearly stays on two levels, from sets on four
   bits up; no three types see them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import combinations_with_replacement, permutations, product
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import block_diag, hadamard
from scipy.sparse import csc_matrix

from stratagem.math.computing import quiet_solver
from stratagem.math.transform import krawtchouk
from stratagem.workloads.structure import Spectrum

LIMIT = 64
"""Patterns are listed up to this number; it is 1/64 of the energy of all characters."""


@cache
def beyond() -> np.ndarray:
    """Return for the sizes 0, ..., 64 a lower bound (65,) on q(T) of all sets T of user types on six bits.

    S_chi = sum_(u in T) chi(u) are whole numbers, and q(T) is the sum of their squares over the characters chi that
    touch more than two bits: zero for functions of degree two, whose sizes are multiples of 16. The slices T0 and T1
    along the last bit have S_chi = S0_chi + S1_chi, and S0_chi - S1_chi where chi touches the last bit too, so that

        q(T) = 2 q(T0) + 2 q(T1) + sum_(chi that touch two bits) (S0_chi - S1_chi)^2.

    So q(T) < 64 asks for a slice with q < 16 and another with q < 32 on five bits. The latter have a slice with q < 8
    and one with q < 16 on four bits, where all sets are listed. One slice of a pair may be moved by the symmetries of
    the cube to one of a few representatives, if the other slice runs through all sets. On five bits q < 16 holds for
    q = 0 alone; that is checked.

    Example:
        >>> beyond()[[0, 1, 2, 16, 24]].tolist()
        [0.0, 42.0, 64.0, 0.0, 64.0]
    """
    sets = (np.arange(1 << 16)[:, None] >> np.arange(16)) & 1  # all on four bits
    first = sets @ hadamard(16).astype(float)
    q = squares(first)
    flat = joined(first[q == 0], first[q == 0], 1)
    near = joined(first[_representatives(first, q < LIMIT / 8)], first[q < LIMIT / 4], LIMIT / 2)
    q = squares(near)
    limit = min(float(LIMIT), 4 * q.min(initial=LIMIT, where=q > 0))
    found = np.full(65, limit)
    whole = joined(flat, near, limit)
    np.minimum.at(found, whole[:, 0].astype(int), squares(whole))
    return np.minimum(found, found[::-1])


def squares(S: np.ndarray) -> np.ndarray:
    """Return q (p,) of sets by their S (p x 2^d), characters by the bits of their number."""
    return np.square(S[:, np.bitwise_count(np.arange(S.shape[1])) > 2]).sum(axis=1)


def joined(first: np.ndarray, second: np.ndarray, limit: float) -> np.ndarray:
    """Return S (p x 2^(d + 1)) of all sets with q < limit whose slices are one of the first and one of the second."""
    two = np.bitwise_count(np.arange(first.shape[1])) == 2
    a, b = first[:, two], second[:, two]
    own = [2 * squares(S) + np.square(S[:, two]).sum(axis=1) for S in (first, second)]
    i, j = np.nonzero(own[0][:, None] + own[1] - 2 * a @ b.T < limit - 0.5)
    return np.concatenate([first[i] + second[j], first[i] - second[j]], axis=1)


def _representatives(S: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the least number of each orbit that the chosen sets on four bits form under the cube's symmetries."""
    numbers, types = np.flatnonzero(chosen), np.arange(16)
    least = numbers.copy()
    for order in permutations(range(4)):
        moved = sum(((types >> i) & 1) << place for i, place in enumerate(order))
        for shift in range(16):
            images = ((numbers[:, None] >> (moved ^ shift)) & 1) << types
            least = np.minimum(least, images.sum(axis=1))
    return np.unique(least)


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
        """Rows (d x N) whose products with y are the energies B_1, ..., B_d."""
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
                share, distance = _share(d, i, j, r, t) / norm, i + j - 2 * t
                inside[p, s] += share * self.chance(i, j, distance)
                both[p, s] += share * self.chance(0, distance, distance)
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
        """Return rows on (1, a, q) from rows on y, with the entry f = k/n of y inserted."""
        return np.column_stack([rows[:, 0] + k / 2**self.d * rows[:, 1], rows[:, 2:]])

    @property
    def counts(self) -> tuple[int, int]:
        """Number of rows whose products are zero, and number of those whose products are nonnegative."""
        return self.d + 1, len(self.chances) + 1


triples = cache(Triples)


def _share(d: int, i: int, j: int, r: int, t: int) -> int:
    """Return the coefficient beta_ijr^t of Schrijver's block diagonalisation."""
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


LARGEST, LISTED = 7, 6
"""Most attributes, and the number of them for which sets near degree two are listed."""
NEAR = 0.95
"""Share of the largest energy of all sizes from which patterns of a size take part from the start."""
ROUNDING = 1024 * float(np.finfo(float).eps)
"""Relative error of sums of some hundred products, of the coefficients in them and of a projection."""


def cube(spectrum: Spectrum, epsilon: float) -> float:
    """Return S^2/h <= L(Q)/n - v_0 for 2 to 7 binary attributes that V treats alike, 0 for others.

    Let f = k/n be the share of the n = 2^d user types that a pattern T holds. Moved at random by the symmetries of the
    cube, T holds two given types at distance i with a chance a_i, and three at distances i, j, l with a chance q_ijl.
    With c and B_l as in `delsarte`, B_l is linear in a. For prices alpha_l >= 0 and
    h >= c^2 sum_l alpha_l B_l/(1 + c f)^2 for all T, Cauchy-Schwarz gives S = sum_l mu_l (v_l alpha_l)^(1/2).

    h is the largest of bounds for each k <= n/2: the complement of T has the same B, and less energy. As (a, q) meets
    the constraints of `Triples`, multipliers Z >= 0, w >= 0 and lambda of them add nothing negative to
    sum_l alpha_l B_l, and leave a linear function of (a, q) in [0, f]: its constant and f times its positive
    coefficients are a bound. A solver finds prices and multipliers together. Whatever it returns, the number is a
    bound: Z is projected, w cut off, lambda fitted, and what rounding may change is allowed for. For queries about two
    of six bits B_3 + ... + B_d is bounded from below too: no three types see that only patterns of k = 16, 32 or 48
    types can have all their energy at levels one and two (see `quadratic`).

    Reference:
        Schrijver, New code upper bounds from the Terwilliger algebra and semidefinite programming, 2005.
    """
    d = len(spectrum.sizes)
    if len(spectrum.groups) != 1 or set(spectrum.sizes) != {2} or not 2 <= d <= LARGEST:
        return 0.0
    gains = np.zeros(d + 1)
    for (level,), value, many in zip(spectrum.types, spectrum.values, spectrum.multiplicities, strict=True):
        gains[level] = many * math.sqrt(value)
    return ThreePointSearch(triples(d), gains[1:], math.expm1(epsilon)).best() if gains[1:].any() else 0.0


@dataclass(frozen=True, eq=False)
class ThreePointSearch:
    """The search for prices and multipliers, and what they prove."""

    triples: Triples
    gains: np.ndarray
    """Gains mu_l sqrt(v_l) of the levels l = 1, ..., d, shape (d,)."""
    c: float
    """Difference E - 1 of the two levels of a row."""

    @cached_property
    def floor(self) -> np.ndarray:
        """A lower bound on B_3 + ... + B_d by the size of patterns (n + 1,), zero where none is known."""
        n = 2**self.triples.d
        known = self.triples.d == LISTED and not self.gains[2:].any()
        return beyond() / n**2 if known else np.zeros(n + 1)

    def rows(self, k: int) -> np.ndarray:
        """Return the constraints of patterns of k types on (1, a, q)."""
        return self.triples.rows(k, self.floor[k])

    def energies(self, k: int) -> np.ndarray:
        """Return the rows of B_1, ..., B_d on (1, a, q)."""
        return self.triples.folded(self.triples.energies, k)

    def best(self) -> float:
        """Return S^2/h; sizes take part until B_1 + ... + B_d = f - f^2 shows that no other needs to."""
        k = np.arange(1, 2 ** (self.triples.d - 1) + 1)
        f = k / 2**self.triples.d
        weights = np.square(self.c / (1 + self.c * f))
        totals = weights * f * (1 - f)
        chosen = totals >= NEAR * totals.max()
        while True:
            prices, multipliers = self.solved(k[chosen], weights[chosen] / totals.max())
            if not (np.isfinite(multipliers).all() and 0 < prices.max() < math.inf):
                return 0.0
            proved = [self.proved(size, z, prices) for size, z in zip(k[chosen], multipliers, strict=True)]
            heights = prices.max() * totals
            heights[chosen] = np.minimum(heights[chosen], weights[chosen] * proved)
            late = ~chosen & (heights > heights[chosen].max())
            if not late.any():
                total = float(self.gains @ np.sqrt(prices))
                return total * (total / (heights.max() * (1 + ROUNDING)))
            chosen |= late

    def solved(self, sizes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return prices (d,), and for each size the multipliers of its rows that show what energies it can have.

        The problem is to minimise sum_l r_l over mixtures of (1, a, q) of the sizes, r_l m_l >= gains_l^2 with
        m_l = sum_k weights_k B_l: the prices are multipliers of these cones, and each size is worth the same.
        """
        clarabel: Any = import_module("clarabel")
        asked, rows = np.flatnonzero(self.gains), [self.rows(k) for k in sizes]
        mixed = np.hstack([w * self.energies(k)[asked] for k, w in zip(sizes, weights, strict=True)])
        A, b = _system(rows, mixed, self.gains[asked] / self.gains.sum())
        zero, positive = self.triples.counts
        cones = [clarabel.ZeroConeT(zero), clarabel.NonnegativeConeT(positive)]
        cones += [clarabel.PSDTriangleConeT(len(block)) for block in self.triples.blocks]
        cones = [*cones * len(sizes), clarabel.ZeroConeT(1), *[clarabel.SecondOrderConeT(3)] * len(asked)]
        cost, settings = np.repeat([0.0, 1.0], [mixed.shape[1], len(asked)]), clarabel.DefaultSettings()
        settings.verbose = False
        none = csc_matrix((len(cost), len(cost)))
        with quiet_solver():
            z = np.array(clarabel.DefaultSolver(none, cost, csc_matrix(A), b, cones, settings).solve().z)
        prices = np.zeros(self.triples.d)
        prices[asked] = np.maximum(z[-3 * len(asked) :].reshape(-1, 3)[:, :2].sum(axis=1), 0)
        return prices, z[: -3 * len(asked) - 1].reshape(len(sizes), -1) / weights[:, None]

    def proved(self, k: int, z: np.ndarray, prices: np.ndarray) -> float:
        """Return a bound on sum_l alpha_l B_l of all patterns of k types, whatever the multipliers z of its rows."""
        rows, energies, zero = self.rows(k), self.energies(k), self.triples.counts[0]
        z = np.append(np.zeros(zero), self.admitted(z[zero:]))
        left = prices @ energies + z @ rows
        z[:zero] = np.linalg.lstsq(rows[:zero, 1:].T, -left[1:])[0]
        left += z[:zero] @ rows[:zero]
        terms = (prices @ np.abs(energies)).sum() + (np.abs(z) @ np.abs(rows)).sum()
        return float(left[0] + k / 2**self.triples.d * np.maximum(left[1:], 0).sum() + ROUNDING * terms)

    def admitted(self, z: np.ndarray) -> np.ndarray:
        """Return multipliers of nonnegative rows cut off below zero, and of blocks as products Y Y^T."""
        start = self.triples.counts[1]
        parts = [np.maximum(z[:start], 0)]
        for block in self.triples.blocks:
            end = start + len(block) * (len(block) + 1) // 2
            values, vectors = np.linalg.eigh(matrix(z[start:end]))
            Y = vectors * np.sqrt(np.maximum(values, 0))
            parts.append(triangle(Y @ Y.T))
            start = end
        return np.concatenate(parts)


def _system(rows: list[np.ndarray], mixed: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A and b such that b - A x is in the cones, x = (1, a, q) of all sizes times their shares, then r.

    The shares sum to one, and (m + r, m - r, 2 gains) is in a second-order cone for each m.
    """
    many, own = len(gains), np.eye(len(gains))
    shares = np.concatenate([np.eye(1, one.shape[1])[0] for one in rows])
    second = np.stack(
        [np.hstack([mixed, own]), np.hstack([mixed, -own]), 0 * np.hstack([mixed, own])], axis=1
    )
    first = np.vstack([np.asarray(block_diag(*rows)), -shares])
    A = -np.vstack([np.pad(first, ((0, 0), (0, many))), second.reshape(3 * many, -1)])
    b = np.zeros(len(A))
    b[len(first) - 1] = 1
    b[len(first) + 2 :: 3] = 2 * gains
    return A, b
