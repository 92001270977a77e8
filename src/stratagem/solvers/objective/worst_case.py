"""The objective worst-case: the variance of the least favourable user type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from stratagem.accuracy import Accuracy, evaluate
from stratagem.bounds.formulas import ulps
from stratagem.solvers.objective.average import Average
from stratagem.solvers.objective.least_favourable import least_favourable_prior, pairwise_types
from stratagem.solvers.objective.minimax import Minimax
from stratagem.strategies import Randomiser, TranslationStrategy


@final
@dataclass(frozen=True, eq=False)
class WorstCase(Minimax):
    """max_u t_u, the total variance per user if everybody had the least favourable type."""

    kind: ClassVar[str] = "worst-case"

    @property
    def size(self) -> int:
        """Number n of user types."""
        return self.workload.domain_size

    def variances(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> np.ndarray:
        """Return t_u (n,), the total variance per user if all users are of type u."""
        return evaluate(self.rest, strategy, prior).per_type

    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None
    ) -> float:
        """Return max_u t_u."""
        known = self.rest is self.workload
        return self.largest(accuracy.per_type) if known else self.value(strategy, prior)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average objective of the same workload with the mixture (n,) as its prior."""
        return Average(self.rest, None if _even(mixture) else mixture)

    def pairwise(self, epsilon: float) -> float:
        """Return the lower bound on max_u t_u from pairs of user types (see `pairwise_types`)."""
        return pairwise_types(self.rest.gram(), epsilon, ulps(self.rest))

    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the least favourable prior (n,)."""
        return least_favourable_prior(self.rest.gram(), epsilon)


def _even(mixture: np.ndarray) -> bool:
    """Return whether a mixture (n,) is uniform up to a relative error of 1e-9."""
    return bool(np.abs(mixture * len(mixture) - 1).max() <= 1e-9)
