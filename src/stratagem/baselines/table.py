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
