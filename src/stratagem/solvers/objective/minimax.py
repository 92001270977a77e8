"""The abstract objective that is the largest of several variances."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from stratagem.bounds import Bounds, Duals
from stratagem.math.precision import attempted
from stratagem.math.privacy import uniform
from stratagem.solvers.objective.average import Average
from stratagem.solvers.objective.objective import Objective, WarmStart
from stratagem.strategies import Randomiser, TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.explicit import differences


@dataclass(frozen=True, eq=False)
class Minimax(Objective):
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
    def variances(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> np.ndarray:
        """Return the k variances per user (k,), with the reconstruction that is optimal for `prior`."""

    @abstractmethod
    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average case whose (L - offset)/n is the mean of the variances under `mixture` (k,)."""

    @abstractmethod
    def pairwise(self, epsilon: float) -> float:
        """Return the lower bound on the largest variance that follows from pairs of user types."""

    @abstractmethod
    def least_favourable(self, epsilon: float) -> np.ndarray:
        """Return the mixture (k,) at which the weighted lower bound is largest."""

    @final
    @property
    def even(self) -> Average:
        """The average case of the uniform mixture, in which every variance has the weight 1/k."""
        return self.mixed(uniform(self.size))

    @final
    def value(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> float:
        """Return the largest variance."""
        return self.largest(self.variances(strategy, prior))

    @final
    def largest(self, variances: np.ndarray) -> float:
        """Return the largest of `variances` (k,), exactly zero if the workload contains the total alone."""
        return 0.0 if self.free else float(variances.max())

    @final
    def bounds(self, epsilon: float, duals: Duals | None = None) -> Bounds:
        """Return the bounds of the uniform mixture or of the least favourable one, whichever are larger."""
        mixture = attempted(lambda: self.least_favourable(epsilon))
        cases = [self.even, *([] if mixture is None else [self.mixed(mixture)])]
        moved = (self.moved(case, case.bounds(epsilon), epsilon) for case in cases)
        return max(moved, key=lambda bounds: bounds.best)

    @final
    def tightened(
        self, bounds: Bounds, epsilon: float, near: WarmStart, gap: float, seconds: float
    ) -> Bounds:
        """Return `bounds` or the tightened bounds of the mixture in `near`, whichever are larger.

        The least favourable mixture is used if `near` holds none.
        """
        if near.objective <= bounds.best * (1 + gap):
            return bounds
        mixture = near.mixture
        if mixture is None:
            mixture = attempted(lambda: self.least_favourable(epsilon))
        if mixture is None:
            return bounds
        case, added = self.mixed(mixture), self.workload.domain_size * near.objective
        gap = gap / (1 + case.offset / added)
        near = replace(near, objective=added + case.offset)
        tight = case.tightened(case.bounds(epsilon), epsilon, near, gap, seconds)
        return max(bounds, self.moved(case, tight, epsilon), key=lambda bounds: bounds.best)

    @final
    def moved(self, case: Average, bounds: Bounds, epsilon: float) -> Bounds:
        """Return the bounds on L(Q) of a mixture's average case, converted to bounds on the largest variance."""
        added = (lambda value: 0.0) if self.free else case.added
        moved = {name: added(value) for name, value in bounds.known().items()}
        return replace(bounds, **moved, pairwise=0.0 if self.free else self.pairwise(epsilon))
