"""The one verb: optimise a strategy for a workload and a privacy budget."""

from __future__ import annotations

import math
import time

from stratagem.accuracy import UnsupportedWorkloadError
from stratagem.bounds import WEIGHTED_LIMIT, lower_bounds
from stratagem.bounds.weighted import weighted_dual
from stratagem.privacy import check
from stratagem.ranking import rank_baselines
from stratagem.solution import Solution
from stratagem.solvers import Auto, Callback, Problem, Solver, Status, search
from stratagem.strategies import Strategy
from stratagem.workloads import Workload

ROUNDING = 1e-9
"""Relative room between an objective and a bound that rounding may use up."""


def optimise(
    workload: Workload, epsilon: float, solver: Solver | Auto | None = None, on_step: Callback | None = None
) -> Solution:
    """Return the best strategy found for `workload` under epsilon-LDP, never worse than a published baseline.

    Minimises L(Q) = tr(M^+ V), the average-case variance (McKenna et al., VLDB 2020, Problem 3.12).
    `on_step` receives a record after every step and may return True to stop; Ctrl-C keeps the best so far.

    Guarantee:
        The strategy's measured epsilon is at most `epsilon` and its columns sum to one within 1e-12.

    Raises:
        ValueError: if epsilon is out of range or the domain is too large for a matrix.
        ArithmeticError: if a result contradicts a bound or its privacy budget, which would be a fault here.

    Example:
        >>> import stratagem as st
        >>> solution = optimise(st.prefix(16), epsilon=1.0)
        >>> solution.lower_bound <= solution.objective <= 1.03 * solution.lower_bound
        True
    """
    epsilon, began = check(epsilon), time.perf_counter()
    dual = weighted_dual(workload, epsilon) if workload.domain_size <= WEIGHTED_LIMIT else None
    bounds = lower_bounds(workload, epsilon, dual)
    problem = Problem(workload, epsilon, bounds.best, dual)
    baselines = rank_baselines(workload, epsilon)
    baseline, baseline_name = baselines[0].strategy, str(baselines[0])
    chosen = (solver or Auto()).select(problem, baseline) if isinstance(solver, Auto | None) else solver
    found = search(chosen, problem, on_step)
    ended = found.status if found.status in (Status.INTERRUPTED, Status.STOPPED) else Status.BASELINE

    def stated(strategy: Strategy, name: str, status: Status) -> Solution:
        seconds, history = time.perf_counter() - began, tuple(found.history)
        return Solution(workload, epsilon, strategy, bounds, str(status), name, seconds, history, baselines)

    solution = stated(baseline, baseline_name, ended)
    if found.best is not None:
        searched = stated(chosen.finish(problem, found.best), type(chosen).__name__, found.status)
        solution = searched if _cost(searched) <= baselines[0].objective else solution
    _certify(solution)
    return solution


def _cost(solution: Solution) -> float:
    """Return the objective, infinite where the strategy has too few outputs to answer the workload."""
    try:
        return solution.objective
    except UnsupportedWorkloadError:
        return math.inf


def _certify(solution: Solution) -> None:
    """Refuse to return what the mathematics rules out."""
    measured, bounds = solution.strategy.epsilon, solution.bounds
    if measured > solution.epsilon:
        raise ArithmeticError(f"The strategy measures epsilon {measured!r}, above {solution.epsilon!r}.")
    if solution.objective < solution.lower_bound * (1 - ROUNDING):
        raise ArithmeticError(
            f"The objective {solution.objective!r} is below the {bounds.name} bound {bounds.best!r}."
        )
