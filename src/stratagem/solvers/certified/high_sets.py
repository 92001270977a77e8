"""The sets on which a strategy reports with its higher probability: where a certificate begins."""

from __future__ import annotations

import numpy as np

from stratagem.strategies import OrbitStrategy, Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import unpack

COUNT = 1200
"""Rows that a certificate begins with: its interior-point steps cost their cube."""


def high_sets(strategy: Strategy, count: int = COUNT) -> np.ndarray:
    """Return the sets T_y (m, n) bool of the most probable rows, at most `count`, most probable first.

    A row of other than two levels is cut half-way between its extremes.
    """
    if isinstance(strategy, TwoLevelStrategy):
        order = np.argsort(-strategy.row_sums, kind="stable")[:count]
        return unpack(strategy.patterns[order], strategy.domain_size)
    Q = strategy.forward(np.eye(strategy.domain_size))
    Q = Q[np.argsort(-Q.sum(axis=1), kind="stable")[:count]]
    return Q > (Q.min(axis=1, keepdims=True) + Q.max(axis=1, keepdims=True)) / 2


def translates(strategy: OrbitStrategy, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets (m, n) bool that translates of the likeliest patterns on a cycle hold, and chances (m,).

    The domain has one attribute, the first n points of the cycle. About `count` sets, none of them all or nothing.
    """
    (n,), (cycle,) = strategy.sizes, strategy.cycles
    heaviest = np.argsort(-strategy.weights, kind="stable")[: max(1, count // cycle)]
    places = (np.arange(n) - np.arange(cycle)[:, None]) % cycle
    sets = np.concatenate([strategy.patterns[b].inside[places] for b in heaviest])
    chances = np.repeat(strategy.weights[heaviest], cycle)
    proper = sets.any(axis=1) & ~sets.all(axis=1)
    return sets[proper], chances[proper] / chances[proper].sum()
