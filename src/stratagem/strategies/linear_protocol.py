"""The interface of a protocol, a randomiser with too many reports for a matrix, and of oracles that support sets."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import NoReturn, final

import numpy as np

from stratagem.math.shuffling import PrivacyBlanket
from stratagem.strategies.strategy import Randomiser

NUMBER = np.dtype("<u4")
"""Data type of the number of a cohort or a partition in a report, 32-bit little-endian."""


class LinearProtocol(Randomiser):
    """A locally private randomiser whose reports are sets, hashes or real vectors.

    A report y has a score s(y) in R^n with E[s(y) | user type u] = e_u up to the directions in `null_space`, so
    that the sum of scores estimates the data vector without bias. Aggregators add up totals, a few sums over
    reports that the scores are linear in; entry 0 is the number of reports, and totals of two collections add.
    """

    @final
    @property
    def outputs(self) -> None:
        """None: the possible reports are not counted, because they are too many or real numbers."""
        return None

    @final
    def listed(self) -> NoReturn:
        """Refuse, as totals keep nothing of single reports.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "the counts of every report are needed, of which the totals of this protocol keep nothing: use wnnls in "
            "place of ibu, and estimate from every round by itself"
        )

    @property
    @abstractmethod
    def report(self) -> str:
        """What one user sends, in a few words with its size."""

    @property
    @abstractmethod
    def null_space(self) -> np.ndarray:
        """Orthonormal directions (n x r) of the data vector that no score depends on; r = 0 for an oracle."""

    @abstractmethod
    def second_moments(self, B: np.ndarray) -> np.ndarray:
        """Return E[s^T B s | u] (n,) for a symmetric B (n x n); with B = V it gives t_u + V_uu."""

    @final
    @property
    def strength(self) -> float:
        """(n - 1) over the sum of E[s^T (I - 11^T/n) s | u] over u: the mean eigenvalue that gives their variance."""
        n = self.domain_size
        return 0.0 if n == 1 else (n - 1) / float(self.second_moments(np.eye(n) - 1 / n).sum())

    @abstractmethod
    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return sum_u x_u E[s s^T | u] (n x n), so that the estimate's covariance is that minus diag(x)."""

    @abstractmethod
    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one report for each user type in `values` (N,), as rows (N, k). For simulation only."""

    @abstractmethod
    def collect(self, reports: np.ndarray) -> np.ndarray:
        """Return the totals of reports, (k,), the number of reports first.

        Raises:
            ValueError: for a report that no client sends.
        """

    @abstractmethod
    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the totals (k,) when x[u] users have type u, distributed like the totals of their reports."""

    @abstractmethod
    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        """Return the published unbiased estimate of the data vector, (k,) -> (n,)."""


@dataclass(frozen=True)
class Pairs:
    """Joint probabilities of values in a random set S, for different values u (the user's own), i and j."""

    apart: float
    """h = Pr[i in S, j not in S | u]."""
    gain: float
    """l = (Pr[u, j in S | u] - Pr[i, j in S | u])/(p - q)."""
    size_variance: float
    """v = Var[|S| | u]."""
    size_gain: float
    """g = (Cov[|S|, u in S | u] - Cov[|S|, j in S | u])/(p - q)."""


def independent(n: int, p: float, q: float) -> Pairs:
    """Return the `Pairs` of pairwise independent members among n values: the own with p, others with q."""
    return Pairs(q * (1 - q), q, p * (1 - p) + (n - 1) * q * (1 - q), 1 - p - q)


def check_real(reports: np.ndarray, k: int) -> np.ndarray:
    """Return reports that are rows of k real numbers (N x k), after checking them."""
    reports = np.asarray(reports)
    if reports.ndim != 2 or reports.shape[1] != k or reports.dtype != float:
        raise ValueError(
            f"reports are rows of {'one real number' if k == 1 else f'{k} real numbers'}; these have shape "
            f"{reports.shape} and type {reports.dtype}"
        )
    if not np.isfinite(reports).all():
        raise ValueError("a report holds a number that is not finite, which no client sends")
    return reports


def numbered(numbers: np.ndarray, payload: np.ndarray) -> np.ndarray:
    """Return reports as bytes (N x (4 + k)): a number, 32-bit little-endian, before bytes (N x k)."""
    return np.hstack([numbers.astype(NUMBER)[:, None].view(np.uint8), payload])


