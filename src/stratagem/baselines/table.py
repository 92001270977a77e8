"""Contingency tables as views: which cell of a marginal a user type falls into."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np


def table_cells(sizes: Sequence[int], attributes: Sequence[int]) -> np.ndarray:
    """Return the cell of every user type (n,) in the table of these attributes, row-major."""
    coordinates = np.indices(sizes).reshape(len(sizes), -1)
    chosen = sorted(attributes)
    if not chosen:
        return np.zeros(prod(sizes), dtype=np.int64)
    cells = np.ravel_multi_index(tuple(coordinates[i] for i in chosen), [sizes[i] for i in chosen])
    return np.asarray(cells)


def energies(sizes: Sequence[int], V: np.ndarray) -> np.ndarray:
    """Return tr(P_S V) for every attribute set S as an array (2, ..., 2), index 1 for the members of S.

    P_S projects onto the functions of the attributes in S that average to zero over each of them, with the
    entries prod_{i in S} ([u_i = v_i] - 1/a_i) prod_{i not in S} 1/a_i: they depend on which coordinates
    agree, so that V is first summed over the pairs of cells with the same agreements.
    """
    agree = np.zeros((prod(sizes),) * 2, dtype=np.int64)
    for coordinate in np.indices(sizes).reshape(len(sizes), -1):
        agree = 2 * agree + (coordinate[:, None] == coordinate)
    sums = np.bincount(agree.ravel(), V.ravel(), 1 << len(sizes)).reshape((2,) * len(sizes))
    for axis, a in enumerate(sizes):
        differ, same = np.moveaxis(sums, axis, 0)
        sums = np.stack([(differ + same) / a, same - (differ + same) / a], axis=axis)
    return sums
