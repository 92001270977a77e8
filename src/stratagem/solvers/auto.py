"""The default: choose a solver and its size by the problem, and say why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from stratagem.solvers.certified import Certified
from stratagem.solvers.projected_gradient import ProjectedGradient
from stratagem.solvers.solver import Problem, Solver
from stratagem.strategies import MatrixStrategy


class Choice(NamedTuple):
    """A solver and why it fits the problem."""

    solver: Solver
    reason: str


@dataclass(frozen=True)
class Auto:
    """Choose the solver and its size by the workload, the budget and the limits.

    Two-level rows hold an optimal strategy, so `Certified` it is unless fewer reports than user types are
    asked for: then only general rows will do, and `ProjectedGradient` starts from the best baseline.
    """

    reference: ClassVar[str] = "chooses among the others by the problem"

    outputs: int | None = None
    """Largest number m of rows; default by the domain size."""
    seed: int = 0
    max_seconds: float = math.inf
    """When to stop the search; the best strategy so far is returned."""
    gap: float = 0.0
    """Stop as soon as objective / lower bound - 1 is at most this."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.outputs is not None and self.outputs < 1:
            raise ValueError(f"outputs is {self.outputs}; give a whole number of at least 1.")
        if not (self.gap >= 0 and self.max_seconds > 0):
            raise ValueError("gap must be at least 0 and max_seconds above 0.")

    def select(self, problem: Problem, baseline: MatrixStrategy, average: bool = True) -> Choice:
        """Return the solver and the reason in a few words; for a prior or a worst case it is the certified one."""
        n = problem.workload.domain_size
        if self.outputs is None or self.outputs >= n or problem.prior is not None or not average:
            reason = f"two-level rows hold an optimum, and {n} user types leave room to find it"
            two_level = Certified(
                outputs=self.outputs, seed=self.seed, max_seconds=self.max_seconds, gap=self.gap
            )
            return Choice(two_level, reason)
        reason = f"{self.outputs} outputs are too few for two-level rows over {n} user types"
        gradient = ProjectedGradient(
            outputs=self.outputs,
            start=baseline if baseline.outputs <= self.outputs else None,
            restarts=8,
            seed=self.seed,
            max_seconds=self.max_seconds,
            gap=self.gap,
        )
        return Choice(gradient, reason)
