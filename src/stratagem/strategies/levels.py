"""Conversion of a matrix whose rows take two values into patterns and weights."""

from __future__ import annotations

import numpy as np

from stratagem.strategies.strategy import MatrixStrategy, Strategy
from stratagem.strategies.two_level import COLUMN_ERROR, TwoLevelStrategy, pack

SAME = 1e-13
"""Relative distance below which two probabilities are the same up to rounding."""


def two_levels(strategy: MatrixStrategy) -> Strategy:
    """Return a two-level strategy where every row has two values of one ratio, else the matrix as it is.

    The ratio E is the least of the rows', so that the patterns hold no larger epsilon than the matrix; rows
    of one value get no pattern. A 32-bit matrix takes 32 times the memory of its patterns.

    Example:
        >>> import stratagem as st
        >>> type(two_levels(st.randomised_response(4, 1.0))).__name__
        'TwoLevelStrategy'
    """
    Q = strategy.matrix
    low, high = Q.min(axis=1), Q.max(axis=1)
    if (low[high > 0] == 0).any():
        return strategy
    varied = high > low * (1 + SAME)
    E = float((high[varied] / low[varied]).min(initial=np.inf)) if varied.any() else 1.0
    patterns = varied[:, None] & (Q > np.sqrt(low * high)[:, None])
    expected = np.where(patterns, E * low[:, None], low[:, None])
    if (np.abs(Q - expected) > SAME * expected).any() or np.abs(
        expected.sum(axis=0) - 1
    ).max() > COLUMN_ERROR:
        return strategy
    return TwoLevelStrategy(pack(patterns), low, Q.shape[1], E)
