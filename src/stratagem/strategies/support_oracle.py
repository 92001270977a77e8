"""Frequency oracles whose reports support sets of values."""

from __future__ import annotations

from abc import abstractmethod
from typing import final

import numpy as np

from stratagem.strategies.protocol import Protocol


class SupportOracle(Protocol):
    """A report supports a set S of values: the user's own with probability p, every other with q < p.

    The score s = (1_S - q)/(p - q) has mean e_u. With a = Pr[u, j in S | u] and b = Pr[i, j in S | u] for
    different u, i, j its second moments are

        (p - q)^2 E[s s^T | u] = (b - q^2) 11^T + (q - b) I + c (e_u 1^T + 1 e_u^T) + r e_u e_u^T,

    c = a - b - q (p - q) and r = p - q - 2 (a - b). Totals are the number of reports, then for every value
    the number of reports that support it.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017, "pure" protocols, whose Theorem 2 is the diagonal.
    """

    @property
    @abstractmethod
    def own(self) -> float:
        """p = Pr[u in S | u]."""

    @property
    @abstractmethod
    def other(self) -> float:
        """q = Pr[j in S | u] for a value j other than u."""

    @property
    @abstractmethod
    def own_pair(self) -> float:
        """a = Pr[u and j in S | u]."""

    @property
    @abstractmethod
    def other_pair(self) -> float:
        """b = Pr[i and j in S | u] for different values i, j other than u."""

    @abstractmethod
    def supports(self, reports: np.ndarray) -> np.ndarray:
        """Return the number of reports that support each value, (n,).

        Raises:
            ValueError: for what no client sends.
        """

    @property
    @final
    def delta(self) -> float:
        """Zero: epsilon holds for every report."""
        return 0.0

    @property
    @final
    def unseen(self) -> np.ndarray:
        """No directions (n x 0)."""
        return np.zeros((self.domain_size, 0))

    @final
    def second_moments(self, B: np.ndarray) -> np.ndarray:
        """Return E[s^T B s | u] (n,) from p, q, a and b."""
        everywhere, diagonal, cross, at_own = self._coefficients()
        rows = B.sum(axis=1)
        return everywhere * rows.sum() + diagonal * np.trace(B) + 2 * cross * rows + at_own * np.diag(B)

    @final
    def mean_moment(self, total: float, trace: float) -> float:
        """Return the mean over u of E[s^T B s | u] for a matrix B with these sums of all and diagonal entries."""
        everywhere, diagonal, cross, at_own = self._coefficients()
        n = self.domain_size
        return (everywhere + 2 * cross / n) * total + (diagonal + at_own / n) * trace

    @final
    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return sum_u x_u E[s s^T | u] (n x n)."""
        everywhere, diagonal, cross, at_own = self._coefficients()
        total = float(np.sum(x))
        pairs = cross * np.add.outer(x, x) + everywhere * total
        return pairs + np.diag(at_own * np.asarray(x) + diagonal * total)

    @final
    def collect(self, reports: np.ndarray) -> np.ndarray:
        """Return the number of reports and how many support each value, (1 + n,)."""
        counts = self.supports(reports)
        return np.concatenate([[len(reports)], counts]).astype(np.int64)

    @final
    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        """Return (C - q N)/(p - q) for N reports of which C_j support value j."""
        return (totals[1:] - self.other * totals[0]) / (self.own - self.other)

    def _coefficients(self) -> tuple[float, float, float, float]:
        """Return the coefficients of 11^T, I, e_u 1^T + 1 e_u^T and e_u e_u^T in E[s s^T | u]."""
        p, q, a, b = self.own, self.other, self.own_pair, self.other_pair
        d = p - q
        return (b - q * q) / d**2, (q - b) / d**2, (a - b - q * d) / d**2, (d - 2 * (a - b)) / d**2
