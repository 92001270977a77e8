"""The data vector behind reports, and the variance of any query of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Literal, final

import numpy as np

from stratagem.accuracy import quadratic_forms
from stratagem.strategies import Randomiser
from stratagem.workloads import Workload

About = Literal["users", "population"]

ROUNDING = 1e-11
"""Share of a sum below which a difference is rounding."""
MAX_USERS = 1 << 53
"""Largest number of reports: whole numbers up to here are exact in float64."""
COVARIANCE_LIMIT = 1 << 27
"""Entries of the largest covariance matrix (1 GiB)."""
BLOCK = 1 << 24
"""Entries of a temporary array."""


class Reconstruction(ABC):
    """What reports say about the data vector x (n,): x_hat, a sum of scores s(y) with E[s(y) | u] = e_u.

    W x_hat is unbiased for every workload W that the randomiser can answer, with covariance
    W (sum_u x_u E[s s^T | u] - diag(x)) W^T about the N users who reported (McKenna et al., VLDB 2020,
    Theorem 3.4). Both terms are linear in x, so the reports estimate them without bias.

    If the users are a sample of a population, the error about N times its shares is larger: a report is then
    one of N independent draws, and the covariance is that of a sample, (W S W^T - a a^T/N) N/(N-1) with S the
    estimated sum of second moments and a = W x_hat.
    """

    @property
    @abstractmethod
    def randomiser(self) -> Randomiser:
        """What the clients ran."""

    @property
    @abstractmethod
    def users(self) -> int:
        """Number N of reports, one a user."""

    @property
    @abstractmethod
    def unseen(self) -> int:
        """Dimensions of the data vector that no report depends on; 0 if all user types are told apart."""

    @property
    @abstractmethod
    def blind(self) -> np.ndarray:
        """A random combination (n,) of the directions that no report depends on; zeros where there are none."""

    @property
    @abstractmethod
    def shares(self) -> np.ndarray:
        """The prior p (n,) that chose the scores, 1/n unless given."""

    @property
    @abstractmethod
    def least_spread(self) -> np.ndarray:
        """sum_u p_u E[s s^T | u] (n x n): the second moments of one report where types follow the prior."""

    @abstractmethod
    def estimated_data(self) -> np.ndarray:
        """Return x_hat (n,)."""

    @abstractmethod
    def estimated_spread(self) -> np.ndarray:
        """Return an unbiased estimate S (n x n) of sum_u x_u E[s s^T | u]."""

    @abstractmethod
    def check(self, workload: Workload) -> None:
        """Refuse a workload that these reports cannot answer.

        Raises:
            UnsupportedWorkloadError: if no unbiased estimate of a query exists.
            ValueError: if the domains differ in size.
        """

    @final
    @cached_property
    def data(self) -> np.ndarray:
        """x_hat (n,); meaningful for what the randomiser can answer."""
        return self.estimated_data()

    @final
    @cached_property
    def spread(self) -> np.ndarray:
        """S (n x n), the estimate of sum_u x_u E[s s^T | u]."""
        return self.estimated_spread()

    @final
    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the estimated variances (p,) of the answers W x_hat about the users or their population.

        About the users: sum_y c_y (w R e_y)^2 - sum_u w_u^2 x_hat_u, unbiased. Where w^2 is not in the row
        space of Q (never for queries of 0 and 1) the larger variance about the population takes its place.
        No variance goes below (N/E) Var(w R e_y), y ~ Q p, which epsilon-LDP guarantees for every data vector:
        Q e_u >= Q p / E. Few reports cannot make an interval collapse.
        """
        first = quadratic_forms(workload, self.spread)
        variance = self._sampled(first - workload.answer(self.data) ** 2 / self.users)
        if about == "users":
            about_users, identified = self._squares(workload)
            variance = np.where(identified, first - about_users, variance)
        variance = np.maximum(variance, quadratic_forms(workload, self._floor))
        return np.where(variance > ROUNDING * first, variance, 0.0)

    @final
    def total_variance(self, workload: Workload) -> float:
        """Return the estimated total variance of the answers about the users, tr(W C W^T) = tr(V C).

        Exact where all user types are told apart, otherwise what W sees of x_hat; floored as `variances`.
        """
        V = workload.gram()
        estimated = float(np.sum(V * self.spread) - np.diag(V) @ self.data)
        return max(estimated, float(np.sum(V * self._floor)), 0.0)

    @final
    def covariance(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the unbiased estimate (p x p) of the covariance of the answers W x_hat.

        Raises:
            ValueError: for more than 2^27 entries, or about the users if the strategy cannot tell all user
                types apart, because then W diag(x) W^T has no estimate.
        """
        if workload.queries**2 > COVARIANCE_LIMIT:
            raise ValueError(
                f"the covariance of {workload.queries} answers was asked for, but at most "
                f"{math.isqrt(COVARIANCE_LIMIT)} have one that fits in memory: ask for fewer queries"
            )
        if about == "users" and self.unseen:
            raise ValueError(
                f"the covariance about the users was asked for, but the strategy leaves {self.unseen} dimensions "
                "of the data vector unseen: ask about='population'"
            )
        if about == "users":
            return _both_sides(workload, self.spread - np.diag(self.data))
        answers = workload.answer(self.data)
        return self._sampled(_both_sides(workload, self.spread) - np.outer(answers, answers) / self.users)

    @cached_property
    def _floor(self) -> np.ndarray:
        """(N/E) (sum_u p_u E[s s^T | u] - p p^T), n x n: no data vector has a smaller covariance.

        That is pure privacy's promise; with a delta there is none.
        """
        p = self.shares
        if self.randomiser.delta > 0:
            return np.zeros((len(p), len(p)))
        return self.users * math.exp(-self.randomiser.epsilon) * (self.least_spread - np.outer(p, p))

    def _sampled(self, moments: np.ndarray) -> np.ndarray:
        """Return N/(N - 1) times central moments: Bessel's correction."""
        return moments * (self.users / max(1, self.users - 1))

    def _squares(self, workload: Workload) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_u w_u^2 x_hat_u (p,) and whether w^2 is in the row space of Q (p,).

        It is when it is orthogonal to all unseen directions, which one random combination of them decides
        with probability one.
        """
        n, unseen, step = len(self.data), self.blind, max(1, BLOCK // workload.queries)
        sums = np.zeros((workload.queries, 3))
        columns = np.column_stack([self.data, unseen, np.abs(unseen)])
        for first in range(0, n, step):
            block = slice(first, min(first + step, n))
            units = np.eye(n, block.stop - first, -first)
            sums += np.square(workload.answer(units)) @ columns[block]
        return sums[:, 0], np.abs(sums[:, 1]) <= 1e-8 * sums[:, 2]


def _both_sides(workload: Workload, C: np.ndarray) -> np.ndarray:
    """Return W C W^T (p x p)."""
    return workload.answer(workload.answer(C).T)
