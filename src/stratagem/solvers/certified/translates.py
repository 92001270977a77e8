"""Translates of patterns on a cycle as first rows, a stage of `Certified` for prefixes of many values.

Where a pattern may be moved along a line almost freely (theory.md, section 6, windows), the sets that `Orbit` finds by
transforms are better first rows than random fields; column generation then improves them without symmetry.
"""

from __future__ import annotations

import numpy as np

from stratagem.solvers.certified.column_generation import ColumnGenerationState
from stratagem.solvers.orbit.orbit import Orbit
from stratagem.solvers.problem import Problem
from stratagem.strategies import OrbitStrategy


def translated(problem: Problem, fresh: ColumnGenerationState, seed: int) -> ColumnGenerationState:
    """Return the state with the translates that `Orbit` finds as its first rows."""
    if fresh.search is None:
        return fresh
    orbit = Orbit(seed=seed).solve(problem.workload, problem.epsilon)[0]
    return fresh.having(*translates(orbit, len(fresh.search.numbers.F) * fresh.search.rows))


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
