"""Answers along one attribute: sums over reports of squared scores, and prefixes of a window of a longer cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.estimators.translation.score import PlacedReports, Scores
from stratagem.math.transform import correlation, irfft, rfft
from stratagem.workloads import Workload
from stratagem.workloads.ranges import AllRange
from stratagem.workloads.selection import Ranges

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


BLOCK = 1 << 22
"""Entries of a temporary array."""


def quadratic_by_length(eigenvalues: np.ndarray) -> np.ndarray:
    """Return w^T C w (N,) for ranges w of length 0, ..., N - 1 of a cycle, C circulant with eigenvalues e_k/N, e_0 = 0.

    |w^(k)|^2 = |1 - z^l|^2/|1 - z|^2 with z = exp(-2 pi i k/N), whatever the place of the range, so that
    w^T C w = 2/N^2 sum_(k > 0) (1 - cos(2 pi k l/N)) e_k/|1 - z|^2: one transform for all lengths.
    """
    N = len(eigenvalues)
    spectrum = np.zeros(N)
    spectrum[1:] = eigenvalues[1:] / np.square(2 * np.sin(np.pi * np.arange(1, N) / N))
    return 2 * (spectrum.sum() - np.fft.fft(spectrum).real) / N**2


@dataclass(frozen=True, eq=False)
class AlongAttribute:
    """Squared scores of queries about one attribute, a cycle of N points or a window of it.

    A report that covers the attribute gives the query w the score sum_u w_u K(u - g)/N, any other sum_u w_u/N.
    With C~(v) = K(0) + ... + K(v) - (v + 1), which is periodic, the prefix up to t has the score
    C~(t - g) - C~(-1 - g) + (t + 1): squared and summed over shifts, three convolutions.
    """

    reports: PlacedReports
    scores: Scores
    attribute: int

    def squares(self, workload: Workload) -> np.ndarray:
        """Return the sum over reports of the squared scores of every query (p,)."""
        if workload.cumulative:
            found = self._of_prefixes()[: workload.queries]
        elif isinstance(workload, AllRange):
            found = self._of_ranges(workload)
        elif isinstance(workload, Ranges):
            found = self._of_some(workload)
        else:
            found = self._of_rows(workload)
        return found / self._points**2

    def own(self, workload: Workload, table: np.ndarray) -> np.ndarray:
        """Return sum_u w_u^2 x_u (p,) of a table x (n,)."""
        return np.concatenate([rows**2 @ table for rows in _rows(workload)])

    def least(self, workload: Workload) -> np.ndarray:
        """Return the variance (p,) of the score of one report if users are spread evenly over the cycle."""
        inverse = self.scores.inverse(self._labels)
        if (lengths := workload.range_lengths) is not None:
            return quadratic_by_length(inverse)[lengths % self._points][workload.range_classes]
        inverse = np.where(np.arange(self._points) > 0, inverse, 0.0)
        found = [np.square(np.abs(np.fft.fft(rows, self._points))) @ inverse for rows in _rows(workload)]
        return np.concatenate(found) / self._points**2

    def _of_prefixes(self) -> np.ndarray:
        """Return N^2 times the sums over reports of squared scores, for all prefixes (N,)."""
        length = np.arange(1.0, self._points + 1)
        total = length**2 * self.reports.users
        spectrum, level = np.zeros((2, self._points // 2 + 1), dtype=complex), np.zeros(2)
        for histogram, K in self._covering():
            drift = np.cumsum(K) - length
            before, held = drift[::-1], np.fft.rfft(drift)  # C~(-1 - g) by shift g
            counted = np.fft.rfft(histogram)
            spectrum[0] += counted * np.fft.rfft(drift**2) - 2 * np.fft.rfft(histogram * before) * held
            spectrum[1] += counted * held
            level += histogram @ before**2, histogram @ before
        square, cross = np.fft.irfft(spectrum, self._points)
        return total + square + level[0] + 2 * length * (cross - level[1])

    def _of_ranges(self, workload: AllRange) -> np.ndarray:
        """Return N^2 times the sums over reports of squared scores, for all ranges, shorter ones first (p,)."""
        N, n, answers = self._points, workload.domain_size, []
        step = max(1, BLOCK // N)
        for first in range(1, workload.width + 1, step):
            lengths = np.arange(first, min(first + step, workload.width + 1))
            spectrum, covering = np.zeros((len(lengths), N // 2 + 1), dtype=complex), 0.0
            for histogram, K in self._covering():
                sums = np.concatenate([[0.0], np.cumsum(np.concatenate([K, K]))])
                scores = np.stack([sums[k : k + N] - sums[:N] for k in lengths])
                spectrum += np.fft.rfft(histogram) * np.fft.rfft(scores**2)
                covering += histogram.sum()
            found = np.fft.irfft(spectrum, N) + (lengths**2 * (self.reports.users - covering))[:, None]
            answers += [row[: n - k + 1] for row, k in zip(found, lengths, strict=True)]
        return np.concatenate(answers)

    def _of_some(self, workload: Ranges) -> np.ndarray:
        """Return N^2 times the sums over reports of squared scores, for some ranges (p,), shift by shift."""
        N, low, stop = self._points, workload.low[:, None], workload.high[:, None] + 1
        total = np.square(workload.lengths, dtype=float) * self.reports.users
        for histogram, K in self._covering():
            drift = np.concatenate([[0.0], np.cumsum(K - 1)])  # periodic, of the values below
            shifts = np.flatnonzero(histogram)
            for first in range(0, len(shifts), step := max(1, BLOCK // len(total))):
                g = shifts[first : first + step]
                scores = drift[(stop - g) % N] - drift[(low - g) % N] + workload.lengths[:, None]
                total += (np.square(scores) - np.square(workload.lengths, dtype=float)[:, None]) @ histogram[
                    g
                ]
        return total

    def _of_rows(self, workload: Workload) -> np.ndarray:
        """Return N^2 times the sums over reports of squared scores, for any queries (p,)."""
        answers = []
        for rows in _rows(workload):
            spectrum = np.fft.rfft(rows, self._points)
            found, covering = np.zeros(len(rows)), 0.0
            for histogram, K in self._covering():
                scores = np.fft.irfft(spectrum * np.fft.rfft(K).conj(), self._points)
                found += scores**2 @ histogram
                covering += histogram.sum()
            answers.append(found + rows.sum(axis=1) ** 2 * (self.reports.users - covering))
        return np.concatenate(answers)

    def _covering(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the histogram of shifts (N,) and the density K (N,) of the reports that cover the attribute.

        There is one pair for each pattern, multiple and axis that lies on the attribute.
        """
        for reports in self.reports.placed:
            for t in range(reports.attributes.shape[1]):
                mine = reports.attributes[:, t] == self.attribute
                if mine.any():
                    transform = self.scores.transform(reports.pattern, reports.multiple)
                    counts = np.bincount(reports.shifts[mine, t], reports.counts[mine], self._points)
                    yield counts, self.scores.density(transform, (t,), self._labels)

    @property
    def _labels(self) -> tuple[int, ...]:
        return (self.reports.strategy.owner[self.attribute],)

    @property
    def _points(self) -> int:
        """Length N of the cycle."""
        return self.reports.strategy.cycles[self.attribute]


def _rows(workload: Workload) -> Iterator[np.ndarray]:
    """Yield the rows of the workload matrix, some at a time (k x n)."""
    p, step = workload.queries, max(1, BLOCK // workload.domain_size)
    for first in range(0, p, step):
        yield workload.adjoint(np.eye(p, min(step, p - first), -first)).T
