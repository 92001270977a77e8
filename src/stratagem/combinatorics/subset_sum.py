"""Random sets of things whose sizes have a given sum."""

from __future__ import annotations

import numpy as np


def random_subsets(sizes: np.ndarray, total: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct random sets (at most count x things, boolean) of that total size; no rows if none has it.

    Things are taken in random order, each with probability (what is needed)/(what is left) unless it must be
    taken or must not: uniform over all sets where the sizes are equal.
    """
    subsets = np.zeros((count if _sums(sizes.tolist())[-1] >> total & 1 else 0, len(sizes)), dtype=bool)
    for subset in subsets:
        order = rng.permutation(len(sizes))
        subset[order] = _random_subset(sizes[order].tolist(), total, rng.random(len(sizes)).tolist())
    return np.unique(subsets, axis=0)


def _random_subset(sizes: list[int], total: int, draws: list[float]) -> list[bool]:
    """Return which sizes a random set of that sum has, decided from the last to the first."""
    sums, left, needed, chosen = _sums(sizes), sum(sizes), total, []
    for i in range(len(sizes) - 1, -1, -1):
        within = sizes[i] <= needed and bool(sums[i] >> (needed - sizes[i]) & 1)
        without = bool(sums[i] >> needed & 1)
        take = within and (not without or draws[i] * left < needed)
        chosen.append(take)
        left, needed = left - sizes[i], needed - take * sizes[i]
    return chosen[::-1]


def _sums(sizes: list[int]) -> list[int]:
    """Return, for each number of leading sizes, the sums that sets of them have, as bits of a whole number."""
    sums = [1]
    for size in sizes:
        sums.append(sums[-1] | sums[-1] << size)
    return sums
