"""Lower bounds along an axis, several budgets or several domains, each compared with the best bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stratagem.bounds import Bound, Bounds, with_any_estimator
from stratagem.bounds.proof import NONNEGATIVE
from stratagem.io.screen import Plotted, brief
from stratagem.io.table import Recorded, Table
from stratagem.math.deadline import deadline, granted, within
from stratagem.math.number import array, number_text, ratio, real
from stratagem.math.privacy import check
from stratagem.mechanism.export.certificate_file import Certificate, certified
from stratagem.solvers import Callback, Solver
from stratagem.solvers.problem import Average, Problem, WarmStart, problem_of
from stratagem.study.preset import limited, solver_of
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.given import WorkloadLike, workload_of

EPSILON, DOMAIN = "epsilon", "domain size"
FOUND = "strategy found"
"""Name under which the objective of the strategy found is listed beside the bounds."""
TIGHT = 1e-3
"""Relative gap to the optimum, or to the strategy found, at which the search for a tighter bound stops."""


def along(
    workload: WorkloadLike | Sequence[WorkloadLike],
    epsilon: float | Iterable[float],
    domain: DomainLike | None,
    **about: Any,
) -> tuple[str, list[Problem]]:
    """Return the name of the axis, and the problem at every place on it; `about` are keywords of `problem_of`."""
    listed, many = _are_listed(workload), are_listed(epsilon)
    given: list[Any] = _several(workload, "workloads") if listed else [workload]
    for one in given:
        if not _is_made(one) and array(one).ndim == 0:
            raise ValueError(f"{one!r} was given among the workloads: give workloads such as st.prefix(8)")
    workloads = [workload_of(one, domain) for one in given]
    asked: list[Any] = _several(epsilon, "budgets") if many else [epsilon]
    budgets = [check(one) for one in asked]
    if listed == many:
        raise ValueError(
            f"{len(workloads)} workloads and {len(budgets)} budgets were given, but a sweep goes along one of "
            "them: give several of one and one of the other"
        )
    places = product(workloads, budgets)
    return DOMAIN if listed else EPSILON, [problem_of(W, budget, **about) for W, budget in places]


def are_listed(epsilon: object) -> bool:
    """Return whether several budgets were given, in a list, rather than one number or a text, which is none."""
    return np.iterable(epsilon) and not isinstance(epsilon, str | bytes) and math.isnan(real(epsilon))


def _are_listed(given: object) -> bool:
    """Return whether workloads were given in a list, rather than one: a name, or a matrix, whose rows are numbers."""
    return np.iterable(given) and not _is_made(given) and array(given).ndim != 2  # type: ignore[arg-type]


def _is_made(given: object) -> bool:
    return isinstance(given, Workload | str | Path)


def place(axis: str, problem: Problem) -> float:
    """Return the value of a problem on the axis: its epsilon or its domain size."""
    return problem.epsilon if axis == EPSILON else problem.workload.domain_size


def _several(given: Any, what: str) -> list[Any]:
    """Return the sequence as a list, which must not be empty."""
    items = list(given)
    if not items:
        raise ValueError(f"{given!r} was given as {what}: give at least one in a list")
    return items


@dataclass(frozen=True)
class BoundPoint:
    """The bounds for one workload and budget."""

    problem: Problem
    bounds: Bounds
    objective: float | None = None
    """Objective of the strategy found; None if no strategy was searched for."""

    @property
    def workload(self) -> Workload:
        """The queries."""
        return self.problem.workload

    @property
    def epsilon(self) -> float:
        """The budget."""
        return self.problem.epsilon

    @property
    def found(self) -> dict[str, float]:
        """The objective of the strategy found under the name `FOUND`; empty if no strategy was searched for."""
        return {} if self.objective is None else {FOUND: self.objective}

    def of_people(self, people: int) -> BoundPoint:
        """Return the place with an error that every estimator has from so many people's reports."""
        more = with_any_estimator(self.bounds, self.workload, self.epsilon, people)
        return replace(self, bounds=more)

    def proved(self, enough: float, seconds: float) -> tuple[BoundPoint, Certificate]:
        """Return the certificate of the nonnegative bound, and the bounds with it.

        Its search ends where the bound is `enough`, or after so many seconds.
        """
        found = certified(self.problem, enough, seconds)
        more = Bound.of(NONNEGATIVE, found.value - self.bounds.offset, found.proof)
        return replace(self, bounds=self.bounds.having(*more)), found


