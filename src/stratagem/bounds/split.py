"""The root relaxation of the pricing problem: every element of a pattern pays for its own cheapest pairs."""

from __future__ import annotations

import numpy as np

from stratagem.bounds.slack import Slack


def even(slack: Slack) -> np.ndarray:
    """Return the split of each pair cost half and half, P = pair/2 (n x n)."""
    return slack.pair / 2


def root(slack: Slack, P: np.ndarray, size: int) -> tuple[float, np.ndarray]:
    """Return a lower bound on f over patterns of the given size and the choice X (n x n) that attains it.

    Any P with P + P^T = pair gives f(T) = constant + sum_{i in T} (linear_i + sum_{j in T} P_ij), and row i
    costs at least its size - 1 smallest P_ij, so the size smallest totals bound f from below. X_ij says
    that the chosen row i counted pair (i, j). O(n^2 log n).
    """
    n = len(P)
    masked = P + np.diag(np.full(n, np.inf))
    order = np.argsort(masked, axis=1)[:, : size - 1]
    totals = slack.linear + np.take_along_axis(P, order, axis=1).sum(axis=1)
    chosen = np.argsort(totals)[:size]
    X = np.zeros((n, n))
    X[chosen[:, None], order[chosen]] = 1.0
    return slack.constant + float(totals[chosen].sum()), X


def ascend(slack: Slack, size: int, target: float, max_steps: int = 150) -> np.ndarray:
    """Return a split P that makes the root bound large, by subgradient steps towards a target value.

    The bound is concave and piecewise linear in P, its subgradient X; only antisymmetric moves keep
    P + P^T = pair. The maximum over P is the level-1 reformulation-linearisation (RLT) bound of the
    pricing problem at this size. Any P is valid, so stopping early costs tightness alone.

    Reference:
        Adams, Guignard, Hahn, Hightower, A level-2 RLT bound for quadratic assignment, EJOR 2007.
    """
    P = even(slack)
    best, best_P = -np.inf, P
    for step in range(max_steps):
        value, X = root(slack, P, size)
        if value > best:
            best, best_P = value, P
        uphill = X - X.T
        norm = np.square(uphill).sum()
        if norm == 0 or value >= target:
            break
        P = P + 0.98**step * (target - value) / norm * uphill
    # exactly antisymmetric moves again: P + P^T = pair up to one rounding
    return even(slack) + (best_P - best_P.T) / 2


def rounding(P: np.ndarray) -> float:
    """Return a bound on what rounding does to a sum of entries of P, and to P + P^T."""
    return 4 * len(P) * float(np.finfo(float).eps * np.abs(P).sum())
