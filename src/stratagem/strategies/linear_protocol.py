"""The interface of a protocol: a randomiser with too many reports for a matrix, and its published estimator."""

from __future__ import annotations

from abc import abstractmethod
from typing import NoReturn, final

import numpy as np

from stratagem.strategies.strategy import Randomiser


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
