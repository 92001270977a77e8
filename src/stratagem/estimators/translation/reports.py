"""Reports of a strategy of translates, decoded: which pattern, on which attributes, by which shifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.estimators.evidence import check_number, impossible_report, whole_counts
from stratagem.estimators.translation.score import EvenScores
from stratagem.math.counts import Counts, SparseCounts
from stratagem.math.transform import irfft, rfft
from stratagem.strategies import TranslationStrategy

LISTED = 4
"""Time of one transform of the cycle, in multiples of the time of listing as many cells as it has points."""
BLOCK = 1 << 24
"""Largest number of cells that are listed at a time."""


def even_sums(reports: PlacedReports, scores: EvenScores) -> np.ndarray:
    """Return the sums over reports of the score (row 0) and squared score (row 1) of every cell (2, N).

    The set of a report (b, i, g) is r^i T_b + g. Its cells are listed, or T_b is convolved with the shifts of all
    reports of one multiple, whichever takes fewer steps.
    """
    held, (low, high) = _held(reports, scores), scores.levels
    return np.stack([reports.users * low**k + (high**k - low**k) * held for k in (1, 2)])


def even_products(reports: PlacedReports, scores: EvenScores) -> np.ndarray:
    """Return the sum over reports of s_u s_v for every two cells u and v of the domain (n x n)."""
    n = reports.strategy.domain_size
    held, both = np.zeros(n), np.zeros((n, n))
    for cells, counts in _listed(reports, scores.points):
        inside = np.zeros((len(cells), scores.points))
        np.put_along_axis(inside, cells, 1.0, axis=1)
        inside = inside[:, :n]
        weighted = inside * counts[:, None]
        held += weighted.sum(axis=0)
        both += inside.T @ weighted
    low, high = scores.levels
    rise = high - low
    return reports.users * low**2 + low * rise * np.add.outer(held, held) + rise**2 * both


def _held(reports: PlacedReports, scores: EvenScores) -> np.ndarray:
    """Return the number of reports whose set contains each cell (N,)."""
    strategy, N, outputs = reports.strategy, scores.points, reports.counts.outputs
    if len(outputs) * scores.size <= LISTED * N * len(
        np.unique(outputs // N)
    ):  # one number for each multiple
        found = np.zeros(N)
        for cells, counts in _listed(reports, scores.size):
            found += np.bincount(cells.ravel(), np.repeat(counts, scores.size), N)
        return found
    transforms: dict[int, np.ndarray] = {}
    total = np.zeros(N // 2 + 1, dtype=complex)
    for placed in reports.placed:
        pattern = strategy.patterns[placed.pattern]
        if placed.pattern not in transforms:
            transforms = {placed.pattern: np.fft.fft(pattern.inside)}
        multiplied = transforms[placed.pattern][pattern.multiplied(placed.multiple)]
        total += rfft(np.bincount(placed.shifts[:, 0], placed.counts, N)) * multiplied[: len(total)]
    return np.rint(irfft(total, N))


def _listed(reports: PlacedReports, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the cells in the sets of k reports (k, |T|) and the counts of the reports (k,), block by block.

    A block has at most BLOCK / width reports, so that an array (k, width) stays small.
    """
    strategy, step = reports.strategy, max(1, BLOCK // width)
    for b, places in strategy.by_pattern(reports.counts.outputs):
        pattern, local = strategy.patterns[b], reports.counts.outputs[places] - strategy.offsets[b]
        cells, counts = np.flatnonzero(pattern.inside), reports.counts.counts[places]
        scales, shifts = pattern.scales[strategy.multiples(b, local)], local % pattern.cells
        for first in range(0, len(local), step):
            part = slice(first, first + step)
            moved = cells * scales[part, None] + shifts[part, None]
            yield moved % pattern.cells, counts[part]


@dataclass(frozen=True, eq=False)
class Placed:
    """The k distinct reports of one multiple of one pattern, with the count of each."""

    pattern: int
    multiple: int
    """Index of the multiple of the pattern."""
    attributes: np.ndarray
    """Index of the attribute that each axis of each report lies on (k, axes), int32."""
    shifts: np.ndarray
    """Shift of each report along each axis (k, axes), int32."""
    counts: np.ndarray
    """Number of times that each report came (k,), floats that hold whole numbers."""


@dataclass(frozen=True, eq=False)
class PlacedReports:
    """A strategy and the counts of the reports made with it."""

    strategy: TranslationStrategy
    """The strategy, written over one attribute where all attributes of the domain share one cycle."""
    counts: SparseCounts

    @staticmethod
    def of(strategy: TranslationStrategy, counts: Counts) -> PlacedReports:
        """Return the strategy with its counts, after checking the counts."""
        if not isinstance(counts, SparseCounts):
            counts = SparseCounts.of(whole_counts(counts, strategy.outputs).astype(np.int64))
        if counts.size != strategy.outputs:
            raise ValueError(
                f"counts of {counts.size} outputs were given, but the strategy has {strategy.outputs}: use the "
                "strategy that the clients used"
            )
        check_number(counts.sum())
        for b, places in strategy.by_pattern(counts.outputs):
            if strategy.weights[b] == 0:
                raise impossible_report(int(counts.outputs[places[0]]))
        return PlacedReports(strategy, counts)

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.counts.sum()

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """The reports grouped by pattern and multiple."""
        return tuple(self._decoded())

    def _decoded(self) -> Iterator[Placed]:
        for b, places in self.strategy.by_pattern(self.counts.outputs):
            local, counts = self.counts.outputs[places] - self.strategy.offsets[b], self.counts.counts[places]
            multiples = self.strategy.multiples(b, local)
            ends = np.flatnonzero(np.diff(multiples)) + 1  # outputs rise, and so do multiples
            for part, own in zip(np.split(local, ends), np.split(counts, ends), strict=True):
                attributes, shifts = self.strategy.decoded(b, part)
                multiple = int(self.strategy.multiples(b, part[:1])[0])
                yield Placed(
                    b, multiple, attributes.astype(np.int32), shifts.astype(np.int32), own.astype(float)
                )
