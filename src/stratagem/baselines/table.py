"""Contingency tables as partitions: the cell of a marginal that each user type falls into."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from stratagem.math.number import integer


def attribute_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of values of the attributes.

    Raises:
        ValueError: unless they are whole numbers, at least one of them.
    """
    try:
        given = tuple(sizes)
    except TypeError:
        given = ()
    if not given:
        raise ValueError(
            f"the sizes of the attributes are {sizes!r}: give at least one, for example (2, 2, 3)"
        )
    return tuple(
        integer(a, "The size of an attribute", 1, 1 << 24, "merge some of its values") for a in given
    )


def table_cells(sizes: Sequence[int], attributes: Sequence[int]) -> np.ndarray:
    """Return the cell of every user type (n,) in the table of these attributes, row-major."""
    coordinates = np.indices(sizes).reshape(len(sizes), -1)
    chosen = sorted(attributes)
    if not chosen:
        return np.zeros(prod(sizes), dtype=np.int64)
    cells = np.ravel_multi_index(tuple(coordinates[i] for i in chosen), [sizes[i] for i in chosen])
    return np.asarray(cells)
