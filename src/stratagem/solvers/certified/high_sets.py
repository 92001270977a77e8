"""Patterns of a given strategy, from which the computation of a certified bound starts."""

from __future__ import annotations

import numpy as np

from stratagem.strategies import OrbitStrategy, Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import unpack

COUNT = 1200
"""Most rows that the computation of a bound starts from; an interior-point step costs their cube."""


def high_sets(strategy: Strategy, count: int = COUNT) -> np.ndarray:
    """Return the patterns T_y (m, n) bool of the `count` most probable rows of a strategy, most probable first.

    For a row with more than two levels, the pattern holds the entries above the mean of its extremes.
    """
    if isinstance(strategy, TwoLevelStrategy):
        order = np.argsort(-strategy.row_sums, kind="stable")[:count]
        return unpack(strategy.patterns[order], strategy.domain_size)
    Q = strategy.forward(np.eye(strategy.domain_size))
    Q = Q[np.argsort(-Q.sum(axis=1), kind="stable")[:count]]
    return Q > (Q.min(axis=1, keepdims=True) + Q.max(axis=1, keepdims=True)) / 2


def translates(strategy: OrbitStrategy, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets (m, n) bool of all translates of the heaviest patterns on a cycle, with probabilities (m,).

    The domain has one attribute, the first n points of the cycle. There are about `count` sets; empty and
    full ones are left out.
    """
    (n,), (cycle,) = strategy.sizes, strategy.cycles
    heaviest = np.argsort(-strategy.weights, kind="stable")[: max(1, count // cycle)]
    places = (np.arange(n) - np.arange(cycle)[:, None]) % cycle
    sets = np.concatenate([strategy.patterns[b].inside[places] for b in heaviest])
    chances = np.repeat(strategy.weights[heaviest], cycle)
    proper = sets.any(axis=1) & ~sets.all(axis=1)
    return sets[proper], chances[proper] / chances[proper].sum()
