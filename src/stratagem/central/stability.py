"""The stability histogram: noise only where there is somebody, and no count that could be one person."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stratagem.central.measurement import Neighbours, check
from stratagem.central.pure import SAFE, geometric_noise
from stratagem.counts.sampling import Source
from stratagem.math import privacy
from stratagem.math.number import real
from stratagem.strategies.strategy import check_counts


@dataclass(frozen=True)
class StabilityHistogram:
    """Add two-sided geometric noise to the counts above zero and keep those that reach a threshold.

    Empty cells stay empty, so that the domain may be very large: only cells that occur cost anything.
    It is not linear; its error depends on the data.

    Guarantee:
        (epsilon, delta)-differential privacy: all but the cells that appear or vanish obey epsilon, and such
        a cell holds one person; delta is the probability that its noisy count is kept. One person touches one
        cell, or two when replaced, one of which may vanish on either side.

    Reference:
        Bun, Nissim, Stemmer, "Simultaneous private learning of multiple concepts", ITCS 2016.
    """

    rate: float
    """Budget spent per cell: noise z has probability in proportion to exp(-rate |z|)."""
    threshold: int
    neighbours: Neighbours

    @property
    def epsilon(self) -> float:
        """Rate times the number of cells that one person touches."""
        return self.rate * _cells(self.neighbours)

    @property
    def delta(self) -> float:
        """Pr[1 + noise >= threshold] = alpha^(threshold - 1)/(1 + alpha), alpha = exp(-rate)."""
        return self.kept(1)

    def kept(self, count: int) -> float:
        """Return the probability that a cell of a count above zero is kept."""
        alpha, above = math.exp(-self.rate), self.threshold - count
        if above > 0:
            return alpha**above / (1 + alpha)
        return 1 - alpha ** (1 - above) / (1 + alpha)

    def release(self, x: ArrayLike, source: Source = secrets.token_bytes) -> np.ndarray:
        """Return counts (n,) that are zero or at least the threshold.

        The time it takes tells how many cells are occupied; do not let it be measured.

        Raises:
            ValueError: unless x holds nonnegative whole numbers.
        """
        counts = check_counts(np.asarray(x), np.size(x))
        present = np.flatnonzero(counts)
        noisy = counts[present] + geometric_noise(np.full(len(present), self.rate), source)
        released = np.zeros_like(counts)
        released[present] = np.where(noisy >= self.threshold, noisy, 0)
        return released


def stability_histogram(epsilon: float, delta: float, neighbours: Neighbours) -> StabilityHistogram:
    """Return the stability histogram of the least threshold that keeps (epsilon, delta).

    Raises:
        ValueError: unless epsilon is a budget, 0 < delta < 1/2 and the relation is one.

    Example:
        >>> stability_histogram(1.0, 1e-6, "add-remove").threshold
        15
    """
    if not 0 < real(delta) < 0.5:
        raise ValueError(f"delta is {delta!r}: give a number between 0 and 1/2, for example 1e-9")
    rate = privacy.check(epsilon) * SAFE / _cells(check(neighbours))
    threshold = 1 + max(0, math.floor(-(math.log(delta) + math.log1p(math.exp(-rate))) / rate))
    while StabilityHistogram(rate, threshold, neighbours).delta > delta * SAFE:
        threshold += 1
    return StabilityHistogram(rate, threshold, neighbours)


def _cells(neighbours: Neighbours) -> int:
    """Return how many cells one person touches."""
    return 1 if neighbours == "add-remove" else 2
