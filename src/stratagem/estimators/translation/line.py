"""Sums over reports of the squared scores of queries about one attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stratagem.estimators.translation.length import classes_of, lengths_of, quadratic_by_length
from stratagem.estimators.translation.reports import PlacedReports
from stratagem.estimators.translation.score import Scores
from stratagem.workloads import Workload
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.selection import Ranges

BLOCK = 1 << 22
"""Entries of a temporary array."""


@dataclass(frozen=True, eq=False)
class Line:
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
        if isinstance(workload, Prefix):
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
        if (lengths := lengths_of(workload)) is not None:
            return quadratic_by_length(inverse)[lengths % self._points][classes_of(workload)]
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
            transform = None
            for t in range(reports.attributes.shape[1]):
                mine = reports.attributes[:, t] == self.attribute
                if mine.any():
                    transform = (
                        self.scores.transform(reports.pattern, reports.multiple)
                        if transform is None
                        else transform
                    )
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
