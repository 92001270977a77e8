"""Additive noise: its distributions, and queries on one's own data vector that are answered with it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.linalg import PseudoInverse, RegularInverse, centre, diameter, inverse
from stratagem.math.number import numbers
from stratagem.math.privacy import check_delta, gaussian_epsilon
from stratagem.strategies.linear_protocol import LinearProtocol, check_real
from stratagem.strategies.strategy import check_counts, check_values

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


@dataclass(frozen=True)
class _Scaled(Noise):
    """Noise of pure epsilon-differential privacy, b times noise of scale 1."""

    scale: float

    def __post_init__(self) -> None:
        """Check the scale."""
        _check_positive(self.scale)

    @property
    @final
    def delta(self) -> float:
        return 0.0


@final
@dataclass(frozen=True)
class Laplace(_Scaled):
    """Independent Laplace noise of a scale b; v = 2 b^2.

    Guarantee:
        epsilon = max ||a_u - a_v||_1/b.

    Raises:
        ValueError: unless the scale is positive.

    Reference:
        Dwork, McSherry, Nissim, Smith, TCC 2006.
    """

    def epsilon(self, points: np.ndarray) -> float:
        return diameter(points, "cityblock") / self.scale

    def variance(self, k: int) -> float:
        return 2 * self.scale**2

    def draw(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(0.0, self.scale, (users, k))

    def draw_sum(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        return self.scale * (rng.standard_gamma(users, k) - rng.standard_gamma(users, k))


@final
@dataclass(frozen=True)
class Spherical(_Scaled):
    """Noise of density proportional to exp(-||z||_2/b): a gamma length of shape k in a random direction.

    E ||z||^2 = k (k + 1) b^2, so v = (k + 1) b^2.

    Guarantee:
        epsilon = max ||a_u - a_v||_2/b.

    Raises:
        ValueError: unless the scale is positive.

    Reference:
        Hardt, Talwar, STOC 2010 (K-norm mechanism).
    """

    def epsilon(self, points: np.ndarray) -> float:
        return diameter(points, "euclidean") / self.scale

    def variance(self, k: int) -> float:
        return (k + 1) * self.scale**2

    def draw(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        direction = rng.standard_normal((users, k))
        length = self.scale * rng.standard_gamma(k, users) / np.linalg.norm(direction, axis=1)
        return direction * length[:, None]

    def draw_sum(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
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
        return self.tail

    def epsilon(self, points: np.ndarray) -> float:
        distance = diameter(points, "euclidean")
        return gaussian_epsilon(self.sigma / distance, self.tail) if distance > 0 else 0.0

    def variance(self, k: int) -> float:
        return self.sigma**2

    def draw(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(0.0, self.sigma, (users, k))

    def draw_sum(self, users: int, k: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(0.0, self.sigma * math.sqrt(users), k)


def _check_positive(size: float) -> None:
    if not (size > 0 and math.isfinite(size)):
        raise ValueError(f"the size of the noise is {size!r}: give a positive number")


@final
@dataclass(frozen=True, eq=False)
class AdditiveNoise(LinearProtocol):
    """Every user sends z = A e_u + noise: the matrix mechanism run on one's own data vector.

    The noise has mean zero and covariance v I. A user's data vector is a unit vector, so what is protected is
    the difference of two columns of A, and its sum is known: with `total_known` the score is
    s = 1/n + (A C)^+ (z - A 1/n), C = I - 11^T/n, else s = A^+ z. Totals are the number of reports and
    their sum, (1 + k,).

    Guarantee:
        epsilon is the loss of the noise, measured between the columns of A. It is stated for real noise: in
        floating point the low digits of z may tell more (Mironov, CCS 2012), so this client is for
        simulation.

    Raises:
        ValueError: unless A is a finite matrix.

    Reference:
        Edmonds, Nikolov, Ullman, STOC 2020, factorisation mechanisms in the local model; Li et al. 2010.
    """

    __repr__ = brief

    queries: np.ndarray
    """Queries A, shape (k, n): one column for every user type."""
    noise: Noise
    total_known: bool = True
    """Whether every score sums to one."""

    def __post_init__(self) -> None:
        """Check and freeze the queries."""
        A = numbers(self.queries)
        if A.ndim != 2 or 0 in A.shape or not np.isfinite(A).all():
            raise ValueError(f"queries are a finite k x n matrix; this array has shape {A.shape}")
        A.flags.writeable = False
        object.__setattr__(self, "queries", A)

    @property
    def domain_size(self) -> int:
        return self.queries.shape[1]

    @cached_property
    def _loss(self) -> float:
        """Largest privacy loss of the noise between two columns of A."""
        return self.noise.epsilon(self.queries)

    @property
    def epsilon(self) -> float:
        return self._loss

    @property
    def delta(self) -> float:
        return self.noise.delta

    @property
    def variance(self) -> float:
        """v, the variance of the noise on one query."""
        return self.noise.variance(len(self.queries))

    @property
    def report(self) -> str:
        return "1 real number" if len(self.queries) == 1 else f"{len(self.queries)} real numbers"

    @property
    def null_space(self) -> np.ndarray:
        return self._inverse.null

    @cached_property
    def _inverse(self) -> RegularInverse | PseudoInverse:
        """Pseudo-inverse of A^T A (n x n); with a known total, of C A^T A C plus a multiple of 11^T."""
        M = self.queries.T @ self.queries
        n = len(M)
        return inverse(centre(M) + max(np.trace(M), 1e-300) / n**2 if self.total_known else M)

    @cached_property
    def _score(self) -> tuple[np.ndarray, np.ndarray]:
        """Offset o (n,) and matrix R (n x k): s = o + R z."""
        A, n = self.queries, self.domain_size
        if not self.total_known:
            return np.zeros(n), self._inverse @ A.T
        middle = A.mean(axis=1)
        R = self._inverse @ (A - middle[:, None]).T
        return 1 / n - R @ middle, R

    @cached_property
    def _means(self) -> np.ndarray:
        """Mean scores, shape (n, n): column u is E[s | u]."""
        offset, R = self._score
        return offset[:, None] + R @ self.queries

    def second_moments(self, B: np.ndarray) -> np.ndarray:
        """Return E[s^T B s | u] = E[s | u]^T B E[s | u] + v tr(R^T B R) for every type u, (n,).

        Where A determines every direction, E[s | u] = e_u and tr(R^T B R) = tr((A^T A)^-1 B), of the centred matrices
        with a known total.
        """
        if isinstance(self._inverse, RegularInverse):
            seen = centre(B) if self.total_known else B
            return np.diag(B) + self.variance * self._inverse.trace(seen)
        _, R = self._score
        mean = self._means
        return np.einsum("ju,ju->u", mean, B @ mean) + self.variance * float(np.sum(R * (B @ R)))

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return sum_u x_u E[s | u] E[s | u]^T + N v R R^T, (n x n)."""
        _, R = self._score
        return (self._means * x) @ self._means.T + float(np.sum(x)) * self.variance * (R @ R.T)

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        values = check_values(values, self.domain_size)
        return self.queries.T[values] + self.noise.draw(len(values), len(self.queries), rng)

    def collect(self, reports: np.ndarray) -> np.ndarray:
        reports = check_real(reports, len(self.queries))
        return np.concatenate([[float(len(reports))], reports.sum(axis=0)])

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = check_counts(x, self.domain_size)
        total = int(x.sum())
        noise = self.noise.draw_sum(total, len(self.queries), rng)
        return np.concatenate([[float(total)], self.queries @ x + noise])

    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        offset, R = self._score
        return totals[0] * offset + R @ totals[1:]

    def dense(self) -> NoReturn:
        raise ValueError("reports with additive noise are real numbers, too many for a matrix")
