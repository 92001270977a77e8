"""The data vector behind reports with the covariance of all its cells, n x n."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import final

import numpy as np

from stratagem.accuracy import quadratic_forms
from stratagem.estimation.reconstruction import (
    About,
    Reconstruction,
    check_covariance,
    least_share,
    sampled,
    settled,
)
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled

BLOCK = 1 << 24
"""Entries of a temporary array."""


class DenseReconstruction(Reconstruction):
    """A reconstruction x_hat (n,) with the second moments of its scores (n x n).

    It is meant for domains of up to some thousand user types.
    """

    @property
    @abstractmethod
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of a report."""

    @property
    @abstractmethod
    def null_vector(self) -> np.ndarray:
        """A random vector (n,) among the data vectors that no report depends on; zeros if there is none."""

    @property
    @abstractmethod
    def shares(self) -> np.ndarray:
        """The prior p (n,) for which the scores were chosen; 1/n unless one was given."""

    @property
    @abstractmethod
    def least_spread(self) -> np.ndarray:
        """sum_u p_u E[s s^T | u] (n x n): the second moments of one report where types follow the prior."""

    @property
    @abstractmethod
    def exact_total(self) -> bool:
        """Whether estimates add up to the number of users, so that means of queries add nothing to variances."""

    @abstractmethod
    def estimated_spread(self) -> np.ndarray:
        """Return an unbiased estimate S (n x n) of sum_u x_u E[s s^T | u]."""

    @final
    @cached_property
    def spread(self) -> np.ndarray:
        """S (n x n), the estimate of sum_u x_u E[s s^T | u]."""
        return self.estimated_spread()

    @final
    def answers(self, workload: Workload) -> np.ndarray:
        """Return the estimated answers W x_hat (p,)."""
        return workload.answer(self.data)

    @final
    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the estimated variances (p,) of the answers W x_hat about the users or their population."""
        workload = self._levelled(workload)
        first, floor = quadratic_forms(workload, self.spread), quadratic_forms(workload, self._floor)
        variance = sampled(first - workload.answer(self.data) ** 2 / self.users, self.users)
        if about == "users":
            about_users, identified = self._squares(workload)
            variance = np.where(identified, first - about_users, variance)
        return settled(variance, floor, first)

    @final
    def prior_variances(self, workload: Workload) -> np.ndarray:
        """Return the variances (p,) of the score of one report, w R e_y, if user types follow the prior."""
        workload = self._levelled(workload)
        first = quadratic_forms(workload, self.least_spread)
        return settled(first - workload.answer(self.shares) ** 2, np.zeros(1), first)

    @final
    def total_variance(self, workload: Workload) -> float:
        """Return the estimated total variance of the answers about the users, tr(W C W^T) = tr(V C).

        The estimate is unbiased where no dimension of the data vector lies in the null space, apart from the floor of
        `variances`. Otherwise the term diag(V) x_hat knows only the part of x that reports depend on.
        """
        V = self._levelled(workload).gram()
        estimated = float(np.sum(V * self.spread) - np.diag(V) @ self.data)
        return max(estimated, float(np.sum(V * self._floor)), 0.0)

    @final
    def covariance(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the unbiased estimate (p x p) of the covariance of the answers W x_hat.

        Raises:
            ValueError: for more than 2^27 entries, or about the users if `nullity` is not 0.
        """
        check_covariance(workload)
        if about == "users" and self.nullity:
            raise ValueError(
                f"the covariance about the users was asked for, but the strategy leaves {self.nullity} dimensions "
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
        return levelled(workload, self.shares) if self.exact_total else workload

    @cached_property
    def _floor(self) -> np.ndarray:
        """Lower bound (N/E) (sum_u p_u E[s s^T | u] - p p^T) (n x n) on the covariance for every data vector."""
        p = self.shares
        return least_share(self.users, *self.privacy) * (self.least_spread - np.outer(p, p))

    def _squares(self, workload: Workload) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_u w_u^2 x_hat_u (p,) and whether w^2 is in the row space of Q (p,).

        The vector w^2 is in the row space if it is orthogonal to every direction that no report depends on.
        One random combination of these directions decides that with probability one.
        """
        n, null, step = len(self.data), self.null_vector, max(1, BLOCK // workload.queries)
        sums = np.zeros((workload.queries, 3))
        columns = np.column_stack([self.data, null, np.abs(null)])
        for first in range(0, n, step):
            block = slice(first, min(first + step, n))
            units = np.eye(n, block.stop - first, -first)
            sums += np.square(workload.answer(units)) @ columns[block]
        return sums[:, 0], np.abs(sums[:, 1]) <= 1e-8 * sums[:, 2]


def _both_sides(workload: Workload, C: np.ndarray) -> np.ndarray:
    """Return W C W^T (p x p)."""
    return workload.answer(workload.answer(C).T)
