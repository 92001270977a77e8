"""The interfaces of an unbiased linear estimator of the data vector, and of what counts of reports say through it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, singledispatch
from typing import Any, Literal, final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, UnsupportedWorkloadError, comparable
from stratagem.math.vector import written_or_asked
from stratagem.strategies import Randomiser, Strategy
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.centring import estimated
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.selection import SomeQueries

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

    def reports_about(self, workload: Workload) -> int:
        """Return how many users' reports tell about the queries: all, but where each tells about some attributes."""
        return self.users

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

    @property
    def by_cell(self) -> bool:
        """Whether the covariance of all cells of the domain is at hand."""
        return False

    @property
    def shares(self) -> np.ndarray:
        """The shares (n,) of the user types for which the scores were chosen; `by_cell` only."""
        raise NotImplementedError

    @property
    def noise(self) -> np.ndarray:
        """The covariance (n x n) of one report's estimate of the data vector at these shares; `by_cell` only."""
        raise NotImplementedError

    @property
    def listed(self) -> tuple[Strategy, np.ndarray] | None:
        """The strategy and the counts (m,) of all its reports, where these are at hand."""
        return None

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

    def total_variance(self, workload: Workload) -> float:
        """Return the estimated total variance of the answers about the users."""
        return float(self.variances(workload).sum())

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


class Estimator(ABC):
    """Scores s(y) of the reports of a strategy with E[s(y) | u] = e_u, whose sum x_hat estimates the data vector x.

    W x_hat is unbiased for every workload W that the strategy can answer, with covariance
    W (sum_u x_u E[s s^T | u] - diag(x)) W^T about the N users who reported (McKenna et al., VLDB 2020,
    Theorem 3.4). Every kind has a file, which holds what is exact and what is estimated from counts, and is registered
    with `estimator`.
    """

    @abstractmethod
    def check(self, workload: Workload) -> None:
        """Refuse a workload that these scores cannot answer.

        Raises:
            UnsupportedWorkloadError: if no unbiased estimate of a query exists, naming what is missing.
            ValueError: if the domains differ.
        """

    @abstractmethod
    def accuracy(self, workload: Workload) -> Accuracy:
        """Return the exact variance that a user of each type adds to all answers, and the objective.

        Raises:
            UnsupportedWorkloadError: as `check`.
            ValueError: as `check`, or where it is not known.
        """

    def objective(self, workload: Workload, factor: Callable[[], np.ndarray] | None = None) -> float:
        """Return L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), the average-case variance in its published scale.

        Whoever compares many strategies on one workload passes a function that returns the `root` (n x r) of the
        workload under the prior, to compute it once; whoever has no need of it does not call it.

        Raises:
            UnsupportedWorkloadError: as `accuracy`.
            ValueError: as `accuracy`.
        """
        return self.accuracy(workload).objective

    @final
    def variances(self, workload: Workload, x: np.ndarray | None = None) -> np.ndarray:
        """Return the exact variance (p,) of every answer for the data vector x (n,).

        Without one it is what one user of random type adds, drawn from the prior (see `OnDemand`).

        Raises:
            UnsupportedWorkloadError: as `check`.
            ValueError: as `check`, or if the arrays would be too large.
        """
        if x is not None:
            return self._variances(workload, x)
        return written_or_asked(
            workload.queries,
            lambda: self._typical(workload),
            lambda places: self._typical(SomeQueries(workload, places)),
            "the variances",
        )

    @final
    def largest(self, workload: Workload) -> np.ndarray:
        """Return max_u Var(w_i R e_y | u) (p,), the variance per user of each answer at its worst user type.

        For prefixes and ranges of very many values it is an upper bound (see `worst`). See `OnDemand` for very many
        queries. Var(w R e_y | u) = sum_y Q[y, u] (w R e_y)^2 - w_u^2. Whatever the N users, no answer has more than N
        times this variance, and users of that one type reach it.

        Raises:
            UnsupportedWorkloadError: as `check`.
            ValueError: as `check`, or if the queries are too many to be looked at one by one.
        """
        return written_or_asked(
            workload.queries,
            lambda: self._largest(workload),
            lambda places: self._largest(SomeQueries(workload, places)),
            "the largest variances",
        )

    @final
    def worst(self, workload: Workload) -> float | None:
        """Return the largest entry of `largest`, or None if there are too many queries for that.

        Under translates one query of every kind is looked at. For prefixes and ranges of very many values it is an
        upper bound (see `largest_of_prefixes` and `largest_by_length`), 1.2 to 2.2 times the largest variance in the
        tests, for prefixes up to 9 times at epsilon 3.
        """
        try:
            return self._worst(workload)
        except UnsupportedWorkloadError:
            raise
        except ValueError:
            return None

    @abstractmethod
    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        """Return the variance (p,) of every answer for the data vector x (n,)."""

    @abstractmethod
    def _typical(self, workload: Workload) -> np.ndarray:
        """Return the variance (p,) of every answer from one user of random type."""

    @abstractmethod
    def _largest(self, workload: Workload) -> np.ndarray:
        """Return the variance (p,) of every answer from one user of its worst type."""

    def _worst(self, workload: Workload) -> float:
        """Return the largest entry of `largest`."""
        return float(self._largest(workload).max())

    @abstractmethod
    def evidence(self, counts: Any) -> Evidence:
        """Return what counts of reports say: (m,) or sparse; for a protocol, its totals.

        Raises:
            ValueError: for counts that are not m nonnegative whole numbers of at least one report and at most 2^53, or
                hold a report that the strategy never makes.
        """


