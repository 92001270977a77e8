"""Sums of two-valued scores, from the number of reports whose set contains a cell, or two cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stratagem.accuracy.even import EvenScores
from stratagem.estimation.invariant.evidence import Evidence
from stratagem.math.transform import irfft, rfft

LISTED = 4
"""Time of one transform of the cycle, in multiples of the time of listing as many cells as it has points."""
BLOCK = 1 << 24
"""Largest number of cells that are listed at a time."""


def even_sums(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the sums over reports of the score (row 0) and squared score (row 1) of every cell (2, N).

    The set of a report (b, i, g) is r^i T_b + g. Its cells are listed, or T_b is convolved with the shifts of all
    reports of one multiple, whichever takes fewer steps.
    """
    held, (low, high) = _held(evidence, scores), scores.levels
    return np.stack([evidence.users * low**k + (high**k - low**k) * held for k in (1, 2)])


def even_products(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the sum over reports of s_u s_v for every two cells u and v of the domain (n x n)."""
    n = evidence.strategy.domain_size
    held, both = np.zeros(n), np.zeros((n, n))
    for cells, counts in _listed(evidence, scores.points):
        inside = np.zeros((len(cells), scores.points))
        np.put_along_axis(inside, cells, 1.0, axis=1)
        inside = inside[:, :n]
        weighted = inside * counts[:, None]
        held += weighted.sum(axis=0)
        both += inside.T @ weighted
    low, high = scores.levels
    rise = high - low
    return evidence.users * low**2 + low * rise * np.add.outer(held, held) + rise**2 * both


def _held(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the number of reports whose set contains each cell (N,)."""
    strategy, N, outputs = evidence.strategy, scores.points, evidence.counts.outputs
    if len(outputs) * scores.size <= LISTED * N * len(
        np.unique(outputs // N)
    ):  # one number for each multiple
        found = np.zeros(N)
        for cells, counts in _listed(evidence, scores.size):
            found += np.bincount(cells.ravel(), np.repeat(counts, scores.size), N)
        return found
    transforms: dict[int, np.ndarray] = {}
    total = np.zeros(N // 2 + 1, dtype=complex)
    for reports in evidence.placed:
        pattern = strategy.patterns[reports.pattern]
        if reports.pattern not in transforms:
            transforms = {reports.pattern: np.fft.fft(pattern.inside)}
        multiplied = transforms[reports.pattern][pattern.multiplied(reports.multiple)]
        total += rfft(np.bincount(reports.shifts[:, 0], reports.counts, N)) * multiplied[: len(total)]
    return np.rint(irfft(total, N))


def _listed(evidence: Evidence, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the cells in the sets of k reports (k, |T|) and the counts of the reports (k,), block by block.

    A block has at most BLOCK / width reports, so that an array (k, width) stays small.
    """
    strategy, step = evidence.strategy, max(1, BLOCK // width)
    for b, places in strategy.by_pattern(evidence.counts.outputs):
        pattern, local = strategy.patterns[b], evidence.counts.outputs[places] - strategy.offsets[b]
        cells, counts = np.flatnonzero(pattern.inside), evidence.counts.counts[places]
        scales, shifts = pattern.scales[strategy.multiples(b, local)], local % pattern.cells
        for first in range(0, len(local), step):
            part = slice(first, first + step)
            moved = cells * scales[part, None] + shifts[part, None]
            yield moved % pattern.cells, counts[part]
