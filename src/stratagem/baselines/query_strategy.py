"""Queries of bounded sensitivity for the matrix mechanism, and the variance of answers from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.math.linalg import inverse, inverse_trace


@dataclass(frozen=True, eq=False)
class QueryStrategy:
    """Queries A (k x n) that a matrix mechanism answers with noise, and how good they are for one V.

    With independent noise of variance s^2 on every entry of A x, the answers W x have least-squares estimates
    of total variance s^2 tr((A^T A)^+ V), whatever the data x.
    """

    matrix: np.ndarray
    """A (k x n): the longest column, in the norm of the noise, has length 1."""
    objective: float
    """Objective tr((A^T A)^+ V), the total variance of the answers at noise variance 1."""
    lower_bound: float
    """Lower bound on the objective of all queries of sensitivity 1 in the norm of the noise."""

    @property
    def gap(self) -> float:
        """Share by which the objective may lie above the least possible."""
        return self.objective / self.lower_bound - 1

    def __post_init__(self) -> None:
        """Freeze the matrix."""
        self.matrix.flags.writeable = False


def residual_trace(A: np.ndarray, V: np.ndarray) -> float:
    """Return tr((A^T A)^+ V) for queries A (k x n) and a Gram matrix V (n x n).

    It is infinite if the range of V is not part of the range of A^T.
    """
    return inverse_trace(inverse(A.T @ A), V)


def check_gram(V: np.ndarray) -> np.ndarray:
    """Return a Gram matrix as an array of float64.

    Raises:
        ValueError: unless V is square, finite, symmetric, positive semidefinite and not zero.
    """
    V = np.asarray(V, dtype=float)
    if V.ndim != 2 or V.shape[0] != V.shape[1] or not np.isfinite(V).all():
        raise ValueError(f"a Gram matrix is square and finite; this array has shape {V.shape}")
    size = float(np.abs(V).max(initial=0))
    if size == 0:
        raise ValueError("the Gram matrix is zero: give a workload that asks for something")
    if np.abs(V - V.T).max() > 1e-9 * size or np.linalg.eigvalsh(V)[0] < -1e-9 * len(V) * size:
        raise ValueError("a Gram matrix is symmetric and positive semidefinite: give V = W^T W")
    return V
