"""Few rows: the projected gradient moves the entries of two-level rows off the two levels."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from stratagem.numeric.linalg import centred_factor
from stratagem.privacy import ratio
from stratagem.solvers.certified.renewal import repriced_rows
from stratagem.solvers.gradient.projected_gradient import Point, ProjectedGradient
from stratagem.solvers.solver import Problem
from stratagem.strategies import Strategy, TwoLevelStrategy

STRIDE = 25
"""Gradient steps that count as one step of the search, about as much work as a round of weights."""
STRIDES = 80
"""Such steps at most."""


@dataclass(frozen=True, eq=False)
class Polish:
    """A descent of the projected gradient within another search.

    An optimal strategy needs two levels only, but many rows; among few rows values in between are better,
    because such a row does the work of several.
    """

    point: Point
    end: float
    """Time of `time.perf_counter` at which to stop within a step."""

    @property
    def objective(self) -> float:
        """L(Q), regularised as in the descent."""
        return self.point.objective

    @property
    def stuck(self) -> bool:
        """Whether even the shortest step along the gradient was refused."""
        return self.point.stuck


def descent(problem: Problem, rows: TwoLevelStrategy | None, outputs: int, end: float, seed: int) -> Polish:
    """Return a descent from a strategy, its rows repeated as often as `outputs` allows, or from random rows."""
    gradient = ProjectedGradient(outputs=outputs, seed=seed)
    if rows is not None:
        gradient = replace(gradient, start=rows.dense())
    return Polish(gradient.begin(problem, 0, None), end)


def renewed(problem: Problem, best: Polish, seed: int, start: int) -> Polish:
    """Return a descent from the matrix of another, its light rows replaced by undervalued ones."""
    point, F = best.point, centred_factor(problem.gram)
    rng, E = np.random.default_rng([seed, start]), ratio(problem.epsilon)
    R, z = repriced_rows(np.asarray(point.Q), np.asarray(point.z), F, E, rng)
    return replace(best, point=ProjectedGradient().begin_at(problem, R, z))


def descended(problem: Problem, state: Polish) -> Polish:
    """Return the descent up to `STRIDE` steps further on, fewer if stuck or out of time."""
    point = state.point
    for _ in range(STRIDE):
        point = ProjectedGradient().advance(problem, point)
        if point.stuck or time.perf_counter() > state.end:
            break
    return replace(state, point=point)


def reached(problem: Problem, state: Polish) -> Strategy:
    """Return the exactly feasible strategy where a descent stands."""
    return ProjectedGradient().finish(problem, state.point)
