"""Derivability: whether a count mechanism is the geometric mechanism with its outputs replaced at random."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem.counts.exact import Whole, reduced
from stratagem.counts.mechanism import CountMechanism


@dataclass(frozen=True, eq=False)
class Derivation:
    """T = P G^-1, the only matrix with P = T G for the geometric mechanism G of the same size and alpha.

    Its columns sum to one; P is a post-processing of G where T has no negative entry, and T then is it.
    """

    numbers: Whole
    """T (n+1 x n+1) as whole numbers, negative ones among them if P is not derivable, over their total."""

    @property
    def matrix(self) -> np.ndarray:
        """T (n+1 x n+1): Pr[answer i | the geometric mechanism's output y] where P is derivable."""
        return (self.numbers.cells / self.numbers.total).astype(float)

    @property
    def least(self) -> Fraction:
        """The least entry of T, exactly."""
        return Fraction(int(self.numbers.cells.min()), self.numbers.total)

    @property
    def weakest(self) -> tuple[int, int]:
        """The output i and the count j of the least entry of T."""
        i, j = np.unravel_index(self.numbers.cells.argmin(), self.numbers.cells.shape)
        return int(i), int(j)

    def derivable(self, tolerance: float = 0) -> bool:
        """Return whether no entry of T is below -tolerance.

        Exact with tolerance 0. A programmed mechanism reaches the least cost only up to about 1e-9, and G^-1
        multiplies what its cells are off by up to (1 + a)^2/(1 - a)^2: allow for that where optima are judged.

        Raises:
            ValueError: if the tolerance is negative or not a number.
        """
        if not 0 <= tolerance < 1:
            raise ValueError(f"tolerance is {tolerance!r}: give a number from 0 to below 1, for example 1e-6")
        return self.least >= -Fraction(tolerance)


def derivation(mechanism: CountMechanism) -> Derivation:
    """Return T = P G^-1 in exact arithmetic, G the geometric mechanism of the mechanism's size and alpha.

    G = diag(f) A with A[i, j] = a^|i-j|, whose inverse is tridiagonal, so that

        T[i, j] = ((1 + a^2) P[i, j] - a P[i, j-1] - a P[i, j+1]) / (1 - a)^2    0 < j < n,
        T[i, 0] = (P[i, 0] - a P[i, 1]) / (1 - a),    T[i, n] = (P[i, n] - a P[i, n-1]) / (1 - a).

    Privacy alone makes the two outer columns non-negative; the inner ones say that any three neighbours in a
    row satisfy P[i, j] - a P[i, j-1] >= a (P[i, j+1] - a P[i, j]). Columns of T sum to one because those of
    P and G do. Where a cost has several optima, some may be derivable and others not.

    Raises:
        ValueError: for a closed form too large for whole numbers (n > 512).

    Reference:
        Gupte, Sundararajan, PODS 2010, the test of three neighbours.

    Example:
        >>> from stratagem import counts
        >>> derivation(counts.geometric(4, 0.9)).derivable(), derivation(counts.explicit_fair(4, 0.9)).derivable()
        (True, False)
    """
    P, (p, q) = mechanism.whole().cells, mechanism.alpha.as_integer_ratio()
    T = (p * p + q * q) * P
    T[:, 1:-1] -= p * q * (P[:, :-2] + P[:, 2:])
    T[:, 0] = (q - p) * (q * P[:, 0] - p * P[:, 1])
    T[:, -1] = (q - p) * (q * P[:, -1] - p * P[:, -2])
    return Derivation(reduced(T))
