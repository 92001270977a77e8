"""The minimum of a quadratic function on the simplex, where most cells of it are empty."""

from __future__ import annotations

import numpy as np

from stratagem.estimation.simplex import duality_gap, minimise_quadratic, nearest_on_simplex

WORTH = 256
"""Smallest number of cells for which a working set pays."""
FIRST = 0.125
"""Largest size of the first working set, as a share of all cells."""
DENSE = 0.5
"""Size of the working set above which all cells are solved for at once, as a share of all cells."""
GROWTH = 0.5
"""Largest number of cells that enter in a round, as a share of those that stay; 16 cells always may."""
FINER = 1e-3
"""Duality gap asked for within the working set, as a share of the last gap over all cells."""
EMPTY = 1e-2
"""A cell u leaves S if |S| z_u is below this share of its reduced cost, relative to the largest one."""
MAX_ROUNDS = 20


def sparse_minimum(H: np.ndarray, centre: np.ndarray, slope: np.ndarray, gap: float) -> np.ndarray:
    """Return argmin f on the simplex with the certificate of `minimise_quadratic`, faster where it is sparse.

    Interior points solve for the cells of a working set S, the others empty: |S|^3 a step in place of n^3. The
    gradient over all n cells then bounds what is missing, f(z) - min f <= g^T z - min_u g_u; while that is above
    `gap`, the cells with g_u < g^T z enter, steepest first, at most half as many as there are. Cells that S left
    empty leave it, but only in rounds that divided the gap by ten, so that nothing circles. S starts with the
    largest cells of the nearest point of the simplex after a gradient step, an eighth of all at most: few cells
    suffice where H has a low rank, too. Once S would hold more than half of the cells, all are solved for.
    """
    n = len(centre)
    curvature = max(np.diag(H).max(), np.ptp(slope), np.finfo(float).tiny)
    start = nearest_on_simplex(centre - slope / curvature, 1.0)
    S, within, best = _largest(start, int(FIRST * n)), np.inf, np.inf
    for _ in range(MAX_ROUNDS if n >= WORTH else 0):
        if len(S) > DENSE * n:
            break
        z = np.zeros(n)
        z[S] = _minimum_of(S, H, centre, slope, max(gap / 2, within))
        g = slope + H @ (z - centre)
        current = duality_gap(g, z)
        if current <= gap:
            return z
        stay = _stay(S, z, g) if current < best / 10 else S
        within, best = FINER * current, min(current, best)
        S = np.union1d(stay, _enter(S, g, float(g @ z), max(16, int(GROWTH * len(stay)))))
    return minimise_quadratic(H, centre, slope, gap)


def _largest(z: np.ndarray, most: int) -> np.ndarray:
    """Return the largest cells of z that are not empty."""
    order = np.argsort(-z, kind="stable")[:most]
    return order[z[order] > 0]


def _minimum_of(
    S: np.ndarray, H: np.ndarray, centre: np.ndarray, slope: np.ndarray, gap: float
) -> np.ndarray:
    """Return the minimum (|S|,) over the cells S, with all others empty."""
    others = np.where(np.isin(np.arange(len(centre)), S), 0.0, centre)
    return minimise_quadratic(H[np.ix_(S, S)], centre[S], slope[S] - H[S] @ others, gap)


def _stay(S: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the cells of S that are not both small in z and of high reduced cost g_u - min g."""
    reduced = g[S] - g[S].min()
    return S[z[S] * len(S) * reduced.max() >= EMPTY * reduced]


def _enter(S: np.ndarray, g: np.ndarray, level: float, most: int) -> np.ndarray:
    """Return the steepest cells outside S with g_u below the level."""
    outside = np.setdiff1d(np.flatnonzero(g < level), S)
    return outside[np.argsort(g[outside], kind="stable")[:most]]
