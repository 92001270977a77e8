"""The trade-off between accuracy and report size: the gap to the bound against the number of outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stratagem.estimators import estimator
from stratagem.io.screen import Plotted, brief
from stratagem.io.table import Table
from stratagem.math.deadline import Deadline
from stratagem.math.number import array
from stratagem.solvers import Certified, search
from stratagem.solvers.problem import problem_of
from stratagem.solvers.solver import check_limits
from stratagem.strategies import Strategy
from stratagem.workloads import DomainLike
from stratagem.workloads.given import WorkloadLike

MULTIPLES = (2, 4, 8, 16, 32)
"""Numbers of outputs per user type that are tried where none are given."""
ROUNDS = 4
"""Rounds of the search at each smaller number of outputs; each search starts from the rows of the largest one."""


@dataclass(frozen=True)
class TradePoint:
    """The best strategy found with a limited number of outputs."""

    outputs: int
    """Largest number m of outputs allowed."""
    objective: float
    """L(Q) = tr(M^+ V)."""
    gap: float
    """objective / lower bound - 1, for the bound over strategies with any number of outputs."""
    strategy: Strategy

    @property
    def bits(self) -> float:
        """Size of a report in bits, log2 m."""
        return math.log2(self.outputs)


@dataclass(frozen=True)
class TradeOff(Plotted):
    """Gap against number of outputs, fewest outputs first; the gap never grows with them."""

    __repr__ = brief
    figure: ClassVar[str] = "plot_trade_off"

    points: tuple[TradePoint, ...]
    lower_bound: float
    seconds: float

    def __str__(self) -> str:
        """Lay the points out as a table."""
        rows = [
            (f"{one.outputs}", f"{one.bits:.1f}", f"{one.objective:.6g}", f"{100 * one.gap:.2f} %")
            for one in self.points
        ]
        return str(Table(("outputs", "bits", "objective", "gap"), rows, words=0))


def trade_off(
    workload: WorkloadLike,
    epsilon: float,
    outputs: Sequence[int] | None = None,
    max_seconds: float = math.inf,
    *,
    domain: DomainLike | None = None,
) -> TradeOff:
    """Return the best strategy found for each number m of `outputs`, each at least n; default 2 n to 32 n.

    The certified solver runs once at the largest m, then a few rounds at each m from the rows that it found:
    they drop rows, improve the rest and polish. Half of `max_seconds` is for the one, half for the others.
    Workload and domain are those of `optimise`.

    Raises:
        ValueError: if epsilon is out of range or a number of outputs is below n.

    Example:
        >>> import stratagem as st
        >>> table = trade_off(st.prefix(8), epsilon=1.0, outputs=[16, 64])
        >>> [point.outputs for point in table.points]
        [16, 64]
    """
    time, problem = Deadline(), problem_of(workload, epsilon, domain=domain)
    workload, n = problem.workload, problem.workload.domain_size
    wanted = _checked(outputs, n)
    check_limits(max_seconds)
    first = Certified(outputs=wanted[-1], polish=False, max_seconds=max_seconds / 2)
    widest = first.finish(problem, search(first, problem).best).two_level
    assert widest is not None, "without polishing rows have two levels"
    F, share = problem.factor, max_seconds / 2 / len(wanted)
    points: list[TradePoint] = []
    for m in wanted:
        solver = Certified(outputs=m, resume=widest, max_steps=ROUNDS, max_seconds=share)
        strategy = solver.finish(problem, search(solver, problem).best)
        value = estimator(strategy).objective(workload, lambda: F)
        if points and points[-1].objective <= value:
            value, strategy = points[-1].objective, points[-1].strategy
        points.append(TradePoint(m, value, value / problem.lower_bound - 1, strategy))
    return TradeOff(tuple(points), problem.lower_bound, time.elapsed)


def _checked(outputs: Sequence[int] | None, n: int) -> list[int]:
    """Return the numbers of outputs in order, refusing what is none or below n."""
    if outputs is None:
        return [k * n for k in MULTIPLES]
    given = array(outputs)
    wanted = np.unique(given).tolist() if given.ndim == 1 and given.dtype.kind in "iu" else []
    if not wanted or wanted[0] < n:
        raise ValueError(
            f"outputs is {outputs!r}: give whole numbers of at least {n}, one for each user type"
        )
    return wanted
