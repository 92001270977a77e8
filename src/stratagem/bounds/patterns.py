"""The patterns, sets of user types, that are looked at one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, islice
from math import comb

import numpy as np

WHOLE, WORK = 20, 1 << 24
"""Largest domain of which all patterns are listed; on others, most products in x^T G x of all listed x."""
BLOCK = 1 << 15
"""Patterns that are looked at together."""


def listed_size(n: int) -> int:
    """Return the size up to which all patterns of n user types are listed: n itself up to n = 20."""
    if n <= WHOLE:
        return n
    size, many = 0, 1
    while (many := many + comb(n, size + 1)) * n**2 <= WORK:
        size += 1
    return size


def sets(numbers: np.ndarray, n: int) -> np.ndarray:
    """Return sets by their numbers, whose bits are their members, as rows of zeros and ones (N, n)."""
    return (numbers[:, None] >> np.arange(n)) & 1


def listed_patterns(n: int, size: int) -> Iterator[np.ndarray]:
    """Yield the patterns of at most `size` of n user types in blocks, as rows of zeros and ones."""
    if size == n:
        for first in range(0, 2**n, BLOCK):
            yield sets(np.arange(first, min(first + BLOCK, 2**n)), n).astype(float)
        return
    smaller = chain.from_iterable(combinations(range(n), many) for many in range(size + 1))
    while block := list(islice(smaller, BLOCK)):
        X = np.zeros((len(block), n))
        rows = np.repeat(np.arange(len(block)), [len(members) for members in block])
        X[rows, np.fromiter(chain.from_iterable(block), dtype=int)] = 1.0
        yield X
