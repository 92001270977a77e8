"""Published mechanisms by name, each tuned for a workload as the comparisons tune it."""

from __future__ import annotations

import time

from numpy.typing import ArrayLike

from stratagem.baselines import BASELINES, Setting
from stratagem.io.toml import nearest
from stratagem.math.privacy import check
from stratagem.solvers import Status
from stratagem.solvers.objective import Average, Objective, named_objective
from stratagem.strategies import Strategy, TableSampling
from stratagem.study.optimisation import certify
from stratagem.study.ranking import Contender, tuned
from stratagem.study.solution import Solution
from stratagem.workloads import Workload


def tune(
    workload: Workload,
    epsilon: float,
    mechanism: str,
    *,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
) -> Solution:
    """Return a published mechanism at its best on a workload, with its exact variances and the bounds.

    A protocol is written out as a matrix where it has few enough reports, so that it can be saved and run; it
    then answers with the best linear estimator instead of its published one, never worse on the average objective.
    `objective` and `prior` as in `optimise`.

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
    epsilon, began = check(epsilon), time.perf_counter()
    known = {baseline.name: baseline for baseline in BASELINES}
    if not isinstance(mechanism, str) or mechanism not in known:
        raise ValueError(f"{mechanism!r} is not a published mechanism: {nearest(str(mechanism), known)}")
    aim = named_objective(objective, workload, prior)
    setting = Setting(workload.domain.sizes, workload.gram())
    contender = tuned(known[mechanism], aim, setting, epsilon)
    if contender is None:
        raise ValueError(
            f"{mechanism} was asked for, but does not answer these queries, or is not tried on domains of this "
            f"size, over domain {workload.domain}: compare the mechanisms to see which do"
        )
    strategy, contender = _finite(contender, aim)
    solution = Solution(
        aim,
        epsilon,
        strategy,
        contender.accuracy,
        contender.objective,
        aim.bounds(epsilon),
        Status.TUNED,
        str(contender),
        "asked for",
        time.perf_counter() - began,
        (),
        (contender,),
        aim.prior,
    )
    certify(solution)
    return solution


def _finite(contender: Contender, aim: Objective) -> tuple[Strategy, Contender]:
    """Return the contender as a strategy, written out if it is a protocol."""
    if isinstance(contender.strategy, Strategy):
        return contender.strategy, contender
    assert not isinstance(contender.strategy, TableSampling), "baselines of a Gram matrix are randomisers"
    matrix = contender.strategy.dense()
    value = aim.value(matrix, aim.prior)
    return matrix, Contender(
        contender.mechanism, contender.parameters, matrix, value, contender.workload, contender.prior
    )
