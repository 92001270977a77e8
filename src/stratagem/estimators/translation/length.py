"""Variances of ranges of one attribute under translates, which depend on their lengths alone (theory.md, section 6)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stratagem.estimators.translation.score import Scores, placements
from stratagem.math.transform import irfft, rfft
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.selection import Ranges

WORK, KEPT = 1 << 33, 1 << 25
"""Multiplications for the worst user types of all lengths, some seconds, and entries of the arrays kept for them;
where these are not enough, an upper bound is stated."""


def lengths_of(queries: Workload) -> np.ndarray | None:
    """Return the different lengths (k,) of ranges or prefixes, rising; None for other queries."""
    match queries:
        case Prefix():
            return np.arange(1, queries.domain_size + 1)
        case AllRange(width=width):
            return np.arange(1, width + 1)
        case Ranges():
            return np.unique(queries.lengths)
    return None


def classes_of(queries: Workload) -> np.ndarray:
    """Return for every query (p,) the place of its length among `lengths_of`; without lengths its own number."""
    match queries:
        case AllRange(width=width):
            return np.repeat(np.arange(width), queries.domain_size - np.arange(width))
        case Ranges():
            return np.searchsorted(np.unique(queries.lengths), queries.lengths)
    return np.arange(queries.queries)


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
class _Covering:
    """Reports of one pattern or multiple that cover the attribute."""

    chance: float
    """Probability of such a report."""
    transform: np.ndarray
    """x^ (N // 2 + 1,), x the probabilities of the shifts for a user at 0."""
    sums: np.ndarray
    """p(g) = sum_(v < -g) (K(v) - 1)/N (N,), less its mean: the range [0, l) has the score p(g - l) - p(g) + l/N."""


def largest_by_length(strategy: TranslationStrategy, attribute: int, lengths: np.ndarray) -> np.ndarray:
    """Return the variance (k,) of ranges of these lengths at the worst user type, or an upper bound on it.

    With z_l(d) = sum over reports of their chance times sum_g x(d - g) (p(g - l) - p(g))^2, a user at distance d from
    the begin of a range of length l adds z_l(d) - (1[d < l] - l/N)^2. All places of the range and all users are among
    the distances, so that one convolution a length is exact. Where these are too many, x <= 1/N + (x - 1/N)^+ and
    (a - b)^2 <= 2 a^2 + 2 b^2 give z_l(d) <= V(l) + c(d) + c(d - l), V the mean over d and
    c(d) = 2 sum of chance times sum_g (x(d - g) - 1/N)^+ p(g)^2.
    """
    n, N = strategy.sizes[attribute], strategy.cycles[attribute]
    alike = (
        lengths if strategy.window else np.minimum(lengths, N - lengths)
    )  # a range and the rest of the cycle
    distinct, places = np.unique(alike, return_inverse=True)
    chosen = [strategy.patterns[b] for b in np.flatnonzero(strategy.weights)]
    many = sum(pattern.multiples * len(pattern.axes) for pattern in chosen)
    if len(distinct) * many * N * math.log2(N + 1) <= WORK and many * N <= KEPT:
        kept = list(_covering(strategy, attribute))
        return np.array([_largest(kept, int(length), n, N) for length in distinct])[places]
    return _bounds(_covering(strategy, attribute), N)[distinct][places]


def _largest(covering: list[_Covering], length: int, n: int, N: int) -> float:
    """Return the largest variance of a range of a length, over all users and places within the n values."""
    if length == 0:
        return 0.0
    moments = np.zeros(N // 2 + 1, dtype=complex)
    for one in covering:
        moments += one.chance * one.transform * rfft(np.square(np.roll(one.sums, length) - one.sums))
    apart = np.arange(N)
    variance = irfft(moments, N) - np.square((apart < length) - length / N)
    return max(0.0, float(variance[(apart < n) | (apart >= N - (n - length))].max()))


def _bounds(covering: Iterator[_Covering], N: int) -> np.ndarray:
    """Return an upper bound (N,) on the largest variance of ranges of length 0, ..., N - 1."""
    energies, above = np.zeros(N // 2 + 1), np.zeros(N // 2 + 1, dtype=complex)
    for one in covering:
        excess = np.maximum(irfft(one.transform, N) - 1 / N, 0.0)
        above += 2 * one.chance * rfft(excess) * rfft(np.square(one.sums))
        energies += one.chance * np.square(np.abs(rfft(one.sums))) / N
    correlation = irfft(energies, N)
    return np.maximum(2 * (correlation[0] - correlation) + 2 * float(irfft(above, N).max()), 0.0)


def _covering(strategy: TranslationStrategy, attribute: int) -> Iterator[_Covering]:
    """Yield the reports that cover the attribute, pattern by pattern and multiple by multiple."""
    scores, labels, N = Scores(strategy), (strategy.owner[attribute],), strategy.cycles[attribute]
    for b in map(int, np.flatnonzero(strategy.weights)):
        for (axis,), chance in placements(strategy, strategy.patterns[b].axes, labels):
            if axis < 0:
                continue
            for weight, transform in scores.transforms(b):
                K = scores.density(transform, (axis,), labels)
                sums = np.cumsum(K - 1)[::-1] / N
                place = tuple(slice(N // 2 + 1) if t == axis else 0 for t in range(transform.ndim))
                yield _Covering(weight * chance, transform[place], sums - sums.mean())
