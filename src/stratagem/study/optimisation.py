"""The function `optimise`: find the best strategy for a workload and a privacy budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from stratagem.bounds import LONG, Bounds
from stratagem.estimators import Accuracy, UnsupportedWorkloadError, estimator
from stratagem.math.deadline import Deadline, fits, granted, within
from stratagem.math.privacy import ratio
from stratagem.solvers import (
    Algorithm,
    Auto,
    Callback,
    Certified,
    Choice,
    FewQueries,
    Junta,
    Orbit,
    Parts,
    Problem,
    ProjectedGradient,
    Search,
    Solver,
    Status,
    search,
)
from stratagem.solvers.certified.joint import SaddlePoint, SaddlePointState, suits
from stratagem.solvers.certified.patterns import EXHAUSTIVE
from stratagem.solvers.certified.saddle import Saddle, SaddleState
from stratagem.solvers.problem import Average, Constraint, Minimax, WarmStart, problem_of, relative_gap
from stratagem.strategies import (
    Strategy,
    SurveyStrategy,
    TranslationStrategy,
)
from stratagem.study.constrained import Solve, solve
from stratagem.study.kind import KINDS
from stratagem.study.preset import solver_of
from stratagem.study.ranking import (
    Contender,
    Ranking,
    rank_all,
    rank_invariant,
    rank_means,
    rank_questions,
)
from stratagem.study.solution import ROUNDING, Solution, certify
from stratagem.workloads import DomainLike
from stratagem.workloads.given import WorkloadLike
from stratagem.workloads.ranges import line

CERTIFIED, PATIENCE = 0.01, (30.0, 60.0)
"""Gap between objective and bound above which a tighter bound is searched for, and the least and most seconds
for that search. It may take twice as long as everything before it, within these limits."""
SEARCHED, SEARCHED_LONG, SEARCHED_WORST, SEARCHED_PARTS, FINISHED = 0.7, 0.85, 0.4, 0.5, 0.9
"""Shares of the time after which the search ends, that for many ordered values, whose bound has little to gain, that
for the worst type or query, whose bound starts from nothing better than that of the average, that for parts, which
leaves time for one of all tables together, and the tightening of the bound; the rest is for the exact variances of the
result."""
NEAR = 0.1
"""Share 1/(1 + E) of the types in optimal patterns from which quick bounds of many ordered values are within 5 %."""
FIRST, BEYOND = 30, 2.5
"""Products of two n x n matrices that take as long as the first strategy, and seconds that it may take beyond the
time."""

TIGHTENED = 512
"""Most combinations of answers to a survey whose strategy is written out as a matrix to tighten bounds from."""
SHORT, SHORTEST, TINY = 1e-3, 1e-6, 8
"""Gaps of a linear programme for few queries above which all patterns are tried where they can be listed: unless a
smaller one is asked for, and up to `TINY` user types, where that takes a fraction of a second."""

UNCONSTRAINED = 10.0
"""Seconds after which the search without a constraint ends, that one with it starts from."""

SHARES: dict[type[Algorithm], float] = {Saddle: SEARCHED_WORST, Parts: SEARCHED_PARTS}
"""Shares of the time of searches that end earlier than others."""
UNBEATEN = "a published mechanism, and nothing that was found is better"
"""Text that a solution gives as its reason for returning a published mechanism."""

BREAKDOWN = (UnsupportedWorkloadError, FloatingPointError, np.linalg.LinAlgError)
"""Exceptions that a search raises when it meets a strategy that double precision cannot represent."""

ENDED_BY_HAND = (Status.INTERRUPTED, Status.STOPPED)
FINAL = (*ENDED_BY_HAND, Status.SETTLED)
"""Statuses of a search that are reported as they are, whatever the gap."""


def optimise(
    workload: WorkloadLike,
    epsilon: float | None = None,
    solver: Solver | str | None = None,
    on_step: Callback | None = None,
    *,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
    domain: DomainLike | None = None,
    gap: float | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    constraints: Iterable[Constraint] = (),
) -> Solution:
    """Return the best strategy found for `workload` under epsilon-LDP, never worse than a published strategy.

    Where the solver's `outputs` limits the rows, that holds for the baselines within the limit; if there is none, the
    best of all may be returned. Protocols, whose reports are too many to count, are compared with.

    Minimises L(Q) = tr(M^+ V) (McKenna et al., VLDB 2020, Problem 3.12); a user adds (L - tr V)/n to the variance of
    all answers, in the mean over user types, or over a prior: n counts or probabilities of them. The objective
    "worst-case" is the variance per user of the least favourable type, "worst-query" that of the least accurate query.
    `on_step` receives a record after every step and may return True to stop; Ctrl-C keeps the best so far.
    The workload may be a name with a `domain`, a file or a matrix (p x n) of queries (see `workload_of`), the solver a
    name; `gap` and `seconds` limit the search (see `solver_of`), which else takes minutes for surveys above epsilon 1.3
    with common tables of hundreds of cells. `seed` is that of the solver: unless time ends it, a search with the same
    seed gives the same strategy. `constraints`: what it keeps to besides: `GuessCap`, `Shuffled`, `Permanent`, `Steps`.

    Guarantee:
        The strategy's measured epsilon is at most `epsilon` and its columns sum to one within 1e-12.

    Raises:
        ValueError: for what is out of range or too large, or a problem that the solver or double precision cannot do.
        ArithmeticError: if a result contradicts a bound or its privacy budget, which would be a fault here.

    Example:
        >>> import stratagem as st
        >>> solution = optimise(st.prefix(16), epsilon=1.0)
        >>> solution.lower_bound <= solution.objective <= 1.03 * solution.lower_bound
        True
    """
    chosen = solver_of(solver, gap=gap, seconds=seconds, seed=seed)
    asked = problem_of(workload, epsilon, objective, prior, domain, constraints)
    with within(granted(seconds)):
        return solved(asked, chosen, on_step)


optimize = optimise


def solved(
    asked: Problem, solver: Solver, on_step: Callback | None = None, free: Solve | None = None
) -> Solution:
    """Return the best strategy found for a problem, as `optimise`; `free` solves it without its constraint."""
    if refused := solver.handles(asked):
        raise ValueError(refused)
    with within(solver.limits.max_seconds) as time:
        if not asked.constraints:
            return _unconstrained(asked, solver, on_step, time)
        assert isinstance(solver, Auto), "no other solver handles a constraint"
        kind = KINDS[type(asked.constraint)]
        return certify(solve(asked, kind, solver, on_step, time, free or free_solution))


def free_solution(problem: Problem, gap: float) -> Solution:
    """Return the solution of a problem without its constraint."""
    return solved(replace(problem, constraints=()), Auto(gap=gap, max_seconds=UNCONSTRAINED))


def _unconstrained(asked: Problem, solver: Solver, on_step: Callback | None, time: Deadline) -> Solution:
    """Return the solution of a problem without a constraint, within the time."""
    problem = time.done(lambda: asked.levelled)
    chosen, reason = time.done(lambda: choose(solver, problem))
    baselines = time.done(lambda: _ranking(chosen)(problem))
    bounds = time.done(lambda: problem.bounds)
    fallback = _fitting(baselines, _most(solver))
    if time.stopped and fallback:
        found = Search(status=Status.INTERRUPTED)
    elif solver.chooses and fallback and _settled(fallback, bounds, _most(solver)):
        found = Search(status=Status.SETTLED)
    elif fallback and chosen.costly and not _fits(problem):
        found = Search(status=Status.TIME_EXHAUSTED)
    else:
        found = _found(chosen, problem, on_step, time, needed=fallback is None)
    if time.stopped:
        found.status = Status.INTERRUPTED
    best = time.done(lambda: _best(problem, chosen, found, fallback))
    short = solver.chooses and _falls_short(problem, chosen, best)
    again = solver.another(problem, chosen) if short else None
    if again is not None and not (isinstance(chosen, Parts) and time.until(SEARCHED) <= 0):
        second = _found(again.solver, problem, on_step, time)
        other = _best(problem, again.solver, second, fallback)
        if other.objective < best.objective:
            (chosen, reason), found, best = again, second, other
    bounds = _tightened(problem, bounds, best, found, chosen.limits.gap, time)
    solution = Solution(
        problem=problem,
        strategy=best.strategy,
        accuracy=best.accuracy,
        objective=best.objective,
        bounds=bounds,
        status=_verdict(best.status, relative_gap(best.objective, bounds.best), chosen.limits.gap),
        solver=best.maker,
        reason=reason if best.maker == type(chosen).__name__ else UNBEATEN,
        seconds=time.elapsed,
        history=tuple(found.history),
        baselines=baselines,
        prior=best.prior,
    )
    return _of_queries(certify(solution), asked)


def _tightened(
    problem: Problem, bounds: Bounds, best: _Best, found: Search, gap: float, time: Deadline
) -> Bounds:
    """Return the bounds after a search for tighter ones from the strategy found, where that is to be hoped for."""
    dense = _listed(best.strategy)
    if best.status in FINAL or (dense is None and line(problem.workload) is None):
        return bounds
    wanted = gap or (SHORT if problem.workload.domain_size <= EXHAUSTIVE else CERTIFIED)
    allowed = min(time.until(FINISHED), max(PATIENCE[0], 2 * time.elapsed), PATIENCE[1])
    weights = saddle.adversary if (saddle := _saddle(found)) else None
    near = WarmStart(best.objective, None if dense is None else dense.high_sets(), weights)
    return problem.tightened(bounds, near, wanted, allowed)


def _listed(strategy: Strategy | TranslationStrategy | SurveyStrategy) -> Strategy | None:
    """Return the strategy by its rows, from whose patterns bounds are tightened; None where they are not listed."""
    if strategy.parted and strategy.domain_size <= TIGHTENED:
        return strategy.dense()
    return strategy.enumerated


def _of_queries(solution: Solution, asked: Problem) -> Solution:
    """Return a solution of the levelled problem as one of the problem that was asked."""
    if asked.apart is None:
        return solution
    known = asked.apart.known
    published = (
        replace(one, objective=one.objective + known, problem=asked, known=None) for one in solution.baselines
    )
    return replace(
        solution,
        problem=asked,
        accuracy=replace(solution.accuracy, objective=solution.accuracy.objective + known),
        objective=solution.objective + known,
        bounds=solution.bounds.above(known, far=asked.apart.far),
        baselines=Ranking(published, solution.baselines.failed, solution.baselines.late),
    )


@dataclass(frozen=True, eq=False)
class _Best:
    """The strategy to return, with its accuracy, its objective and the name of its solver or baseline."""

    strategy: Strategy | TranslationStrategy | SurveyStrategy
    prior: np.ndarray | None
    """Prior of the reconstruction that belongs to the strategy, of shape (n,); None for 1/n."""
    accuracy: Accuracy
    objective: float
    maker: str
    status: Status


def choose(solver: Solver | None, problem: Problem) -> Choice:
    """Return the solver to run and the reason for it; a minimax objective never gets a symmetric one by default."""
    choice = (solver or Auto()).select(problem)
    if isinstance(problem, Minimax) and isinstance(choice.solver, Certified):
        inner, n = replace(choice.solver, polish=False), problem.workload.domain_size
        joint = (
            (inner.outputs is None or inner.outputs.bit_length() > n) and not problem.free and suits(problem)
        )
        return Choice((SaddlePoint if joint else Saddle)(problem, inner), choice.reason)
    return choice


def _ranking(solver: Solver) -> Callable[[Problem], Ranking]:
    """Return the function that ranks the published mechanisms with which the result of this solver is compared."""
    match solver:
        case Parts():
            return rank_questions
        case Junta() | Orbit():
            return rank_invariant
        case FewQueries():
            return rank_means
    return rank_all


def _most(solver: Solver) -> int | None:
    """Return the largest number of outputs that the solver may use; None without a limit."""
    match solver:
        case Auto(outputs=most) | Certified(outputs=most) | ProjectedGradient(outputs=most):
            return most
    return None


def _fitting(baselines: Ranking, most: int | None) -> Contender | None:
    """Return the best baseline with at most `most` outputs, or the best finite one if none has so few.

    Return None if no published mechanism but table sampling was set up, as on very large domains, or if time ran out
    before a finite one.
    """
    finite = [one for one in baselines if one.strategy.runnable]
    large = all(one.strategy.by_table for one in baselines)
    if not finite:
        if large or baselines.late:
            return None
        raise ValueError(
            "no strategy answers these queries in double precision under this prior and epsilon: use a smaller "
            "epsilon, or a prior without zeros"
        )
    return next((one for one in finite if _few_enough(one, most)), finite[0])


def _few_enough(found: Contender, most: int | None) -> bool:
    return most is None or (found.strategy.outputs or math.inf) <= most


def _found(
    solver: Algorithm, problem: Problem, on_step: Callback | None, time: Deadline, *, needed: bool = False
) -> Search:
    """Return the result of a search, empty if double precision cannot evaluate a strategy that it meets.

    Ctrl-C before the first state leaves it empty too, unless one is `needed`.
    """
    try:
        with within(
            time.until(SEARCHED_LONG if _is_long(solver, problem) else SHARES.get(type(solver), SEARCHED))
        ):
            return search(solver, problem, on_step, needed=needed)
    except BREAKDOWN:
        return Search()


def _is_long(solver: Algorithm, problem: Problem) -> bool:
    """Return whether this is a search over many ordered values whose quick bounds are as near as any."""
    long = problem.workload.domain_size >= LONG and line(problem.workload) is not None
    return long and isinstance(solver, Certified) and 1 / (1 + ratio(problem.epsilon)) >= NEAR


def _fits(problem: Problem) -> bool:
    """Return whether there is time for the first strategy of a search over all patterns, with its exact variances."""
    return fits(FIRST * problem.workload.domain_size**3, BEYOND)


def _falls_short(problem: Problem, solver: Solver, best: _Best) -> bool:
    """Return whether a linear programme, or parts, ended with such a gap that a search for patterns is worth a try.

    Where all patterns can be listed that is judged by the variance, which at large epsilon is a small part of L.
    """
    if not solver.partial or best.status in FINAL:
        return False
    if (n := problem.workload.domain_size) <= EXHAUSTIVE:
        wanted = SHORTEST if n <= TINY else min(SHORT, solver.limits.gap)
        return relative_gap(problem.added(best.objective), problem.least(problem.bounds)) > wanted
    return relative_gap(best.objective, problem.lower_bound) > CERTIFIED


def _settled(fallback: Contender, bounds: Bounds, most: int | None) -> bool:
    """Return whether a baseline with few enough outputs attains the bound, so that no search can improve on it."""
    return _few_enough(fallback, most) and relative_gap(fallback.objective, bounds.best) <= ROUNDING


def _best(problem: Problem, solver: Algorithm, found: Search, fallback: Contender | None) -> _Best:
    """Return the strategy found by the search, or the best baseline if its objective is lower."""
    late = Status.BASELINE_IN_TIME if found.status is Status.TIME_EXHAUSTED else Status.BASELINE
    ended = found.status if found.status in FINAL else late
    searched = _searched(problem, solver, found)
    if fallback is None:
        if searched is None:
            raise ValueError(
                "the search ended before it found a strategy: give it more time, or other queries"
            )
        return searched
    if searched is None or searched.objective > fallback.objective:
        strategy = cast("Strategy | TranslationStrategy", fallback.strategy)
        return _Best(strategy, problem.prior, fallback.accuracy, fallback.objective, str(fallback), ended)
    return searched


def _searched(problem: Problem, solver: Algorithm, found: Search) -> _Best | None:
    """Return the strategy found by the search; None if there is none or it cannot be evaluated on the workload."""
    if found.best is None:
        return None
    prior = saddle.found.prior if (saddle := _saddle(found)) else problem.prior
    try:
        strategy = solver.finish(problem, found.best)
        accuracy = (through := estimator(strategy, prior)).accuracy(problem.workload)
    except BREAKDOWN:  # or too few outputs to answer the workload
        return None
    value = problem.measure(accuracy, through)
    return _Best(strategy, prior, accuracy, value, type(solver).__name__, found.status)


def _saddle(found: Search) -> SaddleState | SaddlePointState | None:
    """Return the best state of a search against an adversary; None of any other."""
    return found.best if isinstance(found.best, SaddleState | SaddlePointState) else None


def _verdict(status: Status, gap: float, wanted: float) -> Status:
    """Return the status that says whether the gap asked for was reached; wanted = 0 asks for none."""
    if wanted == 0 or status in FINAL:
        return status
    return Status.OPTIMAL if gap <= wanted else Status.GAP_MISSED
