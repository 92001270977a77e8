"""The answer of an optimisation: a strategy with its certificate."""

from __future__ import annotations

from dataclasses import dataclass

from stratagem.accuracy import Accuracy
from stratagem.bounds import Bounds
from stratagem.ranking import Contender
from stratagem.solvers.solver import Status, Step
from stratagem.strategies import Strategy
from stratagem.workloads import Workload


@dataclass(frozen=True, eq=False)
class Solution:
    """A strategy for a workload and epsilon, its exact accuracy and the bounds that certify it."""

    workload: Workload
    epsilon: float
    """The budget that was asked for; `strategy.epsilon` is what was measured."""
    strategy: Strategy
    accuracy: Accuracy
    """Exact variances of the strategy on the workload."""
    bounds: Bounds
    status: Status
    """How the search ended and what to do about it."""
    solver: str
    """Name of the solver, or of the published mechanism that no search beat."""
    reason: str
    """Why this solver was run."""
    seconds: float
    history: tuple[Step, ...] = ()
    baselines: tuple[Contender, ...] = ()
    """Every published mechanism at its best on this problem, least objective first."""

    @property
    def objective(self) -> float:
        """L(Q) = tr(M^+ V)."""
        return self.accuracy.objective

    @property
    def lower_bound(self) -> float:
        """The largest known lower bound on the objective of every epsilon-LDP strategy."""
        return self.bounds.best

    @property
    def gap(self) -> float:
        """objective / lower bound - 1: the strategy is at most this far from the best possible one."""
        return self.objective / self.lower_bound - 1

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
            f"solver       {self.solver}: {self.reason}\n"
            f"{self.status}"
        )
