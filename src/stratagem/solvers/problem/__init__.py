"""The problem that is solved: queries, a privacy budget, a prior, and the variance to minimise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from stratagem.math.privacy import check, check_prior
from stratagem.solvers.problem.constraint import Constraint, GuessCap, Permanent, Shuffled, Steps
from stratagem.solvers.problem.minimax import Minimax, WorstCase, WorstQuery
from stratagem.solvers.problem.problem import AVERAGE, Average, Problem, WarmStart, relative_gap
from stratagem.workloads import DomainLike
from stratagem.workloads.given import WorkloadLike, workload_of

__all__ = [
    "AVERAGE",
    "KINDS",
    "Average",
    "Constraint",
    "GuessCap",
    "Minimax",
    "Permanent",
    "Problem",
    "Shuffled",
    "Steps",
    "WarmStart",
    "WorstCase",
    "WorstQuery",
    "problem_of",
    "relative_gap",
]

KINDS: dict[str, type[Problem]] = {leaf.kind: leaf for leaf in (Average, WorstCase, WorstQuery)}


def problem_of(
    workload: WorkloadLike,
    epsilon: float | None,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
    domain: DomainLike | None = None,
    constraints: Iterable[Constraint] = (),
) -> Problem:
    """Return the problem with the objective of this name and a prior (n,); workload and domain as in `workload_of`.

    A constraint may decide the epsilon, where none is given.
    """
    workload, settled = workload_of(workload, domain), list[Constraint]()
    for constraint in _constraints(constraints):
        one, epsilon = constraint.settled(workload, epsilon)
        settled.append(one)
    epsilon = check(epsilon)
    if objective not in KINDS:
        raise ValueError(f"the objective is {objective!r}, but must be one of {', '.join(KINDS)}: choose one")
    if prior is not None and objective == WorstCase.kind:
        raise ValueError(
            "a prior was given for the objective worst-case, whose value holds for every prior: leave the prior out"
        )
    checked = None if prior is None else check_prior(prior, workload.domain_size)
    return KINDS[objective](workload=workload, epsilon=epsilon, prior=checked, constraints=tuple(settled))


def _constraints(given: Iterable[Constraint]) -> tuple[Constraint, ...]:
    found: tuple[Any, ...]
    try:
        found = tuple(given)
    except TypeError:  # a single one
        found = (given,)
    for one in found:
        if not isinstance(one, Constraint):
            raise ValueError(
                f"{type(one).__name__} was given as a constraint: give for example [st.GuessCap(0.1)]"
            )
    return found
