"""The largest of several variances, whose mixtures are average cases."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from stratagem.bounds import Bounds, Duals
from stratagem.numeric.attempt import attempted
from stratagem.objective.average import Average
from stratagem.objective.objective import Objective, WarmStart
from stratagem.prior import uniform
from stratagem.strategies import Randomiser, TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.difference import differences


@dataclass(frozen=True, eq=False)
class Minimax(Objective):
    """The largest of several variances, each linear in the strategy for a fixed reconstruction.

    For any mixture of them the largest is at least the mean, and the mean is an average case of another
    workload or prior: its bounds hold for the largest. At the best mixture nothing is lost (a saddle point).
    All is done with the queries less their totals, whose variances are the same: a total that outweighs them
    would leave none of their digits.
    """

    @final
    @cached_property
    def rest(self) -> Workload:
        """The queries less their totals; the queries themselves where nothing is left."""
        return differences(self.workload, self.prior) or self.workload

    @final
    @cached_property
    def free(self) -> bool:
        """Whether the total alone is asked for, which no noise is needed for."""
        return differences(self.workload) is None

    @property
    @abstractmethod
    def size(self) -> int:
        """Number k of variances."""

    @abstractmethod
    def variances(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> np.ndarray:
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
    def value(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> float:
        """Return the largest variance."""
        return self.largest(self.variances(strategy, prior))

    @final
    def largest(self, variances: np.ndarray) -> float:
        """Return the largest of them, exactly zero where the total alone is asked for."""
        return 0.0 if self.free else float(variances.max())

    @final
    def bounds(self, epsilon: float, duals: Duals | None = None) -> Bounds:
        """Return the bounds of the even mixture or of the least favourable one, whichever are better."""
        mixture = attempted(lambda: self.least_favourable(epsilon))
        cases = [self.even, *([] if mixture is None else [self.mixed(mixture)])]
        moved = (self.moved(case, case.bounds(epsilon), epsilon) for case in cases)
        return max(moved, key=lambda bounds: bounds.best)

    @final
    def tightened(
        self, bounds: Bounds, epsilon: float, near: WarmStart, gap: float, seconds: float
    ) -> Bounds:
        """Return these bounds or those of the mixture played last, made tight, whichever are better."""
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
        """Return bounds on L(Q) of a mixture as bounds on the largest variance."""
        added = (lambda value: 0.0) if self.free else case.added
        moved = {name: added(value) for name, value in bounds.known().items()}
        return replace(bounds, **moved, pairwise=0.0 if self.free else self.pairwise(epsilon))
