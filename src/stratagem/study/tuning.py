"""Published mechanisms by name, each tuned for a workload as the comparisons tune it."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from stratagem.bounds.formulas import FAILURES
from stratagem.estimators import estimator
from stratagem.io.toml import nearest
from stratagem.math.deadline import Deadline, granted, within
from stratagem.math.number import count_text
from stratagem.published import BASELINES
from stratagem.solvers import Status
from stratagem.solvers.problem import Average, Problem, problem_of
from stratagem.strategies import Strategy
from stratagem.study.ranking import Contender, Ranking, setting_of, tuned
from stratagem.study.solution import Solution, certify
from stratagem.workloads import DomainLike
from stratagem.workloads.given import WorkloadLike

TUNED, TUNED_ON = 0.6, 20_000
"""Share of the time after which no more parameters are tried, the rest is for the bounds; and the most user types,
whose Gram matrix takes 3 GB."""


def tune(
    workload: WorkloadLike,
    epsilon: float,
    mechanism: str,
    *,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
    domain: DomainLike | None = None,
    seconds: float | None = None,
) -> Solution:
    """Return a published mechanism at its best on a workload, with its exact variances and the bounds.

    A protocol is written out as a matrix where it has few enough reports, so that it can be saved and run; it
    then answers with the best linear estimator instead of its published one, never worse on the average objective.
    `workload`, `domain`, `objective` and `prior` as in `optimise`. Where `seconds` end before all parameters are tried,
    it is the best of those that were, and its status says so.

    Guarantee:
        As `optimise`: the measured epsilon is at most `epsilon`.

    Raises:
        ValueError: for an unknown mechanism, one that does not answer the queries or is not tried on domains
            of their size, or one with too many reports for a matrix; and as `optimise`.

    Example:
        >>> import stratagem as st
        >>> tune(st.prefix(16), 1.0, "hierarchical").solver
        'hierarchical (branching 2, design, optimal levels)'
    """
    with within(granted(seconds)) as time:
        return _tuned(problem_of(workload, epsilon, objective, prior, domain), mechanism, time)


def _tuned(problem: Problem, mechanism: str, time: Deadline) -> Solution:
    """Return the solution of a problem by a published mechanism, within the time."""
    known = {baseline.name: baseline for baseline in BASELINES}
    if (baseline := known.get(str(mechanism))) is None:
        raise ValueError(f"{mechanism!r} is not a published mechanism: {nearest(str(mechanism), known)}")
    if (n := problem.workload.domain_size) > TUNED_ON:
        raise ValueError(
            f"{mechanism} was asked for over domain {problem.workload.domain} of {count_text(n)} cells, but is tuned "
            f"on at most {TUNED_ON}: use coarser values, or search for a strategy"
        )
    try:
        with within(time.until(TUNED)):
            contender = tuned(baseline, problem, setting_of(problem), accurate=True)
    except FAILURES as error:
        raise ValueError(
            f"{mechanism} was asked for, but double precision does not hold its numbers for these queries ({error}): "
            "use queries of like size, or another mechanism"
        ) from None
    if contender is None:
        raise ValueError(
            f"{mechanism} was asked for, but does not answer these queries, or is not tried on domains of this "
            f"size, over domain {problem.workload.domain}: compare the mechanisms to see which do"
        )
    strategy, contender = _finite(contender, problem)
    solution = Solution(
        problem=problem,
        strategy=strategy,
        accuracy=contender.accuracy,
        objective=contender.objective,
        bounds=problem.bounds,
        status=Status.TUNED if contender.complete else Status.TUNED_IN_TIME,
        solver=str(contender),
        reason="asked for",
        seconds=time.elapsed,
        baselines=Ranking((contender,)),
        prior=problem.prior,
    )
    return certify(solution)


def _finite(contender: Contender, problem: Problem) -> tuple[Strategy, Contender]:
    """Return the contender as a strategy, written out if it is a protocol."""
    if (dense := contender.strategy.enumerated) is not None:
        return dense, contender
    matrix = contender.strategy.dense()
    value = problem.value(estimator(matrix, problem.prior))
    return matrix, replace(contender, strategy=matrix, objective=value)
