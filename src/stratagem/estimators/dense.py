"""Scores whose second moments are arrays n x n, what counts say through them, and those that protocols publish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, check_domain, check_entries, check_support, check_work
from stratagem.estimators.estimator import (
    MAX_USERS,
    About,
    Estimator,
    Evidence,
    check_covariance,
    estimator,
    least_share,
    sampled,
    settled,
)
from stratagem.math.privacy import check_prior, uniform
from stratagem.strategies import LinearProtocol, Strategy
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled

BLOCK = 1 << 24
"""Entries of a temporary array."""


class Dense(ABC):
    """Unbiased scores s(y) of reports with second moments (n x n), for domains of up to some thousand user types."""

    exact_total: ClassVar[bool] = True
    """Whether estimates add up to the number of users, so that means of queries add nothing to variances."""

    @property
    def listed(self) -> Strategy | None:
        """The strategy whose reports are counted one by one; None for other scores."""
        return None

    @property
    @abstractmethod
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of what one user sends."""

    @property
    @abstractmethod
    def shares(self) -> np.ndarray:
        """The prior p (n,) for which the scores were chosen; 1/n unless one was given."""

    @property
    @abstractmethod
    def null(self) -> np.ndarray:
        """Orthonormal basis (n x k) of the data vectors that no report depends on."""

    @property
    @abstractmethod
    def least_spread(self) -> np.ndarray:
        """sum_u p_u E[s s^T | u] (n x n): the second moments of one report where types follow the prior."""

    @abstractmethod
    def check(self, workload: Workload) -> None:
        """Refuse a workload that these scores cannot answer, as `Estimator.check`."""

    @abstractmethod
    def users(self, counts: Any) -> int:
        """Return the number N of users."""

    @abstractmethod
    def estimated_data(self, counts: Any) -> np.ndarray:
        """Return the sum x_hat (n,) of the scores."""

    @abstractmethod
    def estimated_spread(self, counts: Any) -> np.ndarray:
        """Return an unbiased estimate S (n x n) of sum_u x_u E[s s^T | u]."""


