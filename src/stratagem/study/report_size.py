"""What the number of possible reports costs: the gap to the bound against it, and square channels beside wider ones.

Square are those of the local count program, with as many outputs as user types. The variance of an unbiased
reconstruction is no loss of a single answer, so that more outputs than user types can help it (`counts.merged` shows
that they cannot help such a loss).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from stratagem import counts
from stratagem.counts.exact import log_decay
from stratagem.estimators import Accuracy, UnsupportedWorkloadError, estimator, evaluate
from stratagem.io.screen import Plotted, brief
from stratagem.io.table import Table
from stratagem.math.deadline import Deadline
from stratagem.math.number import array
from stratagem.solvers import Certified, Solver, search
from stratagem.solvers.problem import problem_of
from stratagem.solvers.solver import check_limits
from stratagem.strategies import MatrixStrategy, Strategy
from stratagem.study.optimisation import optimise
from stratagem.study.solution import Solution
from stratagem.workloads import DomainLike, histogram
from stratagem.workloads.given import WorkloadLike, workload_of

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


@dataclass(frozen=True, eq=False)
class LocalComparison:
    """The square program and the optimised rectangular channel on one workload, both eps-LDP."""

    __repr__ = brief

    square: counts.CountDesign
    """The channel with as many outputs as user types that has the least expected loss."""
    accuracy: Accuracy | None
    """Accuracy of the square channel on the workload; None if the channel cannot answer it without bias."""
    rectangular: Solution
    """The strategy of least variance, with any number of outputs."""

    @property
    def objective(self) -> float:
        """L(Q) of the square channel on the workload, infinite where it cannot answer it."""
        return math.inf if self.accuracy is None else self.accuracy.objective

    @property
    def gain(self) -> float:
        """L of the square channel / L of the rectangular one: above 1 where more outputs help."""
        return self.objective / self.rectangular.objective

    def __str__(self) -> str:
        """Return two lines with the number of outputs and the objective of both channels."""
        return (
            f"square      {self.square.mechanism.size + 1} outputs, objective {self.objective:.6g}\n"
            f"rectangular {self.rectangular.strategy.outputs} outputs, "
            f"objective {self.rectangular.objective:.6g}: {self.gain:.4g} times less"
        )


def rectangular(
    size: int,
    alpha: float | str | Fraction | None = None,
    loss: str | Sequence | np.ndarray = "L0",
    *,
    epsilon: float | None = None,
    workload: WorkloadLike | None = None,
    prior: Sequence[float] | np.ndarray | None = None,
    solver: Solver | None = None,
) -> LocalComparison:
    """Return the square local program beside the rectangular channel that the strategy optimiser finds.

    Args:
        size: n; users hold one of n + 1 values, 0 to n.
        alpha: exp(-epsilon), between 0 and 1; give this or epsilon.
        loss: what the square program minimises, as in `design`.
        epsilon: the privacy budget, instead of alpha.
        workload: what is to be estimated from all reports, as in `optimise`; by default the histogram of the values.
        prior: weights of the values (n+1), for both; uniform by default. The square program gives no answer to a value
            that is much rarer than others, and then reconstructs nothing about it.
        solver: of the strategy optimiser, as in `optimise`.

    Raises:
        ValueError: for parameters out of range or a workload of another domain size.
        RuntimeError: if the linear program's solver fails.

    Reference:
        Kulkarni's thesis (Warwick), section 6.8; McKenna et al., VLDB 2020.

    Example:
        >>> import stratagem as st
        >>> found = st.study.rectangular(7, epsilon=1.0)
        >>> found.gain > 1.02
        True
    """
    square = counts.design(size, alpha, loss, epsilon=epsilon, prior=prior, reach=size)
    asked = workload_of(histogram(size + 1) if workload is None else workload, default=lambda: size + 1)
    budget = epsilon if epsilon is not None else -log_decay(square.mechanism.alpha)
    weights = None if prior is None else np.asarray(prior, dtype=float)
    channel = MatrixStrategy(square.mechanism.matrix)
    try:
        accuracy = evaluate(asked, channel, weights)
    except UnsupportedWorkloadError:
        accuracy = None
    return LocalComparison(square, accuracy, optimise(asked, budget, solver, prior=weights))
