"""Polish of strategies with few rows: the projected gradient moves entries off the two levels."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from stratagem.math.linalg import centred_factor
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.renewal import repriced_rows
from stratagem.solvers.gradient.projected_gradient import Point, ProjectedGradient
from stratagem.solvers.solver import Problem
from stratagem.strategies import Strategy, TwoLevelStrategy

STRIDE = 25
"""Gradient steps that count as one step of the search, about as much work as a round of weights."""
STRIDES = 80
"""Number of such steps that a start may take in addition to the rounds of column generation."""


@dataclass(frozen=True, eq=False)
class Polish:
    """A descent of the projected gradient within another search.

    An optimal strategy needs two levels only, but many rows. With few rows, values between the levels lower
    the objective, because such a row replaces several two-level rows.
    """

    point: Point
    end: float
    """Time on the clock of `time.perf_counter` at which to stop, even within a step of the search."""

    @property
    def objective(self) -> float:
        """L(Q) with the regularised V of the descent."""
        return self.point.objective

    @property
    def stuck(self) -> bool:
        """Whether even the shortest step along the gradient was refused."""
        return self.point.stuck


def descent(problem: Problem, rows: TwoLevelStrategy | None, outputs: int, end: float, seed: int) -> Polish:
    """Return the start of a descent with `outputs` rows: from `rows`, repeated as needed, or random if None."""
    gradient = ProjectedGradient(outputs=outputs, seed=seed)
    if rows is not None:
        gradient = replace(gradient, start=rows.dense())
    return Polish(gradient.begin(problem, 0, None), end)


def renewed(problem: Problem, best: Polish, seed: int, start: int) -> Polish:
    """Return the start of a descent from the matrix of `best`, its lightest rows replaced by undervalued ones."""
    point, F = best.point, centred_factor(problem.gram)
    rng, E = np.random.default_rng([seed, start]), ratio(problem.epsilon)
    R, z = repriced_rows(np.asarray(point.Q), np.asarray(point.z), F, E, rng)
    return replace(best, point=ProjectedGradient().begin_at(problem, R, z))


def descended(problem: Problem, state: Polish) -> Polish:
    """Return the descent after `STRIDE` more gradient steps, or fewer if it is stuck or out of time."""
    point = state.point
    for _ in range(STRIDE):
        point = ProjectedGradient().advance(problem, point)
        if point.stuck or time.perf_counter() > state.end:
            break
    return replace(state, point=point)


def reached(problem: Problem, state: Polish) -> Strategy:
    """Return the strategy at the current point of a descent, projected so that it is exactly feasible."""
    return ProjectedGradient().finish(problem, state.point)
