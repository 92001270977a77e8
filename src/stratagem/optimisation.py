"""The one verb: optimise a strategy for a workload and a privacy budget."""

from __future__ import annotations

import math
import time

from stratagem.accuracy import UnsupportedWorkloadError, objective
from stratagem.bounds import lower_bounds, tighten
from stratagem.privacy import check
from stratagem.ranking import rank_baselines
from stratagem.solution import Solution
from stratagem.solvers import Auto, Callback, Problem, Solver, Status, search
from stratagem.strategies import Strategy
from stratagem.support import support
from stratagem.workloads import Workload

ROUNDING = 1e-9
"""Relative room between an objective and a bound that rounding may use up."""

CERTIFIED, PATIENCE = 0.01, (20.0, 60.0)
"""Gap between objective and bound above which a tighter bound is sought, and the seconds it may take: as
long as the search took, within these limits."""


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
    bounds = lower_bounds(workload, epsilon)
    problem = Problem(workload, epsilon, bounds.best)
    baselines = rank_baselines(workload, epsilon)
    baseline, baseline_name = baselines[0].strategy, str(baselines[0])
    chosen = (solver or Auto()).select(problem, baseline) if isinstance(solver, Auto | None) else solver
    found = search(chosen, problem, on_step)
    strategy, name, status = baseline, baseline_name, Status.BASELINE
    if found.best is not None:
        searched = chosen.finish(problem, found.best)
        if _cost(workload, searched) <= baselines[0].objective:
            strategy, name, status = searched, type(chosen).__name__, found.status
    if found.status in (Status.INTERRUPTED, Status.STOPPED):
        status = found.status
    else:
        allowed = min(max(PATIENCE[0], time.perf_counter() - began), PATIENCE[1])
        bounds = tighten(
            bounds, workload, epsilon, _cost(workload, strategy), CERTIFIED, allowed, support(strategy)
        )
    seconds = time.perf_counter() - began
    solution = Solution(
        workload, epsilon, strategy, bounds, str(status), name, seconds, tuple(found.history), baselines
    )
    _certify(solution)
    return solution


def _cost(workload: Workload, strategy: Strategy) -> float:
    """Return the objective, infinite where the strategy has too few outputs to answer the workload."""
    try:
        return objective(workload, strategy)
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
