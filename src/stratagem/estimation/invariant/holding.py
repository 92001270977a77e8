"""How many reports hold each cell of a cycle, or two of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stratagem.accuracy.even import EvenScores
from stratagem.estimation.invariant.evidence import Evidence
from stratagem.numeric.transform import irfft, rfft

LISTED = 4
"""A transform of the cycle takes as long as listing so many times its points."""
BLOCK = 1 << 24
"""Cells that are listed together."""


def even_sums(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the sums over reports of the scores of every cell and of their squares (2, N).

    A report (i, g) holds the cells of r^i T + g: its cells are listed, or convolved with the shifts of all reports
    of one multiple, whichever takes fewer steps.
    """
    held, (low, high) = _held(evidence), scores.levels
    return np.stack([evidence.users * low**k + (high**k - low**k) * held for k in (1, 2)])


def even_products(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the sums over reports of the products of the scores of two cells of the domain (n x n)."""
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


def _held(evidence: Evidence) -> np.ndarray:
    """Return the number of reports that hold each cell (N,)."""
    pattern, N = evidence.strategy.patterns[0], evidence.strategy.patterns[0].cells
    outputs = evidence.counts.outputs
    if len(outputs) * pattern.size <= LISTED * N * len(np.unique(evidence.strategy.multiples(0, outputs))):
        found = np.zeros(N)
        for cells, counts in _listed(evidence, pattern.size):
            found += np.bincount(cells.ravel(), np.repeat(counts, pattern.size), N)
        return found
    transform = np.fft.fft(pattern.inside)
    total = np.zeros(N // 2 + 1, dtype=complex)
    for reports in evidence.placed:
        histogram = np.bincount(reports.shifts[:, 0], reports.counts, N)
        total += rfft(histogram) * transform[pattern.multiplied(reports.multiple)][: len(total)]
    return np.rint(irfft(total, N))


def _listed(evidence: Evidence, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the cells that some reports hold (k, |T|), and how often each came (k,), for arrays (k, width)."""
    pattern, local = evidence.strategy.patterns[0], evidence.counts.outputs
    multiples, shifts = evidence.strategy.multiples(0, local), local % pattern.cells
    cells, step = np.flatnonzero(pattern.inside), max(1, BLOCK // width)
    for first in range(0, len(local), step):
        part = slice(first, first + step)
        scales = pattern.scales[multiples[part], None]
        yield (cells * scales + shifts[part, None]) % pattern.cells, evidence.counts.counts[part]
