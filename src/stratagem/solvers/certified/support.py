"""The sets on which a strategy reports with its higher probability: where a certificate begins."""

from __future__ import annotations

import numpy as np

from stratagem.strategies import Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import unpack

COUNT = 1200
"""Rows that a certificate begins with: its interior-point steps cost their cube."""


def support(strategy: Strategy, count: int = COUNT) -> np.ndarray:
    """Return the sets T_y (m, n) bool of the most probable rows, at most `count`, most probable first.

    A row of other than two levels is cut half-way between its extremes.
    """
    if isinstance(strategy, TwoLevelStrategy):
        order = np.argsort(-strategy.row_sums, kind="stable")[:count]
        return unpack(strategy.patterns[order], strategy.domain_size)
    Q = strategy.forward(np.eye(strategy.domain_size))
    Q = Q[np.argsort(-Q.sum(axis=1), kind="stable")[:count]]
    return Q > (Q.min(axis=1, keepdims=True) + Q.max(axis=1, keepdims=True)) / 2