@dataclass(frozen=True)
class BoundSweep(Recorded, Plotted):
    """Lower bounds on the same queries, for each budget or each domain."""

    __repr__ = brief
    figure: ClassVar[str] = "plot_bounds"

    axis: str
    """What changes from one place to the next: epsilon or domain size."""
    points: tuple[BoundPoint, ...]
    complete: bool = True
    """Whether every place asked for was computed; False if the user or the limit of time ended the sweep before."""

    @property
    def places(self) -> tuple[float, ...]:
        """The value on the axis of every point."""
        return tuple(place(self.axis, one.problem) for one in self.points)

    def ratios(self) -> dict[str, list[float | None]]:
        """Return each bound divided by the best bound of the same place, by name; None where it was not computed.

        Where strategies were searched for, their objective divided by the best bound comes last.
        """
        known = [one.bounds.known() | one.found for one in self.points]
        names = dict.fromkeys(name for values in known for name in values if name != FOUND)
        return {
            name: [
                ratio(values.get(name), one.bounds.best)
                for values, one in zip(known, self.points, strict=True)
            ]
            for name in (*names, *self.points[0].found)
        }

    @property
    def solved(self) -> bool:
        """Whether strategies were searched for."""
        return bool(self.points[0].found)

    def records(self) -> list[dict[str, object]]:
        """Return every place as named values: where it is, every bound, the best and the objective found."""
        return [
            {
                "domain": str(one.problem.workload.domain),
                "domain_size": one.problem.workload.domain_size,
                "epsilon": one.problem.epsilon,
                **one.bounds.known(),
                "best": one.bounds.best,
                "best_name": one.bounds.name,
                **({} if (wider := one.bounds.any_estimator) is None else wider.record()),
                **({} if one.objective is None else {"objective": one.objective}),
            }
            for one in self.points
        ]

    def table(self) -> Table:
        """Return the table of every line of `ratios`, and of the best bound itself."""
        headings = (f"over the best bound, {self.axis} =", *(f"{one:g}" for one in self.places))
        lines = self.ratios().items()
        ratios = [(name, *("" if x is None else f"{x:.4f}" for x in values)) for name, values in lines]
        best = ("best bound", *(number_text(one.bounds.best) for one in self.points))
        wider = [one.bounds.any_estimator for one in self.points]
        errors = [f"{one.typical_error:.4g}" for one in wider if one is not None]
        people = next((one.people for one in wider if one is not None), 0)
        row = (f"typical error at least, any estimator, {people:,} people", *errors)
        return Table(headings, [*ratios, best, *([row] if errors else [])])

    def __str__(self) -> str:
        """Lay the ratios out as an aligned table, the best bounds below."""
        return str(self.table())


def bound_sweep(
    workload: WorkloadLike | Sequence[WorkloadLike],
    epsilon: float | Iterable[float],
    solver: Solver | str | None = None,
    on_step: Callback | None = None,
    *,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
    domain: DomainLike | None = None,
    seconds: float | None = None,
    people: int | None = None,
) -> BoundSweep:
    """Return every lower bound along several budgets or several domains, the published one (svd) among them.

    One of `workload` and `epsilon` is a sequence; each workload is given as in `optimise`, names over the `domain`.
    With a solver a strategy is found at every place too; its bounds are those of the solution. Without one, the
    expensive bounds are computed where `seconds` are given: those of the call, of which each place has an equal share
    of what is left once all places have the others. Places for which nothing is left are not in the sweep, which is
    then not complete. With `people` each place has the error of every estimator, too (see `lower_bounds`).

    Raises:
        ValueError: if none or both of them are sequences, or one is empty, and as `optimise`.

    Example:
        >>> import stratagem as st
        >>> line = bound_sweep(st.prefix(8), [0.5, 1.0, 2.0])
        >>> [round(ratio, 2) for ratio in line.ratios()["svd"]]
        [0.09, 0.22, 0.25]
    """
    axis, places = along(workload, epsilon, domain, objective=objective, prior=prior)
    done, ended = list[BoundPoint](), False
    with within(granted(seconds)) as time, time.ended_by_hand():
        if solver is None:
            _bound(places, done, tight=seconds is not None)
        else:
            ended = _search(places, done, solver_of(solver), on_step)
    if not done:
        raise KeyboardInterrupt
    if people is not None:
        done = [one.of_people(people) for one in done]
    return BoundSweep(axis, tuple(done), len(done) == len(places) and not (ended or time.stopped))


def _search(
    problems: list[Problem], done: list[BoundPoint], solver: Solver, on_step: Callback | None
) -> bool:
    """Append the bounds of all places with the strategy found there, and return whether that was ended by hand."""
    from stratagem.study.optimisation import ENDED_BY_HAND, solved  # compiled code, which bounds do not need

    for problem, share in (time := deadline()).shares(problems):
        with within(share):
            found = solved(problem, limited(solver, deadline().left), on_step)
        done.append(BoundPoint(problem, found.bounds, found.objective))
        if found.status in ENDED_BY_HAND or time.stopped:
            return True
    return False


def _bound(problems: list[Problem], done: list[BoundPoint], *, tight: bool) -> None:
    """Append the bounds of all places as long as there is time, and then tighten one after the other."""
    for problem in problems:
        if done and deadline().over:
            return
        done.append(BoundPoint(problem, problem.bounds))
    for place, share in deadline().shares(range(len(problems) if tight else 0)):
        if "exact" not in (bounds := problems[place].bounds):
            tighter = problems[place].tightened(bounds, WarmStart(), TIGHT, share)
            done[place] = replace(done[place], bounds=tighter)
