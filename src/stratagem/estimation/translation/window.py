"""The optimal reconstruction from translates on cycles longer than the domain, for some 1000 user types."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from stratagem.accuracy import check_support
from stratagem.estimation.dense_reconstruction import DenseReconstruction
from stratagem.estimation.translation.evidence import Evidence
from stratagem.estimation.translation.margin import products
from stratagem.math.linalg import CentredInverse, PseudoInverse, centre, centred_inverse
from stratagem.math.privacy import uniform
from stratagem.strategies.strategy import apply_inverse
from stratagem.workloads import Workload


@final
@dataclass(frozen=True, eq=False)
class WindowReconstruction(DenseReconstruction):
    """x_hat = M^+ Q^T D^-1 c, as `BestLinear`, without the matrix Q: its row (b, g) is w_b x_b(u - g).

    D = diag(w_b d_b(g)), d_b(g) the sum of x_b(u - g) over the window, so every sum over shifts is a convolution.
    Rows are nearly constant at small epsilon; the mean over the cycle is subtracted from each row first.
    """

    evidence: Evidence

    @property
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of the strategy."""
        return self.evidence.strategy.epsilon, self.evidence.strategy.delta

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.evidence.users

    @cached_property
    def inverse(self) -> CentredInverse | PseudoInverse:
        """Pseudo-inverse (M - 11^T/n)^+ of the centred information matrix."""
        strategy, inside = self.evidence.strategy, self._inside
        M = np.zeros((len(inside), len(inside)))
        for b, weight in enumerate(strategy.weights):
            for multiple in range(strategy.patterns[b].multiples if weight > 0 else 0):
                x, sums = self._levels(b, multiple)
                share = weight / strategy.patterns[b].multiples
                M += products(share / sums, x - x.mean())[np.ix_(inside, inside)]
        return centred_inverse(centre(M))

    @property
    def nullity(self) -> int:
        """Number of dimensions of the data vector that no report depends on."""
        return self.inverse.null.shape[1] - 1

    @property
    def null_vector(self) -> np.ndarray:
        """A random vector (n,) among the data vectors that no report depends on; zeros if there is none."""
        null = self.inverse.null
        null_vector = null @ np.random.default_rng(0).standard_normal(null.shape[1])
        return null_vector - null_vector.mean() if self.nullity else np.zeros(len(null))

    @property
    def shares(self) -> np.ndarray:
        """The uniform prior 1/n (n,)."""
        return uniform(len(self._inside))

    @property
    def least_spread(self) -> np.ndarray:
        """Second moments M^+/n (n x n) of the scores of one report from a user of uniformly random type."""
        return apply_inverse(self.inverse, np.eye(len(self._inside))) / len(self._inside)

    def estimated_data(self) -> np.ndarray:
        """Return the estimated data vector M^+ Q^T D^-1 c (n,)."""
        return self.users / len(self._inside) + self.inverse @ self._deviation()

    @property
    def exact_total(self) -> bool:
        """True: the strategy knows the number of users."""
        return True

    def estimated_spread(self) -> np.ndarray:
        """Return R diag(c) R^T (n x n), R^T = D^-1 Q M^+."""
        inside = self._inside
        n, squares = len(inside), np.zeros((len(inside), len(inside)))
        for x, sums, histogram in self._reports():
            squares += products(histogram / sums**2, x - x.mean())[np.ix_(inside, inside)]
        mean = (self.inverse @ self._deviation()) / n
        return self.users / n**2 + mean + mean[:, None] + self.inverse @ (self.inverse @ squares).T

    def check(self, workload: Workload) -> None:
        """Refuse a workload that is not in the row space of Q.

        Raises:
            UnsupportedWorkloadError: naming what is missing.
            ValueError: if the domains differ.
        """
        self.evidence.asked(workload)
        check_support(workload, self.inverse.null)

    def _deviation(self) -> np.ndarray:
        """Return Q^T D^-1 c (n,), with its mean over the cycle subtracted from each row of Q."""
        total = np.zeros(self.evidence.strategy.cycles)
        for x, sums, histogram in self._reports():
            total += np.fft.ifftn(np.fft.fftn(histogram / sums) * np.fft.fftn(x - x.mean())).real
        return total.ravel()[self._inside]

    def _reports(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield x_b, d_b(g) and the counts of the translates of each reported pattern b.

        Each of the three arrays has the shape of the cycles.
        """
        cycles = self.evidence.strategy.cycles
        for reports in self.evidence.placed:
            places = np.ravel_multi_index(tuple(reports.shifts.T), cycles)
            histogram = np.bincount(places, reports.counts, math.prod(cycles)).reshape(cycles)
            yield *self._levels(reports.pattern, reports.multiple), histogram

    def _levels(self, b: int, multiple: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the levels x of a multiple of pattern b, and the sums d(g) of its translates over the window.

        Both arrays have the shape of the cycles.
        """
        strategy = self.evidence.strategy
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
        strategy = self.evidence.strategy
        cells = np.arange(math.prod(strategy.cycles)).reshape(strategy.cycles)
        return cells[tuple(map(slice, strategy.sizes))].ravel()
