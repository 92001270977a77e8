"""Semidefinite matrices: factors and pseudo-inverses that set rounding noise to zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, get_lapack_funcs, solve_triangular

REGULAR, ACCURATE = 1e-10, 1e-8
"""Reciprocal condition numbers from which a Cholesky factor is as good as an eigendecomposition, and from which it
leaves seven digits of a trace where there are rows that would leave more."""
FAINT, GRAINS = 1e-9, 64.0
"""Share of the largest singular value of rows up to which others count as zero, and their rounding, so many times."""


OUTSIDE = 1e-8
"""Share of a matrix that may lie outside another's range, all of it rounding."""
CANCELLED = 1e-6
"""Share of its terms below which a difference is computed in another way: nine digits are left of it."""
SAME = 1e-10
"""Share of the largest entry of a matrix by which it may differ from one of rank one."""
SINGLE = 1e-14
"""Probability of all other types from which on a prior counts as one type."""
PAIRS = 1 << 14
"""Pairs of rows subtracted at once."""


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return ||a_i - b_j||^2 (k x l) for the rows of A (k x r) and B (l x r); small ones lose no digits."""
    sizes = np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1)
    squares = sizes - 2 * (A @ B.T)
    near = np.argwhere(squares <= CANCELLED * sizes)
    for first in range(0, len(near), PAIRS):
        i, j = near[first : first + PAIRS].T
        squares[i, j] = np.square(A[i] - B[j]).sum(axis=1)
    return squares


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


def reach(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the largest t with x + t dx >= 0, infinite where nothing falls."""
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=np.inf))


