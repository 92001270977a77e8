"""Gaussian noise, calibrated exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root_scalar
from scipy.special import log_ndtr, ndtr

from stratagem import privacy
from stratagem.central.measurement import Measurement
from stratagem.central.neighbour import Neighbours, sensitivity

SAFE = 1 + 1e-9
"""Factor on sigma that makes good the rounding of the calibration."""


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
        """sigma^2 (k,)."""
        return np.full(len(self.queries), self.sigma**2)

    @property
    def epsilon(self) -> float:
        """The least epsilon that goes with delta."""
        noise = self.sigma / sensitivity(self.queries, self.neighbours, 2)
        if gaussian_delta(0.0, noise) <= self.delta:
            return 0.0
        high = 1.0
        while gaussian_delta(high, noise) > self.delta:
            high *= 2
        return root_scalar(
            lambda e: gaussian_delta(e, noise) - self.delta, bracket=(0, high), rtol=1e-14
        ).root

    @property
    def delta(self) -> float:
        """The delta that was given."""
        return self.delta_given


def gaussian_delta(epsilon: float, noise: float) -> float:
    """Return the least delta for noise of `noise` times the sensitivity.

    Phi(1/(2 s) - epsilon s) - exp(epsilon) Phi(-1/(2 s) - epsilon s), s = sigma/Delta.
    """
    near, far = 1 / (2 * noise) - epsilon * noise, -1 / (2 * noise) - epsilon * noise
    return float(ndtr(near) - math.exp(epsilon + log_ndtr(far)))


def gaussian_noise(epsilon: float, delta: float) -> float:
    """Return the least sigma/Delta that is (epsilon, delta)-differentially private.

    Raises:
        ValueError: unless epsilon is a budget and 0 < delta < 1.
    """
    epsilon = privacy.check(epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta!r}; Gaussian noise needs a number between 0 and 1, such as 1e-9.")
    low = high = 1.0
    while gaussian_delta(epsilon, low) <= delta:
        low /= 2
    while gaussian_delta(epsilon, high) > delta:
        high *= 2
    if low == high:
        return high
    found = root_scalar(lambda s: gaussian_delta(epsilon, s) - delta, bracket=(low, high), rtol=1e-14)
    return found.root * SAFE


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
