"""Symmetric positive semidefinite matrices: factors and pseudo-inverses that keep small eigenvalues honest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def centre(V: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Return A V A^T with A = I - 1 p^T for a prior p (n,): V seen from p^perp, because A^T p = 0.

    Without a prior p = 1/n, and A is the projection I - 11^T/n onto 1^perp.
    """
    if prior is None:
        V = V - V.mean(axis=0, keepdims=True)
        return V - V.mean(axis=1, keepdims=True)
    V = V - prior @ V
    return V - (V @ prior)[:, None]


def without(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return P A P with P = I - v v^T/||v||^2, the symmetric A (n x n) restricted to v^perp."""
    v = v / np.linalg.norm(v)
    A = A - np.outer(v, v @ A)
    return A - np.outer(A @ v, v)


def eigenvalues(A: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of a positive semidefinite A, rounding noise set to exactly zero."""
    values = np.linalg.eigvalsh(A)
    return np.where(values > _cutoff(values), values, 0.0)


def factor(V: np.ndarray) -> np.ndarray:
    """Return F (n x r) with F F^T = V, r the numerical rank of the positive semidefinite V (n x n)."""
    values, vectors = np.linalg.eigh(V)
    keep = values > _cutoff(values)
    return vectors[:, keep] * np.sqrt(values[keep])


@dataclass(frozen=True, eq=False)
class PseudoInverse:
    """Eigendecomposition of a positive semidefinite A (n x n) split into its range and its null space."""

    values: np.ndarray
    """Positive eigenvalues (r,), ascending."""
    vectors: np.ndarray
    """Orthonormal eigenvectors of the range (n x r)."""
    null: np.ndarray
    """Orthonormal basis of the null space (n x (n - r))."""

    def __matmul__(self, B: np.ndarray) -> np.ndarray:
        """Return A^+ B for B of shape (n,) or (n, k)."""
        return (self.vectors / self.values) @ (self.vectors.T @ B)


def pseudo_inverse(A: np.ndarray) -> PseudoInverse:
    """Return A^+ of a positive semidefinite A (n x n); eigenvalues within rounding of zero are null."""
    values, vectors = np.linalg.eigh(A)
    keep = values > _cutoff(values)
    return PseudoInverse(values[keep], vectors[:, keep], vectors[:, ~keep])


def _cutoff(values: np.ndarray) -> float:
    """Rounding level of a symmetric eigendecomposition: 4 n ulp of the largest eigenvalue."""
    return 4 * len(values) * np.finfo(float).eps * float(np.max(np.abs(values), initial=0.0))
