"""Gaussian noise, calibrated exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stratagem.central.measurement import Measurement
from stratagem.central.neighbour import Neighbours, sensitivity
from stratagem.math.gaussian import gaussian_epsilon, gaussian_noise


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
        """Variances of the answers, sigma^2 for each, of shape (k,)."""
        return np.full(len(self.queries), self.sigma**2)

    @property
    def epsilon(self) -> float:
        """Smallest epsilon for the given delta."""
        noise = self.sigma / sensitivity(self.queries, self.neighbours, 2)
        return gaussian_epsilon(noise, self.delta)

    @property
    def delta(self) -> float:
        """The delta that was given."""
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
        raise ValueError("The queries tell no neighbours apart, or are not finite: add one that does.")
    return GaussianMeasurement(A, gaussian_noise(epsilon, delta) * distance, delta, neighbours)
