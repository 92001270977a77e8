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


class AllPatterns:
    """All 2^n patterns, each a pattern of the first half of the types and one of the others.

    Number i stands for the bits of i, the first type in the highest one. What is asked of all of them is a sum of
    what both halves say and, of quadratic forms, one matrix product.
    """

    def __init__(self, n: int) -> None:
        """List the patterns of both halves."""
        self.first = n // 2
        self.halves = [sets(np.arange(2**many), many)[:, ::-1].astype(float) for many in (n // 2, n - n // 2)]

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """Return some patterns (N, n), zeros and ones."""
        head, tail = self.halves
        places = np.divmod(numbers, len(tail))
        return np.concatenate([head[places[0]], tail[places[1]]], axis=1)

    def linear(self, weights: np.ndarray) -> np.ndarray:
        """Return w^T x of all patterns (2^n,)."""
        head, tail = self.halves
        return np.add.outer(head @ weights[: self.first], tail @ weights[self.first :]).ravel()

    def quadratic(self, A: np.ndarray) -> np.ndarray:
        """Return x^T A x of all patterns (2^n,), A symmetric (n x n)."""
        head, tail, k = *self.halves, self.first
        own = ((head @ A[:k, :k]) * head).sum(axis=1), ((tail @ A[k:, k:]) * tail).sum(axis=1)
        return (np.add.outer(*own) + head @ (2 * A[:k, k:]) @ tail.T).ravel()


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
