"""Answers that depend on the data: private selection, drawn exactly, and the histogram of cells that are occupied."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stratagem.central.measurement import SAFE, Neighbours, check, geometric_noise, safe_ratio
from stratagem.counts.sampling import PRECISION, Source, below
from stratagem.math import privacy
from stratagem.math.number import integer, real
from stratagem.strategies.strategy import check_counts

SLOWEST = 1e-9
"""Smallest rate, at which 1 - alpha is known to seven digits."""
LARGEST = 2**62
"""Limit of the absolute value of a score."""


@dataclass(frozen=True)
class Selection:
    """The exponential mechanism: option o with probability in proportion to exp(rate q_o), q its score.

    Guarantee:
        epsilon-differential privacy, epsilon = 2 rate sensitivity; rate sensitivity alone if the scores are
        monotone. One person must change each score by the sensitivity at most, and must, where the scores
        are said to be monotone, not raise one and lower another. How long `select` takes depends on the data.

    Reference:
        McSherry, Talwar, FOCS 2007.
    """

    rate: float
    """Budget spent per unit of a score."""
    sensitivity: int
    monotone: bool

    @property
    def epsilon(self) -> float:
        """Largest privacy loss: rate times sensitivity, doubled unless the scores are monotone."""
        return self.rate * self.sensitivity * (1 if self.monotone else 2)

    def probabilities(self, scores: ArrayLike) -> np.ndarray:
        """Return the probability of every option (k,).

        Raises:
            ValueError: unless the scores are whole numbers, at least one, below 2^62 in absolute value.
        """
        q = _checked(scores)
        weights = np.exp(-self.rate * (q.max() - q).astype(float))
        return weights / weights.sum()

    def select(self, scores: ArrayLike, source: Source = secrets.token_bytes) -> int:
        """Return an option, drawn without rounding: the chances are powers of one fraction alpha >= exp(-rate).

        An option is proposed uniformly and kept with probability alpha^(max q - q_o), so that of k options,
        with scores (k,), at most k tries are needed on average.

        Raises:
            ValueError: as `probabilities`.
        """
        q = _checked(scores)
        behind: Sequence[int] = (q.max() - q).tolist()
        while not self._kept(behind[option := below(len(behind), source)], source):
            pass
        return option

    @cached_property
    def _alpha(self) -> Fraction:
        return safe_ratio(self.rate)

    def _kept(self, exponent: int, source: Source) -> bool:
        """Return true with probability alpha^exponent: a uniform real number, read until it decides."""
        precision, u = PRECISION, int.from_bytes(source(PRECISION // 8), "big")
        low, high = power_bounds(self._alpha, exponent, precision)
        while low <= u < high:
            u = u << precision | int.from_bytes(source(precision // 8), "big")
            precision *= 2
            low, high = power_bounds(self._alpha, exponent, precision)
        return u < low


def selection(epsilon: float, sensitivity: int = 1, monotone: bool = False) -> Selection:
    """Return the exponential mechanism that spends a budget.

    Args:
        epsilon: Budget.
        sensitivity: What one person changes a score by at most; multiply and round scores that are fractions.
        monotone: Whether one person moves all scores in the same direction, as counts under "add-remove";
            the rate is then twice as high.

    Raises:
        ValueError: for an epsilon that is not one, or a sensitivity that is not a whole number >= 1 or too
            large for it.

    Example:
        >>> import math
        >>> fair = selection(2 * math.log(3)).probabilities([5, 4])
        >>> [round(float(p), 9) for p in fair]
        [0.75, 0.25]
    """
    advice = "give what one person changes a score by"
    unit = integer(sensitivity, "the sensitivity", 1, LARGEST, advice)
    rate = privacy.check(epsilon) * SAFE / (unit if monotone else 2 * unit)
    if rate < SLOWEST:
        raise ValueError(f"scores of sensitivity {unit} are too fine for epsilon {epsilon!r}: divide them")
    return Selection(rate, unit, bool(monotone))


def power_bounds(alpha: Fraction, exponent: int, precision: int) -> tuple[int, int]:
    """Return whole numbers low <= 2^precision alpha^exponent <= high, nearly always one apart."""
    work = precision + 2 * exponent.bit_length() + 8
    p, q = alpha.as_integer_ratio()
    low, high = (p << work) // q, -((-p << work) // q)
    below_power = above_power = 1 << work
    while exponent:
        if exponent & 1:
            below_power, above_power = below_power * low >> work, -(-above_power * high >> work)
        low, high, exponent = low * low >> work, -(-high * high >> work), exponent >> 1
    extra = work - precision
    return below_power >> extra, -(-above_power >> extra)


def _checked(scores: ArrayLike) -> np.ndarray:
    q = np.asarray(scores)
    if q.ndim != 1 or not len(q) or q.dtype.kind not in "biuf" or not np.isfinite(q).all() or (q % 1).any():
        raise ValueError(
            f"scores have shape {q.shape} and type {q.dtype}: give one whole number for each option"
        )
    if np.abs(q.astype(float)).max() >= LARGEST:
        raise ValueError("a score exceeds 62 bits: give coarser scores")
    return q.astype(np.int64)


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
