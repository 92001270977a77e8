"""The interface of solvers, the loop that runs every solver, and searches under a constraint as solvers."""

from __future__ import annotations

import gc
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, final

from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.math.computing import jax, on_one_core
from stratagem.math.deadline import Deadline, granted, within
from stratagem.math.number import upper_percent, whole
from stratagem.solvers.problem import AVERAGE, Constraint, Problem, relative_gap
from stratagem.strategies import Strategy, SurveyStrategy, TranslationStrategy

MAPS = Path("/proc/self/maps")
CROWDED = 20_000
"""Number of memory maps above which compiled code is released; Linux allows a process 65,530 by default."""


def release_compiled_code() -> bool:
    """Release all code that JAX has compiled if the process holds too many memory maps; return whether it did.

    A solve of a new size compiles code of some 800 memory maps, which JAX never releases by itself. After
    some eighty sizes the compiler would crash the process. Where the maps cannot be counted (not Linux),
    nothing is released.
    """
    if not MAPS.exists() or MAPS.read_bytes().count(b"\n") <= CROWDED:
        return False
    jax().clear_caches()
    gc.collect()
    return True


def check_whole(least: int = 1, **given: Any) -> None:
    """Refuse parameters that are not whole numbers of at least `least`; None stands for the default and passes."""
    for name, value in given.items():
        if value is not None and ((number := whole(value)) is None or number < least):
            raise ValueError(f"{name} is {value!r}: give a whole number of at least {least}")


def check_limits(max_seconds: Any, **given: Any) -> None:
    """Refuse `max_seconds` unless it is positive or None, and other limits that are not numbers of at least 0."""
    for name, value in given.items():
        if not (isinstance(value, Real) and float(value) >= 0):
            raise ValueError(f"{name} is {value!r}: give a number of at least 0")
    if max_seconds != math.inf:
        granted(max_seconds, name="max_seconds")


class Status(StrEnum):
    """How a search ended; the text says what it means and what to do."""

    OPTIMAL = "Within the gap that was asked for: no unbiased epsilon-LDP strategy is better by more."
    GAP_MISSED = (
        "The gap that was asked for is not reached; give more time or outputs, or ask for a larger gap."
    )
    CONVERGED = (
        "The search stopped as its last steps gained next to nothing; a better strategy may still exist."
    )
    STEPS_EXHAUSTED = "Stopped at the limit of steps while still improving; allow more steps."
    TIME_EXHAUSTED = "Stopped at the limit of time while still improving; allow more seconds."
    STOPPED = "Stopped by the callback; this is the best strategy so far."
    INTERRUPTED = "Interrupted; this is the best strategy so far."
    SETTLED = "Optimal: this published mechanism attains the lower bound, so nothing was searched for."
    TUNED = "A published mechanism, tuned for these queries; a search may find a better strategy."
    TUNED_IN_TIME = (
        "Time ran out before all parameters of this published mechanism were tried; allow more seconds."
    )
    SAVED = "A saved strategy, as it is; a search shows whether there is a better one."
    SAVED_INTERRUPTED = "A saved strategy whose search was interrupted; another search may find a better one."
    BASELINE = "No search beat this published mechanism."
    BASELINE_IN_TIME = "Time ran out before a search beat this published mechanism; allow more seconds."


@dataclass(frozen=True)
class Limits:
    """The conditions under which the loop of `search` stops; none of them affects privacy."""

    max_steps: int
    restarts: int
    """Total number of starts, at least 1."""
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
    """The state of a search: what a solver carries from one step to the next."""

    @property
    def objective(self) -> float:
        """The objective of the current strategy, as the solver computes it."""
        ...

    @property
    def stuck(self) -> bool:
        """Whether no further step can improve the current strategy."""
        ...


class Choice(NamedTuple):
    """An algorithm and why it fits the problem."""

    solver: Algorithm
    reason: str


