"""The content of a summary: a mechanism with its certificate, and results at other budgets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date as calendar
from functools import cached_property

from stratagem.estimators import estimator
from stratagem.math.deadline import deadline, within
from stratagem.math.number import integer
from stratagem.math.privacy import MAXIMUM, MINIMUM, check
from stratagem.mechanism.export.saved import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers import Status
from stratagem.solvers.problem import Average, WarmStart, WorstCase, problem_of
from stratagem.study.comparison import Comparison
from stratagem.study.comparison_sweep import Sweep
from stratagem.study.optimisation import CERTIFIED, ENDED_BY_HAND
from stratagem.study.ranking import rank_affordable
from stratagem.study.solution import Solution, certify
from stratagem.workloads import Attribute
from stratagem.workloads.naming import Naming
from stratagem.workloads.question import as_asked

FACTORS = (0.25, 0.5, 0.75, 1.5, 2.0, 4.0)
"""Other budgets of a report, as multiples of the one asked for."""

Solve = Callable[[float], Solution]


@dataclass(frozen=True)
class BudgetSweep:
    """The comparisons at all budgets, and the budgets at which there is none."""

    sweep: Sweep
    left_out: dict[float, str]
    """Reason why there is no comparison, by the budget concerned."""


def around(epsilon: float) -> tuple[float, ...]:
    """Return the other budgets of a report where none are given.

    >>> around(1.0)
    (0.25, 0.5, 0.75, 1.5, 2.0, 4.0)
    """
    return tuple(epsilon * factor for factor in FACTORS if MINIMUM <= epsilon * factor <= MAXIMUM)


def along(
    solution: Solution, budgets: Iterable[float] | None = None, solve: Solve | None = None
) -> BudgetSweep:
    """Return the sweep of a solution over other budgets, which are computed from the nearest to the farthest.

    `solve` finds a strategy for another budget; without it the sweep has only baselines and bounds there.
    Each has an equal share of the time that is left. Ctrl-C keeps what was computed before it.

    Raises:
        ValueError: for a budget out of range.
    """
    asked = solution.epsilon
    others = {check(one) for one in (around(asked) if budgets is None else budgets)} - {asked}
    found, left_out, complete = {asked: Comparison.of(solution)}, {}, solution.status not in ENDED_BY_HAND
    nearest = sorted(others, key=lambda one: (abs(math.log(one / asked)), one))
    for epsilon, share in deadline().shares(nearest):
        if not complete:
            break
        try:
            with within(share):
                found[epsilon], complete = _at(epsilon, solution, solve)
        except KeyboardInterrupt:
            complete = False
        except ValueError as error:
            left_out[epsilon] = str(error)
    complete = complete and len(found) + len(left_out) > len(others)
    return BudgetSweep(Sweep("epsilon", tuple(found[one] for one in sorted(found)), complete), left_out)


def _at(epsilon: float, solution: Solution, solve: Solve | None) -> tuple[Comparison, bool]:
    """Return the comparison at a budget, and whether it is complete: False if the user stopped its search."""
    if solve is None:
        return Comparison.published(replace(solution.problem, epsilon=epsilon)), True
    found = solve(epsilon)
    return Comparison.of(found), found.status not in ENDED_BY_HAND


SECONDS = 20.0
"""Longest search for a tighter bound on a saved strategy, in seconds."""


@dataclass(frozen=True, kw_only=True)
class Cover:
    """What whoever asks for a report says about the survey; what is empty or None is left out.

    Raises:
        ValueError: for a number of users that is no whole number from 1 to 10^15, or a day that does not exist.
    """

    title: str = ""
    """Title of the page, in place of the one that names the workload."""
    about: str = ""
    """Who asks, and why, as a survey file says it."""
    question: str = ""
    """The question that people are asked."""
    users: int | None = None
    """Number of people who will answer."""
    date: str = ""
    proposed: bool | None = None
    """Whether the possible answers were read from example answers, which they then tell something about; None where
    nobody says so, as no mechanism file does."""

    def __post_init__(self) -> None:
        """Refuse what is no number of users, and days that do not exist."""
        if self.users is not None:
            advice = "give how many people will answer, for example 5000"
            integer(self.users, "the number of users", 1, 10**15, advice)
        parts = self.date.split("-")
        if "".join(parts).isdecimal() and [*map(len, parts)] == [4, 2, 2]:
            try:
                calendar.fromisoformat(self.date)
            except ValueError:
                raise ValueError(
                    f"the date is {self.date}, which no calendar has: give one such as 2026-11-25"
                ) from None


@dataclass(frozen=True, eq=False)
class ReportContent:
    """A solution with everything else that its report shows."""

    solution: Solution
    name: str
    """Name of the workload."""
    line: BudgetSweep
    """Comparisons at this budget and at others."""
    mechanism: Mechanism | None = None
    """The strategy in whole numbers; None if it was not saved as a mechanism."""
    cover: Cover = Cover()
    file: str = ""
    """Name of the file that holds the strategy; empty where there is none."""

    @property
    def comparison(self) -> Comparison:
        """The comparison of the mechanism with the published ones at its own budget."""
        comparisons = self.line.sweep.comparisons
        return next(one for one in comparisons if one.epsilon == self.solution.epsilon)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Descriptions of the values of every attribute: labels, or edges and a unit."""
        return self.naming.attributes

    @cached_property
    def naming(self) -> Naming:
        """The names of the queries."""
        return Naming.of(self.solution.workload)

    @cached_property
    def told(self) -> Naming:
        """The same as people read the answers: of a survey without its weights."""
        return Naming.of(as_asked(self.solution.workload))


def rated(saved: Mechanism | StoredStrategy, objective: str = Average.kind) -> Solution:
    """Return a saved strategy with its exact accuracy, the bounds, and the baselines beside it.

    Its prior weighs the user types of the average and of the worst query, and belongs to its estimates.

    Raises:
        ValueError: for an unknown objective, or queries too many for it.
        ArithmeticError: as `optimise`.
    """
    strategy = saved.strategy
    belief = None if objective == WorstCase.kind else saved.prior
    problem = problem_of(saved.workload, float(saved.epsilon), objective, belief)
    through = estimator(strategy, saved.prior)
    accuracy = through.accuracy(saved.workload)
    value = problem.measure(accuracy, through)
    dense = strategy.enumerated
    baselines = rank_affordable(problem, invariant=dense is None)
    bounds = problem.bounds
    if dense is not None:
        allowed = min(SECONDS, deadline().left / 2)
        bounds = problem.tightened(bounds, WarmStart(value, dense.high_sets()), CERTIFIED, allowed)
    solution = Solution(
        problem=problem,
        strategy=strategy,
        accuracy=accuracy,
        objective=value,
        bounds=bounds,
        status=Status.SAVED_INTERRUPTED if saved.interrupted else Status.SAVED,
        solver="saved",
        reason="read from a file",
        seconds=0.0,
        baselines=baselines,
        prior=saved.prior,
    )
    certify(solution)
    return solution
