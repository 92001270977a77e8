"""Tables without negative cells that keep their total."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import finite, positive


def ripple(counts: ArrayLike, threshold: float) -> np.ndarray:
    """Return a table of the same total without a cell below -threshold.

    Every cell c below -threshold becomes 0 and its |c| is taken in equal parts from its neighbours, the cells that
    differ in the value of one attribute; then again, while there are such cells, all of them at once. Debt spreads
    until somebody can pay: nearby sub-tables change least. The rounds end, as a cell that has paid once is at
    most 0 from then on, and if all were, none could be below the total.

    Biased: rare cells upwards, their neighbours downwards.

    Args:
        counts: Estimates, one axis an attribute, of any sizes.
        threshold: How far below zero a cell may stay, positive; the smaller, the more rounds.

    Raises:
        ValueError: for numbers that are not finite, a threshold that is not positive, or a total of -threshold or
            less, which no such table has.

    Reference:
        Qardaji, Yang, Li, SIGMOD 2014.

    Example:
        >>> ripple([[-2.0, 5.0], [4.0, 3.0]], 0.5).tolist()
        [[0.0, 4.0], [3.0, 3.0]]
    """
    table = finite(counts, "the counts of a table")
    threshold = positive(threshold, "the threshold of ripple")
    if table.sum() <= -threshold:
        raise ValueError(
            f"a table of total {table.sum():.6g} was given, but ripple keeps the total and cells of at least "
            f"{-threshold:.6g}: give a table of a positive total"
        )
    neighbours = sum(size - 1 for size in table.shape)
    while (low := table < -threshold).any():
        debt = np.where(low, -table, 0.0)
        share = debt / neighbours
        received = sum((share.sum(axis=k, keepdims=True) - share for k in range(table.ndim)), np.zeros(()))
        table = np.where(low, 0.0, table) - received
    return table
