"""Prefix counts on a long window of a longer cycle, by the estimator that averages over the gap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.accuracy.score import Scores
from stratagem.accuracy.window import Window
from stratagem.estimation.invariant.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Gap:
    """Answers of `Window` to prefixes of n points of a cycle of N, and their squared scores.

    A report (b, g) adds a_t(g) + c_t to the prefix t, a_t(g) = P(t - g) - sum_k psi_k(t) mu_k(g): P the sums along
    the cycle of its density K/N - 1/N, of mean zero, mu_k(g) the mean of P(p - g) over block k of the gap.
    """

    evidence: Evidence
    scores: Scores

    @cached_property
    def window(self) -> Window:
        """The unbiased estimator of the prefix counts."""
        strategy = self.evidence.strategy
        (n,), (cycle,) = strategy.sizes, strategy.cycles
        return Window(n, cycle, self.scores.information((0,))[: cycle // 2 + 1])

    def squares(self) -> np.ndarray:
        """Return the sum over reports of the squared scores of every prefix (n,)."""
        window, n, cycle = self.window, self.window.size, self.window.cycle
        psi, c = window.weights, window.constants
        blocks = np.zeros((len(psi), cycle))
        for block, first, last in zip(blocks, window.edges, window.edges[1:], strict=False):
            block[first:last] = 1 / (last - first)
        blocks, total = np.fft.rfft(blocks), c**2 * self.evidence.users
        for reports in self.evidence.placed:
            histogram = np.bincount(reports.shifts[:, 0], reports.counts, cycle)
            density = self.scores.density(
                self.scores.transform(reports.pattern, reports.multiple), (0,), (0,)
            )
            P = np.cumsum(density - 1) / cycle
            P -= P.mean()
            along, counted = np.fft.rfft(P), np.fft.rfft(histogram)
            means = np.fft.irfft(blocks * along.conj(), cycle)
            across = np.fft.irfft(np.fft.rfft(histogram * means) * along, cycle)[:, :n]
            first = np.fft.irfft(counted * along, cycle)[:n] - (means @ histogram) @ psi
            mixed = ((means * histogram) @ means.T) @ psi - 2 * across
            total += np.fft.irfft(counted * np.fft.rfft(P**2), cycle)[:n] + 2 * c * first
            total += np.einsum("kt,kt->t", psi, mixed)
        return total

    def least(self) -> np.ndarray:
        """Return the variance (n,) of the score of one report if all translates are equally likely."""
        return self.window.variances / self.window.size
