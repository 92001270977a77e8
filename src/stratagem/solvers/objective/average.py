"""The average variance over the user types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from stratagem.accuracy import Accuracy, objective
from stratagem.bounds import Bounds, Duals, lower_bounds, noiseless, tighten
from stratagem.math.linalg import factor
from stratagem.solvers.objective.objective import AVERAGE, Objective, WarmStart
from stratagem.strategies import Randomiser, Strategy, TranslationStrategy


@final
@dataclass(frozen=True, eq=False)
class Average(Objective):
    """L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), the variance of a user drawn from the prior p.

    Reference:
        McKenna, Maity, Mazumdar, Miklau, VLDB 2020, Problem 3.12, with p = 1/n.
    """

    kind: ClassVar[str] = AVERAGE

    @cached_property
    def factor(self) -> np.ndarray:
        """V = F F^T (n x r)."""
        return factor(self.workload.gram())

    @property
    def offset(self) -> float:
        """n sum_u p_u V_uu, so that sum_u p_u t_u = (L - offset)/n; divided by n on domains where L is."""
        return noiseless(self.workload, self.prior)

    def added(self, value: float) -> float:
        """Return (L - offset)/n for L = `value`: the variance that one user contributes, at least zero."""
        return max(0.0, value - self.offset) / self.workload.scale

    def value(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> float:
        """Return L(Q)."""
        F = self.factor if isinstance(strategy, Strategy) else None
        return objective(self.workload, strategy, F, prior)

    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None
    ) -> float:
        """Return L(Q), as `accuracy` already holds it."""
        return accuracy.objective

    def bounds(self, epsilon: float, duals: Duals | None = None) -> Bounds:
        """Return lower bounds on L(Q) of every unbiased strategy."""
        return lower_bounds(self.workload, epsilon, self.prior, duals)

    def tightened(
        self, bounds: Bounds, epsilon: float, near: WarmStart, gap: float, seconds: float
    ) -> Bounds:
        """Return `bounds` with tighter lower bounds on L(Q) added (see `tighten`)."""
        return tighten(
            bounds, self.workload, epsilon, near.objective, gap, seconds, near.patterns, self.prior
        )