def split_numbers(reports: np.ndarray, width: int, many: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers below `many` of reports (N,) and the bytes behind them (N x width), after checking both."""
    reports, width = np.ascontiguousarray(reports), NUMBER.itemsize + width
    if reports.dtype != np.uint8 or reports.ndim != 2 or reports.shape[1] != width:
        raise ValueError(
            f"reports are rows of {width} bytes; these have shape {reports.shape} and type {reports.dtype}"
        )
    drawn = np.ascontiguousarray(reports[:, : NUMBER.itemsize]).view(NUMBER)[:, 0]
    if (drawn >= many).any():
        raise ValueError(f"a report names {what} {drawn.max()}, but there are {many}")
    return drawn, reports[:, NUMBER.itemsize :]


class SupportOracle(LinearProtocol):
    """A report supports a set S of values: the user's own with probability p, every other with q < p.

    The score s = (1_S - q)/d, d = p - q, has mean e_u. With c_u = e_u - 1/n its second moments are

        E[s s^T | u] = z 11^T/n^2 + y (I - 11^T/n) + w (c_u 1^T + 1 c_u^T)/n + r c_u c_u^T,

    z = 1 + v/d^2, y = h/d^2, w = 1 + g/d and r = (1 - 2 l)/d for the numbers h, l, v, g of `Pairs`: in these
    directions nothing cancels when d is small. Totals are the number of reports, then for every value the
    number of reports that support it.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017, "pure" protocols, whose Theorem 2 is the diagonal.
    """

    n: int
    """Number n of user types."""
    p: float
    """p = Pr[u in S | u]."""

    @property
    @final
    def domain_size(self) -> int:
        return self.n

    @property
    @abstractmethod
    def other(self) -> float:
        """q = Pr[j in S | u] for a value j other than u."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """gamma = sum of the least probability of each report, or less."""

    @property
    @final
    def blanket(self) -> PrivacyBlanket:
        if self.domain_size == 1:
            return PrivacyBlanket.worst(0.0)
        return PrivacyBlanket(math.exp(self.epsilon), self.p - self.other, self.mass)

    @property
    @final
    def guess(self) -> float:
        """E gamma/n at most, as no report is more likely than E times its least probability."""
        blanket = self.blanket
        return blanket.ratio * blanket.mass / self.domain_size

    @property
    @abstractmethod
    def pairs(self) -> Pairs:
        """Joint probabilities of the values in S."""

    @abstractmethod
    def supports(self, reports: np.ndarray) -> np.ndarray:
        """Return the number of reports that support each value, (n,).

        Raises:
            ValueError: for a report that no client sends.
        """

    @property
    @final
    def null_space(self) -> np.ndarray:
        return np.zeros((self.domain_size, 0))

    @final
    def second_moments(self, B: np.ndarray) -> np.ndarray:
        sums, between, mixed, own = self._coefficients()
        n, rows = self.domain_size, B.sum(axis=1) / self.domain_size
        mean = rows.sum() / n
        even = sums * mean + between * (np.trace(B) - n * mean)
        return even + 2 * mixed * (rows - mean) + own * (np.diag(B) - 2 * rows + mean)

    @final
    def mean_moment(self, total: float, trace: float) -> float:
        """Return the mean over u of E[s^T B s | u] for a matrix B with these sums of all and diagonal entries."""
        sums, between, _, own = self._coefficients()
        n = self.domain_size
        return sums * (total / n**2) + (between + own / n) * (trace - total / n)

    @final
    def spread(self, x: np.ndarray) -> np.ndarray:
        sums, between, mixed, own = self._coefficients()
        n, total = self.domain_size, float(np.sum(x))
        everywhere = ((sums - 2 * mixed + own) / n - between) / n
        spread = (mixed - own) / n * np.add.outer(x, x) + everywhere * total
        return spread + np.diag(own * np.asarray(x) + between * total)

    @final
    def collect(self, reports: np.ndarray) -> np.ndarray:
        counts = self.supports(reports)
        return np.concatenate([[len(reports)], counts]).astype(np.int64)

    @final
    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        return (totals[1:] - self.other * totals[0]) / (self.p - self.other)

    def _coefficients(self) -> tuple[float, float, float, float]:
        """Return the coefficients z, y, w and r of the second moments of a score."""
        d, pairs = self.p - self.other, self.pairs
        sums, mixed = 1 + pairs.size_variance / d**2, 1 + pairs.size_gain / d
        return sums, pairs.apart / d**2, mixed, (1 - 2 * pairs.gain) / d
