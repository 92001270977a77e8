"""Queries of bounded sensitivity, and the L2 matrix mechanism: the best for Gaussian noise, through the dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.math.deadline import deadline
from stratagem.math.linalg import factor, inverse


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
        """Share by which the objective may lie above its proven minimum."""
        return self.objective / self.lower_bound - 1

    def __post_init__(self) -> None:
        """Freeze the matrix."""
        self.matrix.flags.writeable = False


def residual_trace(A: np.ndarray, V: np.ndarray) -> float:
    """Return tr((A^T A)^+ V) for queries A (k x n) and a Gram matrix V (n x n).

    It is infinite if the range of V is not part of the range of A^T.
    """
    return inverse(A.T @ A).trace(V)


def check_gram(V: np.ndarray) -> np.ndarray:
    """Return a Gram matrix as an array of float64."""
    V = np.asarray(V, dtype=float)
    if V.ndim != 2 or V.shape[0] != V.shape[1] or not np.isfinite(V).all():
        raise ValueError(f"a Gram matrix is square and finite; this array has shape {V.shape}")
    size = float(np.abs(V).max(initial=0))
    if size == 0:
        raise ValueError("the Gram matrix is zero: give a workload that asks for something")
    if np.abs(V - V.T).max() > 1e-9 * size or np.linalg.eigvalsh(V)[0] < -1e-9 * len(V) * size:
        raise ValueError("a Gram matrix is symmetric and positive semidefinite: give V = W^T W")
    return V


TOLERANCE = 1e-7
"""Relative gap at which to stop."""


def least_l2(V: np.ndarray, steps: int = 2000, tolerance: float = TOLERANCE) -> QueryStrategy:
    """Minimise tr((A^T A)^+ V) over queries A (r x n) whose columns have Euclidean length at most 1.

    In X = A^T A that is the convex problem min tr(X^+ V), diag X <= 1. For any weights gamma >= 0 the
    Cauchy-Schwarz inequality gives the lower bound S(gamma)^2/sum(gamma), where

        S(gamma) = tr (V^(1/2) diag(gamma) V^(1/2))^(1/2) = max over ||O|| <= 1 of tr(O diag(gamma)^(1/2) V^(1/2)),

    attained by X(gamma) = V^(1/2) (V^(1/2) diag(gamma) V^(1/2))^(-1/2) V^(1/2) if its diagonal is constant.
    For a fixed O the maximum over gamma is gamma_i X_ii^2, so this update never lowers the bound; it stops at
    the maximum. A step costs one eigendecomposition.

    Args:
        V: Gram matrix W^T W (n x n), positive semidefinite, of any rank r.
        steps: Updates at most.
        tolerance: Relative gap between objective and bound at which to stop.

    Returns:
        A with r = rank(V) rows, its objective and the lower bound; `gap` is the certificate.

    Raises:
        ValueError: for a V that is not a Gram matrix or is zero.

    Reference:
        Li, Miklau, Hay, McGregor, Rastogi, VLDBJ 2015 (the program); Edmonds, Nikolov, Ullman, STOC 2020
        (its factorisation norm); Denisov et al., NeurIPS 2022 (its dual).

    Example:
        >>> import stratagem as st
        >>> round(least_l2(st.prefix(64).gram()).objective, 2)
        282.2
    """
    F = factor(check_gram(V))
    now = best = _point(F, np.ones(len(F)))
    for _ in range(steps):
        if best.objective - now.bound <= tolerance * now.bound or deadline().over:
            break
        now = _point(F, now.gamma * np.square(now.diagonal))
        best = now if now.objective < best.objective else best
    return QueryStrategy(best.queries(), best.objective, now.bound)


@dataclass(frozen=True, eq=False)
class _Point:
    """Weights gamma of the dual problem, with the queries that they determine."""

    gamma: np.ndarray
    """Weights (n,), mean 1."""
    half: np.ndarray
    """B (n x r) with B B^T = X(gamma)."""
    diagonal: np.ndarray
    """X_ii (n,)."""
    bound: float
    inflation: np.ndarray
    """Squared lengths (n,) by which the columns of B^T are divided."""
    objective: float

    def queries(self) -> np.ndarray:
        """Return A (r x n) with columns of length at most 1."""
        return np.ascontiguousarray((self.half / np.sqrt(self.inflation)[:, None]).T)


def _point(F: np.ndarray, gamma: np.ndarray) -> _Point:
    """Evaluate weights gamma for V = F F^T (F n x r).

    Queries of full rank keep their row space when every column is brought to length 1 by itself, which is
    nearer to the optimum; of lower rank they must all be divided by the longest.
    """
    n, rank = F.shape
    gamma = gamma / gamma.mean()
    values, vectors = np.linalg.eigh((F.T * gamma) @ F)
    values = np.maximum(values, np.finfo(float).tiny)
    S, rotated = float(np.sqrt(values).sum()), F @ vectors
    half = rotated / values**0.25
    diagonal = np.square(half).sum(axis=1)
    inflation = diagonal if rank == n else np.full(n, diagonal.max())
    # with columns divided by c^(1/2), X^+ = diag(c)^(1/2) X(gamma)^+ diag(c)^(1/2)
    objective = S * diagonal.max()
    if rank == n:
        dual = np.linalg.solve(half, np.sqrt(diagonal)[:, None] * F)
        objective = float(np.square(dual).sum())
    return _Point(gamma, half, diagonal, S**2 / n, inflation, objective)
