"""The problem: queries, a privacy budget, and the variance of strategies that is to be small."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from stratagem.bounds import Bounds, Case, Duals, lower_bounds, noiseless, tighten
from stratagem.bounds.duals import LinearDual, WeightedDual, weighted_dual
from stratagem.estimators import Accuracy, Estimator, comparable
from stratagem.math.privacy import uniform
from stratagem.solvers.problem.constraint import Constraint
from stratagem.workloads import Workload
from stratagem.workloads.centring import Outweighed, root

AVERAGE = "average"
"""Name of the average objective; the other objectives are solved through averages of this kind."""
TARGET_STEPS = 6
"""Optimisation steps of the weighted bound when only its solution is needed, as a target for patterns."""


def relative_gap(value: float, bound: float) -> float:
    """Return value / bound - 1; at a bound of zero, infinity unless the value is zero too."""
    if bound > 0:
        return value / bound - 1
    return math.inf if value > 0 else 0.0


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Results of a search from which tighter bounds start; the bounds are valid whatever these values are."""

    objective: float = math.inf
    """The objective of the strategy found."""
    patterns: np.ndarray | None = None
    """Patterns of the strategy's rows, a boolean array of shape (N, n)."""
    mixture: np.ndarray | None = None
    """The mixture (k,) of variances at the end of the search; None if unknown or for an average objective."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(ABC):
    """A workload, a budget and a prior; a class says which variance of a strategy is to be minimised."""

    kind: ClassVar[str]
    """Name of the objective."""
    single: ClassVar[bool] = False
    """Whether it is the variance of one answer, the least accurate, and no total over the queries."""

    workload: Workload
    epsilon: float
    """The privacy budget of every strategy that is a candidate."""
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for 1/n."""
    constraints: tuple[Constraint, ...] = ()
    """What a strategy must keep to besides; `bounds` are those without."""

    @abstractmethod
    def value(self, estimator: Estimator) -> float:
        """Return the objective of a strategy with an estimator.

        Raises:
            UnsupportedWorkloadError: if the strategy cannot answer the workload.
        """

    @abstractmethod
    def measure(self, accuracy: Accuracy, estimator: Estimator) -> float:
        """Return the objective as `value` does, making use of the known `accuracy`."""

    @abstractmethod
    def added(self, value: float) -> float:
        """Return what one user adds to the variance of the answers where the objective is `value`, at least.

        The mean over user types of the total over the queries; for a worst case that of the worst type, and for a
        worst query the variance of its answer alone. For a lower bound it is a lower bound.
        """

    @abstractmethod
    def _bounds(self) -> Bounds:
        """Return lower bounds on the objective of every unbiased strategy."""

    @abstractmethod
    def tightened(self, bounds: Bounds, near: WarmStart, gap: float, seconds: float) -> Bounds:
        """Return `bounds` with more expensive ones added, as long as the gap is above `gap` (see `tighten`).

        `seconds` limits the time.
        """

    @final
    @cached_property
    def bounds(self) -> Bounds:
        """Lower bounds on the objective of every unbiased strategy."""
        return self._bounds()

    @final
    @cached_property
    def apart(self) -> Outweighed | None:
        """The queries without their means where these outweigh all else in an average, else None."""
        return Case(self.workload, self.epsilon, self.prior).apart if self.kind == AVERAGE else None

    @final
    @cached_property
    def levelled(self) -> Problem:
        """The problem to search for and to compute variances of: of the queries without outweighing means."""
        return self if self.apart is None else replace(self, workload=self.apart.rest)

    @final
    @cached_property
    def counting(self) -> Problem:
        """The problem of the `comparable` queries alone, without weights; itself where these are all."""
        chosen = comparable(self.workload)
        return self if chosen is self.workload else replace(self, workload=chosen)

    @final
    def least(self, bounds: Bounds) -> float:
        """Return what one user adds to the variance of the answers at least, by bounds on the objective."""
        return self.levelled.added(bounds.best_apart) if bounds.offset else self.added(bounds.best)

    @final
    def gap(self, bounds: Bounds, objective: float, accuracy: Accuracy) -> float:
        """Return how far the objective of a strategy is above the best of the bounds, as a share of that bound.

        Means far above all else count in neither: L is then what the variances of the `accuracy` add up to.
        """
        if not bounds.offset:
            return relative_gap(objective, bounds.best)
        types, rest = accuracy.per_type, self.levelled.workload
        mean = float(types.mean() if self.prior is None else self.prior @ types)
        return relative_gap(noiseless(rest, self.prior) + rest.scale * mean, bounds.best_apart)

    @final
    @property
    def lower_bound(self) -> float:
        """The largest of `bounds`."""
        return self.bounds.best

    @final
    @property
    def shares(self) -> np.ndarray:
        """Prior probabilities of the user types (n,); 1/n if no prior is given."""
        return uniform(self.workload.domain_size) if self.prior is None else self.prior

    @final
    @property
    def constraint(self) -> Any:
        """The one constraint."""
        (found,) = self.constraints
        return found

    @final
    @property
    def plain(self) -> bool:
        """Whether this is the average without a prior, where every user type has the weight 1/n, or a constraint."""
        return self.kind == AVERAGE and self.prior is None and not self.constraints

    @final
    @property
    def gram(self) -> np.ndarray:
        """V = W^T W (n x n)."""
        return self.workload.gram()

    @final
    @cached_property
    def factor(self) -> np.ndarray:
        """F (n x r) with F F^T = V, seen from p^perp (see `root`)."""
        return root(self.workload, self.prior)

    @final
    @cached_property
    def duals(self) -> Duals:
        """Dual solutions of the lower bounds on the average objective."""
        return Duals(Case(self.workload, self.epsilon, self.prior))

    @final
    @cached_property
    def target(self) -> WeightedDual:
        """The dual solution of the weighted bound, whose information matrix is the target of random patterns.

        It is approximate, after `TARGET_STEPS` steps, unless `bounds` are known; a target needs no more
        accuracy.
        """
        known = self.duals.weighted if "bounds" in vars(self) else None
        return known or weighted_dual(self.duals.case, TARGET_STEPS)

    @final
    @property
    def linear(self) -> LinearDual | None:
        """The solution of the linear programme for few queries; None if the workload has too many queries."""
        return self.duals.linear


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Average(Problem):
    """L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), the variance of a user drawn from the prior p.

    Reference:
        McKenna, Maity, Mazumdar, Miklau, VLDB 2020, Problem 3.12, with p = 1/n.
    """

    kind: ClassVar[str] = AVERAGE

    @property
    def offset(self) -> float:
        """n sum_u p_u V_uu, so that sum_u p_u t_u = (L - offset)/n; divided by n on domains where L is."""
        return noiseless(self.workload, self.prior)

    def added(self, value: float) -> float:
        """Return (L - offset)/n for L = `value`, at least zero."""
        return max(0.0, value - self.offset) / self.workload.scale

    def value(self, estimator: Estimator) -> float:
        return estimator.objective(self.workload, lambda: self.factor)

    def measure(self, accuracy: Accuracy, estimator: Estimator) -> float:
        return accuracy.objective

    def _bounds(self) -> Bounds:
        return lower_bounds(self.workload, self.epsilon, self.prior, self.duals)

    def tightened(self, bounds: Bounds, near: WarmStart, gap: float, seconds: float) -> Bounds:
        return tighten(
            bounds, self.workload, self.epsilon, near.objective, gap, seconds, near.patterns, self.prior
        )
