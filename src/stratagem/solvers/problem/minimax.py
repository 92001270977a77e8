"""Least favourable priors, and problems that ask for the smallest largest variance."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, final

import numpy as np

from stratagem.bounds import Bound, Bounds
from stratagem.bounds.formulas import PAIRWISE, attempted, pairwise_queries, pairwise_types, ulps
from stratagem.estimators import Accuracy, Estimator
from stratagem.math.deadline import deadline, fits, within
from stratagem.math.linalg import centre
from stratagem.math.optimisers import descend
from stratagem.math.privacy import uniform
from stratagem.solvers.problem.problem import Average, Problem, WarmStart
from stratagem.workloads import Workload
from stratagem.workloads.centring import differences, root
from stratagem.workloads.explicit import Explicit

MAX_STEPS = 200
ASCENT, SHARE = 30, 0.25
"""Products of two n x n matrices that take as long as the first value of an ascent, and its share of the time."""
KEEP = 1e-12
"""Singular values below this share of the largest one are treated as rounding errors."""


def least_favourable_prior(V: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the prior p (n,) that maximises the bound below on max_u t_u >= sum_u p_u t_u.

    With gamma of sum one and cov(p) = diag(p) - p p^T the weighted bound on sum_u p_u t_u reads

        S^2/(kappa - 1) - tr(V cov(p)),   S = tr (V^(1/2) Gamma V^(1/2))^(1/2),
        Gamma = cov(gamma) - (kappa - 1) (gamma - p)(gamma - p)^T >= 0,

    smooth in p and gamma together; L-BFGS over their logarithms. Any p gives a valid bound, so no accuracy
    is needed here. On a workload that looks the same from every user type p = 1/n, after one step.
    """
    V, n = centre(V), len(V)

    def slopes(blocks: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        p, gamma = blocks
        at = _value(V, p, gamma, epsilon)
        return at.value, [at.prior, at.gamma]

    return _ascend(slopes, [n, n])[0]


def least_favourable_queries(W: np.ndarray, epsilon: float, p: np.ndarray) -> np.ndarray:
    """Return the query weights omega (k,), sum one, that maximise the bound on sum_i omega_i Var_i.

    W (k x n) are the queries and p (n,) the prior; V = W^T diag(omega) W in `least_favourable_prior`.
    """
    W = W - (W @ p)[:, None]

    def slopes(blocks: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        omega, gamma = blocks
        at = _value(W.T @ (omega[:, None] * W), p, gamma, epsilon)
        return at.value, [np.sum((W @ at.gram) * W, axis=1), at.gamma]

    return _ascend(slopes, list(W.shape))[0]


class _Value(NamedTuple):
    """The weighted bound and its partial derivatives; the bound is minus infinity where Gamma is not >= 0."""

    value: float
    prior: np.ndarray
    gamma: np.ndarray
    gram: np.ndarray
    """Derivative in V (n x n)."""


def _value(V: np.ndarray, p: np.ndarray, gamma: np.ndarray, epsilon: float) -> _Value:
    excess = math.sinh(epsilon / 2) ** 2  # kappa - 1
    delta = gamma - p
    cov = np.diag(p) - np.outer(p, p)
    # Gamma >= 0 iff (kappa - 1) chi^2(p, gamma) <= 1
    if not gamma.all() or excess * (np.sum(p**2 / gamma) - 1) >= 1:
        return _Value(-math.inf, 0 * p, 0 * p, cov)
    values, vectors = np.linalg.eigh(
        np.diag(gamma) - np.outer(gamma, gamma) - excess * np.outer(delta, delta)
    )
    root = vectors * np.sqrt(np.maximum(values, 0))  # Gamma = root root^T
    squares, turn = np.linalg.eigh(root.T @ V @ root)
    kept = squares > KEEP**2 * max(squares[-1], np.finfo(float).tiny)
    singular, turned = np.sqrt(squares[kept]), root @ turn[:, kept]
    S = float(singular.sum())
    # dS = tr(B B^T dV)/2 = tr(Z dGamma)/2 with Z = Y Y^T
    B, Y = turned / np.sqrt(singular), V @ turned / singular**1.5
    Z = Y @ Y.T
    Zd = excess * (Z @ delta)
    rate = 2 * S / excess
    return _Value(
        S**2 / excess - float(np.sum(V * cov)),
        rate * Zd - np.diag(V) + 2 * V @ p,
        rate * (np.diag(Z) / 2 - Z @ gamma - Zd),
        rate * (B @ B.T) / 2 - cov,
    )


def _ascend(
    slopes: Callable[[list[np.ndarray]], tuple[float, list[np.ndarray]]], sizes: list[int]
) -> list[np.ndarray]:
    """Return probability vectors of the given sizes that maximise a function of them together.

    `slopes` returns the function's value and its gradient in each vector. L-BFGS starts from uniform vectors, and ends
    with the deadline.
    """
    ends = np.cumsum(sizes)[:-1]

    def blocks(theta: np.ndarray) -> list[np.ndarray]:
        parts = [np.exp(part - part.max()) for part in np.split(theta, ends)]
        return [part / part.sum() for part in parts]

    start = np.zeros(sum(sizes))
    scale = max(abs(slopes(blocks(start))[0]), np.finfo(float).tiny)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        mixtures = blocks(theta)
        value, gradients = slopes(mixtures)
        if not math.isfinite(value):
            return 1e10, np.zeros_like(theta)
        parts = [m * (g - m @ g) for m, g in zip(mixtures, gradients, strict=True)]
        return -value / scale, -np.concatenate(parts) / scale

    return blocks(descend(loss, start, MAX_STEPS).x)


EVEN = 1e-9
"""Relative error up to which a mixture counts as uniform."""
QUERIES = 1 << 22
"""Largest number of entries of W (p x n) for which this objective is available."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Minimax(Problem):
    """The largest of several variances, each linear in the strategy for a fixed estimator.

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
    def variances(self, estimator: Estimator) -> np.ndarray:
        """Return the k variances per user (k,)."""

    @abstractmethod
    def listed(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return queries W (r x n) without the total, and the prior (n,) where the variances are those of queries."""

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
    def value(self, estimator: Estimator) -> float:
        return self.largest(self.variances(estimator))

    @final
    def largest(self, variances: np.ndarray) -> float:
        """Return the largest of `variances` (k,), exactly zero if the workload contains the total alone."""
        return 0.0 if self.free else float(variances.max())

    @final
    def added(self, value: float) -> float:
        return value

    @final
    def _bounds(self) -> Bounds:
        with within(SHARE * deadline().left):
            mixture = self._least_favourable()
        cases = [self.even, *([] if mixture is None else [self.mixed(mixture)])]
        return max((self.moved(case, case.bounds) for case in cases), key=lambda bounds: bounds.best)

    @final
    def _least_favourable(self) -> np.ndarray | None:
        """Return the least favourable mixture; None where it is not found, or there is no time for a first value."""
        timely = fits(ASCENT * self.workload.domain_size**3)
        return attempted(self.least_favourable) if timely else None

    @final
    def tightened(self, bounds: Bounds, near: WarmStart, gap: float, seconds: float) -> Bounds:
        """Return `bounds` or the tightened bounds of the mixture in `near`, whichever are larger.

        The least favourable mixture is used if `near` holds none.
        """
        if near.objective <= bounds.best * (1 + gap):
            return bounds
        mixture = near.mixture
        if mixture is None:
            mixture = self._least_favourable()
        if mixture is None:
            return bounds
        case, added = self.mixed(mixture), self.workload.domain_size * near.objective
        gap = gap / (1 + case.offset / added)
        near = replace(near, objective=added + case.offset)
        tight = case.tightened(case.bounds, near, gap, seconds)
        best = max(bounds, self.moved(case, tight), key=lambda bounds: bounds.best)
        return replace(best, cut=tight.cut)

    @final
    def moved(self, case: Average, bounds: Bounds) -> Bounds:
        """Return the bounds on L(Q) of a mixture's average case, converted to bounds on the largest variance."""
        added = (lambda value: 0.0) if self.free else (case.levelled if bounds.offset else case).added
        return bounds.mapped(added).having(*Bound.of(PAIRWISE, 0.0 if self.free else self.pairwise()))


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class WorstCase(Minimax):
    """max_u t_u, the total variance per user if everybody had the least favourable type."""

    kind: ClassVar[str] = "worst-case"

    @property
    def size(self) -> int:
        return self.workload.domain_size

    def variances(self, estimator: Estimator) -> np.ndarray:
        return estimator.accuracy(self.rest).per_type

    def measure(self, accuracy: Accuracy, estimator: Estimator) -> float:
        known = self.rest is self.workload
        return self.largest(accuracy.per_type) if known else self.value(estimator)

    def listed(self) -> tuple[np.ndarray, np.ndarray | None]:
        return root(self.rest).T, None

    def mixed(self, mixture: np.ndarray) -> Average:
        even = np.abs(mixture * len(mixture) - 1).max() <= EVEN
        return Average(workload=self.rest, epsilon=self.epsilon, prior=None if even else mixture)

    def pairwise(self) -> float:
        return pairwise_types(self.rest.gram(), self.epsilon, ulps(self.rest))

    def least_favourable(self) -> np.ndarray:
        return least_favourable_prior(self.rest.gram(), self.epsilon)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class WorstQuery(Minimax):
    """max_i Var_i, the variance per user of the worst answered query, the user drawn from the prior."""

    kind: ClassVar[str] = "worst-query"
    single: ClassVar[bool] = True

    @cached_property
    def rows(self) -> np.ndarray:
        """The matrix W (p x n) of the queries, with multiples of the total removed."""
        if self.workload.queries * self.workload.domain_size > QUERIES:
            raise ValueError(
                f"the objective worst-query was given {self.workload.queries} queries over "
                f"{self.workload.domain_size} user types, but lists at most {QUERIES} numbers: use the "
                "objective average or worst-case"
            )
        return self.rest.matrix()

    @property
    def size(self) -> int:
        return len(self.rows)

    def variances(self, estimator: Estimator) -> np.ndarray:
        return estimator.variances(self.rest, self.shares)

    def measure(self, accuracy: Accuracy, estimator: Estimator) -> float:
        return self.value(estimator)

    def listed(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.rows - (self.rows @ self.shares)[:, None], self.shares

    def mixed(self, mixture: np.ndarray) -> Average:
        """Return the average objective of the workload diag(omega)^(1/2) W, omega the mixture (p,)."""
        workload = Explicit(np.sqrt(mixture)[:, None] * self.rows, self.workload.domain)
        return Average(workload=workload, epsilon=self.epsilon, prior=self.prior)

    def pairwise(self) -> float:
        return pairwise_queries(self.rows, self.epsilon, self.shares)

    def least_favourable(self) -> np.ndarray:
        return least_favourable_queries(self.rows, self.epsilon, self.shares)
