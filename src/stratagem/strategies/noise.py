"""Distributions of additive noise: Laplace, spherical and normal."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from stratagem.math.linalg import squared_distances
from stratagem.math.privacy import check_delta, gaussian_epsilon

BLOCK = 1 << 22
"""Noise values that are drawn at once."""


class Noise(ABC):
    """Noise of mean zero and covariance v I, added to points of R^k to make them hard to distinguish."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """Delta of (epsilon, delta)-differential privacy; 0 for pure epsilon."""

    @abstractmethod
    def epsilon(self, points: np.ndarray) -> float:
        """Return the largest privacy loss between two columns of a matrix of points (k x n)."""

    @abstractmethod
    def variance(self, k: int) -> float:
        """Return v, the variance of each of k entries."""

    @abstractmethod
    def draw(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the noise of some users (users x k)."""

    @abstractmethod
    def draw_sum(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the sum of the noise of some users (k,)."""


@final
@dataclass(frozen=True)
class Laplace(Noise):
    """Independent Laplace noise of a scale b; v = 2 b^2.

    Guarantee:
        epsilon = max ||a_u - a_v||_1/b.

    Raises:
        ValueError: unless the scale is positive.

    Reference:
        Dwork, McSherry, Nissim, Smith, TCC 2006.
    """

    scale: float

    def __post_init__(self) -> None:
        """Check the scale."""
        _check_positive(self.scale)

    @property
    def delta(self) -> float:
        """Zero: the noise gives pure epsilon."""
        return 0.0

    def epsilon(self, points: np.ndarray) -> float:
        """Return max ||a_u - a_v||_1/b."""
        return diameter(points, "cityblock") / self.scale

    def variance(self, k: int) -> float:
        """Return 2 b^2."""
        return 2 * self.scale**2

    def draw(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw Laplace noise."""
        return rng.laplace(0.0, self.scale, (users, k))

    def draw_sum(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the difference of two gamma variables of shape `users`."""
        return self.scale * (rng.standard_gamma(users, k) - rng.standard_gamma(users, k))


@final
@dataclass(frozen=True)
class Spherical(Noise):
    """Noise of density proportional to exp(-||z||_2/b): a gamma length of shape k in a random direction.

    E ||z||^2 = k (k + 1) b^2, so v = (k + 1) b^2.

    Guarantee:
        epsilon = max ||a_u - a_v||_2/b.

    Raises:
        ValueError: unless the scale is positive.

    Reference:
        Hardt, Talwar, STOC 2010 (K-norm mechanism).
    """

    scale: float

    def __post_init__(self) -> None:
        """Check the scale."""
        _check_positive(self.scale)

    @property
    def delta(self) -> float:
        """Zero: the noise gives pure epsilon."""
        return 0.0

    def epsilon(self, points: np.ndarray) -> float:
        """Return max ||a_u - a_v||_2/b."""
        return diameter(points, "euclidean") / self.scale

    def variance(self, k: int) -> float:
        """Return (k + 1) b^2."""
        return (k + 1) * self.scale**2

    def draw(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw random directions of gamma length."""
        direction = rng.standard_normal((users, k))
        length = self.scale * rng.standard_gamma(k, users) / np.linalg.norm(direction, axis=1)
        return direction * length[:, None]

    def draw_sum(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw and add up every user's noise."""
        step = max(1, BLOCK // k)
        blocks = (min(step, users - first) for first in range(0, users, step))
        return sum((self.draw(block, k, rng).sum(axis=0) for block in blocks), np.zeros(k))


@final
@dataclass(frozen=True)
class Normal(Noise):
    """Independent normal noise of a standard deviation sigma.

    Guarantee:
        (epsilon, delta) for the delta given: epsilon is the least with `gaussian_delta` of the largest
        ||a_u - a_v||_2/sigma at most delta.

    Raises:
        ValueError: unless sigma is positive and 0 < delta < 1.

    Reference:
        Balle, Wang, ICML 2018, Theorem 8 (analytic Gaussian mechanism).
    """

    sigma: float
    tail: float
    """Delta of the guarantee, between 0 and 1."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_positive(self.sigma)
        check_delta(self.tail)

    @property
    def delta(self) -> float:
        """The delta that was given."""
        return self.tail

    def epsilon(self, points: np.ndarray) -> float:
        """Return the least epsilon that holds together with delta between all columns of points (k x n)."""
        distance = diameter(points, "euclidean")
        return gaussian_epsilon(self.sigma / distance, self.tail) if distance > 0 else 0.0

    def variance(self, k: int) -> float:
        """Return sigma^2."""
        return self.sigma**2

    def draw(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw normal noise."""
        return rng.normal(0.0, self.sigma, (users, k))

    def draw_sum(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        """Draw normal noise sqrt(users) times as large."""
        return rng.normal(0.0, self.sigma * math.sqrt(users), k)


def diameter(points: np.ndarray, metric: Literal["cityblock", "euclidean"]) -> float:
    """Return the largest distance of two columns (k x n): "cityblock" for L1, "euclidean" for L2.

    Between columns of zeros and ones the first is the square of the second, which is a matrix product.
    """
    if metric == "euclidean":
        return math.sqrt(float(squared_distances(points.T, points.T).max(initial=0.0)))
    if np.isin(points, (0.0, 1.0)).all():
        return float(np.rint(squared_distances(points.T, points.T).max(initial=0.0)))
    from scipy.spatial.distance import pdist

    return float(pdist(points.T, metric).max(initial=0.0))


def _check_positive(size: float) -> None:
    if not (size > 0 and math.isfinite(size)):
        raise ValueError(f"the size of the noise is {size!r}: give a positive number")
