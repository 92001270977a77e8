"""The default: choose a solver and its size by the problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stratagem.solvers.certified import Certified
from stratagem.solvers.projected_gradient import ProjectedGradient
from stratagem.solvers.solver import Problem, Solver
from stratagem.strategies import MatrixStrategy

ENTRIES = 1 << 16
"""Entries of Q with sixteen outputs for each user type at n = 64; larger domains get fewer, down to two."""


@dataclass(frozen=True)
class Auto:
    """Choose the solver, its number of outputs and its start.

    More outputs bring the projected gradient closer to the bound and cost time in proportion, so small
    domains get sixteen for each user type and large ones two. Small domains also get more restarts.
    """

    reference: ClassVar[str] = "chooses among the others by the problem"

    outputs: int | None = None
    """Number m of rows; default by the domain size."""
    restarts: int | None = None
    """Number of starts; default eight up to n = 16, else two."""
    seed: int = 0
    gap: float = 0.0

    def select(self, problem: Problem, baseline: MatrixStrategy, average: bool = True) -> Solver:
        """Return the solver that fits the problem; for a prior or a worst case that is the certified one."""
        if problem.prior is not None or not average:
            return Certified(outputs=self.outputs, seed=self.seed, gap=self.gap)
        n = problem.workload.domain_size
        outputs = self.outputs or max(2, n * round(min(16, max(2, (ENTRIES / n**2) ** 0.5 * 4))))
        return ProjectedGradient(
            outputs=outputs,
            start=baseline,
            restarts=self.restarts or (8 if n <= 16 else 2),
            seed=self.seed,
            gap=self.gap,
        )
