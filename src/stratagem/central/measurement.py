"""The common interface of all measurements of the central model: linear queries, each answered with noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, final, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from stratagem.math.linalg import OUTSIDE, PseudoInverse, RegularInverse, inverse
from stratagem.math.privacy import gaussian_epsilon, gaussian_noise
from stratagem.workloads import Workload

Neighbours = Literal["add-remove", "replace"]
"""Neighbour relation: "add-remove" is one person more or less, "replace" one person with another value."""
EQUAL = 1 - 1e-14
"""Fraction of the sum of the two greatest lengths from which a distance counts as equal to that sum, up to rounding."""


def check(neighbours: str) -> Neighbours:
    """Return the neighbour relation unchanged if it is known."""
    for relation in get_args(Neighbours):
        if neighbours == relation:
            return relation
    raise ValueError(f"neighbours is {neighbours!r}: choose one of {', '.join(get_args(Neighbours))}")


def sensitivity(A: np.ndarray, neighbours: Neighbours, norm: Literal[1, 2]) -> float:
    """Return max ||A x - A x'|| over neighbouring data x, x' for queries A (k x n).

    Adding or removing a person of type u moves A x by the column A_u; replacing u by v moves it by A_u - A_v,
    as far as 2 on the histogram in the L1 norm, so that this relation protects more.
    """
    lengths = np.linalg.norm(A, ord=norm, axis=0)
    if check(neighbours) == "add-remove":
        return float(lengths.max())
    longest = lengths.argmax()
    largest = float(np.linalg.norm(A - A[:, [longest]], ord=norm, axis=0).max())
    if largest >= np.sort(lengths)[-2:].sum() * EQUAL:
        return largest
    metric = "cityblock" if norm == 1 else "euclidean"
    return float(pdist(A.T, metric).max(initial=0.0))


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
        return self.covariance().trace(V)

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
                f"answers have shape {y.shape}: give one for each of {len(self.queries)} queries"
            )
        return self.covariance() @ (self.queries.T @ (y / self.variances))


def _squares(workload: Workload, X: np.ndarray) -> np.ndarray:
    """Return the squared length of every row of W X (p,), some columns of X (n x r) at a time."""
    step = max(1, BLOCK // workload.queries)
    squares = np.zeros(workload.queries)
    for first in range(0, X.shape[1], step):
        squares += np.square(workload.answer(X[:, first : first + step])).sum(axis=1)
    return squares


@dataclass(frozen=True, eq=False)
class GaussianMeasurement(Measurement):
    """Normal noise of one standard deviation on every query: a formula to compare with, without a release.

    Guarantee:
        (epsilon, delta)-differential privacy in real arithmetic, with the exact epsilon for the given delta.

    Reference:
        Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, theorem 8.
    """

    queries: np.ndarray
    sigma: float
    delta_given: float
    neighbours: Neighbours

    @property
    def variances(self) -> np.ndarray:
        return np.full(len(self.queries), self.sigma**2)

    @property
    def epsilon(self) -> float:
        noise = self.sigma / sensitivity(self.queries, self.neighbours, 2)
        return gaussian_epsilon(noise, self.delta)

    @property
    def delta(self) -> float:
        return self.delta_given


def measure_gaussian(
    queries: ArrayLike, epsilon: float, delta: float, neighbours: Neighbours
) -> GaussianMeasurement:
    """Answer queries A (k x n) with normal noise that spends (epsilon, delta).

    Raises:
        ValueError: for queries that tell no neighbours apart, and as `gaussian_noise`.
    """
    A = np.asarray(queries, dtype=float)
    distance = sensitivity(A, neighbours, 2)
    if not 0 < distance < math.inf:
        raise ValueError("the queries tell no neighbours apart, or are not finite: add one that does")
    return GaussianMeasurement(A, gaussian_noise(epsilon, delta) * distance, delta, neighbours)
