"""Objectives: the number that a strategy is to make small, its lower bounds, and how it is measured."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from stratagem.accuracy import Accuracy, evaluate, objective, per_query_variance
from stratagem.bounds import Bounds, lower_bounds, tighten, weighed
from stratagem.bounds.least_favourable import least_favourable_prior, least_favourable_queries
from stratagem.bounds.nuclear import total_alone
from stratagem.bounds.pairwise import pairwise_queries, pairwise_types
from stratagem.bounds.weighted import WeightedDual, weighted_dual
from stratagem.linalg import factor
from stratagem.prior import check_prior, uniform
from stratagem.strategies import InvariantStrategy, Randomiser, Strategy
from stratagem.workloads import Workload, explicit

QUERIES = 1 << 22
"""Entries of W up to which the worst query is looked for."""


@dataclass(frozen=True, eq=False)
class Near:
    """What a search leaves for the bounds to start from; none of it needs to be trusted."""

    objective: float = math.inf
    """The value of the strategy found."""
    patterns: np.ndarray | None = None
    """The sets T (N, n) bool of its rows."""
    mixture: np.ndarray | None = None
    """The mixture (k,) that its largest variance was held against; None if unknown or an average."""


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """What a strategy for `workload` is held to, and the prior over user types that it is averaged with."""

    kind: ClassVar[str]

    workload: Workload
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for 1/n."""

    @abstractmethod
    def value(self, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None) -> float:
        """Return the objective of `strategy` with the reconstruction of `prior`.

        Raises:
            UnsupportedWorkloadError: if the strategy cannot answer the workload.
        """

    @abstractmethod
    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None
    ) -> float:
        """Return the same from the accuracy that is already known."""

    @abstractmethod
    def bounds(self, epsilon: float, dual: WeightedDual | None = None) -> Bounds:
        """Return lower bounds on the objective of every epsilon-LDP strategy; `dual` if it is known already."""

    @abstractmethod
    def tightened(self, bounds: Bounds, epsilon: float, near: Near, gap: float, seconds: float) -> Bounds:
        """Return the bounds with expensive ones added while they leave more than a gap (see `tighten`)."""

    @final
    @property
    def shares(self) -> np.ndarray:
        """The prior as an array (n,), 1/n in the average case."""
        return uniform(self.workload.domain_size) if self.prior is None else self.prior

    @final
    @property
    def plain(self) -> bool:
        """Whether this is the average over user types, all alike."""
        return self.kind == Average.kind and self.prior is None

    @final
    def dual(self, epsilon: float) -> WeightedDual | None:
        """Return the weighted bound of the average case; None for the others and where it takes too long."""
        if self.kind != Average.kind or not weighed(self.workload):
            return None
        return weighted_dual(self.workload, epsilon, prior=self.prior)


@final
@dataclass(frozen=True, eq=False)
class Average(Objective):
    """L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), the variance of a user drawn from the prior p.

    Reference:
        McKenna, Maity, Mazumdar, Miklau, VLDB 2020, Problem 3.12, with p = 1/n.
    """

    kind: ClassVar[str] = "average"

    @cached_property
    def factor(self) -> np.ndarray:
        """V = F F^T (n x r)."""
        return factor(self.workload.gram())

    @property
    def offset(self) -> float:
        """n sum_u p_u V_uu, so that sum_u p_u t_u = (L - offset)/n; per user type where L is."""
        if self.prior is None:
            return self.workload.mean_square * self.workload.scale
        return self.workload.domain_size * float(self.shares @ np.diag(self.workload.gram()))

    def value(self, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None) -> float:
        """Return L(Q)."""
        F = self.factor if isinstance(strategy, Strategy) else None
        return objective(self.workload, strategy, F, prior)

    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None
    ) -> float:
        """Return L(Q)."""
        return accuracy.objective

    def bounds(self, epsilon: float, dual: WeightedDual | None = None) -> Bounds:
        """Return the bounds on L(Q)."""
        return lower_bounds(self.workload, epsilon, self.prior, dual)

    def tightened(self, bounds: Bounds, epsilon: float, near: Near, gap: float, seconds: float) -> Bounds:
        """Return tighter bounds on L(Q)."""
        return tighten(
            bounds, self.workload, epsilon, near.objective, gap, seconds, near.patterns, self.prior
        )


