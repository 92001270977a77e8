"""The L2 matrix mechanism: the best queries for Gaussian noise, a convex problem solved through its dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.baselines.query_strategy import QueryStrategy, check_gram
from stratagem.math.deadline import deadline
from stratagem.math.linalg import factor

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
