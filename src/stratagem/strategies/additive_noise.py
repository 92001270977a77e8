"""Queries on one's own data vector, answered with additive noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.linalg import PseudoInverse, RegularInverse, centre, inverse
from stratagem.math.number import numbers
from stratagem.strategies.linear_protocol import LinearProtocol
from stratagem.strategies.noise import Noise
from stratagem.strategies.strategy import check_counts, check_values


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
        """Number n of user types."""
        return self.queries.shape[1]

    @cached_property
    def _loss(self) -> float:
        """Largest privacy loss of the noise between two columns of A."""
        return self.noise.epsilon(self.queries)

    @property
    def epsilon(self) -> float:
        """Measured privacy loss of the noise between the columns of A."""
        return self._loss

    @property
    def delta(self) -> float:
        """Delta of the noise: 0 for epsilon-LDP, else (epsilon, delta)-LDP holds."""
        return self.noise.delta

    @property
    def variance(self) -> float:
        """v, the variance of the noise on one query."""
        return self.noise.variance(len(self.queries))

    @property
    def report(self) -> str:
        """Description of what one user sends, in a few words."""
        return "1 real number" if len(self.queries) == 1 else f"{len(self.queries)} real numbers"

    @property
    def null_space(self) -> np.ndarray:
        """Orthonormal directions that neither A nor a known total determines, shape (n, r)."""
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
        """Return E[s^T B s | u] = E[s | u]^T B E[s | u] + v tr(R^T B R) for every type u, (n,)."""
        _, R = self._score
        mean = self._means
        return np.einsum("ju,ju->u", mean, B @ mean) + self.variance * float(np.sum(R * (B @ R)))

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return sum_u x_u E[s | u] E[s | u]^T + N v R R^T, (n x n)."""
        _, R = self._score
        return (self._means * x) @ self._means.T + float(np.sum(x)) * self.variance * (R @ R.T)

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a report of k real numbers for every user, shape (N, k)."""
        values = check_values(values, self.domain_size)
        return self.queries.T[values] + self.noise.draw(len(values), len(self.queries), rng)

    def collect(self, reports: np.ndarray) -> np.ndarray:
        """Return the number of reports and their sum, (1 + k,)."""
        reports, k = np.asarray(reports), len(self.queries)
        if reports.ndim != 2 or reports.shape[1] != k or reports.dtype != float:
            raise ValueError(
                f"reports are rows of {k} real numbers; these have shape {reports.shape} "
                f"and type {reports.dtype}"
            )
        if not np.isfinite(reports).all():
            raise ValueError("a report holds a number that is not finite, which no client sends")
        return np.concatenate([[float(len(reports))], reports.sum(axis=0)])

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the number of reports and their sum, (1 + k,)."""
        x = check_counts(x, self.domain_size)
        total = int(x.sum())
        noise = self.noise.draw_sum(total, len(self.queries), rng)
        return np.concatenate([[float(total)], self.queries @ x + noise])

    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        """Return N o + R (sum of reports), (n,)."""
        offset, R = self._score
        return totals[0] * offset + R @ totals[1:]

    def dense(self) -> NoReturn:
        """Refuse: reports are real numbers.

        Raises:
            ValueError: always.
        """
        raise ValueError("reports with additive noise are real numbers, too many for a matrix")
