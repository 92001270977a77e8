"""The state of the certified solver after a round of column generation, and the data that its rounds share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.bounds.duals import WeightedDual
from stratagem.solvers.certified.design import Arithmetic, Design
from stratagem.solvers.certified.patterns import gaussian_patterns


@dataclass(frozen=True, eq=False)
class SearchContext:
    """The data that all rounds of column generation of one start share."""

    numbers: Arithmetic
    target: WeightedDual
    factor: np.ndarray
    """Factor L (n x r) of the covariance L L^T of the Gaussian fields that random patterns come from."""
    E: float
    rng: np.random.Generator
    deadline: float
    """Time on the clock of `time.perf_counter` at which the search for rows ends."""

    def fields(self, count: int) -> np.ndarray:
        """Return random patterns (count x n) with the covariance of the target's information matrix."""
        return gaussian_patterns(self.target, self.factor, self.E, count, self.rng)


@dataclass(frozen=True, eq=False)
class ColumnGenerationState:
    """The state of the search after a round of column generation."""

    design: Design | None
    """Patterns and weights; None before the first patterns, or if the workload contains the total alone."""
    total: float
    """n p^T V p, the part of L(Q) that is the same for every strategy."""
    scale: float
    """tr V_c; the design works with V_c divided by this number."""
    tools: SearchContext | None
    end: float
    """Time on the clock of `time.perf_counter` at which the search ends.

    It is later than `tools.deadline` if the rows are polished after column generation.
    """
    trace: tuple[float, ...] = ()
    """Value of the design after each round so far."""
    closed: bool = False
    """Whether the search has ended, because no round remains that could improve the design."""

    @property
    def objective(self) -> float:
        """L(Q) of the design."""
        return self.total + (self.scale * self.design.value if self.design else 0.0)

    @property
    def stuck(self) -> bool:
        """Whether the search has ended."""
        return self.closed