@final
@dataclass(frozen=True, eq=False)
class DenseEvidence(Evidence):
    """Counts of reports through scores with second moments (n x n)."""

    estimator: Dense
    counts: Any
    """What the scores are added up from: counts of reports, totals of a protocol, decoded reports."""

    @property
    def users(self) -> int:
        return self.estimator.users(self.counts)

    def estimated_data(self) -> np.ndarray:
        return self.estimator.estimated_data(self.counts)

    @cached_property
    def spread(self) -> np.ndarray:
        """S (n x n), the estimate of sum_u x_u E[s s^T | u]."""
        return self.estimator.estimated_spread(self.counts)

    @property
    def by_cell(self) -> bool:
        return True

    @property
    def shares(self) -> np.ndarray:
        return self.estimator.shares

    @property
    def noise(self) -> np.ndarray:
        return self.estimator.least_spread - np.outer(self.shares, self.shares)

    @property
    def listed(self) -> tuple[Strategy, np.ndarray] | None:
        strategy = self.estimator.listed
        return None if strategy is None else (strategy, self.counts)

    def written_out(self) -> DenseEvidence:
        return self

    def check(self, workload: Workload) -> None:
        self.estimator.check(workload)

    def answers(self, workload: Workload) -> np.ndarray:
        return workload.answer(self.data)

    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        workload = self._levelled(workload)
        first, floor = quadratic_forms(workload, self.spread), quadratic_forms(workload, self._floor)
        variance = sampled(first - workload.answer(self.data) ** 2 / self.users, self.users)
        if about == "users":
            about_users, identified = self._squares(workload)
            variance = np.where(identified, first - about_users, variance)
        return settled(variance, floor, first)

    def prior_variances(self, workload: Workload) -> np.ndarray:
        workload = self._levelled(workload)
        first = quadratic_forms(workload, self.estimator.least_spread)
        return settled(first - workload.answer(self.estimator.shares) ** 2, np.zeros(1), first)

    def total_variance(self, workload: Workload) -> float:
        """Return the estimated total variance of the answers about the users, tr(W C W^T) = tr(V C).

        The estimate is unbiased where no dimension of the data vector lies in the null space, apart from the floor of
        `variances`. Otherwise the term diag(V) x_hat knows only the part of x that reports depend on.
        """
        V = self._levelled(workload).gram()
        estimated = float(np.sum(V * self.spread) - np.diag(V) @ self.data)
        return max(estimated, float(np.sum(V * self._floor)), 0.0)

    def covariance(self, workload: Workload, about: About = "users") -> np.ndarray:
        check_covariance(workload)
        if about == "users" and (hidden := self.estimator.null.shape[1]):
            raise ValueError(
                f"the covariance about the users was asked for, but the strategy leaves {hidden} dimensions "
                "of the data vector unseen: ask about='population'"
            )
        workload = self._levelled(workload)
        if about == "users":
            return _both_sides(workload, self.spread - np.diag(self.data))
        answers = workload.answer(self.data)
        moments = _both_sides(workload, self.spread) - np.outer(answers, answers) / self.users
        return sampled(moments, self.users)

    def _levelled(self, workload: Workload) -> Workload:
        """Return queries of the same variances, without means whose squares would take the digits of the rest."""
        return levelled(workload, self.estimator.shares) if self.estimator.exact_total else workload

    @cached_property
    def _floor(self) -> np.ndarray:
        """Lower bound (N/E) (sum_u p_u E[s s^T | u] - p p^T) (n x n) on the covariance for every data vector."""
        p = self.estimator.shares
        return least_share(self.users, *self.estimator.privacy) * (
            self.estimator.least_spread - np.outer(p, p)
        )

    def _squares(self, workload: Workload) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_u w_u^2 x_hat_u (p,) and whether w^2 is in the row space of Q (p,).

        The vector w^2 is in the row space if it is orthogonal to every direction that no report depends on.
        One random combination of these directions decides that with probability one.
        """
        n, step, null = len(self.data), max(1, BLOCK // workload.queries), self.estimator.null
        hidden = null @ np.random.default_rng(0).standard_normal(null.shape[1])
        sums = np.zeros((workload.queries, 3))
        columns = np.column_stack([self.data, hidden, np.abs(hidden)])
        for first in range(0, n, step):
            block = slice(first, min(first + step, n))
            units = np.eye(n, block.stop - first, -first)
            sums += np.square(workload.answer(units)) @ columns[block]
        return sums[:, 0], np.abs(sums[:, 1]) <= 1e-8 * sums[:, 2]


def quadratic_forms(workload: Workload, C: np.ndarray) -> np.ndarray:
    """Return w_i^T C w_i (p,) for a symmetric C (n x n), never holding all of W."""
    values, vectors = np.linalg.eigh(C)
    forms = np.zeros(workload.queries)
    step = max(1, (1 << 24) // workload.queries)
    for first in range(0, len(values), step):
        block = slice(first, first + step)
        forms += np.square(workload.answer(vectors[:, block])) @ values[block]
    return forms


def _both_sides(workload: Workload, C: np.ndarray) -> np.ndarray:
    """Return W C W^T (p x p)."""
    return workload.answer(workload.answer(C).T)


@final
@dataclass(frozen=True, eq=False)
class Published(Dense, Estimator):
    """The estimator of a protocol, linear in the totals (k,) of its reports and unbiased.

    A prior decides nothing but which average the objective is.
    """

    exact_total: ClassVar[bool] = False
    """Published scores of a report need not add up to one."""
    protocol: LinearProtocol
    prior: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the prior."""
        if self.prior is not None:
            object.__setattr__(self, "prior", check_prior(self.prior, self.protocol.domain_size))

    @property
    def privacy(self) -> tuple[float, float]:
        return self.protocol.epsilon, self.protocol.delta

    @property
    def shares(self) -> np.ndarray:
        return uniform(self.protocol.domain_size)

    @property
    def null(self) -> np.ndarray:
        return self.protocol.null_space

    @property
    def least_spread(self) -> np.ndarray:
        return self.protocol.spread(self.shares)

    def check(self, workload: Workload) -> None:
        check_domain(workload, self.protocol.domain_size)
        check_support(workload, self.null, self.shares)

    def accuracy(self, workload: Workload) -> Accuracy:
        self.check(workload)
        V, n = workload.gram(), workload.domain_size
        moments = self.protocol.second_moments(V)
        objective = float(n * ((uniform(n) if self.prior is None else self.prior) @ moments))
        return Accuracy(objective, np.maximum(moments - np.diag(V), 0.0), workload.queries)

    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        self.check(workload)
        return np.maximum(quadratic_forms(workload, self.protocol.spread(x) - np.diag(x)), 0.0)

    def _typical(self, workload: Workload) -> np.ndarray:
        check_entries(workload)
        return self._variances(workload, self.shares if self.prior is None else self.prior)

    def _largest(self, workload: Workload) -> np.ndarray:
        self.check(workload)
        check_work(workload, workload.queries * workload.domain_size**3)
        moments = (self.protocol.second_moments(np.outer(w, w)) - np.square(w) for w in workload.matrix())
        return np.array([max(0.0, float(one.max())) for one in moments])

    def evidence(self, counts: np.ndarray) -> DenseEvidence:
        given, protocol = np.asarray(counts), self.protocol
        shape = protocol.collect(protocol.randomise(np.zeros(1, dtype=int), np.random.default_rng(0))).shape
        if given.dtype.kind not in "iuf" or given.shape != shape or not np.isfinite(given).all():
            raise ValueError(
                f"the totals were given as {given.dtype} of shape {given.shape}, but this protocol has "
                f"{shape[0]} finite ones: collect the reports with it"
            )
        if not (1 <= given[0] <= MAX_USERS and given[0] % 1 == 0):
            raise ValueError(
                f"the totals begin with {given[0]:.6g} reports, but an estimate needs a whole number from 1 to "
                "2^53: collect the reports with this protocol"
            )
        return DenseEvidence(self, given)

    def users(self, counts: np.ndarray) -> int:
        return round(float(counts[0]))

    def estimated_data(self, counts: np.ndarray) -> np.ndarray:
        return self.protocol.reconstruct(counts)

    def estimated_spread(self, counts: np.ndarray) -> np.ndarray:
        """Return sum_u x_hat_u E[s s^T | u] (n x n), linear in the estimate and so unbiased."""
        return self.protocol.spread(self.estimated_data(counts))


estimator.register(LinearProtocol, Published)
