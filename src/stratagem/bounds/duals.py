"""Dual solutions that bounds and solvers share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.bounds.attempt import attempted
from stratagem.bounds.linear import LinearDual, linear_dual
from stratagem.bounds.weighted import WeightedDual, weighted_dual
from stratagem.workloads import Workload

WEIGHTED_LIMIT, WEIGHTED_BESIDE = 4096, 1024
"""Domain sizes up to which the weighted bound, half a dozen eigendecompositions, is computed unasked: the second
where the others are known in closed form."""


@dataclass(frozen=True, eq=False)
class Duals:
    """The dual solutions of the average case, each computed when it is first asked for."""

    workload: Workload
    epsilon: float
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for 1/n."""

    @cached_property
    def weighted(self) -> WeightedDual | None:
        """The weighted bound, None where it takes too long to be computed unasked, or fails."""
        if not weighed(self.workload):
            return None
        return attempted(lambda: weighted_dual(self.workload, self.epsilon, prior=self.prior))

    @cached_property
    def linear(self) -> LinearDual | None:
        """The linear programme of few queries, None for other queries and larger domains."""
        return attempted(lambda: linear_dual(self.workload, self.epsilon, self.prior))


def weighed(workload: Workload) -> bool:
    """Return whether the weighted bound is computed unasked: it forms V, and hardly beats a closed form there."""
    return workload.domain_size <= (WEIGHTED_LIMIT if workload.norms is None else WEIGHTED_BESIDE)
