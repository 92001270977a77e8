"""A strategy stored as its matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stratagem.number import numbers
from stratagem.screen import brief
from stratagem.strategies.strategy import Strategy, weighted_row_sums

BLOCK = 1 << 22
"""Entries of a temporary array in simulation."""


@dataclass(frozen=True, eq=False)
class MatrixStrategy(Strategy):
    """An explicit strategy matrix Q (m x n).

    Raises:
        ValueError: if Q is not a finite, nonnegative 2-D array whose columns sum to one within 1e-9.

    Example:
        >>> import numpy as np
        >>> coin = MatrixStrategy(np.array([[0.75, 0.25], [0.25, 0.75]]))
        >>> round(coin.epsilon, 6)  # log 3
        1.098612
    """

    __repr__ = brief

    matrix: np.ndarray

    def __post_init__(self) -> None:
        """Check and freeze the matrix."""
        Q = numbers(self.matrix)
        if Q.ndim != 2 or 0 in Q.shape:
            raise ValueError(f"A strategy matrix needs reports x user types; this array has shape {Q.shape}.")
        if not np.isfinite(Q).all() or (Q < 0).any():
            raise ValueError("A strategy matrix holds probabilities, but an entry is negative or non-finite.")
        error = float(np.abs(Q.sum(axis=0) - 1).max())
        if error > 1e-9:
            raise ValueError(
                f"Every column of a strategy matrix must sum to one; the worst is off by {error:.1e} "
                "(rows are reports, columns user types)."
            )
        Q.flags.writeable = False
        object.__setattr__(self, "matrix", Q)

    @property
    def domain_size(self) -> int:
        """Number n of columns."""
        return self.matrix.shape[1]

    @property
    def outputs(self) -> int:
        """Number m of rows."""
        return self.matrix.shape[0]

    @property
    def epsilon(self) -> float:
        """Measured privacy loss; rows of zeros never occur and are left out."""
        high, low = self.matrix.max(axis=1), self.matrix.min(axis=1)
        occurs = high > 0
        if (low[occurs] == 0).any():
            return math.inf
        return float(np.log(high[occurs] / low[occurs]).max())

    @property
    def row_sums(self) -> np.ndarray:
        """Row sums d (m,)."""
        return self.matrix.sum(axis=1)

    def dense(self) -> MatrixStrategy:
        """Return itself."""
        return self

    def forward(self, X: np.ndarray) -> np.ndarray:
        """Return Q X."""
        return self.matrix @ X

    def backward(self, Y: np.ndarray) -> np.ndarray:
        """Return Q^T Y."""
        return self.matrix.T @ Y

    def centred_information(self, prior: np.ndarray | None = None) -> np.ndarray:
        """Return M - 11^T/n by one symmetric product of the centred, scaled rows."""
        d = weighted_row_sums(self, prior)
        Q, d = self.matrix[d > 0], d[d > 0]
        scaled = (Q - d[:, None] / self.domain_size) / np.sqrt(d)[:, None]
        return scaled.T @ scaled

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one report per value by inverting the cumulative distribution of its column."""
        values = check_values(values, self.domain_size)
        reports = np.empty(len(values), dtype=np.int64)
        for u, users in users_by_type(values, self.domain_size):
            cumulative = np.cumsum(self.matrix[:, u])
            points = rng.random(len(users)) * cumulative[-1]
            reports[users] = np.searchsorted(cumulative, points, side="right")
        return np.minimum(reports, self.outputs - 1)

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the counts of reports, one multinomial per user type that occurs."""
        x = check_counts(x, self.domain_size)
        counts = np.zeros(self.outputs, dtype=np.int64)
        occurring = np.flatnonzero(x)
        step = max(1, BLOCK // self.outputs)
        for first in range(0, len(occurring), step):
            types = occurring[first : first + step]
            P = self.matrix[:, types].T
            counts += rng.multinomial(x[types], P / P.sum(axis=1, keepdims=True)).sum(axis=0)
        return counts


def written_out(matrix: np.ndarray) -> MatrixStrategy:
    """Return the strategy of a protocol that may send every report whatever the type.

    Raises:
        ValueError: if the square of a probability is below the least normal double, 2e-308: variances divide
            by squares of row sums, and smaller ones still become zero, so that epsilon would be infinite.
    """
    least = math.sqrt(np.finfo(float).tiny)
    if matrix.min() < least:
        raise ValueError(
            f"Some reports are too improbable for double precision, less than {least:.1g}, so that no matrix "
            "holds them; give a smaller epsilon or fewer values."
        )
    return MatrixStrategy(matrix)


def users_by_type(values: np.ndarray, domain_size: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield every user type that occurs with the places of its users, found by one radix sort."""
    order = np.argsort(values.astype(np.min_scalar_type(domain_size)), kind="stable")
    ends = np.cumsum(np.bincount(values, minlength=domain_size))
    for u, (first, last) in enumerate(pairwise((0, *ends.tolist()))):
        if last > first:
            yield u, order[first:last]


def check_values(values: np.ndarray, domain_size: int) -> np.ndarray:
    """Return user types as integers.

    Raises:
        ValueError: if one of them is outside 0..n-1 or not an integer.
    """
    array = np.asarray(values)
    inside = (array >= 0) & (array < domain_size) & (array % 1 == 0)
    if array.ndim != 1 or not inside.all():
        raise ValueError(f"User types must be a list of integers from 0 to {domain_size - 1}.")
    return array.astype(np.int64)


def check_counts(x: np.ndarray, domain_size: int) -> np.ndarray:
    """Return a data vector of whole, nonnegative counts as integers.

    Raises:
        ValueError: if its length is not n or an entry is negative or fractional.
    """
    array = np.asarray(x)
    if array.shape != (domain_size,) or (array < 0).any() or (array % 1 != 0).any():
        raise ValueError(
            f"A data vector needs {domain_size} nonnegative whole numbers, one for each user type."
        )
    return array.astype(np.int64)