@dataclass(frozen=True)
class Solver(ABC):
    """What finds a strategy for a problem: an algorithm, or the choice of one."""

    reference: ClassVar[str]
    general: ClassVar[bool] = False
    """Whether it handles priors and worst cases, beside the average over user types."""
    constraints: ClassVar[tuple[type[Constraint], ...]] = ()
    """The constraints of which it handles one, on the average over user types."""
    chooses: ClassVar[bool] = False
    """Whether it leaves the search to the solver that fits."""
    costly: ClassVar[bool] = False
    """Whether its first strategy is over all patterns, with exact variances."""
    partial: ClassVar[bool] = False
    """Whether it looks at a part of the problem, so that another search is worth a try where its gap is large."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """The conditions under which a search with this solver stops."""

    @abstractmethod
    def select(self, problem: Problem) -> Choice:
        """Return the algorithm that solves the problem, and the reason for it in a few words."""

    def another(self, problem: Problem, tried: Solver) -> Choice | None:
        """Return the search that is tried beside one that fell short; None without one."""
        return None

    @final
    def handles(self, problem: Problem) -> str:
        """Return why this solver cannot solve the problem, in a sentence; empty where it can."""
        given, name = [type(one).__name__ for one in problem.constraints], type(self).__name__
        asked = "a prior" if problem.kind == AVERAGE else f"the objective {problem.kind}"
        average = problem.kind == AVERAGE and problem.prior is None
        if len(given) > 1:
            return (
                f"{' and '.join(given)} were given together, but one constraint at a time is designed for: give one "
                "of them"
            )
        if not all(isinstance(one, self.constraints) for one in problem.constraints):
            return f"{given[0]} was given with the solver {name}, which knows no such constraint: leave the solver out"
        if given and not average:
            return (
                f"{asked} was given with {given[0]}, which is designed for with the average over user types: leave "
                "one of the two out"
            )
        if not (average or self.general):
            return (
                f"{asked} was given with the solver {name}, which knows only the average over user types: use the "
                "certified solver, st.Certified()"
            )
        return ""


@dataclass(frozen=True)
class Algorithm(Solver):
    """A solver given by its first state, its step and the strategy of a state; `search` runs the loop."""

    @final
    def select(self, problem: Problem) -> Choice:
        return Choice(self, "asked for")

    @abstractmethod
    def begin(self, problem: Problem, start: int, best: Any) -> Any:
        """Return the first state of start number `start` (0, 1, ...), which the solver's seed determines.

        `best` is the best state of all earlier starts, None for the first start.
        """

    @abstractmethod
    def advance(self, problem: Problem, state: Any) -> Any:
        """Return the state after one more step, with an objective that is no larger."""

    @abstractmethod
    def finish(self, problem: Problem, state: Any) -> Strategy | TranslationStrategy:
        """Return the strategy of a state: columns sum to one, measured epsilon within the budget."""


@dataclass
class Search:
    """The result of a search: its best state, its status and the record of every step."""

    best: State | None = None
    status: Status = Status.CONVERGED
    history: list[Step] = field(default_factory=list)

    def keep(self, state: State) -> float:
        """Keep the state as the best one unless an earlier state is better; return the best objective."""
        if self.best is None or math.isnan(self.best.objective) or state.objective <= self.best.objective:
            self.best = state
        return self.best.objective


def search(
    solver: Algorithm,
    problem: Problem,
    on_step: Callback | None = None,
    lower_bound: float | Callable[[Any], float] | None = None,
    *,
    needed: bool = True,
) -> Search:
    """Run an algorithm from each of its starts and keep the best state; Ctrl-C ends only the search.

    Gaps are measured against `lower_bound`, a number or a function of the best state, by default that of the problem.
    A state that is `needed` is there even if Ctrl-C comes before the first.
    """
    release_compiled_code()
    known = problem.lower_bound if lower_bound is None else lower_bound
    bound, found = known if callable(known) else (lambda _: known), Search()
    with within(solver.limits.max_seconds) as time:
        with time.ended_by_hand(), on_one_core(problem.workload.domain_size):
            for start in range(solver.limits.restarts):
                found.status = _descend(solver, problem, bound, start, found, time, on_step)
                if found.status not in (Status.CONVERGED, Status.STEPS_EXHAUSTED):
                    break
        if time.stopped:
            found.status = Status.INTERRUPTED
            if needed and found.best is None:  # no time is left now, so that the first state is a quick one
                found.keep(solver.begin(problem, 0, None))
    return found


def _descend(
    solver: Algorithm,
    problem: Problem,
    bound: Callable[[Any], float],
    start: int,
    found: Search,
    time: Deadline,
    on_step: Callback | None,
) -> Status:
    """Run one start until a limit applies, update `found`, and return the status that tells why it ended."""
    limits, trace = solver.limits, []
    state = solver.begin(problem, start, found.best)
    for step in range(limits.max_steps + 1):
        best = found.keep(state)
        trace.append(state.objective)
        gap = relative_gap(best, bound(found.best))
        found.history.append(Step(start, step, trace[-1], best, gap, time.elapsed))
        if on_step is not None and on_step(found.history[-1]):
            return Status.STOPPED
        if gap <= limits.gap:
            return Status.OPTIMAL
        if state.stuck or stalled(trace, limits):
            return Status.TIME_EXHAUSTED if time.cut else Status.CONVERGED
        if time.over:
            time.cut_short()
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


def late_gain(history: Sequence[Step]) -> float | None:
    """Return by what share the second half of a search's time lowered the objective; None where nothing is known."""
    if not history or not history[-1].best > 0:
        return None
    before = [step.best for step in history if step.seconds <= history[-1].seconds / 2]
    return before[-1] / history[-1].best - 1 if before and math.isfinite(before[-1]) else None


def outlook(history: Sequence[Step]) -> str:
    """Return what twice the time is likely to gain, a sentence after a space; empty where nothing is known.

    Half of what the second half of its time gained, as the distance from the optimum often falls like 1/time.
    """
    if not (gain := late_gain(history)):
        return ""
    return (
        f" The second half of its time lowered the objective by {upper_percent(gain)}; twice the time is likely to "
        f"lower it by about {upper_percent(gain / 2)} more."
    )


def last_gain(history: Sequence[Step]) -> str:
    """Return what the second half of a search gained that ended by itself, a sentence after a space; else empty."""
    gain = late_gain(history)
    if gain is None:
        return ""
    lowered = f"lowered the objective by {upper_percent(gain)}" if gain > 0 else "did not lower the objective"
    return f" The second half of its time, {history[-1].seconds / 2:.2g} s, {lowered}."


STEPS, LIKELY = 8, 3.0
"""Steps after which a search may be hopeless, and how many times the gain of their second half it may still have."""


def hopeless(known: float) -> Callback:
    """Return what ends a search that is unlikely to come below a known objective.

    `LIKELY` times the gain of the second half of its steps does not lead there; often it gains that once more.
    """
    trace = list[float]()

    def ended(step: Step) -> bool:
        trace.append(step.best)
        gained = trace[len(trace) // 2] - step.best
        return len(trace) > STEPS and step.best - LIKELY * gained > known

    return ended


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
