"""Repair: replace a matrix that is not quite an epsilon-LDP strategy by one close to it."""

from __future__ import annotations

import numpy as np

from stratagem.math.privacy import ratio

PASSES = 200
"""Largest number of bisection steps, more than double precision can distinguish."""


def repaired(Q: np.ndarray, epsilon: float) -> np.ndarray:
    """Return an epsilon-LDP strategy (m x n) close to Q: nonnegative, columns summing to one.

    Each row gets the levels [z_y, E z_y] nearest to it, minimising sum_u dist(Q[y, u], [z_y, E z_y])^2; all
    are scaled by one factor so that the columns sum to one on average; then every column is projected onto
    {q : z <= q <= E z, sum q = 1} in the Euclidean norm. A strategy that holds epsilon is its own repair up
    to rounding, and so is randomised response the one of the identity matrix. A row of little weight costs
    little, however far it breaks epsilon.

    Guarantee:
        E = exp(epsilon) (1 - 1e-14), so that the rows hold epsilon after the roundings of the projection.

    Reference:
        The projection is that of McKenna et al., VLDB 2020, Algorithm 1.
    """
    E = ratio(epsilon)
    Q = np.maximum(Q, 0.0)
    z = _levels(Q, E)
    target = np.clip(Q, z, E * z)
    scale = Q.shape[1] / target.sum()
    return _projected(scale * target, scale * z, E)


def _levels(Q: np.ndarray, E: float) -> np.ndarray:
    """Return the lower levels z (m, 1) of the rows; a row already within a factor E gets the geometric middle."""
    low, high = Q.min(axis=1, keepdims=True), Q.max(axis=1, keepdims=True)
    inside = high <= E * low
    a, b = low.copy(), high / E
    for _ in range(PASSES):
        z = (a + b) / 2
        rising = np.maximum(z - Q, 0).sum(axis=1, keepdims=True)
        falling = E * np.maximum(Q - E * z, 0).sum(axis=1, keepdims=True)
        settled = (z <= a) | (z >= b)
        if (settled | inside).all():
            break
        a, b = np.where(rising < falling, z, a), np.where(rising < falling, b, z)
    return np.where(inside, np.sqrt(low * high / E), (a + b) / 2)


def _projected(R: np.ndarray, z: np.ndarray, E: float) -> np.ndarray:
    """Return clip(R + lambda, z, E z), lambda (n,) such that the columns sum to one; needs sum z <= 1 <= E sum z."""
    reach = float(np.abs(R).max() + E * z.max())
    low, high = np.full(R.shape[1], -reach), np.full(R.shape[1], reach)
    for _ in range(PASSES):
        middle = (low + high) / 2
        if ((middle <= low) | (middle >= high)).all():
            break
        short = np.clip(R + middle, z, E * z).sum(axis=0) < 1
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.clip(R + (low + high) / 2, z, E * z)