@dataclass(frozen=True, eq=False)
class Minimax(Objective):
    """The largest of several variances, each linear in the strategy for a fixed reconstruction.

    For any mixture of them the largest is at least the mean, and the mean is an average case of another
    workload or prior: its bounds hold for the largest. At the best mixture nothing is lost (a saddle point).
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """Number k of variances."""

    @abstractmethod
    def variances(self, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None) -> np.ndarray:
        """Return all of them (k,), per user, with the reconstruction of `prior`."""

    @abstractmethod
    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average case whose (L - offset)/n is the mean of the variances under `mixture` (k,)."""

    @abstractmethod
    def pairwise(self, epsilon: float) -> float:
        """Return the bound on the largest variance that two user types alone give."""

    @abstractmethod
    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the mixture (k,) at which the weighted bound is largest."""

    @final
    @property
    def even(self) -> Average:
        """The average case where every variance counts the same."""
        return self.mixed(uniform(self.size))

    @final
    def value(self, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None) -> float:
        """Return the largest variance."""
        return self.largest(self.variances(strategy, prior))

    @final
    def largest(self, variances: np.ndarray) -> float:
        """Return the largest of them, exactly zero where the total alone is asked for."""
        return 0.0 if total_alone(self.workload.gram()) else float(variances.max())

    @final
    def bounds(self, epsilon: float, dual: WeightedDual | None = None) -> Bounds:
        """Return the bounds of the even mixture or of the least favourable one, whichever are better."""
        cases = self.even, self.mixed(self.least_favourable(epsilon))
        moved = (self.moved(case, case.bounds(epsilon), epsilon) for case in cases)
        return max(moved, key=lambda bounds: bounds.best)

    @final
    def tightened(self, bounds: Bounds, epsilon: float, near: Near, gap: float, seconds: float) -> Bounds:
        """Return these bounds or those of the mixture played last, made tight, whichever are better."""
        if near.objective <= bounds.best * (1 + gap):
            return bounds
        mixture = self.least_favourable(epsilon) if near.mixture is None else near.mixture
        case, added = self.mixed(mixture), self.workload.domain_size * near.objective
        gap = gap / (1 + case.offset / added)
        near = replace(near, objective=added + case.offset)
        tight = case.tightened(case.bounds(epsilon), epsilon, near, gap, seconds)
        return max(bounds, self.moved(case, tight, epsilon), key=lambda bounds: bounds.best)

    @final
    def moved(self, case: Average, bounds: Bounds, epsilon: float) -> Bounds:
        """Return bounds on L(Q) of a mixture as bounds on the largest variance."""
        n, known = self.workload.domain_size, bounds.known().items()
        moved = {name: max(0.0, (value - case.offset) / n) for name, value in known}
        return replace(bounds, **moved, pairwise=self.pairwise(epsilon))


@final
@dataclass(frozen=True, eq=False)
class WorstCase(Minimax):
    """max_u t_u, the total variance per user if everybody had the least favourable type."""

    kind: ClassVar[str] = "worst-case"

    @property
    def size(self) -> int:
        """Number n of user types."""
        return self.workload.domain_size

    def variances(self, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None) -> np.ndarray:
        """Return t_u (n,)."""
        return evaluate(self.workload, strategy, prior).per_type

    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None
    ) -> float:
        """Return max_u t_u."""
        return self.largest(accuracy.per_type)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the same workload with the mixture as prior."""
        return Average(self.workload, None if _even(mixture) else mixture)

    def pairwise(self, epsilon: float) -> float:
        """Return the bound from two user types."""
        return pairwise_types(self.workload.gram(), epsilon)

    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the least favourable prior (n,)."""
        return least_favourable_prior(self.workload.gram(), epsilon)


@final
@dataclass(frozen=True, eq=False)
class WorstQuery(Minimax):
    """max_i Var_i, the variance per user of the worst answered query, the user drawn from the prior."""

    kind: ClassVar[str] = "worst-query"

    @cached_property
    def rows(self) -> np.ndarray:
        """The queries themselves (p x n)."""
        if self.workload.queries * self.workload.domain_size > QUERIES:
            raise ValueError(
                f"the objective worst-query was given {self.workload.queries} queries over "
                f"{self.workload.domain_size} user types, but lists at most {QUERIES} numbers: use the "
                "objective average or worst-case"
            )
        return self.workload.matrix()

    @property
    def size(self) -> int:
        """Number p of queries."""
        return len(self.rows)

    def variances(self, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None) -> np.ndarray:
        """Return Var_i (p,) of one user of random type."""
        matrix = strategy.dense() if isinstance(strategy, InvariantStrategy) else strategy
        return per_query_variance(self.workload, matrix, self.shares, prior)

    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | InvariantStrategy, prior: np.ndarray | None
    ) -> float:
        """Return max_i Var_i."""
        return self.value(strategy, prior)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the workload diag(omega)^(1/2) W."""
        return Average(explicit(np.sqrt(mixture)[:, None] * self.rows, self.workload.domain), self.prior)

    def pairwise(self, epsilon: float) -> float:
        """Return the bound from two user types at a time."""
        return pairwise_queries(self.rows, epsilon, self.shares)

    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the least favourable query weights (p,)."""
        return least_favourable_queries(self.rows, epsilon, self.shares)


KINDS: dict[str, type[Objective]] = {leaf.kind: leaf for leaf in (Average, WorstCase, WorstQuery)}


def named_objective(kind: str, workload: Workload, prior: ArrayLike | None) -> Objective:
    """Return the objective of that name.

    Raises:
        ValueError: for an unknown name, a bad prior, or a prior where the worst user type is asked for.
    """
    if kind not in KINDS:
        raise ValueError(f"the objective is {kind!r}, but must be one of {', '.join(KINDS)}: choose one")
    if prior is not None and kind == WorstCase.kind:
        raise ValueError(
            "a prior was given for the objective worst-case, which holds for every prior: leave the prior out"
        )
    return KINDS[kind](workload, None if prior is None else check_prior(prior, workload.domain_size))


def _even(mixture: np.ndarray) -> bool:
    """Return whether a mixture is uniform up to what an ascent may leave."""
    return bool(np.abs(mixture * len(mixture) - 1).max() <= 1e-9)
