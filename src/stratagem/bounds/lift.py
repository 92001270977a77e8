"""The root relaxation made semidefinite: a convex part of the slack is dropped, the rest is split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stratagem.bounds.slack import Slack
from stratagem.bounds.split import root
from stratagem.numeric.linalg import centre

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the convexified slack to begin with."""


def lift(slack: Slack, size: int, target: float, max_steps: int = 200) -> tuple[Slack, np.ndarray]:
    """Return a slack f' <= f on patterns of this size with a split P of its pairs, for a large root bound.

    For any Y >= 0 (semidefinite), f'(T) = f(T) - 1_T^T Y 1_T <= f(T). The root bound of f' is concave in
    (Y, P), with subgradient (-Z, X - X^T), X the choice of the root relaxation and Z = diag + (X + X^T)/2 its
    lifted matrix; projected subgradient steps approach the semidefinite relaxation with the RLT
    constraints of level 1. Any (Y, P) is valid: Y is computed as a product B B^T,
    so it is semidefinite whatever the steps.
    """
    base, Y = max((_begin(slack, size, share) for share in SHARES), key=lambda start: _value(*start, size))
    n = len(Y)
    W = np.zeros((n, n))
    best, relax, stall = (-np.inf, Y, W), 1.0, 0
    for _ in range(max_steps):
        rest = _subtract(base, Y)
        value, X = root(rest, rest.pair / 2 + W, size)
        stall = 0 if value > best[0] else stall + 1
        best = max(best, (value, Y, W), key=lambda item: item[0])
        if value >= target:
            break
        if stall >= 8:
            relax, stall, (value, Y, W) = 0.6 * relax, 0, best
            rest = _subtract(base, Y)
            value, X = root(rest, rest.pair / 2 + W, size)
        uphill, Z = X - X.T, np.diag(X.any(axis=1) * 1.0) + (X + X.T) / 2
        moved = _semidefinite(Y - Z * (target - value) / np.square(Z).sum())
        along = moved - Y
        slope = np.square(uphill).sum() - np.sum(Z * along) * np.square(Z).sum() / (target - value)
        if slope <= 0:
            break
        step = relax * (target - value) / slope
        W = W + step * uphill
        Y = _semidefinite(Y - step * Z)
    rest = _subtract(base, best[1])
    return rest, rest.pair / 2 + (best[2] - best[2].T) / 2


def _begin(slack: Slack, size: int, share: float) -> tuple[Slack, np.ndarray]:
    """Return f rewritten for this size and Y, a share of the least shift of its Hessian that is convex.

    At fixed size sum_{i<j in T} (v_i + v_j) = (size - 1) sum_{i in T} v_i moves between pairs and elements;
    v makes the pairs that Y leaves small.
    """
    n = len(slack.linear)
    H = centre(slack.pair / 2)
    H += np.maximum(-np.linalg.eigvalsh(H)[0], 0.0) * centre(np.eye(n))
    Y = _semidefinite(share * H)
    rest = slack.pair - 2 * Y
    np.fill_diagonal(rest, 0.0)
    v = (rest.sum(axis=1) - rest.sum() / (2 * (n - 1))) / (n - 2) if n > 2 else np.zeros(n)
    pair = slack.pair - v[:, None] - v
    np.fill_diagonal(pair, 0.0)
    return replace(slack, linear=slack.linear + (size - 1) * v, pair=pair), Y


def _value(base: Slack, Y: np.ndarray, size: int) -> float:
    """Return the root bound with pairs split evenly."""
    rest = _subtract(base, Y)
    return root(rest, rest.pair / 2, size)[0]


def _subtract(slack: Slack, Y: np.ndarray) -> Slack:
    """Return f - 1_T^T Y 1_T."""
    pair = slack.pair - 2 * Y
    np.fill_diagonal(pair, 0.0)
    return replace(slack, linear=slack.linear - np.diag(Y), pair=pair)


def _semidefinite(Y: np.ndarray) -> np.ndarray:
    """Return the projection onto the positive semidefinite matrices, as a product B B^T."""
    values, vectors = np.linalg.eigh((Y + Y.T) / 2)
    B = vectors * np.sqrt(np.maximum(values, 0.0))
    return B @ B.T
