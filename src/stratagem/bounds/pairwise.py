"""Lower bounds on a largest variance, from two user types alone."""

from __future__ import annotations

import math

import numpy as np

from stratagem.bounds.formulas import Rule, safe

PAIRWISE = Rule(
    "pairwise", "what telling two user types apart costs, for the worst type or query", "@stratagem", 8
)


def pairwise_types(V: np.ndarray, epsilon: float, ulps: float = 0.0) -> float:
    """Return max_uv ||W (e_u - e_v)||^2/(4 sinh^2(eps/2)) <= max_u t_u, in squared counts per user.

    Proof sketch: t_u is the total variance under Q e_u of an estimate whose mean is W e_u, and W e_v under
    Q e_v. The Hammersley-Chapman-Robbins inequality gives ||W (e_u - e_v)||^2 <= t_u chi^2(Q e_v, Q e_u), and
    a ratio of mean one between 1/E and E has variance at most (E - 1)(1 - 1/E) = 4 sinh^2(eps/2). The bound
    subtracts no term, so it stays positive where the other bounds are lost in rounding. The entries of V
    (n x n) have errors of at most `ulps` times its diagonal.
    """
    size = np.diag(V)[:, None] + np.diag(V)
    return safe(float((size * (1 - ulps) - 2 * V).max()) / divergence(epsilon), epsilon)


def pairwise_queries(W: np.ndarray, epsilon: float, p: np.ndarray) -> float:
    """Return max_i sum_u p_u max_v (W_iu - W_iv)^2/(4 sinh^2(eps/2)) <= max_i Var_i, W (k x n), a prior p (n,).

    The inequality of `pairwise_types` for one query at a time; attained for one 0/1 query.
    """
    low, high = W.min(axis=1, keepdims=True), W.max(axis=1, keepdims=True)
    return safe(float((np.square(np.maximum(W - low, high - W)) @ p).max()) / divergence(epsilon), epsilon)


def divergence(epsilon: float) -> float:
    """Return the largest chi-squared divergence of two columns of an epsilon-LDP strategy."""
    return 4 * math.sinh(epsilon / 2) ** 2
