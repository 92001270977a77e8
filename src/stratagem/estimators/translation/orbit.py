"""Exact variance of a workload's answers from translates of patterns over the whole domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, check_sizes, check_support
from stratagem.estimators.best_linear import LeastVariance
from stratagem.estimators.estimator import estimator, even_handed
from stratagem.estimators.translation.score import PlacedReports, even_scores
from stratagem.estimators.translation.tables import products
from stratagem.estimators.translation.transformed import by_transforms, transformed_objective
from stratagem.estimators.translation.translates import SMALL, Translates
from stratagem.math.linalg import CentredInverse, PseudoInverse, centred_inverse
from stratagem.math.transform import irfftn, rfftn
from stratagem.strategies import OrbitStrategy
from stratagem.workloads import Workload
from stratagem.workloads.centring import root, total_term


@final
@dataclass(frozen=True, eq=False)
class ShortWindow(LeastVariance):
    """x_hat = M^+ Q^T D^-1 c, as `BestLinear`, without the matrix Q: its row (b, g) is w_b x_b(u - g).

    D = diag(w_b d_b(g)), d_b(g) the sum of x_b(u - g) over the window, so every sum over shifts is a convolution.
    Rows are nearly constant at small epsilon; the mean over the cycle is subtracted from each row first.
    """

    strategy: OrbitStrategy
    """The strategy on its cycles."""
    sizes: tuple[int, ...]
    """Number of values of each attribute of the domain."""
    prior: np.ndarray | None = field(default=None, init=False)

    @property
    def privacy(self) -> tuple[float, float]:
        return self.strategy.epsilon, self.strategy.delta

    @cached_property
    def inverse(self) -> CentredInverse | PseudoInverse:
        n = self.strategy.domain_size
        C = np.zeros((n, n))
        for weight, rows in _translates(self.strategy):
            sums = rows.sum(axis=1, keepdims=True)
            spread = (rows - sums / n) / np.sqrt(sums)
            C += weight * (spread.T @ spread)
        return centred_inverse(C)

    def check(self, workload: Workload) -> None:
        if workload.domain.sizes != self.strategy.sizes:
            check_sizes(workload, self.sizes)
        if self.inverse.null.shape[1] > 1:  # the prior alone is in it where all is answered
            check_support(workload, self.inverse.null, self.shares)

    def accuracy(self, workload: Workload) -> Accuracy:
        """Return the exact accuracy, summed pattern by pattern.

        The products of all translates of a pattern with M^+ F, and the sums of their levels, are correlations on the
        cycles: transforms, not N x n arrays.
        """
        self.check(workload)
        n, cycles = workload.domain_size, self.strategy.cycles
        cells = tuple(self.strategy.coordinates(np.arange(n)).T)
        F = root(workload)
        B = self._solved(F)
        placed = np.zeros((B.shape[1] + 1, *cycles))
        placed[(slice(None), *cells)] = np.vstack([B.T, np.ones(n)])
        seen, moments = rfftn(placed, len(cycles)), np.zeros(1)
        for weight, levels in _levels(self.strategy):
            x = rfftn(levels.reshape(cycles))
            found = np.square(irfftn(np.conj(x) * seen, cycles))
            moments = moments + weight * x * rfftn(found[:-1].sum(axis=0) / found[-1])
        per_type = np.maximum(irfftn(moments, cycles)[cells] - np.square(F).sum(axis=1), 0)
        return Accuracy(total_term(workload) + float(np.sum(F * B)), per_type, workload.queries)

    def users(self, counts: PlacedReports) -> int:
        return counts.users

    def estimated_data(self, counts: PlacedReports) -> np.ndarray:
        return counts.users / len(self._inside) + self.inverse @ self._deviation(counts)

    def estimated_spread(self, counts: PlacedReports) -> np.ndarray:
        """Return R diag(c) R^T (n x n), R^T = D^-1 Q M^+."""
        inside = self._inside
        n, squares = len(inside), np.zeros((len(inside), len(inside)))
        for x, sums, histogram in self._reports(counts):
            squares += products(histogram / sums**2, x - x.mean())[np.ix_(inside, inside)]
        mean = (self.inverse @ self._deviation(counts)) / n
        return counts.users / n**2 + mean + mean[:, None] + self.inverse @ (self.inverse @ squares).T

    def _deviation(self, counts: PlacedReports) -> np.ndarray:
        """Return Q^T D^-1 c (n,), with its mean over the cycle subtracted from each row of Q."""
        total = np.zeros(self.strategy.cycles)
        for x, sums, histogram in self._reports(counts):
            total += np.fft.ifftn(np.fft.fftn(histogram / sums) * np.fft.fftn(x - x.mean())).real
        return total.ravel()[self._inside]

    def _reports(self, counts: PlacedReports) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield x_b, d_b(g) and the counts of the translates of each reported pattern b.

        Each of the three arrays has the shape of the cycles.
        """
        cycles = self.strategy.cycles
        for placed in counts.placed:
            places = np.ravel_multi_index(tuple(placed.shifts.T), cycles)
            histogram = np.bincount(places, placed.counts, math.prod(cycles)).reshape(cycles)
            yield *self._levels(placed.pattern, placed.multiple), histogram

    def _levels(self, b: int, multiple: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the levels x of a multiple of pattern b, and the sums d(g) of its translates over the window.

        Both arrays have the shape of the cycles.
        """
        strategy = self.strategy
        pattern, window = strategy.patterns[b], np.zeros(math.prod(strategy.cycles))
        x = pattern.levels(strategy.ratio)
        if pattern.multiples > 1:
            x = x[pattern.divided(np.arange(pattern.cells), multiple)]
        window[self._inside] = 1
        sums = np.fft.ifftn(np.fft.fftn(window.reshape(strategy.cycles)) * np.fft.fftn(x).conj()).real
        return x, sums

    @cached_property
    def _inside(self) -> np.ndarray:
        """Index of each user type among the cells of the cycles (n,)."""
        strategy = self.strategy
        cells = np.arange(math.prod(strategy.cycles)).reshape(strategy.cycles)
        return cells[tuple(map(slice, strategy.sizes))].ravel()


def _translates(strategy: OrbitStrategy) -> Iterator[tuple[float, np.ndarray]]:
    """Yield each pattern's weight and the levels x_b(u - g) of all its translates, (shifts, n)."""
    cells = strategy.coordinates(np.arange(strategy.domain_size))
    shifts = np.stack(np.unravel_index(np.arange(np.prod(strategy.cycles)), strategy.cycles), axis=1)
    moved = (cells - shifts[:, None]) % np.array(strategy.cycles)
    places = np.asarray(np.ravel_multi_index(tuple(np.moveaxis(moved, 2, 0)), strategy.cycles))
    for weight, levels in _levels(strategy):
        yield weight, levels[places]


def _levels(strategy: OrbitStrategy) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the probability of every multiple of every pattern and its levels x_b on all N cells of the cycles (N,)."""
    cells = np.arange(math.prod(strategy.cycles))
    for pattern, weight in zip(strategy.patterns, strategy.weights, strict=True):
        for multiple in range(pattern.multiples if weight > 0 else 0):
            levels = pattern.levels(strategy.ratio).ravel()[pattern.divided(cells, multiple)]
            yield float(weight) / pattern.multiples, levels


@final
@dataclass(frozen=True, eq=False)
class Orbits(Translates[OrbitStrategy]):
    """The estimator of translates of patterns over the whole domain.

    * Cycles as long as the attributes: the one of least variance, by characters. Where V is not invariant,
      variances by type come from transforms on one attribute, on several from n x n arrays up to n = 1024.
    * Windows up to n = 1024: the one of least variance, by n x n arrays; sets whose multiples give all characters the
      same eigenvalue, as below.
    * Longer windows: prefixes by `Window`; other queries from r_b^ = x_b^/m, whose translates estimate cells
      without bias.
    """

    strategy: OrbitStrategy

    @property
    def short(self) -> ShortWindow | None:
        """The estimator by n x n arrays, of windows up to n = 1024 without two-valued scores; None for others."""
        small = self.strategy.window and self.strategy.domain_size <= SMALL and not even_scores(self.cycles)
        return self._by_arrays if small else None

    @cached_property
    def _by_arrays(self) -> ShortWindow:
        return ShortWindow(self.cycles, self.strategy.sizes)

    def accuracy(self, workload: Workload) -> Accuracy:
        given, workload, strategy = workload, self.tables.asked(workload), self.cycles
        if workload.symmetry == strategy.cycles:
            value = self.objective(given)
            per_type = np.array([value / workload.scale - workload.mean_square])
            return Accuracy(value, per_type, workload.queries)
        if _written_out(workload, strategy):
            return self._by_arrays.accuracy(workload)
        per_type, _ = by_transforms(workload, strategy)
        return Accuracy(float(per_type.sum()) + workload.frobenius_squared, per_type, workload.queries)

    def objective(self, workload: Workload, factor: Callable[[], np.ndarray] | None = None) -> float:
        workload, strategy = self.tables.asked(workload), self.cycles
        if strategy.window and _written_out(workload, strategy):
            return self._by_arrays.objective(workload)
        return transformed_objective(workload, strategy)


estimator.register(OrbitStrategy, even_handed(Orbits))


def _written_out(workload: Workload, strategy: OrbitStrategy) -> bool:
    """Return whether n x n arrays are formed: for n up to 1024, where no estimator by transforms is used."""
    easy = len(strategy.sizes) == 1 and not strategy.window
    return workload.domain_size <= SMALL and not easy and not even_scores(strategy)
