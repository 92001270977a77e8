"""Problems with a constraint: what the search starts from, the one loop, and what is said of the result."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import cast

from stratagem.bounds import Bound, Bounds
from stratagem.bounds.constrained import CONSTRAINED
from stratagem.estimators import ask, evaluate
from stratagem.math.deadline import Deadline
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers import Auto, Callback, Search, Status, search
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Candidate, Series
from stratagem.study.solution import Promise, Solution

Candidates = Callable[[], Iterator[Candidate]]
"""Yields strategies that keep to the constraint."""
Solve = Callable[[Problem, float], Solution]
"""Returns the best strategy for a problem without its constraint, up to a gap."""


@dataclass(frozen=True, eq=False)
class SearchStart:
    """What the search under a constraint starts from."""

    first: Candidate | None
    """A strategy that keeps to the constraint, returned where the search finds none that is better; None where the
    search begins with it."""
    bounds: Callable[[float], Bounds]
    """The lower bounds for strategies whose rows were chosen for a local epsilon."""
    candidates: Candidates | None = None
    """None where nothing needs to be searched for."""
    others: Mapping[str, Solution] = field(default_factory=dict)
    """Strategies that the result is compared with, by name."""
    gap: float = 0.0
    """Gap at which the search ends, and seconds after which it does."""
    seconds: float = math.inf


class Kind(Promise):
    """A kind of constraint: how problems that have it are solved, and what a result promises beside its epsilon."""

    @abstractmethod
    def start(self, problem: Problem, seed: int, solve: Solve) -> SearchStart:
        """Return what the search starts from.

        Raises:
            ValueError: for a workload that is not designed for under this constraint.
        """


def solve(
    problem: Problem, kind: Kind, asked: Auto, on_step: Callback | None, time: Deadline, free: Solve
) -> Solution:
    """Return the solution of a problem with a constraint, within the time; Ctrl-C keeps the best so far.

    Raises:
        ValueError: as `Kind.start`, and for a limit of outputs.
    """
    if asked.outputs is not None:
        raise ValueError(
            f"outputs is {asked.outputs}, but a constraint was given, which is designed for without a limit of "
            "outputs: leave one of the two out"
        )
    begun, found = kind.start(problem, asked.seed, free), Search()
    bounds, first = cache(begun.bounds), begun.first
    if begun.candidates is not None:
        found.status = Status.TIME_EXHAUSTED
        if first is None or not time.over:
            series = Series(begun.candidates, max(asked.gap, begun.gap), begun.seconds)
            found = search(
                series, problem, on_step, lambda one: bounds(one.budget).best, needed=first is None
            )
    reached = [one for one in (first, cast("Candidate | None", found.best)) if one is not None]
    best = min(reached, key=lambda one: one.objective)
    solution = solution_of(problem, best, bounds(best.budget), found.status, type(kind).__name__)
    more = {"history": tuple(found.history), "others": begun.others, "promise": kind}
    return replace(solution, seconds=time.elapsed, **more)


def solution_of(problem: Problem, found: Candidate, bounds: Bounds, status: Status, maker: str) -> Solution:
    """Return a candidate as a solution."""
    return Solution(
        problem=problem,
        strategy=found.strategy,
        accuracy=evaluate(problem.workload, found.strategy),
        objective=found.objective,
        bounds=bounds,
        status=status,
        solver=maker,
        reason=f"rows for epsilon {found.budget:.6g}",
        seconds=0.0,
    )


def constrained(bounds: Bounds, value: float) -> Bounds:
    """Return the bounds with one on L(Q) of the strategies that keep to a constraint."""
    return bounds.having(*Bound.of(CONSTRAINED, value - bounds.offset))


def in_whole_numbers(solution: Solution, name: str, epsilon: float) -> Mechanism:
    """Return the strategy of a solution in whole numbers of an epsilon."""
    options = {"name": name, "interrupted": solution.interrupted}
    return Mechanism.of(solution.strategy, solution.workload, epsilon, **options)


def people(solution: Solution) -> str:
    """Return how many people to ask."""
    return " ".join(ask(solution.users_for(), solution.workload))
