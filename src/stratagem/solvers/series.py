"""Searches under a constraint as a solver: they yield one strategy after another, each within the constraint."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Algorithm, Limits
from stratagem.strategies import Strategy, SurveyStrategy, TranslationStrategy

MOST = 10**6
"""Steps at most: a series ends by itself."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A strategy that keeps to the constraint, as a state of the loop."""

    strategy: Strategy | TranslationStrategy | SurveyStrategy
    objective: float
    """The objective of the problem, infinite where the strategy does not answer the queries."""
    budget: float
    """The local epsilon that its rows were chosen for."""
    rest: Iterator[Candidate] | None = None
    """Those that follow."""
    stuck: bool = False
    """Whether none follows."""


@final
@dataclass(frozen=True, eq=False)
class Series(Algorithm):
    """A search that yields strategies under a constraint until it ends by itself."""

    reference: ClassVar[str] = "@stratagem, column generation under a constraint"

    candidates: Callable[[], Iterator[Candidate]]
    """Yields at least one strategy."""
    gap: float = 0.0
    max_seconds: float = math.inf

    @property
    def limits(self) -> Limits:
        return Limits(MOST, 1, tolerance=0.0, patience=MOST, max_seconds=self.max_seconds, gap=self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Candidate:
        rest = self.candidates()
        return replace(next(rest), rest=rest)

    def advance(self, problem: Problem, state: Candidate) -> Candidate:
        found = next(state.rest or iter(()), None)
        return replace(state, stuck=True) if found is None else replace(found, rest=state.rest)

    def finish(self, problem: Problem, state: Candidate) -> Any:
        return state.strategy


def valued(problem: Problem, strategy: Strategy, budget: float) -> Candidate:
    """Return a strategy with its objective, infinite where it lost a direction that the queries need."""
    try:
        return Candidate(strategy, problem.value(estimator(strategy)), budget)
    except UnsupportedWorkloadError:
        return Candidate(strategy, math.inf, budget)
