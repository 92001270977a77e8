"""Covering designs: few attribute sets of one size that hold all the sets asked for, chosen greedily."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np

from stratagem.math.number import integer


def covering_tables(
    attributes: int, tables: Sequence[Collection[int]], size: int
) -> tuple[tuple[int, ...], ...]:
    """Return sets of `size` attributes out of 0..d-1 such that each table lies inside one of them.

    Greedy: the set that holds most of the tables not held yet, first in lexicographic order, until all are;
    at most 1 + log(number of tables) times as many sets as needed.

    Args:
        attributes: their number d, at most 62.
        tables: attribute sets, each of numbers 0..d-1.
        size: attributes of a set, from those of the largest table to d.

    Raises:
        ValueError: if `attributes` or `size` is out of range.

    Reference:
        PriView (Qardaji, Yang, Li, SIGMOD 2014) and CALM (Zhang et al., CCS 2018) use covering designs; the
        greedy bound is Chvatal's, 1979.

    Example:
        >>> covering_tables(4, [(0, 1), (1, 2), (2, 3)], size=3)
        ((0, 1, 2), (0, 2, 3))
    """
    d = integer(attributes, "the number of attributes", 1, 62, "sets are kept as bits")
    largest = max(map(len, tables), default=0)
    integer(size, "the size of the sets", largest, d, "each must be able to hold the largest table")
    sets = list(combinations(range(d), size))
    inside = np.array([sum(1 << i for i in one) for one in sets])
    left = np.array([sum(1 << i for i in one) for one in tables], dtype=np.int64)
    held, chosen = left & ~inside[:, None] == 0, []
    while held.any():
        best = int(held.sum(axis=1).argmax())
        chosen.append(sets[best])
        held = held[:, ~held[best]]
    return tuple(chosen)
