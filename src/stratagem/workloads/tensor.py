"""Work on arrays whose axes are attributes."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from stratagem.workloads.workload import Array


def apply_along(function: Callable[[Array], Array], tensor: Array, axis: int) -> Array:
    """Apply a map from (n, k) to (p, k) along one axis of a tensor, all other axes being columns."""
    moved = np.moveaxis(tensor, axis, 0)
    image = function(moved.reshape(len(moved), math.prod(moved.shape[1:])))
    return np.moveaxis(image.reshape(len(image), *moved.shape[1:]), 0, axis)


def axis_vectors(vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Turn the i-th vector into a tensor that varies along axis i only, ready to broadcast."""
    ones = (1,) * len(vectors)
    return [vector.reshape(*ones[:i], -1, *ones[i + 1 :]) for i, vector in enumerate(vectors)]


def elementary_symmetric(factors: Iterable[Any], top: int) -> list[Any]:
    """Return e_0, ..., e_top: e_k is the sum over all k-subsets S of the factors of prod_{i in S} factor_i.

    Factors may be Python ints (exact at any size) or arrays that broadcast.
    """
    e: list[Any] = [1] + [0] * top
    for factor in factors:
        for k in range(top, 0, -1):
            e[k] = e[k] + factor * e[k - 1]
    return e


@lru_cache(maxsize=8)
def symmetric_tails(factors: tuple[int, ...], top: int) -> list[list[int]]:
    """Return e_0, ..., e_top of the factors from i on, for every i = 0, ..., d."""
    tails = [[1] + [0] * top]
    for factor in reversed(factors):
        after = tails[-1]
        tails.append([1, *(after[k] + factor * after[k - 1] for k in range(1, top + 1))])
    return tails[::-1]


def translates(row: Array, sizes: tuple[int, ...]) -> Array:
    """Return the matrix V[u, v] = row[u - v] of a function on Z_a1 x ... x Z_ad, shape (n, n)."""
    index = np.zeros((1, 1), dtype=np.intp)
    for a in sizes:
        step = np.subtract.outer(np.arange(a), np.arange(a)) % a
        n = len(index) * a
        index = (index[:, None, :, None] * a + step[None, :, None, :]).reshape(n, n)
    return row[index]
