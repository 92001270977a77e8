"""Queries of bounded sensitivity: the best for Gaussian noise, by the dual, good ones for Laplace noise, by descent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

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
        """Share by which the objective may lie above the proven minimum."""
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


SHARES = (24, 16, 16, 16, 12, 12, 10, 10)
"""User types per query beyond the identity, one random start each."""
MOST = 40
"""Queries beyond the identity at most, so that an evaluation on 1024 user types takes about 0.1 s."""
WIDEST = 160
"""Most queries beyond the identity of a given start; a start with more is compared but not improved."""
LOW = 4
"""User types per dimension of V from which the L2 optimum is a start too: it has no identity to begin with."""
STEPS, FEWEST = 600, 150
"""Descent steps that settle the third digit on 256 user types; on larger domains in proportion fewer, to a limit."""
TRIAL = 4
"""Divisor of the number of steps: every start gets a quarter of them at first."""
LEFT = 3
"""Number of the best starts that then get all the steps."""
DOMINANT = 20.0
"""Weight that a given start gets over the identity, whose part a descent can still enlarge."""


def least_l1(
    V: np.ndarray, starts: Sequence[ArrayLike] = (), steps: int | None = None, seed: int = 0
) -> QueryStrategy:
    """Minimise tr((A^T A)^+ V) over queries A (k x n) whose columns sum to at most 1 in absolute value.

    The problem is not convex. A is searched among the identity with p more queries, its columns scaled to
    norm one: A = [I; T] D, D = diag(1 + |T|^T 1)^-1, T (p x n), where one evaluation costs n^2 p. L-BFGS
    descends from random T of a few sizes p, from the given starts, whose signs it keeps, and where V has low
    rank from the optimum of `least_l2`; the best is returned, a start itself if nothing improved on it.

    Args:
        V: Gram matrix W^T W (n x n), positive semidefinite.
        starts: Known queries (k_i x n) of any scale, as of a hierarchy; the result is never worse than one of them.
        steps: L-BFGS steps of the best starts; by default 600 on up to 256 user types, fewer on more.
        seed: Seed of the random starts.

    Returns:
        A with a longest column of L1 norm 1, its objective, and as lower bound the optimum of `least_l2`, as L1 norms
        are no shorter. The gap between the two norms is wide: it says little about how good the descent was.

    Raises:
        ValueError: for a V that is not a Gram matrix or is zero, or a start of another shape.

    Reference:
        Li et al., PODS 2010; McKenna, Miklau, Hay, Machanavajjhala, VLDB 2018 (identity with p more queries).

    Example:
        >>> import stratagem as st
        >>> least_l1(st.prefix(64).gram()).objective < 906.9
        True
    """
    V = check_gram(V)
    steps = max(FEWEST, STEPS * 256 // max(256, len(V))) if steps is None else steps
    convex = least_l2(V)
    known = [_checked(start, len(V)) for start in starts]
    known += [convex.matrix] if LOW * len(convex.matrix) <= len(V) else []
    given = [T for T in map(_beyond, known) if len(T) <= WIDEST]
    sizes = (min(MOST, max(1, round(len(V) / share))) for share in SHARES)
    starting = [*map(np.random.default_rng(seed).random, ((p, len(V)) for p in sizes)), *given]
    first = [_descended(T, V, steps // TRIAL) for T in starting if not deadline().over]
    first.sort(key=lambda T: _value(np.abs(T), _signs(T), V)[0])
    found = [_queries(_descended(T, V, steps)) for T in first[:LEFT]]
    scaled = (A / np.abs(A).sum(axis=0).max() for A in [np.eye(len(V)), *found, *known])
    best = min(scaled, key=lambda A: residual_trace(A, V))
    return QueryStrategy(best, residual_trace(best, V), convex.lower_bound)


def _checked(start: ArrayLike, n: int) -> np.ndarray:
    """Return queries that were given as a start."""
    A = np.array(start, dtype=float)
    if A.ndim != 2 or A.shape[1] != n or not np.isfinite(A).all() or not A.any():
        raise ValueError(f"a start has shape {A.shape}: give finite queries (k x {n}) that are not all zero")
    return A


def _beyond(A: np.ndarray) -> np.ndarray:
    """Return T with [I; T] D near the queries A; rows that single out one user type are the identity's part."""
    shared = A[np.count_nonzero(A, axis=1) > 1]
    alone = A[np.count_nonzero(A, axis=1) <= 1]
    own = np.abs(alone).sum(axis=0)
    floor = np.abs(A).sum(axis=0).max() / DOMINANT
    return (shared if len(shared) else A) / np.maximum(own, floor)


def _queries(T: np.ndarray) -> np.ndarray:
    """Return [I; T] D, D = diag(1 + |T|^T 1)^-1."""
    return np.vstack([np.eye(T.shape[1]), T]) / (1 + np.abs(T).sum(axis=0))


def _descended(T: np.ndarray, V: np.ndarray, steps: int) -> np.ndarray:
    """Return T after L-BFGS over |T|, signs kept."""
    signs, scale = _signs(T), np.trace(V)

    def objective(sizes: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = _value(sizes.reshape(T.shape), signs, V)
        return value / scale, slope.ravel() / scale

    limits = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-10}
    bounds = [(0, None)] * T.size
    asked = {"jac": True, "method": "L-BFGS-B", "bounds": bounds, "options": limits}
    found = minimize(objective, np.abs(T).ravel(), callback=deadline().ends_descent, **asked)
    return signs * found.x.reshape(T.shape)


def _signs(T: np.ndarray) -> np.ndarray:
    return np.where(T < 0, -1.0, 1.0)


def _value(sizes: np.ndarray, signs: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
    """Return f = tr(Z D^-1 V D^-1) and df/d|T| for T = signs |T|, Z = (I + T^T T)^-1, at the cost of n^2 p.

    With Y = (I + T T^T)^-1 T, Z = I - T^T Y and T Z = Y. For d = 1 + |T|^T 1, df/dd = 2 diag(Z D^-1 V).
    """
    T, d, v = signs * sizes, 1 + sizes.sum(axis=0), np.diag(V)
    Y = cho_solve(cho_factor(np.eye(len(T)) + T @ T.T), T)
    TV, YV = (T * d) @ V, (Y * d) @ V
    f = d @ (v * d) - (Y * TV * d).sum()
    toward = YV * d - (YV * d @ T.T) @ Y
    along = v * d - (T * YV).sum(axis=0)
    return f, 2 * (along - signs * toward)
