"""Where the certified solver stands after a round, and the tools of every round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.bounds.duals import WeightedDual
from stratagem.solvers.certified.design import Arithmetic, Design
from stratagem.solvers.certified.patterns import gaussian_patterns


@dataclass(frozen=True, eq=False)
class SearchContext:
    """What every round of one start uses."""

    numbers: Arithmetic
    target: WeightedDual
    factor: np.ndarray
    """Factor of the covariance of the random fields (n x r)."""
    E: float
    rng: np.random.Generator
    deadline: float
    """Time of `time.perf_counter` at which the search for rows ends."""

    def fields(self, count: int) -> np.ndarray:
        """Return random patterns (count x n) with the target's covariance."""
        return gaussian_patterns(self.target, self.factor, self.E, count, self.rng)


@dataclass(frozen=True, eq=False)
class ColumnGenerationState:
    """Where the search stands after a round."""

    design: Design | None
    """None before the first patterns, or if the workload asks for the total alone."""
    total: float
    """n p^T V p, what the total costs under every strategy."""
    scale: float
    """tr V_c: the design works with V_c divided by it."""
    tools: SearchContext | None
    end: float
    """Time at which everything ends, later than the tools' deadline if rows are still to be polished."""
    trace: tuple[float, ...] = ()
    """Value of the design after each round so far."""
    closed: bool = False
    """Whether nothing is left to do."""

    @property
    def objective(self) -> float:
        """L(Q) of the design."""
        return self.total + (self.scale * self.design.value if self.design else 0.0)

    @property
    def stuck(self) -> bool:
        """Whether nothing is left to improve."""
        return self.closed
