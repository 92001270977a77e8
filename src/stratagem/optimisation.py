"""The one verb: optimise a strategy for a workload and a privacy budget."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import ArrayLike

from stratagem.accuracy import UnsupportedWorkloadError
from stratagem.objective import Average, Minimax, Objective, named_objective
from stratagem.privacy import check
from stratagem.ranking import rank_baselines
from stratagem.solution import Solution
from stratagem.solvers import Auto, Callback, Certified, Problem, Solver, Status, search
from stratagem.solvers.saddle import Saddle, Standing
from stratagem.strategies import MatrixStrategy, Strategy
from stratagem.workloads import Workload

ROUNDING = 1e-9
"""Room between an objective and a bound that rounding may use up, relative to the bound or to tr V/n."""


def optimise(
    workload: Workload,
    epsilon: float,
    solver: Solver | Auto | None = None,
    on_step: Callback | None = None,
    *,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
) -> Solution:
    """Return the best strategy found for `workload` under epsilon-LDP, never worse than a published baseline.

    Minimises L(Q) = tr(M^+ V), the average-case variance (McKenna et al., VLDB 2020, Problem 3.12). A prior,
    n counts or probabilities of the user types, makes it the average over users so distributed. The objective
    "worst-case" is the variance per user of the least favourable type, "worst-query" that of the least
    accurate query. `on_step` receives a record after every step and may return True to stop; Ctrl-C keeps
    the best so far.

    Guarantee:
        The strategy's measured epsilon is at most `epsilon` and its columns sum to one within 1e-12; no
        objective and no prior changes that.

    Raises:
        ValueError: if epsilon is out of range, the domain is too large for a matrix, the prior is not one,
            or the solver does not know the objective.
        ArithmeticError: if a result contradicts a bound or its privacy budget, which would be a fault here.

    Example:
        >>> import stratagem as st
        >>> solution = optimise(st.prefix(16), epsilon=1.0)
        >>> solution.lower_bound <= solution.objective <= 1.03 * solution.lower_bound
        True
    """
    epsilon, began = check(epsilon), time.perf_counter()
    aim = named_objective(objective, workload, prior)
    _check_solver(solver, aim)
    bounds = aim.bounds(epsilon)
    problem = Problem(workload, epsilon, bounds.best, aim.prior)
    baselines = rank_baselines(workload, epsilon, aim)
    chosen = _select(solver, aim, problem, baselines[0].strategy)
    found = search(chosen, problem, on_step)
    strategy, name, status = baselines[0].strategy, str(baselines[0]), Status.BASELINE
    belief = aim.prior
    if found.best is not None:
        searched = chosen.finish(problem, found.best)
        believed = found.best.prior if isinstance(found.best, Standing) else aim.prior
        if _cost(aim, searched, believed) <= baselines[0].objective:
            strategy, name, status, belief = searched, type(chosen).__name__, found.status, believed
    if found.status in (Status.INTERRUPTED, Status.STOPPED):
        status = found.status
    seconds, history = time.perf_counter() - began, tuple(found.history)
    solution = Solution(
        workload, epsilon, strategy, bounds, str(status), name, seconds, history, baselines, aim, belief
    )
    _certify(solution)
    return solution


def _check_solver(solver: Solver | Auto | None, aim: Objective) -> None:
    """Refuse a solver that minimises nothing but the average over user types where more is asked for."""
    plain = isinstance(aim, Average) and aim.prior is None
    if not (plain or isinstance(solver, Auto | Certified | None)):
        asked = "a prior" if isinstance(aim, Average) else f"the objective {aim.kind}"
        raise ValueError(
            f"{asked} was given with the solver {type(solver).__name__}, which knows only the average over "
            "user types: use the certified solver, st.Certified()"
        )


def _select(solver: Solver | Auto | None, aim: Objective, problem: Problem, start: MatrixStrategy) -> Solver:
    """Return the solver of the objective."""
    if isinstance(solver, Auto | None):
        solver = (solver or Auto()).select(problem, start, average=not isinstance(aim, Minimax))
    return Saddle(aim, solver) if isinstance(aim, Minimax) and isinstance(solver, Certified) else solver


def _cost(aim: Objective, strategy: Strategy, prior: np.ndarray | None) -> float:
    """Return the objective, infinite where the strategy has too few outputs to answer the workload."""
    try:
        return aim.value(strategy, prior)
    except UnsupportedWorkloadError:
        return math.inf


def _certify(solution: Solution) -> None:
    """Refuse to return what the mathematics rules out."""
    measured, bounds = solution.strategy.epsilon, solution.bounds
    if measured > solution.epsilon:
        raise ArithmeticError(f"The strategy measures epsilon {measured!r}, above {solution.epsilon!r}.")
    room = ROUNDING * max(bounds.best, solution.workload.frobenius_squared / solution.workload.domain_size)
    if solution.objective < bounds.best - room:
        raise ArithmeticError(
            f"The objective {solution.objective!r} is below the {bounds.name} bound {bounds.best!r}."
        )
