"""Objectives: the number that a strategy is to make small, its lower bounds, and how it is measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from stratagem.accuracy import Accuracy, evaluate, objective, per_query_variance
from stratagem.bounds import WEIGHTED_LIMIT, Bounds, lower_bounds
from stratagem.bounds.least_favourable import least_favourable_prior, least_favourable_queries
from stratagem.bounds.weighted import WeightedDual, weighted_dual
from stratagem.linalg import factor
from stratagem.prior import check_prior, uniform
from stratagem.strategies import Strategy
from stratagem.workloads import Workload, explicit

ROUNDING = 1e-12
"""Share of tr V/n, what a user adds without privacy, below which a variance is rounding."""
QUERIES = 1 << 22
"""Entries of W up to which the worst query is looked for."""


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """What a strategy for `workload` is held to, and the prior over user types that it is averaged with."""

    kind: ClassVar[str]

    workload: Workload
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for 1/n."""

    @abstractmethod
    def value(self, strategy: Strategy, prior: np.ndarray | None) -> float:
        """Return the objective of `strategy` with the reconstruction of `prior`.

        Raises:
            UnsupportedWorkloadError: if the strategy cannot answer the workload.
        """

    @abstractmethod
    def measure(self, accuracy: Accuracy, strategy: Strategy, prior: np.ndarray | None) -> float:
        """Return the same from the accuracy that is already known."""

    @abstractmethod
    def bounds(self, epsilon: float, dual: WeightedDual | None = None) -> Bounds:
        """Return lower bounds on the objective of every epsilon-LDP strategy; `dual` if it is known already."""

    @final
    @property
    def plain(self) -> bool:
        """Whether this is the average over user types, all alike."""
        return self.kind == Average.kind and self.prior is None

    @final
    def dual(self, epsilon: float) -> WeightedDual | None:
        """Return the weighted bound of the average case; None for the others and where it takes too long."""
        if self.kind != Average.kind or self.workload.domain_size > WEIGHTED_LIMIT:
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
        """n sum_u p_u V_uu, so that sum_u p_u t_u = (L - offset)/n."""
        n = self.workload.domain_size
        return n * float((uniform(n) if self.prior is None else self.prior) @ np.diag(self.workload.gram()))

    def value(self, strategy: Strategy, prior: np.ndarray | None) -> float:
        """Return L(Q)."""
        return objective(self.workload, strategy, self.factor, prior)

    def measure(self, accuracy: Accuracy, strategy: Strategy, prior: np.ndarray | None) -> float:
        """Return L(Q)."""
        return accuracy.objective

    def bounds(self, epsilon: float, dual: WeightedDual | None = None) -> Bounds:
        """Return the bounds on L(Q)."""
        return lower_bounds(self.workload, epsilon, self.prior, dual)


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
    def variances(self, strategy: Strategy, prior: np.ndarray | None) -> np.ndarray:
        """Return all of them (k,), per user, with the reconstruction of `prior`."""

    @abstractmethod
    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average case whose (L - offset)/n is the mean of the variances under `mixture` (k,)."""

    @abstractmethod
    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the mixture (k,) at which the weighted bound is largest."""

    @final
    @property
    def even(self) -> Average:
        """The average case where every variance counts the same."""
        return self.mixed(uniform(self.size))

    @final
    def value(self, strategy: Strategy, prior: np.ndarray | None) -> float:
        """Return the largest variance."""
        return self.largest(self.variances(strategy, prior))

    @final
    def largest(self, variances: np.ndarray) -> float:
        """Return the largest of them, exactly zero where all are rounding errors."""
        noise = ROUNDING * self.workload.frobenius_squared / self.workload.domain_size
        return float(variances.max()) if variances.max() > noise else 0.0

    @final
    def bounds(self, epsilon: float, dual: WeightedDual | None = None) -> Bounds:
        """Return the bounds of the even mixture or of the least favourable one, whichever are better."""
        cases = self.even, self.mixed(self.least_favourable(epsilon))
        return max((self._bounds(case, epsilon) for case in cases), key=lambda bounds: bounds.best)

    @final
    def _bounds(self, case: Average, epsilon: float) -> Bounds:
        n, known = self.workload.domain_size, case.bounds(epsilon)
        moved = {name: max(0.0, (value - case.offset) / n) for name, value in known.known().items()}
        return replace(known, **moved)


@final
@dataclass(frozen=True, eq=False)
class WorstCase(Minimax):
    """max_u t_u, the total variance per user if everybody had the least favourable type."""

    kind: ClassVar[str] = "worst-case"

    @property
    def size(self) -> int:
        """Number n of user types."""
        return self.workload.domain_size

    def variances(self, strategy: Strategy, prior: np.ndarray | None) -> np.ndarray:
        """Return t_u (n,)."""
        return evaluate(self.workload, strategy, prior).per_type

    def measure(self, accuracy: Accuracy, strategy: Strategy, prior: np.ndarray | None) -> float:
        """Return max_u t_u."""
        return self.largest(accuracy.per_type)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the same workload with the mixture as prior."""
        return Average(self.workload, None if _even(mixture) else mixture)

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

    def variances(self, strategy: Strategy, prior: np.ndarray | None) -> np.ndarray:
        """Return Var_i (p,) of one user of random type."""
        shares = uniform(self.workload.domain_size) if self.prior is None else self.prior
        return per_query_variance(self.workload, strategy, shares, prior)

    def measure(self, accuracy: Accuracy, strategy: Strategy, prior: np.ndarray | None) -> float:
        """Return max_i Var_i."""
        return self.value(strategy, prior)

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the workload diag(omega)^(1/2) W."""
        return Average(explicit(np.sqrt(mixture)[:, None] * self.rows, self.workload.domain), self.prior)

    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the least favourable query weights (p,)."""
        n = self.workload.domain_size
        return least_favourable_queries(self.rows, epsilon, uniform(n) if self.prior is None else self.prior)


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
