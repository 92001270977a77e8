"""The data vector behind counts of reports, and the variance of any query of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from stratagem.accuracy import check_domain, check_support, quadratic_forms, spread
from stratagem.linalg import CentredInverse, PseudoInverse, centred_inverse, factor
from stratagem.prior import check_prior, uniform
from stratagem.strategies.strategy import Strategy, apply_inverse, inverse_row_sums
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


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """What counts of reports c (m,) say about the data vector x (n,): x_hat = R c, R = M^+ Q^T D^-1.

    W x_hat is unbiased for every workload W in the row space of Q, with covariance
    W (R diag(Q x) R^T - diag(x)) W^T about the N users who reported (McKenna et al., VLDB 2020, Theorem 3.4).
    Both terms are linear in x, so counts estimate them without bias: E c = Q x, E x_hat = x.

    If the users are a sample of a population, the error about N times its shares is larger: a report is then
    one of N independent draws, and the covariance is that of a sample, (W R diag(c) R^T W^T - a a^T/N) N/(N-1)
    with a = W x_hat.
    """

    strategy: Strategy
    counts: np.ndarray
    """Counts of reports (m,), whole numbers."""
    prior: np.ndarray | None
    """Prior p (n,) that chose R."""
    inverse: CentredInverse | PseudoInverse
    """(M - 11^T/n)^+."""

    @staticmethod
    def of(strategy: Strategy, counts: np.ndarray, prior: np.ndarray | None = None) -> Reconstruction:
        """Check the counts and reconstruct.

        Raises:
            ValueError: for counts that are not m nonnegative whole numbers of at least one report and at most
                2^53, a report that the strategy never makes, or a wrong prior.
        """
        prior = None if prior is None else check_prior(prior, strategy.domain_size)
        counts = check_reports(counts, strategy)
        return Reconstruction(
            strategy, counts, prior, centred_inverse(strategy.centred_information(prior), prior)
        )

    @cached_property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return round(self.counts.sum())

    @cached_property
    def data(self) -> np.ndarray:
        """x_hat (n,); meaningful on the row space of Q."""
        weighted = self.strategy.backward(inverse_row_sums(self.strategy, self.prior) * self.counts)
        return apply_inverse(self.inverse, weighted, self.prior)

    @property
    def unseen(self) -> int:
        """Dimensions of the data vector that no report depends on; 0 if every user type has its own column."""
        return self.inverse.null.shape[1] - 1

    def check(self, workload: Workload) -> None:
        """Refuse a workload that these reports cannot answer.

        Raises:
            UnsupportedWorkloadError: if a query is not in the row space of Q.
            ValueError: if the domains differ in size.
        """
        check_domain(workload, self.strategy)
        check_support(factor(workload.gram()), self.inverse, self.prior)

    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the estimated variances (p,) of the answers W x_hat about the users or their population.

        About the users: sum_y c_y (w R e_y)^2 - sum_u w_u^2 x_hat_u, unbiased. Where w^2 is not in the row
        space of Q (never for queries of 0 and 1) the larger variance about the population takes its place.
        No variance goes below (N/E) Var(w R e_y), y ~ Q p, which epsilon-LDP guarantees for every data vector:
        Q e_u >= Q p / E. Few reports cannot make an interval collapse.
        """
        first = quadratic_forms(workload, self._spread)
        variance = self._sampled(first - workload.answer(self.data) ** 2 / self.users)
        if about == "users":
            about_users, identified = self._squares(workload)
            variance = np.where(identified, first - about_users, variance)
        variance = np.maximum(variance, quadratic_forms(workload, self._floor))
        return np.where(variance > ROUNDING * first, variance, 0.0)

    def total_variance(self, workload: Workload) -> float:
        """Return the estimated total variance of the answers about the users, tr(W C W^T) = tr(V C).

        Exact where all user types are told apart, otherwise what W sees of x_hat; floored as `variances`.
        """
        V = workload.gram()
        estimated = float(np.sum(V * self._spread) - np.diag(V) @ self.data)
        return max(estimated, float(np.sum(V * self._floor)), 0.0)

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
            return _both_sides(workload, self._spread - np.diag(self.data))
        answers = workload.answer(self.data)
        return self._sampled(_both_sides(workload, self._spread) - np.outer(answers, answers) / self.users)

    @cached_property
    def _spread(self) -> np.ndarray:
        """R diag(c) R^T (n x n)."""
        return spread(self.strategy, self.inverse, self.counts, self.prior)

    @cached_property
    def _floor(self) -> np.ndarray:
        """(N/E) (R diag(Q p) R^T - p p^T) = (N/E) (M^+ / n - p p^T), n x n: no data vector has a smaller one."""
        n, p = self.strategy.domain_size, self._prior
        least = apply_inverse(self.inverse, np.eye(n), self.prior) / n - np.outer(p, p)
        return self.users * math.exp(-self.strategy.epsilon) * least

    @property
    def _prior(self) -> np.ndarray:
        """p (n,), 1/n unless given."""
        return uniform(self.strategy.domain_size) if self.prior is None else self.prior

    def _sampled(self, moments: np.ndarray) -> np.ndarray:
        """Return N/(N - 1) times central moments: Bessel's correction."""
        return moments * (self.users / max(1, self.users - 1))

    def _squares(self, workload: Workload) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_u w_u^2 x_hat_u (p,) and whether w^2 is in the row space of Q (p,).

        It is when it is orthogonal to all unseen directions, which one random combination of them decides
        with probability one.
        """
        n, null, step = self.strategy.domain_size, self.inverse.null, max(1, BLOCK // workload.queries)
        unseen = null @ np.random.default_rng(0).standard_normal(null.shape[1])
        unseen -= self._prior * unseen.sum()  # p is in the null space of M - 11^T/n, but M sees it
        if not self.unseen:
            unseen = np.zeros(n)
        sums = np.zeros((workload.queries, 3))
        columns = np.column_stack([self.data, unseen, np.abs(unseen)])
        for first in range(0, n, step):
            block = slice(first, min(first + step, n))
            units = np.eye(n, block.stop - first, -first)
            sums += np.square(workload.answer(units)) @ columns[block]
        return sums[:, 0], np.abs(sums[:, 1]) <= 1e-8 * sums[:, 2]


def check_reports(counts: np.ndarray, strategy: Strategy) -> np.ndarray:
    """Return the counts of reports (m,) as floats that hold whole numbers.

    Raises:
        ValueError: unless there are m of them, whole, nonnegative, at least one report and at most 2^53 in
            all, none for an output that never occurs.
    """
    try:
        given = np.asarray(counts)
    except ValueError:
        given = np.array(None)
    m = strategy.outputs
    if given.dtype.kind not in "iuf" or given.shape != (m,):
        raise ValueError(
            f"the counts were given as {given.dtype} of shape {given.shape}, but the strategy has {m} outputs: "
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
    if not 1 <= checked.sum() <= MAX_USERS:
        raise ValueError(
            f"the counts hold {checked.sum():.6g} reports, but an estimate needs 1 to 2^53: count one report a user"
        )
    impossible = (checked > 0) & (strategy.row_sums <= 0)
    if impossible.any():
        raise ValueError(
            f"output {int(np.argmax(impossible))} was reported, but the strategy never makes it: "
            "use the strategy that the clients used"
        )
    return checked


def _both_sides(workload: Workload, C: np.ndarray) -> np.ndarray:
    """Return W C W^T (p x p)."""
    return workload.answer(workload.answer(C).T)
