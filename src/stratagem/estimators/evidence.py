"""The interface of what counts of reports say through an estimator: answers, and estimates of their errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Literal, final

import numpy as np

from stratagem.workloads import Workload

About = Literal["users", "population"]

ROUNDING = 1e-11
"""Share of a sum below which a difference is rounding."""
MAX_USERS = 1 << 53
"""Largest number of reports: whole numbers up to here are exact in float64."""
COVARIANCE_LIMIT = 1 << 27
"""Entries of the largest covariance matrix (1 GiB)."""


class Evidence(ABC):
    """Counts of reports seen through an estimator: answers W x_hat, and estimates of their errors.

    The covariance about the users is linear in x, so that the reports estimate it without bias. If the users are a
    sample of a population, the error about N times its shares is larger: a report is then one of N independent draws,
    and the covariance is that of a sample, (W S W^T - a a^T/N) N/(N-1) with S the estimated sum of second moments and
    a = W x_hat.
    """

    @property
    @abstractmethod
    def users(self) -> int:
        """Number N of users."""

    @abstractmethod
    def estimated_data(self) -> np.ndarray:
        """Return the estimated data vector x_hat (n,).

        Raises:
            ValueError: for a domain with too many cells to be written out.
        """

    @final
    @cached_property
    def data(self) -> np.ndarray:
        """The estimated data vector x_hat (n,); meaningful for the workloads that the estimator can answer."""
        return self.estimated_data()

    @abstractmethod
    def written_out(self) -> Evidence:
        """Return the same with the covariance of all cells of the domain, where these are few enough; else itself."""

    @abstractmethod
    def check(self, workload: Workload) -> None:
        """Refuse a workload that these reports cannot answer, as `Estimator.check`."""

    @abstractmethod
    def answers(self, workload: Workload) -> np.ndarray:
        """Return the estimated answers W x_hat (p,)."""

    @abstractmethod
    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the estimated variances (p,) of the answers W x_hat about the users or their population.

        About the users: sum_y c_y (w R e_y)^2 - sum_u w_u^2 x_hat_u, unbiased. Where w^2 is not in the row
        space of Q (never for queries of 0 and 1) the larger variance about the population takes its place.
        No variance goes below (N/E) Var(w R e_y), y ~ Q p, which epsilon-LDP guarantees for every data vector:
        Q e_u >= Q p / E. Few reports cannot make an interval collapse.
        """

    @abstractmethod
    def prior_variances(self, workload: Workload) -> np.ndarray:
        """Return the variances (p,) of the score of one report, w R e_y, if user types follow the prior."""

    @abstractmethod
    def covariance(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the unbiased estimate (p x p) of the covariance of the answers W x_hat.

        Raises:
            ValueError: where it does not fit in memory, or about the users if reports do not determine all of the
                data vector, because then W diag(x) W^T has no estimate.
        """


def check_covariance(workload: Workload) -> None:
    """Refuse queries whose covariance does not fit in memory."""
    if workload.queries**2 > COVARIANCE_LIMIT:
        raise ValueError(
            f"the covariance of {workload.queries} answers was asked for, but at most "
            f"{math.isqrt(COVARIANCE_LIMIT)} have one that fits in memory: ask for fewer queries"
        )


def sampled(moments: np.ndarray, users: int) -> np.ndarray:
    """Return central moments times N/(N - 1), Bessel's correction."""
    return moments * (users / max(1, users - 1))


def settled(variance: np.ndarray, floor: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return variances raised to `floor`, and zero where they are rounding errors of the sums `first`."""
    variance = np.maximum(variance, floor)
    return np.where(variance > ROUNDING * first, variance, 0.0)


def least_share(users: int, epsilon: float, delta: float) -> float:
    """Return N/E, the number of reports that are at least distributed as under any given prior p.

    Pure privacy gives Q e_u >= Q p / E for every user type u. With delta > 0 there is no such bound: zero.
    """
    return 0.0 if delta > 0 else users * math.exp(-epsilon)


def whole_counts(counts: np.ndarray, outputs: int) -> np.ndarray:
    """Return the counts of reports (m,) as floats that hold whole numbers."""
    try:
        given = np.asarray(counts)
    except ValueError:
        given = np.array(None)
    if given.dtype.kind not in "iuf" or given.shape != (outputs,):
        raise ValueError(
            f"the counts were given as {given.dtype} of shape {given.shape}, but the strategy has {outputs} outputs: "
            "give one count for each"
        )
    checked = given.astype(float)
    whole = np.isfinite(checked) & (checked >= 0)
    whole[whole] = checked[whole] % 1 == 0
    if not whole.all():
        y = int(np.argmin(whole))
        raise ValueError(
            f"output {y} was counted {given[y]} times, but counts are whole numbers from 0: "
            "count the reports again"
        )
    check_number(checked.sum())
    return checked


def check_number(users: float) -> None:
    """Refuse a number of reports that cannot be estimated from."""
    if not 1 <= users <= MAX_USERS:
        raise ValueError(
            f"the counts hold {users:.6g} reports, but an estimate needs 1 to 2^53: count one report a user"
        )


def impossible_report(output: int) -> ValueError:
    """Return the error for a report that the strategy never makes."""
    return ValueError(
        f"output {output} was reported, but the strategy never makes it: use the strategy that the clients used"
    )
