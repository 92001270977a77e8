"""The objective worst-query: the variance of the least accurate query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from stratagem.accuracy import Accuracy, per_query_variance
from stratagem.solvers.objective.average import Average
from stratagem.solvers.objective.least_favourable import least_favourable_queries, pairwise_queries
from stratagem.solvers.objective.minimax import Minimax
from stratagem.strategies import Randomiser, TranslationStrategy
from stratagem.workloads import explicit

QUERIES = 1 << 22
"""Largest number of entries of W (p x n) for which this objective is available."""


@final
@dataclass(frozen=True, eq=False)
class WorstQuery(Minimax):
    """max_i Var_i, the variance per user of the worst answered query, the user drawn from the prior."""

    kind: ClassVar[str] = "worst-query"

    @cached_property
    def rows(self) -> np.ndarray:
        """The matrix W (p x n) of the queries, with multiples of the total removed.

        Raises:
            ValueError: if W has more than `QUERIES` entries.
        """
        if self.workload.queries * self.workload.domain_size > QUERIES:
            raise ValueError(
                f"the objective worst-query was given {self.workload.queries} queries over "
                f"{self.workload.domain_size} user types, but lists at most {QUERIES} numbers: use the "
                "objective average or worst-case"
            )
        return self.rest.matrix()

    @property
    def size(self) -> int:
        """Number p of queries."""
        return len(self.rows)

    def variances(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> np.ndarray:
        """Return Var_i (p,), the variance of each query per user, whose type is drawn from the prior."""
        matrix = strategy.dense() if isinstance(strategy, TranslationStrategy) else strategy
        return per_query_variance(self.rest, matrix, self.shares, prior)

    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None
    ) -> float:
        """Return max_i Var_i."""
        return self.value(strategy, prior)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average objective of the workload diag(omega)^(1/2) W, omega the mixture (p,)."""
        return Average(explicit(np.sqrt(mixture)[:, None] * self.rows, self.workload.domain), self.prior)

    def pairwise(self, epsilon: float) -> float:
        """Return the lower bound on max_i Var_i from pairs of user types (see `pairwise_queries`)."""
        return pairwise_queries(self.rows, epsilon, self.shares)

    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the least favourable query weights (p,)."""
        return least_favourable_queries(self.rows, epsilon, self.shares)
