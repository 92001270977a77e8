"""The interfaces of an unbiased linear estimator of the data vector, and of what counts of reports say through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import singledispatch
from typing import Any, final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, UnsupportedWorkloadError
from stratagem.estimators.evidence import Evidence
from stratagem.math.on_demand import written_or_asked
from stratagem.strategies import Randomiser
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.selection import Selection


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

    @abstractmethod
    def objective(self, workload: Workload, factor: Callable[[], np.ndarray] | None = None) -> float:
        """Return L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), the average-case variance in its published scale.

        Whoever compares many strategies on one workload passes a function that returns the `root` (n x r) of the
        workload under the prior, to compute it once; whoever has no need of it does not call it.

        Raises:
            UnsupportedWorkloadError: as `accuracy`.
            ValueError: as `accuracy`.
        """

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
            lambda places: self._typical(Selection(workload, places)),
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
            lambda places: self._largest(Selection(workload, places)),
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

    @abstractmethod
    def _worst(self, workload: Workload) -> float:
        """Return the largest entry of `largest`."""

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

    `prior` (n,), probabilities, chooses the one of least variance if the types are so distributed; 1/n by default.
    Whatever the prior, it is unbiased.

    Raises:
        TypeError: for what is no strategy.
        ValueError: for a wrong prior.
    """
    raise TypeError(
        f"{strategy!r} was given as a strategy, but no formula of its variance is registered: give a Randomiser, or "
        "register its kind with estimator.register"
    )


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