def centre(V: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Return A V A^T with A = I - 1 p^T for a prior p (n,): V seen from p^perp, because A^T p = 0.

    Without a prior p = 1/n, and A is the projection I - 11^T/n onto 1^perp.
    """
    if prior is None:
        V = V - V.mean(axis=0, keepdims=True)
        return V - V.mean(axis=1, keepdims=True)
    V = V - prior @ V
    return V - (V @ prior)[:, None]


def rank_one_factor(V: np.ndarray, share: float = SAME) -> np.ndarray | None:
    """Return f (n,) with V = f f^T up to a share of the largest entry, None where V >= 0 is no such matrix."""
    F = low_rank_factor(V, 1, share)
    return None if F is None else F[:, 0]


def low_rank_factor(V: np.ndarray, rank: int, share: float = SAME) -> np.ndarray | None:
    """Return F (n x r), 0 < r <= rank, with V = F F^T up to a share of the largest entry, None for other V >= 0.

    Pivoted Cholesky: every column of F is one of what is left of V, so that V - F F^T is positive semidefinite.
    """
    largest, left, columns = float(np.diag(V).max()), V, []
    for _ in range(rank):
        place = int(np.diag(left).argmax())
        if left[place, place] <= share * largest:
            break
        columns.append(left[place] / math.sqrt(left[place, place]))
        left = left - np.outer(columns[-1], columns[-1])
    return np.column_stack(columns) if columns and np.abs(left).max() <= share * largest else None


def eigenvalues(A: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of a positive semidefinite A, rounding noise set to exactly zero."""
    values = np.linalg.eigvalsh(A)
    return np.where(values > _cutoff(values), values, 0.0)


def factor(V: np.ndarray) -> np.ndarray:
    """Return F (n x r) with F F^T = V, r the numerical rank of the positive semidefinite V (n x n)."""
    lower = _regular_cholesky(V)
    if lower is not None:
        return lower
    single = rank_one_factor(V, len(V) * np.finfo(float).eps)
    if single is not None:
        return single[:, None]
    values, vectors = np.linalg.eigh(V)
    keep = values > _cutoff(values)
    return vectors[:, keep] * np.sqrt(values[keep])


def centred_factor(V: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Return F (n x r) with F F^T = A V A^T, A = I - 1 p^T, for a positive semidefinite V (n x n)."""
    centred, null = centre(V, prior), _null(len(V), prior)
    lower = _regular_cholesky(centred + np.trace(centred) / len(V) * null * null.T)
    return factor(centred) if lower is None else lower - null * (null.T @ lower)


@dataclass(frozen=True, eq=False)
class PseudoInverse:
    """Eigendecomposition of a positive semidefinite A (n x n) split into its range and its null space."""

    values: np.ndarray
    """Positive eigenvalues (r,), ascending."""
    vectors: np.ndarray
    """Orthonormal eigenvectors of the range (n x r)."""
    null: np.ndarray
    """Orthonormal basis of the null space (n x (n - r))."""

    @property
    def root(self) -> np.ndarray:
        """Return R (n x r) with R R^T = A^+."""
        return self.vectors / np.sqrt(self.values)

    def __matmul__(self, B: np.ndarray) -> np.ndarray:
        """Return A^+ B for B of shape (n,) or (n, k)."""
        return (self.vectors / self.values) @ (self.vectors.T @ B)

    def trace(self, V: np.ndarray) -> float:
        """Return tr(A^+ V) for a positive semidefinite V (n x n), infinite unless A's range holds that of V."""
        outside = float((self.null * (V @ self.null)).sum())
        return np.inf if outside > OUTSIDE * np.trace(V) else float(np.trace(self @ V))


def pseudo_inverse(A: np.ndarray) -> PseudoInverse:
    """Return A^+ of a positive semidefinite A (n x n); eigenvalues within rounding of zero are null."""
    values, vectors = np.linalg.eigh(A)
    keep = values > _cutoff(values)
    return PseudoInverse(values[keep], vectors[:, keep], vectors[:, ~keep])


@dataclass(frozen=True, eq=False)
class RegularInverse:
    """A^-1 of a positive definite, well conditioned A (n x n)."""

    lower: np.ndarray
    """Cholesky factor (n x n)."""

    @property
    def null(self) -> np.ndarray:
        """Return the empty basis (n x 0) of its null space."""
        return np.zeros((len(self.lower), 0))

    def trace(self, V: np.ndarray) -> float:
        """Return tr(A^-1 V) for a symmetric V (n x n), from half of A^-1: a third of the work of A^-1 V."""
        (potri,) = get_lapack_funcs(("potri",), (self.lower,))
        half = potri(self.lower, lower=True)[0].T
        return float(2 * np.vdot(np.triu(half, 1), V) + np.diag(half) @ np.diag(V))

    @property
    def root(self) -> np.ndarray:
        """Return R (n x n) with R R^T = A^-1."""
        return solve_triangular(self.lower, np.eye(len(self.lower)), lower=True, check_finite=False).T

    def __matmul__(self, B: np.ndarray) -> np.ndarray:
        """Return A^-1 B for B of shape (n,) or (n, k)."""
        return cho_solve((self.lower, True), B, check_finite=False)


def inverse(A: np.ndarray) -> RegularInverse | PseudoInverse:
    """Return A^+ of a positive semidefinite A (n x n), fast if it is positive definite and well conditioned."""
    lower = _regular_cholesky(A)
    return pseudo_inverse(A) if lower is None else RegularInverse(lower)


@dataclass(frozen=True, eq=False)
class CentredInverse:
    """A^+ of a positive semidefinite A (n x n) whose null space is one known direction."""

    lower: np.ndarray
    """Cholesky factor of A + t v v^T (n x n), t > 0, v the null direction."""
    null: np.ndarray
    """v as an orthonormal basis (n x 1)."""

    def __matmul__(self, B: np.ndarray) -> np.ndarray:
        """Return A^+ B for B of shape (n,) or (n, k)."""
        v = self.null[:, 0]
        return cho_solve((self.lower, True), B - np.multiply.outer(v, v @ B), check_finite=False)


def centred_inverse(
    A: np.ndarray, prior: np.ndarray | None = None, rows: Callable[[], Rows] | None = None
) -> CentredInverse | PseudoInverse:
    """Return A^+ of a positive semidefinite A with A p = 0, fast if p is its only null direction.

    Entries of types that a prior rules out grow like e^epsilon beside those of others. What is added along p is of
    the size of the entries where p is, so that these keep their digits; where p is one type, these are zero and any
    size will do. Where A is nearly singular, the singular values of rows R with R^T R = A keep twice the digits.
    """
    null, diagonal = _null(len(A), prior), np.diag(A)
    if rows is not None and (diagonal <= (GRAINS * np.finfo(float).eps) ** 2 * (diagonal + 1 / len(A))).any():
        return _inverse_of_rows(rows())  # a type that reports tell from the mean by rounding alone
    several = prior is not None and prior.max() < 1 - SINGLE
    size = float(prior @ diagonal if several else diagonal.mean())
    least = REGULAR if rows is None else ACCURATE
    lower = _regular_cholesky(A + size * null * null.T, scaled=prior is not None, least=least)
    if lower is not None:
        return CentredInverse(lower, null)
    return pseudo_inverse(A) if rows is None else _inverse_of_rows(rows())


def apply_inverse(inverse: CentredInverse | PseudoInverse, B: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return M^+ B where M = 11^T/n + C, C p = 0 and `inverse` is C^+; B has shape (n,) or (n, k), p (n,).

    M (n p) = 1, so B = 1 b + B_c with b = p^T B gives M^+ B = n p b + (I - p 1^T) C^+ B_c.
    """
    n = len(B)
    p = shares.reshape(n, *[1] * (B.ndim - 1))
    total = (p * B).sum(axis=0)
    rest = inverse @ (B - total)
    return n * p * total + rest - p * rest.sum(axis=0)


class Rows(NamedTuple):
    """Rows R (k x n) of a positive semidefinite R^T R, with the size of the numbers that they are differences of."""

    values: np.ndarray
    size: float = 0.0

    @staticmethod
    def of(blocks: Iterable[np.ndarray], n: int, size: float = 0.0) -> Rows:
        """Return at most n rows in place of the rows of all blocks (k x n), by Householder's method block by block."""
        found = np.zeros((0, n))
        for block in blocks:
            found = np.asarray(np.linalg.qr(np.vstack([found, block]), mode="r"))
        return Rows(found, size)


def _inverse_of_rows(rows: Rows) -> PseudoInverse:
    """Return (R^T R)^+; singular values that may be rounding count as zero."""
    n = rows.values.shape[1]
    _, sizes, vectors = np.linalg.svd(rows.values)
    sizes = np.pad(sizes, (0, n - len(sizes)))
    grain = GRAINS * np.finfo(float).eps * math.sqrt(n) * rows.size
    keep = sizes > max(FAINT * sizes.max(initial=0.0), grain)
    order = np.flatnonzero(keep)[::-1]
    return PseudoInverse(np.square(sizes[order]), vectors[order].T, vectors[~keep].T)


def _null(n: int, prior: np.ndarray | None) -> np.ndarray:
    """Return p/||p|| as a column (n x 1), p = 1/n without a prior."""
    return np.full((n, 1), n**-0.5) if prior is None else (prior / np.linalg.norm(prior))[:, None]


def _regular_cholesky(A: np.ndarray, *, scaled: bool = False, least: float = REGULAR) -> np.ndarray | None:
    """Return the lower Cholesky factor of A (n x n), None unless A is positive definite and well conditioned.

    Where it is `scaled`, only D^-1/2 A D^-1/2 need be well conditioned, D the diagonal of A: solutions are as accurate
    as for that matrix (van der Sluis; Higham, Accuracy and Stability of Numerical Algorithms, Theorem 10.6).
    """
    try:
        lower = cholesky(A, lower=True)
    except LinAlgError:
        return None
    if scaled:
        lengths = np.sqrt(np.diag(A))
        A, unit = A / np.outer(lengths, lengths), lower / lengths[:, None]
    else:
        unit = lower
    (pocon,) = get_lapack_funcs(("pocon",), (unit,))
    condition, _ = pocon(unit, np.abs(A).sum(axis=0).max(), uplo="L")
    return lower if condition > least else None


def _cutoff(values: np.ndarray) -> float:
    """Rounding level of a symmetric eigendecomposition: 4 n ulp of the largest eigenvalue."""
    return 4 * len(values) * np.finfo(float).eps * float(np.max(np.abs(values), initial=0.0))
