"""The one verb: optimise a strategy for a workload and a privacy budget."""

from __future__ import annotations

import time

from stratagem.accuracy import Accuracy, UnsupportedWorkloadError, evaluate
from stratagem.bounds import WEIGHTED_LIMIT, lower_bounds, tighten
from stratagem.bounds.weighted import weighted_dual
from stratagem.privacy import check
from stratagem.ranking import Contender, rank_baselines
from stratagem.solution import Solution
from stratagem.solvers import Auto, Callback, Choice, Problem, Search, Solver, Status, search
from stratagem.strategies import MatrixStrategy, Strategy
from stratagem.support import support
from stratagem.workloads import Workload

ROUNDING = 1e-9
"""Relative room between an objective and a bound that rounding may use up."""

CERTIFIED, PATIENCE = 0.01, 20.0
"""Gap between objective and bound above which a tighter bound is sought, and the seconds it may take."""

ENDED_BY_HAND = (Status.INTERRUPTED, Status.STOPPED)


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
    chosen, reason = _choice(solver, problem, baselines[0].strategy)
    found = search(chosen, problem, on_step)
    strategy, accuracy, name, status = _best(problem, chosen, found, baselines[0])
    if status not in ENDED_BY_HAND:
        wanted = chosen.limits.gap or CERTIFIED
        bounds = tighten(bounds, workload, epsilon, accuracy.objective, wanted, PATIENCE, support(strategy))
    gap = accuracy.objective / bounds.best - 1
    solution = Solution(
        workload,
        epsilon,
        strategy,
        accuracy,
        bounds,
        _verdict(status, gap, chosen.limits.gap),
        name,
        reason,
        time.perf_counter() - began,
        tuple(found.history),
        baselines,
    )
    _certify(solution)
    return solution


def _choice(solver: Solver | Auto | None, problem: Problem, baseline: MatrixStrategy) -> Choice:
    """Return the solver to run and the reason for it."""
    if isinstance(solver, Auto | None):
        return (solver or Auto()).select(problem, baseline)
    return Choice(solver, "asked for")


def _best(
    problem: Problem, solver: Solver, found: Search, baseline: Contender
) -> tuple[Strategy, Accuracy, str, Status]:
    """Return what the search found, or the best baseline where that is no worse; with its maker's name."""
    ended = found.status if found.status in ENDED_BY_HAND else Status.BASELINE
    fallback = baseline.strategy, baseline.accuracy, str(baseline), ended
    if found.best is None:
        return fallback
    strategy = solver.finish(problem, found.best)
    try:
        accuracy = evaluate(problem.workload, strategy)
    except UnsupportedWorkloadError:  # too few outputs to answer the workload
        return fallback
    if accuracy.objective > baseline.objective:
        return fallback
    return strategy, accuracy, type(solver).__name__, found.status


def _verdict(status: Status, gap: float, wanted: float) -> Status:
    """Say whether the gap asked for was met, by whatever strategy and bound; 0 asks for none."""
    if wanted == 0 or status in ENDED_BY_HAND:
        return status
    return Status.OPTIMAL if gap <= wanted else Status.GAP_MISSED


def _certify(solution: Solution) -> None:
    """Refuse to return what the mathematics rules out."""
    measured, bounds = solution.strategy.epsilon, solution.bounds
    if measured > solution.epsilon:
        raise ArithmeticError(f"The strategy measures epsilon {measured!r}, above {solution.epsilon!r}.")
    if solution.objective < solution.lower_bound * (1 - ROUNDING):
        raise ArithmeticError(
            f"The objective {solution.objective!r} is below the {bounds.name} bound {bounds.best!r}."
        )
