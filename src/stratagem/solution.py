"""The answer of an optimisation: a strategy with its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.accuracy import Accuracy, evaluate
from stratagem.bounds import Bounds
from stratagem.objective import Average, Objective
from stratagem.ranking import Contender
from stratagem.solvers.solver import Step, excess
from stratagem.strategies import Strategy
from stratagem.workloads import Workload


@dataclass(frozen=True, eq=False)
class Solution:
    """A strategy for a workload and epsilon, its exact accuracy and the bounds that certify it."""

    workload: Workload
    epsilon: float
    """The budget that was asked for; `strategy.epsilon` is what was measured."""
    strategy: Strategy
    bounds: Bounds
    status: str
    """How the search ended and what to do about it."""
    solver: str
    """Name of the solver, or of the published mechanism that no search beat."""
    seconds: float
    history: tuple[Step, ...] = ()
    baselines: tuple[Contender, ...] = ()
    """Every published mechanism at its best on this problem, least objective first."""
    aim: Objective | None = None
    """The objective that was asked for; None for the average over user types."""
    prior: np.ndarray | None = None
    """The prior (n,) whose reconstruction belongs to the strategy: the one asked for, or the least
    favourable one of a worst case; None for 1/n. Pass it to `evaluate` and `Strategy.reconstruct`."""

    @cached_property
    def accuracy(self) -> Accuracy:
        """Exact variances of the strategy on the workload."""
        return evaluate(self.workload, self.strategy, self.prior)

    @property
    def objective_kind(self) -> str:
        """Name of the objective: average, worst-case or worst-query."""
        return Average.kind if self.aim is None else self.aim.kind

    @cached_property
    def objective(self) -> float:
        """L(Q) = tr(M^+ V), or the largest variance per user where a worst case was asked for."""
        aim = Average(self.workload) if self.aim is None else self.aim
        return aim.measure(self.accuracy, self.strategy, self.prior)

    @property
    def lower_bound(self) -> float:
        """The largest known lower bound on the objective of every epsilon-LDP strategy."""
        return self.bounds.best

    @property
    def gap(self) -> float:
        """objective / lower bound - 1: the strategy is at most this far from the best possible one."""
        return excess(self.objective, self.lower_bound)

    def samples_for(self, alpha: float) -> float:
        """Return the users needed for worst-case normalised variance alpha (see `Accuracy.samples_for`)."""
        return self.accuracy.samples_for(alpha)

    def __str__(self) -> str:
        """Say in a few lines what was found and how good it is."""
        return (
            f"{self.strategy.outputs} outputs for {self.workload.domain_size} user types, "
            f"measured epsilon {self.strategy.epsilon:.6g}\n"
            f"objective    {self.objective:.6g}\n"
            f"lower bound  {self.lower_bound:.6g} ({self.bounds.name})\n"
            f"gap          {100 * self.gap:.2f} %\n"
            f"{self.status}"
        )
