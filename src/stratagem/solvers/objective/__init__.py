"""Objectives: the variances of a strategy that a solver minimises, with their lower bounds."""

from __future__ import annotations

from numpy.typing import ArrayLike

from stratagem.math.privacy import check_prior
from stratagem.solvers.objective.average import Average
from stratagem.solvers.objective.minimax import Minimax
from stratagem.solvers.objective.objective import Objective, WarmStart
from stratagem.solvers.objective.worst_case import WorstCase
from stratagem.solvers.objective.worst_query import WorstQuery
from stratagem.workloads import Workload

__all__ = [
    "KINDS",
    "Average",
    "Minimax",
    "Objective",
    "WarmStart",
    "WorstCase",
    "WorstQuery",
    "named_objective",
]

KINDS: dict[str, type[Objective]] = {leaf.kind: leaf for leaf in (Average, WorstCase, WorstQuery)}


def named_objective(kind: str, workload: Workload, prior: ArrayLike | None) -> Objective:
    """Return the objective called `kind` for a workload and a prior (n,).

    Raises:
        ValueError: for an unknown name, an invalid prior, or a prior together with "worst-case".
    """
    if kind not in KINDS:
        raise ValueError(f"the objective is {kind!r}, but must be one of {', '.join(KINDS)}: choose one")
    if prior is not None and kind == WorstCase.kind:
        raise ValueError(
            "a prior was given for the objective worst-case, which holds for every prior: leave the prior out"
        )
    return KINDS[kind](workload, None if prior is None else check_prior(prior, workload.domain_size))
