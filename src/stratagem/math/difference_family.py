"""Difference families: few base blocks whose translates make a balanced design."""

from __future__ import annotations

import math

import numpy as np

from stratagem.math.multiplier import Group, groups
from stratagem.math.subset_sum import random_subsets

LARGEST = 1 << 11
"""Largest number of points: the table of their differences has its square."""
PROBE = 24
"""Candidate blocks that are looked at first."""
SPARE = 64
"""Candidate blocks of each group, beyond eight for each equation."""
EXACT = 1e-12
"""Largest relative distance of a weighted count of differences from its mean."""


def difference_family(
    points: int, size: int, most: float = math.inf
) -> tuple[Group, np.ndarray, np.ndarray] | None:
    """Return a group of n points, base blocks (s x n, boolean) of k points and weights (s,) of sum one.

    If a block T has lambda_T(d) = |{x, y in T: x - y = d}| and sum_T w_T lambda_T(d) = k (k - 1)/(n - 1) for
    every d != 0, then the n translates of every T, weighted by w_T/n, hold all pairs of points equally often.
    Blocks are unions of orbits of multipliers, x -> a x^(p^j) in the fields of the prime powers of n or
    x -> u^i x modulo n, so that each orbit gives one equation. Groups with few orbits come first; of each,
    random unions (from a fixed seed) are weighted by nonnegative least squares, which needs no more blocks
    than equations. The last try has no multipliers: floor(n/2) equations modulo n.

    `most` limits the equations, and with them the base blocks. None if no group within the limits, n <= 2048
    among them, balances; size and n - size are at least two.

    Reference:
        Wilson 1972, "Cyclotomy and difference families in elementary abelian groups".
    """
    if points > LARGEST:
        return None
    rng, mean = np.random.default_rng(0), size * (size - 1) / (points - 1)
    ordered = groups(points, most)
    pools = [8] * len(ordered)
    if ordered and len(ordered[-1].apart) == points // 2:
        ordered, pools = (*ordered, ordered[-1]), [*pools, 32]
    for group, pool in zip(ordered, pools, strict=True):
        few = _random_unions(group, size, PROBE, rng)
        if len(few) == 0 or (group.differences(few) > mean * (1 + EXACT)).all(axis=0).any():
            continue  # no union has this size, or the multipliers favour some differences
        blocks = _random_unions(group, size, pool * len(group.apart) + SPARE, rng)
        weights = _balance(group.differences(blocks) / mean)
        if weights is not None:
            return group, blocks[weights > 0], weights[weights > 0]
    return None


def _random_unions(group: Group, size: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct random unions of orbits that have `size` elements (at most count x n, boolean)."""
    return random_subsets(np.bincount(group.orbit), size, count, rng)[:, group.orbit]


def _balance(counts: np.ndarray) -> np.ndarray | None:
    """Return weights w >= 0 of sum one with counts^T w = 1 (blocks x orbits), few of them positive; None if none."""
    from scipy.optimize import nnls

    off = counts - 1
    alone = np.abs(off).max(axis=1) <= EXACT
    if alone.any():
        return np.eye(len(counts))[int(np.argmax(alone))]
    total = np.zeros(off.shape[1] + 1)
    total[-1] = 1
    try:
        weights, _ = nnls(np.vstack([off.T, np.ones(len(off))]), total)
    except RuntimeError:  # no convergence within its limit of steps
        return None
    weights /= weights.sum()
    return weights if np.abs(weights @ off).max() <= EXACT else None
