"""Strategies which protect near values more than far ones: on a line, or for any distances of few values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from stratagem.bounds import Bound, Bounds
from stratagem.bounds.constrained import CONSTRAINED, all_rays, listed_bound, metric_bound
from stratagem.math.deadline import within
from stratagem.math.number import above_minimum
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers import Status
from stratagem.solvers.problem import Problem, relative_gap
from stratagem.solvers.solver import Candidate, valued
from stratagem.study.constrained import Candidates, Kind, SearchStart, Solve, people, solution_of
from stratagem.study.solution import Solution
from stratagem.workloads.centring import centred

SECONDS = 60.0
"""Seconds after which no more rows are looked for."""
CLOSE = 1e-5
"""Gap at which the search ends."""
PUBLISHED = "published"
"""Name of a published mechanism for the same distances: on a line the truncated geometric mechanism."""


class ByDistance(Kind):
    """Privacy by distance (theory.md, section 13)."""

    def start(self, problem: Problem, seed: int, solve: Solve) -> SearchStart:
        """Return a published mechanism for the same distances, and the bound."""
        line = problem.constraint.on_line
        bound, first, candidates = _on_a_line(problem, seed) if line else _listed(problem)
        bounds = Bounds(Bound.of(CONSTRAINED, bound))
        published = solution_of(
            problem, first, bounds, Status.BASELINE, "geometric" if line else "exponential"
        )
        return SearchStart(first, lambda _: bounds, candidates, {PUBLISHED: published}, CLOSE, SECONDS)

    def mechanism(self, solution: Solution, name: str) -> Mechanism:
        """Return the strategy in whole numbers that keep to every step (see `Mechanism.on_line`)."""
        steps = solution.problem.constraint
        if not steps.on_line:
            raise ValueError(
                "a mechanism file states the steps of a line, but these distances are a matrix: save the strategy as "
                ".npz, .csv, .mat or .parquet"
            )
        matrix = solution.strategy.dense()
        return Mechanism.on_line(matrix, solution.workload, steps.distances.tolist(), name=name)

    def text(self, solution: Solution) -> str:
        steps, published = solution.problem.constraint, solution.others[PUBLISHED].objective
        d = steps.distances
        low, high = float(d[d > 0].min()), float(d.max())
        step = f"e^{low:.4g}" if low == high else f"e^{low:.4g} to e^{high:.4g}"
        if steps.on_line:
            told = (
                f"for the next; factors multiply along the line, to e^{solution.epsilon:.4g} from end to end"
            )
            other, same = "the truncated geometric mechanism", "steps"
        else:
            told, other, same = "for another, by their distance", "a published mechanism", "distances"
        return (
            f"No report is more than {step} times as likely for one value as {told}.\n"
            f"{people(solution)}\n"
            f"The total variance is {100 * (1 - solution.objective / published):.1f} % below that of {other} with the "
            f"same {same}.\n"
            f"Objective {above_minimum(solution.gap)} for these {same}."
        )

    def record(self, solution: Solution) -> dict[str, Any]:
        return {
            "steps": solution.problem.constraint.distances.tolist(),
            "published_objective": solution.others[PUBLISHED].objective,
        }


def _on_a_line(problem: Problem, seed: int) -> tuple[float, Candidate, Candidates | None]:
    """Return the bound, the geometric mechanism and the search for steps on a line."""
    from stratagem.solvers.metric import ROUNDS, geometric, search_metric  # compiled code

    d, V = problem.constraint.distances, centred(problem.workload).gram
    with within(SECONDS):
        bound, information = metric_bound(problem.workload, d)
    first = valued(problem, geometric(d), problem.epsilon)

    def candidates() -> Iterator[Candidate]:
        for one in search_metric(V, d, information, ROUNDS, np.random.default_rng(seed)):
            yield valued(problem, one, problem.epsilon)

    return bound, first, candidates if V.any() and relative_gap(first.objective, bound) > CLOSE else None


def _listed(problem: Problem) -> tuple[float, Candidate, Candidates | None]:
    """Return the bound, a published mechanism and the best weights of all rows for any distances."""
    from stratagem.solvers.metric import from_rays, published_at  # compiled code

    d = problem.constraint.distances
    rays = all_rays(d)
    bound, weights = listed_bound(problem.workload, d, rays)

    def candidates() -> Iterator[Candidate]:
        yield replace(valued(problem, from_rays(rays, weights), problem.epsilon), stuck=True)

    return bound, valued(problem, published_at(d), problem.epsilon), candidates if len(weights) else None
