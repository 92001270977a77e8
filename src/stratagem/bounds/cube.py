"""The three-point bound of equal binary attributes: what three types at a time allow the spectrum of patterns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csc_matrix

from stratagem.bounds.quadratic import beyond
from stratagem.bounds.triples import Triples, matrix, triangle, triples
from stratagem.workloads.spectrum import Spectrum

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
    return Search(triples(d), gains[1:], math.expm1(epsilon)).best() if gains[1:].any() else 0.0


@dataclass(frozen=True, eq=False)
class Search:
    """The search for prices and multipliers, and what they prove."""

    triples: Triples
    gains: np.ndarray
    """mu_l sqrt(v_l), l = 1, ..., d."""
    c: float
    """E - 1."""

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
