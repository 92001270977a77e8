"""The largest of several variances: the objectives worst-case and worst-query."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from stratagem.accuracy import Accuracy, evaluate, per_query_variance
from stratagem.bounds import Bounds
from stratagem.bounds.attempt import attempted
from stratagem.bounds.formulas import ulps
from stratagem.math.privacy import uniform
from stratagem.problem.least_favourable import (
    least_favourable_prior,
    least_favourable_queries,
    pairwise_queries,
    pairwise_types,
)
from stratagem.problem.problem import Average, Problem, WarmStart
from stratagem.strategies import Runnable
from stratagem.workloads import Workload, explicit
from stratagem.workloads.explicit import differences

QUERIES = 1 << 22
"""Largest number of entries of W (p x n) for which this objective is available."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Minimax(Problem):
    """The largest of several variances, each linear in the strategy for a fixed reconstruction.

    A mixture is a probability vector (k,) over the k variances. The mean variance under a mixture is at most
    the largest variance, and it is the average case of another workload or prior. So a lower bound on that
    average case is a lower bound on the largest variance, and at the best mixture the two optima agree (a
    saddle point). All computations use the queries with their multiples of the total removed, which have the
    same variances: a total of large weight would take the significant digits of the other queries.
    """

    @final
    @cached_property
    def rest(self) -> Workload:
        """The workload with multiples of the total removed; the workload itself if no query would be left."""
        return differences(self.workload, self.prior) or self.workload

    @final
    @cached_property
    def free(self) -> bool:
        """Whether the workload contains multiples of the total alone, which are known without noise."""
        return differences(self.workload) is None

    @property
    @abstractmethod
    def size(self) -> int:
        """Number k of variances."""

    @abstractmethod
    def variances(self, strategy: Runnable, prior: np.ndarray | None) -> np.ndarray:
        """Return the k variances per user (k,), with the reconstruction that is optimal for `prior`."""

    @abstractmethod
    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average case whose (L - offset)/n is the mean of the variances under `mixture` (k,)."""

    @abstractmethod
    def pairwise(self) -> float:
        """Return the lower bound on the largest variance that follows from pairs of user types."""

    @abstractmethod
    def least_favourable(self) -> np.ndarray:
        """Return the mixture (k,) at which the weighted lower bound is largest."""

    @final
    @property
    def even(self) -> Average:
        """The average case of the uniform mixture, in which every variance has the weight 1/k."""
        return self.mixed(uniform(self.size))

    @final
    def value(self, strategy: Runnable, prior: np.ndarray | None) -> float:
        """Return the largest variance."""
        return self.largest(self.variances(strategy, prior))

    @final
    def largest(self, variances: np.ndarray) -> float:
        """Return the largest of `variances` (k,), exactly zero if the workload contains the total alone."""
        return 0.0 if self.free else float(variances.max())

    @final
    def added(self, value: float) -> float:
        """Return the largest variance itself."""
        return value

    @final
    def _bounds(self) -> Bounds:
        """Return the bounds of the uniform mixture or of the least favourable one, whichever are larger."""
        mixture = attempted(self.least_favourable)
        cases = [self.even, *([] if mixture is None else [self.mixed(mixture)])]
        return max((self.moved(case, case.bounds) for case in cases), key=lambda bounds: bounds.best)

    @final
    def tightened(self, bounds: Bounds, near: WarmStart, gap: float, seconds: float) -> Bounds:
        """Return `bounds` or the tightened bounds of the mixture in `near`, whichever are larger.

        The least favourable mixture is used if `near` holds none.
        """
        if near.objective <= bounds.best * (1 + gap):
            return bounds
        mixture = near.mixture
        if mixture is None:
            mixture = attempted(self.least_favourable)
        if mixture is None:
            return bounds
        case, added = self.mixed(mixture), self.workload.domain_size * near.objective
        gap = gap / (1 + case.offset / added)
        near = replace(near, objective=added + case.offset)
        tight = case.tightened(case.bounds, near, gap, seconds)
        return max(bounds, self.moved(case, tight), key=lambda bounds: bounds.best)

    @final
    def moved(self, case: Average, bounds: Bounds) -> Bounds:
        """Return the bounds on L(Q) of a mixture's average case, converted to bounds on the largest variance."""
        added = (lambda value: 0.0) if self.free else case.added
        moved = {name: added(value) for name, value in bounds.known().items()}
        return replace(bounds, **moved, pairwise=0.0 if self.free else self.pairwise())


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class WorstCase(Minimax):
    """max_u t_u, the total variance per user if everybody had the least favourable type."""

    kind: ClassVar[str] = "worst-case"

    @property
    def size(self) -> int:
        """Number n of user types."""
        return self.workload.domain_size

    def variances(self, strategy: Runnable, prior: np.ndarray | None) -> np.ndarray:
        """Return t_u (n,), the total variance per user if all users are of type u."""
        return evaluate(self.rest, strategy, prior).per_type

    def measure(self, accuracy: Accuracy, strategy: Runnable, prior: np.ndarray | None) -> float:
        """Return max_u t_u."""
        known = self.rest is self.workload
        return self.largest(accuracy.per_type) if known else self.value(strategy, prior)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average objective of the same workload with the mixture (n,) as its prior."""
        return Average(workload=self.rest, epsilon=self.epsilon, prior=None if _even(mixture) else mixture)

    def pairwise(self) -> float:
        """Return the lower bound on max_u t_u from pairs of user types (see `pairwise_types`)."""
        return pairwise_types(self.rest.gram(), self.epsilon, ulps(self.rest))

    def least_favourable(self) -> np.ndarray:
        """Return the least favourable prior (n,)."""
        return least_favourable_prior(self.rest.gram(), self.epsilon)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
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

    def variances(self, strategy: Runnable, prior: np.ndarray | None) -> np.ndarray:
        """Return Var_i (p,), the variance of each query per user, whose type is drawn from the prior."""
        return per_query_variance(self.rest, strategy, self.shares, prior)

    def measure(self, accuracy: Accuracy, strategy: Runnable, prior: np.ndarray | None) -> float:
        """Return max_i Var_i."""
        return self.value(strategy, prior)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average objective of the workload diag(omega)^(1/2) W, omega the mixture (p,)."""
        workload = explicit(np.sqrt(mixture)[:, None] * self.rows, self.workload.domain)
        return Average(workload=workload, epsilon=self.epsilon, prior=self.prior)

    def pairwise(self) -> float:
        """Return the lower bound on max_i Var_i from pairs of user types (see `pairwise_queries`)."""
        return pairwise_queries(self.rows, self.epsilon, self.shares)

    def least_favourable(self) -> np.ndarray:
        """Return the least favourable query weights (p,)."""
        return least_favourable_queries(self.rows, self.epsilon, self.shares)


def _even(mixture: np.ndarray) -> bool:
    """Return whether a mixture (n,) is uniform up to a relative error of 1e-9."""
    return bool(np.abs(mixture * len(mixture) - 1).max() <= 1e-9)
