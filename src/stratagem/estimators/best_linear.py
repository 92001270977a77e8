"""The linear estimator of least variance under a prior, by n x n arrays, and the mean of a person's several reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, check_domain, check_entries, check_support, check_work
from stratagem.estimators.dense import Dense, DenseEvidence, quadratic_forms
from stratagem.estimators.estimator import Estimator, estimator, impossible_report, whole_counts
from stratagem.math.linalg import CANCELLED, CentredInverse, PseudoInverse, apply_inverse, squared_distances
from stratagem.math.privacy import check_prior, uniform
from stratagem.math.vector import Counts, SparseCounts
from stratagem.strategies import Strategy
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled, root, total_term

BLOCK = 1 << 25
"""Entries of a temporary array of accuracies."""
ROWS = 1 << 24
"""Entries of a temporary array of the answers to reports."""
PLAIN = 1 << 22
"""Largest number of answers to reports, (m, p), for which variances of queries are summed report by report: the
covariance of all types would lose the digits of queries that the strategy answers much better than others."""


class LeastVariance(Dense):
    """x_hat = R c, R = M^+ Q^T D^-1 with D = diag(n Q p) and M = Q^T D^-1 Q, through (M - 11^T/n)^+."""

    prior: np.ndarray | None
    """The prior p (n,); None for 1/n."""

    @cached_property
    @abstractmethod
    def inverse(self) -> CentredInverse | PseudoInverse:
        """Pseudo-inverse (M - 11^T/n)^+ (n x n) of the centred information matrix."""

    @final
    @property
    def shares(self) -> np.ndarray:
        return uniform(len(self.inverse.null)) if self.prior is None else self.prior

    @final
    @property
    def null(self) -> np.ndarray:
        around = self.inverse.null
        turned, _ = np.linalg.qr(around.sum(axis=0)[:, None], mode="complete")
        return around @ turned[:, 1:]

    @final
    @property
    def least_spread(self) -> np.ndarray:
        """Second moments R diag(Q p) R^T = M^+ / n (n x n) of one report's scores under the prior."""
        n = len(self.inverse.null)
        return apply_inverse(self.inverse, np.eye(n), self.shares) / n

    @final
    def objective(self, workload: Workload, factor: Callable[[], np.ndarray] | None = None) -> float:
        """Return L(Q), as `Estimator.objective`."""
        self.check(workload)
        F = root(workload, self.prior) if factor is None else factor()
        return total_term(workload, self.prior) + float(np.sum(F * self._solved(F)))

    @final
    def _solved(self, F: np.ndarray) -> np.ndarray:
        """Return M^+ F for F (n x r)."""
        return apply_inverse(self.inverse, F, self.shares)


