"""Symmetric positive semidefinite matrices: factors and pseudo-inverses that keep small eigenvalues honest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, get_lapack_funcs

REGULAR = 1e-10
"""Reciprocal condition number from which a Cholesky factor is as good as an eigendecomposition."""


def centre(V: np.ndarray) -> np.ndarray:
    """Return P V P with P = I - 11^T/n: the n x n matrix V seen from 1^perp."""
    V = V - V.mean(axis=0, keepdims=True)
    return V - V.mean(axis=1, keepdims=True)


def eigenvalues(A: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of a positive semidefinite A, rounding noise set to exactly zero."""
    values = np.linalg.eigvalsh(A)
    return np.where(values > _cutoff(values), values, 0.0)


def factor(V: np.ndarray) -> np.ndarray:
    """Return F (n x r) with F F^T = V, r the numerical rank of the positive semidefinite V (n x n)."""
    lower = _regular_cholesky(V)
    if lower is not None:
        return lower
    values, vectors = np.linalg.eigh(V)
    keep = values > _cutoff(values)
    return vectors[:, keep] * np.sqrt(values[keep])


def centred_factor(V: np.ndarray) -> np.ndarray:
    """Return F (n x r) with F F^T = P V P, P = I - 11^T/n, for a positive semidefinite V (n x n)."""
    centred = centre(V)
    lower = _regular_cholesky(centred + np.trace(centred) / len(V) ** 2)
    return factor(centred) if lower is None else lower - lower.mean(axis=0)


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


@dataclass(frozen=True, eq=False)
class CentredInverse:
    """A^+ of a positive semidefinite A (n x n) with A 1 = 0 and no other null direction."""

    lower: np.ndarray
    """Cholesky factor of A + t 11^T/n (n x n), t > 0."""

    @property
    def null(self) -> np.ndarray:
        """Orthonormal basis of the null space (n x 1)."""
        return np.full((len(self.lower), 1), len(self.lower) ** -0.5)

    def __matmul__(self, B: np.ndarray) -> np.ndarray:
        """Return A^+ B for B of shape (n,) or (n, k)."""
        return cho_solve((self.lower, True), B - B.mean(axis=0), check_finite=False)


def centred_inverse(A: np.ndarray) -> CentredInverse | PseudoInverse:
    """Return A^+ of a positive semidefinite A with A 1 = 0, several times faster if 1 is its only null direction."""
    lower = _regular_cholesky(A + np.trace(A) / len(A) ** 2)
    return pseudo_inverse(A) if lower is None else CentredInverse(lower)


def _regular_cholesky(A: np.ndarray) -> np.ndarray | None:
    """Return the lower Cholesky factor of A (n x n), None unless A is positive definite and well conditioned."""
    try:
        lower = cholesky(A, lower=True)
    except LinAlgError:
        return None
    (pocon,) = get_lapack_funcs(("pocon",), (lower,))
    condition, _ = pocon(lower, np.abs(A).sum(axis=0).max(), uplo="L")
    return lower if condition > REGULAR else None


def _cutoff(values: np.ndarray) -> float:
    """Rounding level of a symmetric eigendecomposition: 4 n ulp of the largest eigenvalue."""
    return 4 * len(values) * np.finfo(float).eps * float(np.max(np.abs(values), initial=0.0))
