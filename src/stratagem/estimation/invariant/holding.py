"""How many reports hold each cell of a cycle."""

from __future__ import annotations

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


def _held(evidence: Evidence) -> np.ndarray:
    """Return the number of reports that hold each cell (N,)."""
    pattern, N = evidence.strategy.patterns[0], evidence.strategy.patterns[0].cells
    local, counts = evidence.counts.outputs, evidence.counts.counts
    multiples, shifts = evidence.strategy.multiples(0, local), local % N
    if len(local) * pattern.size <= LISTED * N * len(np.unique(multiples)):
        cells, found = np.flatnonzero(pattern.inside), np.zeros(N)
        step = max(1, BLOCK // len(cells))
        for first in range(0, len(local), step):
            part = slice(first, first + step)
            own = (cells * pattern.scales[multiples[part], None] + shifts[part, None]) % N
            found += np.bincount(own.ravel(), np.repeat(counts[part], len(cells)), N)
        return found
    transform = np.fft.fft(pattern.inside)
    total = np.zeros(N // 2 + 1, dtype=complex)
    for i in np.unique(multiples):
        histogram = np.bincount(shifts[multiples == i], counts[multiples == i], N)
        total += rfft(histogram) * transform[pattern.multiplied(int(i))][: len(total)]
    return np.rint(irfft(total, N))
