"""What a solver is, and the one loop that runs every solver."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from stratagem.bounds import Duals
from stratagem.bounds.duals import LinearDual, WeightedDual, weighted_dual
from stratagem.prior import uniform
from stratagem.solvers.compiled_code import release_compiled_code
from stratagem.strategies import Strategy, TranslationStrategy
from stratagem.workloads import Workload

TARGET_STEPS = 6
"""Steps of the weighted bound where only its weights are wanted."""


class Status(StrEnum):
    """How a search ended; the text says what it means and what to do."""

    OPTIMAL = (
        "Optimal within the requested gap: no unbiased epsilon-LDP strategy is better by more than that."
    )
    GAP_MISSED = "The requested gap is not met; give more time or outputs, or ask for a larger gap."
    CONVERGED = (
        "Converged: more steps would not help; where the gap matters, try more outputs or another seed."
    )
    STEPS_EXHAUSTED = "Stopped at the limit of steps while still improving; allow more steps."
    TIME_EXHAUSTED = "Stopped at the limit of time while still improving; allow more seconds."
    STOPPED = "Stopped by the callback; this is the best strategy so far."
    INTERRUPTED = "Interrupted; this is the best strategy so far."
    SETTLED = "Optimal: this published mechanism attains the lower bound, so nothing was searched for."
    TUNED = "A published mechanism, tuned for these queries; a search may find a better strategy."
    SAVED = "A saved strategy, as it is; a search shows whether there is a better one."
    SAVED_INTERRUPTED = "A saved strategy whose search was interrupted; another search may find a better one."
    BASELINE = "No search beat this published mechanism; try more outputs, more time or another seed."
    BASELINE_IN_TIME = "Time ran out before a search beat this published mechanism; allow more seconds."


@dataclass(frozen=True)
class Problem:
    """What is to be solved: a workload and a privacy budget, with the bound to hold results against."""

    workload: Workload
    epsilon: float
    lower_bound: float
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for the average over types."""
    duals: Duals | None = None
    """The dual solutions, if somebody has them."""

    @property
    def shares(self) -> np.ndarray:
        """The prior as an array, 1/n in the average case."""
        return uniform(self.workload.domain_size) if self.prior is None else self.prior

    @cached_property
    def target(self) -> WeightedDual:
        """The weighted bound, coarsely if nobody has computed it: a target for random rows needs no more."""
        known = self.duals and self.duals.weighted
        return known or weighted_dual(self.workload, self.epsilon, TARGET_STEPS, self.prior)

    @cached_property
    def linear(self) -> LinearDual | None:
        """The linear programme of few queries, None for other queries."""
        return (self.duals or Duals(self.workload, self.epsilon, self.prior)).linear

    @cached_property
    def gram(self) -> np.ndarray:
        """V = W^T W (n x n)."""
        return self.workload.gram()


@dataclass(frozen=True)
class Limits:
    """When the loop stops. Nothing here can affect privacy."""

    max_steps: int
    restarts: int
    """Starts in all, at least 1."""
    tolerance: float
    """A start is finished when `patience` steps together improve the objective by less than this ratio."""
    patience: int
    max_seconds: float
    gap: float
    """Stop as soon as objective / lower bound - 1 is at most this."""


@dataclass(frozen=True)
class Step:
    """The record of one step, as given to callbacks and kept in the history."""

    start: int
    step: int
    objective: float
    best: float
    gap: float
    """best / lower bound - 1."""
    seconds: float


Callback = Callable[[Step], bool | None]
"""Receives every step; a true answer stops the search."""


class State(Protocol):
    """Where a search stands."""

    @property
    def objective(self) -> float:
        """L of the present strategy, as the solver computes it."""
        ...

    @property
    def stuck(self) -> bool:
        """Whether no further step can improve it."""
        ...


@dataclass(frozen=True)
class Solver(ABC):
    """An algorithm: a start, a step, and the strategy of a state; the loop belongs to `search`."""

    reference: ClassVar[str]

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """When to stop."""

    @abstractmethod
    def begin(self, problem: Problem, start: int, best: Any) -> Any:
        """Return the state of start number `start` (0, 1, ...), deterministic by the solver's seed.

        `best` is the best state of the starts before, None for the first.
        """

    @abstractmethod
    def advance(self, problem: Problem, state: Any) -> Any:
        """Return the state one step on, with an objective that is no larger."""

    @abstractmethod
    def finish(self, problem: Problem, state: Any) -> Strategy | TranslationStrategy:
        """Return the strategy of a state: columns sum to one, measured epsilon within the budget."""


@dataclass
class Search:
    """What the loop knows: the best state so far and how it came about."""

    best: State | None = None
    status: Status = Status.CONVERGED
    history: list[Step] = field(default_factory=list)

    def keep(self, state: State) -> float:
        """Keep the state if none is better so far; return the best objective."""
        if self.best is None or math.isnan(self.best.objective) or state.objective <= self.best.objective:
            self.best = state
        return self.best.objective


def search(solver: Solver, problem: Problem, on_step: Callback | None = None) -> Search:
    """Run a solver from each of its starts and keep the best state; Ctrl-C ends only the search."""
    release_compiled_code()
    found, began = Search(), time.perf_counter()
    try:
        for start in range(solver.limits.restarts):
            found.status = _descend(solver, problem, start, found, began, on_step)
            if found.status not in (Status.CONVERGED, Status.STEPS_EXHAUSTED):
                break
    except KeyboardInterrupt:
        found.status = Status.INTERRUPTED
    return found


def relative_gap(value: float, bound: float) -> float:
    """Return value / bound - 1; at a bound of zero, infinity unless the value is zero too."""
    if bound > 0:
        return value / bound - 1
    return math.inf if value > 0 else 0.0


def _descend(
    solver: Solver, problem: Problem, start: int, found: Search, began: float, on_step: Callback | None
) -> Status:
    """Walk one start to its end and say why it ended."""
    limits, trace = solver.limits, []
    state = solver.begin(problem, start, found.best)
    for step in range(limits.max_steps + 1):
        best = found.keep(state)
        trace.append(state.objective)
        gap = relative_gap(best, problem.lower_bound)
        found.history.append(Step(start, step, trace[-1], best, gap, time.perf_counter() - began))
        if on_step is not None and on_step(found.history[-1]):
            return Status.STOPPED
        if gap <= limits.gap:
            return Status.OPTIMAL
        if state.stuck or stalled(trace, limits):
            return Status.CONVERGED
        if found.history[-1].seconds > limits.max_seconds:
            return Status.TIME_EXHAUSTED
        if step < limits.max_steps:
            state = solver.advance(problem, state)
    return Status.STEPS_EXHAUSTED


def stalled(trace: list[float], limits: Limits) -> bool:
    """Return whether the last `patience` steps together gained less than `tolerance`."""
    return (
        len(trace) > limits.patience
        and trace[-1 - limits.patience] - trace[-1] < limits.tolerance * trace[-1]
    )