@final
@dataclass(frozen=True, eq=False)
class BestLinear(LeastVariance, Estimator):
    """The estimator of a strategy Q (m x n) of least average variance under a prior, among the unbiased linear ones."""

    strategy: Strategy
    prior: np.ndarray | None = None

    @property
    def listed(self) -> Strategy:
        return self.strategy

    def __post_init__(self) -> None:
        """Check the prior."""
        if self.prior is not None:
            object.__setattr__(self, "prior", check_prior(self.prior, self.strategy.domain_size))

    @cached_property
    def inverse(self) -> CentredInverse | PseudoInverse:
        return self.strategy.inverse_information(self.prior)

    @property
    def _scale(self) -> np.ndarray:
        """1/d (m,), the diagonal of D^-1."""
        return self.strategy.inverse_row_sums(self.prior)

    @property
    def privacy(self) -> tuple[float, float]:
        return self.strategy.epsilon, self.strategy.delta

    def check(self, workload: Workload) -> None:
        check_domain(workload, self.strategy.domain_size)
        if self.inverse.null.shape[1] > 1:  # the prior alone is in it where all is answered
            check_support(workload, self.inverse.null, self.shares)

    def accuracy(self, workload: Workload) -> Accuracy:
        """Return the exact accuracy, by ||W R e_y||^2 = ||F^T M^+ q_y||^2 / d_y^2 with V = F F^T."""
        self.check(workload)
        F = root(workload, self.prior)
        B, own = self._solved(F), np.square(F).sum(axis=1)
        scale = self._scale
        per_type = self.strategy.backward(_squared_norms(self.strategy, B, scale)) - own
        if not (per_type >= CANCELLED * own).all():
            per_type = _distances_by_type(self.strategy, scale[:, None] * self.strategy.forward(B), F)
        return Accuracy(total_term(workload, self.prior) + float(np.sum(F * B)), per_type, workload.queries)

    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        """Return w_i^T C w_i (p,) with C = R diag(Q x) R^T - diag(x), the covariance of x_hat."""
        self.check(workload)
        workload, strategy = levelled(workload, self.prior), self.strategy
        if workload.queries * max(strategy.outputs, len(x)) > PLAIN:
            covariance = self.estimated_spread(strategy.forward(x)) - np.diag(x)
            return np.maximum(quadratic_forms(workload, covariance), 0.0)
        W = workload.matrix().T
        answers, own = self._answers(W), x @ np.square(W)
        variance = strategy.forward(x) @ np.square(answers) - own
        if (variance < CANCELLED * own).any():
            return _distances_by_query(strategy, answers, W, x)
        return np.maximum(variance, 0.0)

    def _typical(self, workload: Workload) -> np.ndarray:
        check_entries(workload)
        return self._variances(workload, self.shares)

    def _largest(self, workload: Workload) -> np.ndarray:
        p, n, m = workload.queries, workload.domain_size, self.strategy.outputs
        check_work(workload, p * n * m)
        self.check(workload)
        W, largest, step = levelled(workload, self.prior).matrix(), np.empty(p), max(1, ROWS // max(m, n))
        for first in range(0, p, step):
            rows = W[first : first + step].T
            variances = self.strategy.backward(np.square(self._answers(rows))) - np.square(rows)
            largest[first : first + step] = variances.max(axis=0)
        return np.maximum(largest, 0.0)

    def evidence(self, counts: Counts) -> DenseEvidence:
        given = counts.dense() if isinstance(counts, SparseCounts) else counts
        checked = whole_counts(given, self.strategy.outputs)
        impossible = (checked > 0) & (self.strategy.row_sums <= 0)
        if impossible.any():
            raise impossible_report(int(np.argmax(impossible)))
        return DenseEvidence(self, checked)

    def users(self, counts: np.ndarray) -> int:
        return round(counts.sum())

    def estimated_data(self, counts: np.ndarray) -> np.ndarray:
        """Return R c (n,), or (n, k) for k columns of counts (m, k); meaningful on the row space of Q."""
        scale = self._scale.reshape(-1, *[1] * (counts.ndim - 1))
        return self._solved(self.strategy.backward(scale * counts))

    def estimated_spread(self, counts: np.ndarray) -> np.ndarray:
        """Return R diag(counts) R^T (n x n), an unbiased estimate of sum_u x_u E[s s^T | u].

        R^T = D^-1 Q M^+ is formed first: rows of Q are nearly constant at small epsilon, and products of two of
        them would lose the digits that M^+ magnifies.
        """
        rows = self.strategy.forward(self._solved(np.eye(self.strategy.domain_size)))
        rows *= (np.sqrt(counts) * self._scale)[:, None]
        return rows.T @ rows

    def _answers(self, W: np.ndarray) -> np.ndarray:
        """Return the answers (m, p) to every report from queries (n x p)."""
        return self._scale[:, None] * self.strategy.forward(self._solved(W))


estimator.register(Strategy, BestLinear)


def _distances_by_type(strategy: Strategy, A: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Return t_u = sum_y Q[y, u] ||a_y - f_u||^2 (n,) for answers A (m x r) and the rows of F (n x r).

    It equals the difference of two sums of squares, and is used where that difference would be nothing but
    rounding: at high epsilon it is a share exp(-eps) of the sums.
    """
    n, width = len(F), max(1, BLOCK // strategy.outputs)
    blocks = (np.eye(n, min(width, n - first), -first) for first in range(0, n, width))
    return np.concatenate(
        [(strategy.forward(block) * squared_distances(A, block.T @ F)).sum(axis=0) for block in blocks]
    )


def _distances_by_query(strategy: Strategy, A: np.ndarray, F: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return sum_u x_u sum_y Q[y, u] (a_yi - f_ui)^2 (p,) for every query i, A (m x p) and F (n x p)."""
    columns = ((u, strategy.forward(np.eye(len(F), 1, -u))[:, 0]) for u in map(int, np.flatnonzero(x)))
    return sum((x[u] * (q @ np.square(A - F[u])) for u, q in columns), np.zeros(F.shape[1]))


def _squared_norms(strategy: Strategy, B: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return ||scale_y e_y^T Q B||^2 for every report y (m,), never holding all of Q B (m x r)."""
    width = max(1, BLOCK // strategy.outputs)
    blocks = (B[:, first : first + width] for first in range(0, B.shape[1], width))
    return sum(
        (np.square(scale[:, None] * strategy.forward(block)).sum(axis=1) for block in blocks),
        np.zeros(strategy.outputs),
    )


class Rounds(NamedTuple):
    """How the same users reported in several rounds."""

    number: int
    """Number k of reports of every user, all of whom took part in every round."""
    kept: float
    """Probability alpha with which a report repeats the permanent one."""
    epsilon: float
    """Permanent epsilon, of any number of reports of one user."""
    share: float = 1.0
    """Probability s that a user's reports are of this table: below 1 the last report stands for all of other parts."""


@final
@dataclass(frozen=True, eq=False)
class Averaged(Dense):
    """The mean x_hat of the estimates of k rounds in which the same users reported by a memo.

    A report repeats the permanent one with probability alpha, else it is drawn with probabilities rho. A permanent
    report y has the mean score t_y = alpha R e_y + (1 - alpha) R rho, so that the second moments of a user's mean are

        (1/k) sum_z Q[z, u] R e_z (R e_z)^T + (1 - 1/k) sum_y P[y, u] t_y t_y^T,  P = (Q - (1 - alpha) rho 1^T)/alpha,

    both linear in Q x, which the reports estimate without bias (theory.md, section 12). With probability 1 - s all k
    reports of a user are the last one, whose scores h = R e_m are their own mean.
    """

    one: BestLinear
    """The estimator of the reports of one round."""
    rounds: Rounds

    @property
    def privacy(self) -> tuple[float, float]:
        return self.rounds.epsilon, 0.0

    @property
    def shares(self) -> np.ndarray:
        return self.one.shares

    @property
    def null(self) -> np.ndarray:
        return self.one.null

    @property
    def least_spread(self) -> np.ndarray:
        return self._mean(self.one.least_spread, self.shares, 1)

    def check(self, workload: Workload) -> None:
        self.one.check(workload)

    def evidence(self, counts: Counts) -> DenseEvidence:
        """Return what the counts of the reports of all rounds say.

        Raises:
            ValueError: as `BestLinear.evidence`, or unless their number is a multiple of the number of rounds.
        """
        checked = self.one.evidence(counts)
        check_rounds(
            [checked.users, int(checked.counts[-1]) if self.rounds.share < 1 else 0], self.rounds.number
        )
        return DenseEvidence(self, checked.counts)

    def users(self, counts: np.ndarray) -> int:
        return self.one.users(counts) // self.rounds.number

    def estimated_data(self, counts: np.ndarray) -> np.ndarray:
        return self.one.estimated_data(counts) / self.rounds.number

    def estimated_spread(self, counts: np.ndarray) -> np.ndarray:
        single = self.one.estimated_spread(counts) / self.rounds.number
        return self._mean(single, self.estimated_data(counts), self.users(counts))

    def totals(self, workload: Workload) -> tuple[float, float]:
        """Return the total variances V_1 and V_p that one report of a user and its permanent part add under the prior.

        The mean of k reports adds V_p + (V_1 - V_p)/k.
        """
        self.check(workload)
        V, single = workload.gram(), self.one.least_spread
        both = (single, self._permanent(single, self.shares, 1))
        first, lasting = (float(np.sum(V * moments) - np.diag(V) @ self.shares) for moments in both)
        return first, lasting

    def _mean(self, single: np.ndarray, x: np.ndarray, users: int) -> np.ndarray:
        """Return the moments (n x n) of means of k reports from those of single reports, R diag(Q x) R^T."""
        k = self.rounds.number
        return single / k + (1 - 1 / k) * self._permanent(single, x, users)

    def _permanent(self, single: np.ndarray, x: np.ndarray, users: int) -> np.ndarray:
        """Return the moments (n x n) of the mean scores of permanent reports from those of single reports.

        With t_y and P as above, sum_y (P x)_y t_y t_y^T is
        alpha R diag(Q x) R^T - alpha (1 - alpha) N R diag(rho) R^T + (1 - alpha)(x g^T + g x^T)
        - (1 - alpha)^2 N g g^T, g = R rho. Below s = 1 it is that of s N users, without what others add to
        R diag(Q x) R^T and to x, and (1 - s) N h h^T for these.
        """
        redrawn, g, h = self._redrawn
        a, b, own, others = self.rounds.kept, 1 - self.rounds.kept, self.rounds.share * users, np.outer(h, h)
        others, cross = (users - own) * others, np.outer(x - (users - own) * h, g)
        within = a * (single - others) - a * b * own * redrawn + b * (cross + cross.T)
        return within - b * b * own * np.outer(g, g) + others

    @cached_property
    def _redrawn(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """R diag(rho) R^T (n x n), R rho (n,) of reports that are drawn whatever the value, and h (n,) of the last."""
        rho, last = self.one.strategy.lowest.copy(), np.zeros(self.one.strategy.outputs)
        if self.rounds.share < 1:
            rho[-1], last[-1] = 0, 1
        rho = rho / rho.sum()
        return self.one.estimated_spread(rho), self.one.estimated_data(rho), self.one.estimated_data(last)


def check_rounds(reports: Sequence[int], rounds: int) -> None:
    """Refuse numbers of reports, of all users and of those of a part, that are not the same in every round."""
    for number in reports:
        if number % rounds:
            raise ValueError(
                f"{number:,} reports are not {rounds:,} reports per person: give the reports of people who sent so many"
            )


@final
@dataclass(frozen=True, eq=False)
class Pooled(Dense):
    """The users of K merged bins, G x_hat, from the best linear estimate x_hat (n,) by both rounds' reports."""

    both: BestLinear
    """The estimator for all reports, as if every user drew one of the two strategies."""
    second: BestLinear
    """The estimator of the second round alone."""
    starts: np.ndarray
    """First bin of every merged bin (K,)."""

    @property
    def privacy(self) -> tuple[float, float]:
        return self.both.privacy

    @property
    def shares(self) -> np.ndarray:
        return self.second.shares

    @property
    def null(self) -> np.ndarray:
        """Orthonormal basis (K x k) of the merged data vectors that no report of the second round depends on."""
        return self.second.null

    @property
    def least_spread(self) -> np.ndarray:
        return self._merged(self.both.least_spread)

    def check(self, workload: Workload) -> None:
        self.second.check(workload)

    def users(self, counts: np.ndarray) -> int:
        return self.both.users(counts)

    def estimated_data(self, counts: np.ndarray) -> np.ndarray:
        """Return G x_hat (K,)."""
        return np.add.reduceat(self.both.estimated_data(counts), self.starts)

    def estimated_spread(self, counts: np.ndarray) -> np.ndarray:
        """Return G R diag(c) R^T G^T (K x K)."""
        return self._merged(self.both.estimated_spread(counts))

    def _merged(self, C: np.ndarray) -> np.ndarray:
        return np.add.reduceat(np.add.reduceat(C, self.starts, axis=0), self.starts, axis=1)
