"""Two-valued scores, for a cycle whose information matrix has one eigenvalue at all frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stratagem.strategies import TranslationStrategy

EVEN = 1e-7
"""Largest relative difference of the eigenvalues of the information matrix that is rounding: weights of hundreds of
patterns are whole numbers over 2^32."""


@dataclass(frozen=True)
class EvenScores:
    """Scores s_v of the cells v of a cycle of N points from sets of K cells and their multiples.

    If the information matrix has one eigenvalue m = (N sum_g x(g)^2 - 1)/(N - 1) away from the constants, the score
    of a cell is s = (x - 1/N)/m + 1/N at its distance from the shift: one number inside the set, one outside.
    So s^2 = a x + b, and the mean over all multiples of sum_g x(u - g) x(v - g) is (1 + (N - 1) m)/N for u = v,
    else (1 - m)/N (theory.md, section 6).
    """

    points: int
    """Number N of points of the cycle."""
    size: int
    """Number K of cells of each set."""
    ratio: float
    """Ratio E = exp(epsilon) of the levels inside and outside the set."""

    @property
    def levels(self) -> tuple[float, float]:
        """Score of a cell outside the set, and of a cell inside."""
        N, m = self.points, self._eigenvalue
        outside, inside = ((x - 1 / N) / m + 1 / N for x in self._chances)
        return outside, inside

    @property
    def second_moments(self) -> tuple[float, float]:
        """E[s_v^2 | u] for the user type u = v and for any other."""
        N, m, (low, high) = self.points, self._eigenvalue, self._chances
        outside, inside = self.levels
        a = (inside**2 - outside**2) / (high - low)
        b = outside**2 - a * low
        return a * (1 + (N - 1) * m) / N + b, a * (1 - m) / N + b

    def variance(self, cells: int) -> float:
        """Return the variance t_u of the answers to a histogram of the first cells, the same for all of them."""
        own, other = self.second_moments
        return own - 1 + (cells - 1) * other

    @property
    def _chances(self) -> tuple[float, float]:
        low = 1 / (self.points + (self.ratio - 1) * self.size)
        return low, self.ratio * low

    @property
    def _eigenvalue(self) -> float:
        low, high = self._chances
        return (high - low) ** 2 * self.size * (self.points - self.size) / (self.points - 1)


@lru_cache(maxsize=4)
def even_scores(strategy: TranslationStrategy) -> EvenScores | None:
    """Return the scores of patterns of one size with multiples on one cycle.

    None is returned for other patterns, and where the eigenvalues of the information matrix differ.
    """
    first, every = strategy.patterns[0], strategy.patterns
    alike = {(pattern.sizes, pattern.size) for pattern in every} == {((first.cells,), first.size)}
    if len(strategy.sizes) > 1 or not alike or min(pattern.multiples for pattern in every) == 1:
        return None
    energies = np.zeros(first.cells)
    for pattern, weight in zip(every, strategy.weights, strict=True):
        energies += weight * pattern.energies(strategy.ratio)
    if np.ptp(energies[1:]) > EVEN * energies[1:].mean():
        return None
    return EvenScores(first.cells, first.size, strategy.ratio)
