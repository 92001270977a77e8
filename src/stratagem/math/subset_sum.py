"""Random sets of things whose sizes have a given sum."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy


def random_subsets(sizes: np.ndarray, total: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct random sets (at most count x things, boolean) of that total size; no rows if none has it.

    Each thing is drawn with probability total/(sum of sizes), under the condition that the total is right:
    uniform over all sets where the sizes are equal. Sizes are whole and positive, 0 <= total <= their sum.
    """
    kinds, kind = np.unique(sizes, return_inverse=True)
    members = [np.flatnonzero(kind == j) for j in range(len(kinds))]
    chances = [_binomial(len(things), total / sizes.sum()) for things in members]
    tails = _tails(kinds, chances, total)
    subsets = np.zeros((count if tails[0][total] > 0 else 0, len(sizes)), dtype=bool)
    needed = np.full(len(subsets), total)
    for size, things, chance, tail in zip(kinds, members, chances, tails[1:], strict=True):
        left = needed[:, None] - size * np.arange(len(things) + 1)
        cumulative = np.cumsum(np.where(left >= 0, chance * tail[np.maximum(left, 0)], 0), axis=1)
        points = cumulative[:, -1:] * (1 - rng.random((len(subsets), 1)))
        taken = (cumulative < points).sum(axis=1)
        order = rng.random((len(subsets), len(things))).argsort(axis=1).argsort(axis=1)
        subsets[:, things] = order < taken[:, None]
        needed -= size * taken
    return np.unique(subsets, axis=0)


def _tails(kinds: np.ndarray, chances: list[np.ndarray], total: int) -> list[np.ndarray]:
    """Return, for each kind, the probabilities that it and all later ones sum to 0..total; then those of none."""
    tails = [np.eye(1, total + 1)[0]]
    for size, chance in zip(kinds[::-1], chances[::-1], strict=True):
        step = np.zeros((len(chance) - 1) * size + 1)
        step[::size] = chance
        tails.append(np.convolve(tails[-1], step)[: total + 1])
    return tails[::-1]


def _binomial(n: int, p: float) -> np.ndarray:
    """Return the probabilities of 0..n successes in n tries."""
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.exp(ways + xlogy(k, p) + xlog1py(n - k, -p))