@singledispatch
def estimator(strategy: Randomiser, prior: np.ndarray | None = None) -> Estimator:
    """Return the estimator of a strategy (m x n), a protocol's the published one; each kind registers its own.

    A kind that registers none has that of its matrix (see `Randomiser.listed`).
    `prior` (n,), probabilities, chooses the one of least variance if the types are so distributed; 1/n by default.
    Whatever the prior, it is unbiased.

    Raises:
        TypeError: for what is no strategy.
        ValueError: for a wrong prior.
    """
    if not isinstance(strategy, Randomiser):
        raise TypeError(
            f"{strategy!r} was given as a strategy, but no formula of its variance is registered: give a Randomiser, "
            "or register its kind with estimator.register"
        )
    return estimator(strategy.listed(), prior)


def even_handed(kind: Callable[[Any], Estimator]) -> Callable[..., Estimator]:
    """Return what to register for scores that treat all user types alike: under a prior a matrix takes their place."""

    def made(strategy: Randomiser, prior: np.ndarray | None = None) -> Estimator:
        return kind(strategy) if prior is None else estimator(strategy.dense(), prior)

    return made


def evaluate(
    workload: WorkloadLike,
    strategy: Randomiser,
    prior: np.ndarray | None = None,
    *,
    domain: DomainLike | None = None,
) -> Accuracy:
    """Return the exact accuracy of `strategy` (m x n) on `workload` (p x n), with the `estimator` for the prior.

    The variances are exact for every data vector, whatever the prior.
    The workload may be a name, a file or a matrix of queries over the strategy's user types, or over a `domain` (see
    `workload_of`). Only directions of the row space of W are inverted: with V = F F^T, L = ||M^(+1/2) F||_F^2 and
    ||W R e_y||^2 = ||F^T M^+ q_y||^2 / d_y^2, so that directions nobody asks for cannot add noise.

    Raises:
        UnsupportedWorkloadError: if a query is not a combination of rows of Q, naming what is missing.
        ValueError: if the domains differ.

    Example:
        >>> import stratagem as st
        >>> accuracy = evaluate(st.histogram(8), st.published.randomised_response(8, 1.0))
        >>> round(accuracy.objective, 4)
        224.9176
    """
    return estimator(strategy, prior).accuracy(workload_of(workload, domain, lambda: strategy.domain_size))


def per_query_variance(
    workload: WorkloadLike,
    strategy: Randomiser,
    x: np.ndarray,
    prior: np.ndarray | None = None,
    *,
    domain: DomainLike | None = None,
) -> np.ndarray:
    """Return the exact variance (p,) of every answer for the data vector x (n,); workload and prior as in `evaluate`.

    Raises:
        UnsupportedWorkloadError: as `evaluate`.
    """
    asked = workload_of(workload, domain, lambda: strategy.domain_size)
    return estimator(strategy, prior).variances(asked, np.asarray(x, dtype=float))


def mean_variance(workload: Workload, estimator: Estimator, accuracy: Accuracy) -> float:
    """Return what a user of the worst type adds to the variance of an answer, max_u t_u over the number of answers.

    The mean is over the `comparable` queries whose answers are `estimated`. `accuracy` is that on all queries.
    """
    chosen = comparable(workload)
    found = accuracy if chosen is workload else estimator.accuracy(chosen)
    return found.worst_case_variance / estimated(chosen)
