"""The nearest point of the simplex, and the minimum of a convex quadratic function on it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

MAX_STEPS = 100
"""Interior-point steps at most; far fewer suffice."""
INSIDE = 0.995
"""Share of the way to the boundary that a step may go."""


def nearest_on_simplex(x: np.ndarray, total: float) -> np.ndarray:
    """Return argmin ||z - x||_2 subject to z >= 0, sum z = total: z = max(x + delta, 0), by sorting x (n,).

    Reference: Held, Wolfe, Crowder 1974; Duchi et al., ICML 2008, Figure 1.

    Example:
        >>> nearest_on_simplex(np.array([6.0, 5.0, -1.0]), 9.0).tolist()
        [5.0, 4.0, 0.0]
    """
    x = np.asarray(x, dtype=float)
    descending = -np.sort(-x)
    shifts = (total - np.cumsum(descending)) / np.arange(1, len(x) + 1)
    kept = np.flatnonzero(descending + shifts > 0)[-1]
    return np.maximum(x + shifts[kept], 0.0)


def minimise_quadratic(H: np.ndarray, centre: np.ndarray, slope: np.ndarray, gap: float) -> np.ndarray:
    """Return argmin f on the simplex z >= 0, sum z = 1, f(z) = slope^T (z - centre) + ||z - centre||_H^2 / 2.

    H (n x n) is positive semidefinite, centre (n,) any point. Stops when f(z) - min f <= g^T z - min_u g_u <=
    `gap`, g the gradient at z: the bound that convexity gives (Frank and Wolfe 1956), so the answer carries its
    own certificate, which `duality_gap` repeats. Primal-dual interior points with Mehrotra's corrector (1992):
    one Cholesky factorisation of H + diag(w / z) a step, whatever the condition of H.
    """
    n = len(centre)
    z, best, best_gap = np.full(n, 1 / n), np.full(n, 1 / n), np.inf
    g = slope + H @ (z - centre)
    level = g.min() - max(np.ptp(g), np.finfo(float).tiny)
    w = g - level
    for _ in range(MAX_STEPS):
        g = slope + H @ (z - centre)
        current = duality_gap(g, z)
        if current < best_gap:
            best, best_gap = z, current
        if current <= gap:
            break
        try:
            K = cho_factor(H + np.diag(w / z), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            break
        dz, _, dw = _direction(K, z, w, g - level, np.zeros(n))
        length = min(_room(z, dz), _room(w, dw))
        mean = z @ w / n
        target = mean * ((z + length * dz) @ (w + length * dw) / (n * mean)) ** 3
        dz, rise, dw = _direction(K, z, w, g - level, target - dz * dw)
        length = INSIDE * min(_room(z, dz), _room(w, dw))
        z, w, level = z + length * dz, w + length * dw, level + length * rise
        z /= z.sum()
    return best


def _direction(
    K: tuple[np.ndarray, bool], z: np.ndarray, w: np.ndarray, reduced: np.ndarray, products: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Solve K dz = products / z - reduced + rise 1, sum dz = 1 - sum z; return dz, rise and dw.

    The conditions of optimality g = level 1 + w, z w = products, sum z = 1, linearised; reduced = g - level 1.
    """
    even = cho_solve(K, np.ones(len(z)), check_finite=False)
    move = cho_solve(K, products / z - reduced, check_finite=False)
    rise = (1 - z.sum() - move.sum()) / even.sum()
    dz = move + rise * even
    return dz, rise, (products - w * dz) / z - w


def duality_gap(g: np.ndarray, z: np.ndarray) -> float:
    """Return g^T z - (sum z) min_u g_u >= f(z) - min f for a convex f of gradient g on {z >= 0, fixed sum}."""
    return float((g - g.min()) @ z)


def _room(z: np.ndarray, dz: np.ndarray) -> float:
    """Return the largest step, at most 1, that keeps z + step dz >= 0."""
    falling = dz < 0
    return min(1.0, float(np.min(z[falling] / -dz[falling], initial=np.inf)))
