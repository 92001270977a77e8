"""Distribution functions from translates on a cycle that is longer than the domain: an explicit unbiased estimator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.estimators.translation.reports import PlacedReports
from stratagem.estimators.translation.score import Scores
from stratagem.math.transform import correlation, irfft, rfft

FINEST = 12
"""The shortest block has at least 2^-12 of the points of the cycle: shorter ones lower the variance by under 1e-4."""
CHUNK = 1 << 16
"""Frequencies, or points, that products of all blocks are formed for at a time."""


@dataclass(frozen=True, eq=False)
class Window:
    """Prefix counts of a domain {0, ..., n - 1} that is a part of a cycle of N points, its gap {n, ..., N - 1}.

    Let m_k = sum_b w_b |x_b^(k)|^2 and y(u) = sum over reports (b, g) of r_b(u - g), r_b^ = x_b^/m: an unbiased
    estimate of the data vector, continued by zeros, on the whole cycle. Let Y(p) = y(0) + ... + y(p), less its
    mean slope. The true distribution function is flat on the gap, so an average of Y over the gap may be
    subtracted from Y(t). Its weights psi_k(t), constant on blocks of the gap that grow away from its ends, are
    those of ordinary kriging: they sum to one and minimise the variance that reports would have if all were
    equally likely. Whatever the weights, the estimate is unbiased, and `energies` states its exact variance.
    """

    size: int
    """Number n of points of the domain."""
    cycle: int
    """Number N of points of the cycle, above n."""
    eigenvalues: np.ndarray
    """m_k for k = 0, ..., N // 2, positive; m_0 = 1."""

    @cached_property
    def edges(self) -> np.ndarray:
        """First points of the blocks of {n - 1, ..., N - 1} (K,), then N: doubling in length from both ends."""
        half, least, ends = (self.cycle - self.size + 1) // 2, max(1, self.cycle >> FINEST), [0]
        while ends[-1] < half:
            ends.append(min(half, 2 * ends[-1] + least))
        ends = np.array(ends)
        return np.unique(np.concatenate([self.size - 1 + ends, self.cycle - ends]))

    @cached_property
    def weights(self) -> np.ndarray:
        """psi (K, n): the weight of the mean of Y over each block in each prefix."""
        return self._kriging[0]

    @cached_property
    def variances(self) -> np.ndarray:
        """The variance of each prefix (n,) per user if all reports were equally likely."""
        return self._kriging[1]

    @cached_property
    def constants(self) -> np.ndarray:
        """Means c (n,) over the cycle of the indicators of (p, t] averaged over p, which are added back."""
        middle = (self.edges[:-1] + self.edges[1:] - 1) / 2
        return 1 + (np.arange(self.size) - middle @ self.weights) / self.cycle

    @cached_property
    def spectrum(self) -> np.ndarray:
        """sum_t |w_t^(k)|^2 (N // 2 + 1,) of the queries asked: the costs of 1/m_k that are to be minimised."""
        asked, both = np.empty(self.cycle // 2 + 1), self._both
        for part in _parts(len(asked)):
            blocks = self._blocks[:, part]
            mixed = both @ blocks - 2 * self._weights[:, part]
            asked[part] = self.size + np.einsum("kf,kf->f", np.conj(blocks), mixed).real
        return np.maximum(asked, 0) * self._summation

    @cached_property
    def squares(self) -> np.ndarray:
        """sum_t (1[u <= t] - c_t)^2 (n,): second moment less variance of the scores of a user of type u."""
        c = self.constants
        above = np.cumsum(np.square(1 - c)[::-1])[::-1]
        return above + np.concatenate([[0.0], np.cumsum(np.square(c))[:-1]])

    def answers(self, y: np.ndarray) -> np.ndarray:
        """Return the unbiased prefix counts (n,) from the estimate y (N,) on the cycle, whose sum is the total."""
        total = y.sum()
        Y = np.cumsum(y - total / self.cycle)
        means = np.add.reduceat(Y, self.edges[:-1]) / np.diff(self.edges)
        return Y[: self.size] - means @ self.weights + self.constants * total

    def energies(self, transform: np.ndarray) -> np.ndarray:
        """Return sum_t a_t(g)^2 (N,) from x_b^ at k = 0, ..., N // 2; report (b, g) adds a_t(g) + c_t to prefix t."""
        summed = np.zeros(self.cycle // 2 + 1, dtype=complex)
        phase = np.exp(-2j * np.pi * np.arange(1, len(summed)) / self.cycle)
        summed[1:] = transform[1:] / (self.eigenvalues[1:] * (1 - phase))
        P = irfft(summed, self.cycle)
        inside = np.zeros(self.cycle)
        inside[: self.size] = 1
        energies, back = correlation(inside, np.square(P)), np.conj(summed)
        means = self._means(P)
        for pair in _pairs(len(means)):
            energies -= 2 * np.einsum("kg,kg->g", means[pair], irfft(self._weights[pair] * back, self.cycle))
        for part in _parts(self.cycle):
            energies[part] += np.einsum("kg,kg->g", means[:, part], self._both @ means[:, part])
        return energies

    @cached_property
    def _both(self) -> np.ndarray:
        """psi psi^T (K, K)."""
        return self.weights @ self.weights.T

    def _means(self, P: np.ndarray) -> np.ndarray:
        """Return the means of P(p - g) over the blocks of p, (K, N)."""
        below = np.concatenate([[0.0], np.cumsum(P)])[:-1][::-1]
        means, last = np.empty((len(self.edges) - 1, self.cycle)), np.roll(below, self.edges[0] + 1)
        for mean, first, end in zip(means, self.edges, self.edges[1:], strict=False):
            last, former = np.roll(below, end + 1), last
            np.divide(last - former, end - first, out=mean)
        return means

    @cached_property
    def _summation(self) -> np.ndarray:
        """Factor 1/|1 - exp(2 pi i k/N)|^2, zero at k = 0, by which summing along the cycle changes a spectrum."""
        k = np.arange(1, self.cycle // 2 + 1)
        return np.concatenate([[0.0], 0.25 / np.square(np.sin(np.pi * k / self.cycle))])

    @cached_property
    def _blocks(self) -> np.ndarray:
        """Transforms (K, N // 2 + 1) of the indicators of the blocks, scaled to sum one."""
        blocks = np.zeros((len(self.edges) - 1, self.cycle))
        for block, first, last in zip(blocks, self.edges, self.edges[1:], strict=False):
            block[first:last] = 1 / (last - first)
        return rfft(blocks)

    @cached_property
    def _weights(self) -> np.ndarray:
        """Transforms (K, N // 2 + 1) of the weights as functions of t."""
        return rfft(self.weights, self.cycle)

    @cached_property
    def _kriging(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights psi (K, n) and the variances (n,); reports have an equal share n/N of each translate."""
        power = self._summation.copy()
        power[1:] *= self.size / self.cycle / self.eigenvalues[1:]
        count = len(self.edges) - 1
        near, inner = np.ones((count + 1, self.size)), np.empty((count, count))
        for pair in _pairs(count):
            cross = irfft(power * self._blocks[pair], self.cycle)
            near[pair] = cross[:, : self.size]
            inner[pair] = np.add.reduceat(cross, self.edges[:-1], axis=1) / np.diff(self.edges)
        system = np.ones((count + 1, count + 1))
        system[:-1, :-1], system[-1, -1] = (inner + inner.T) / 2, 0
        psi, own = np.empty((count, self.size)), np.full(self.size, irfft(power, self.cycle)[0])
        for part in _parts(self.size):
            psi[:, part] = np.linalg.solve(system, near[:, part])[:-1]
            mixed = system[:-1, :-1] @ psi[:, part] - 2 * near[:-1, part]
            own[part] += np.einsum("kt,kt->t", psi[:, part], mixed)
        return psi, own


@dataclass(frozen=True, eq=False)
class Gap:
    """Answers of `Window` to prefixes of n points of a cycle of N, and their squared scores.

    A report (b, g) adds a_t(g) + c_t to the prefix t, a_t(g) = P(t - g) - sum_k psi_k(t) mu_k(g): P the sums along
    the cycle of its density K/N - 1/N, of mean zero, mu_k(g) the mean of P(p - g) over block k of the gap.
    """

    reports: PlacedReports
    scores: Scores

    @cached_property
    def window(self) -> Window:
        """The unbiased estimator of the prefix counts."""
        strategy = self.reports.strategy
        (n,), (cycle,) = strategy.sizes, strategy.cycles
        return Window(n, cycle, self.scores.information((0,))[: cycle // 2 + 1])

    def squares(self) -> np.ndarray:
        """Return the sum over reports of the squared scores of every prefix (n,)."""
        window, n, cycle = self.window, self.window.size, self.window.cycle
        psi, c = window.weights, window.constants
        total = c**2 * self.reports.users
        for placed in self.reports.placed:
            histogram = np.bincount(placed.shifts[:, 0], placed.counts, cycle)
            density = self.scores.density(self.scores.transform(placed.pattern, placed.multiple), (0,), (0,))
            P = np.cumsum(density - 1) / cycle
            P -= P.mean()
            along, counted = np.fft.rfft(P), np.fft.rfft(histogram)
            means = np.fft.irfft(window._blocks * along.conj(), cycle)
            across = np.fft.irfft(np.fft.rfft(histogram * means) * along, cycle)[:, :n]
            first = np.fft.irfft(counted * along, cycle)[:n] - (means @ histogram) @ psi
            mixed = ((means * histogram) @ means.T) @ psi - 2 * across
            total += np.fft.irfft(counted * np.fft.rfft(P**2), cycle)[:n] + 2 * c * first
            total += np.einsum("kt,kt->t", psi, mixed)
        return total

    def least(self) -> np.ndarray:
        """Return the variance (n,) of the score of one report if all translates are equally likely."""
        return self.window.variances / self.window.size


def _parts(count: int) -> list[slice]:
    """Return slices of at most `CHUNK` places."""
    return [slice(first, first + CHUNK) for first in range(0, count, CHUNK)]


def _pairs(count: int) -> list[slice]:
    """Return slices of two places, as each of two threads transforms a row at a time."""
    return [slice(first, min(first + 2, count)) for first in range(0, count, 2)]
