"""The common interface of all measurements of the central model: linear queries, each answered with noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import final

import numpy as np

from stratagem.central.neighbour import Neighbours
from stratagem.math.linalg import OUTSIDE, PseudoInverse, RegularInverse, inverse, inverse_trace
from stratagem.workloads import Workload

BLOCK = 1 << 24
"""Largest number of entries of a temporary array."""


class Measurement(ABC):
    """Noisy answers y = K x + z, z independent of mean zero; estimates are least squares weighted by precision.

    With N = diag(Var z), x^ = (K^T N^-1 K)^+ K^T N^-1 y. Every W in the row space of K has unbiased answers
    W x^ with covariance W (K^T N^-1 K)^+ W^T, the least of all linear unbiased ones, whatever the data.
    """

    queries: np.ndarray
    """The queries K, of shape (k, n)."""
    neighbours: Neighbours

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """Variances Var z of the noise, of shape (k,)."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Privacy loss computed from the queries and the noise."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """Probability that the privacy loss exceeds epsilon; 0 for pure differential privacy."""

    @final
    @property
    def domain_size(self) -> int:
        """Number n of user types."""
        return self.queries.shape[1]

    @final
    def covariance(self) -> RegularInverse | PseudoInverse:
        """Return (K^T N^-1 K)^+, the covariance of x^ (n x n), as an operator to apply to arrays (n x k)."""
        scaled = self.queries / np.sqrt(self.variances)[:, None]
        return inverse(scaled.T @ scaled)

    @final
    def total_variance(self, V: np.ndarray) -> float:
        """Return the variances of all answers of a workload added up, V = W^T W (n x n).

        tr((K^T N^-1 K)^+ V); infinite if W asks for something that K does not measure.
        """
        return inverse_trace(self.covariance(), V)

    @final
    def worst_variance(self, workload: Workload) -> float:
        """Return the largest variance of a query of a workload, W itself never built.

        Infinite if W asks for something that K does not measure.
        """
        covariance = self.covariance()
        if _squares(workload, covariance.null).sum() > OUTSIDE * workload.frobenius_squared:
            return math.inf
        return float(_squares(workload, covariance.root).max())

    @final
    def estimate(self, answers: np.ndarray) -> np.ndarray:
        """Return x^ (n,) from noisy answers (k,), the shortest where K does not determine it.

        Raises:
            ValueError: for another number of answers.
        """
        y = np.asarray(answers, dtype=float)
        if y.shape != (len(self.queries),):
            raise ValueError(
                f"Answers have shape {y.shape}; give one for each of {len(self.queries)} queries."
            )
        return self.covariance() @ (self.queries.T @ (y / self.variances))


def _squares(workload: Workload, X: np.ndarray) -> np.ndarray:
    """Return the squared length of every row of W X (p,), some columns of X (n x r) at a time."""
    step = max(1, BLOCK // workload.queries)
    squares = np.zeros(workload.queries)
    for first in range(0, X.shape[1], step):
        squares += np.square(workload.answer(X[:, first : first + step])).sum(axis=1)
    return squares
