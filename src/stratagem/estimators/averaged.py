"""The estimator of repeated reports: means of several reports of each person, of which a part is permanent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from stratagem.estimators.best_linear import BestLinear
from stratagem.estimators.dense import Dense, DenseEvidence
from stratagem.math.counts import Counts
from stratagem.strategies import Strategy, TwoLevelStrategy
from stratagem.workloads import Workload


class Rounds(NamedTuple):
    """How the same users reported in several rounds."""

    number: int
    """Number k of reports of every user, all of whom took part in every round."""
    kept: float
    """Probability alpha with which a report repeats the permanent one."""
    epsilon: float
    """Permanent epsilon, of any number of reports of one user."""


@final
@dataclass(frozen=True, eq=False)
class Averaged(Dense):
    """The mean x_hat of the estimates of k rounds in which the same users reported by a memo.

    A report repeats the permanent one with probability alpha, else it is drawn with probabilities rho. A permanent
    report y has the mean score t_y = alpha R e_y + (1 - alpha) R rho, so that the second moments of a user's mean are

        (1/k) sum_z Q[z, u] R e_z (R e_z)^T + (1 - 1/k) sum_y P[y, u] t_y t_y^T,  P = (Q - (1 - alpha) rho 1^T)/alpha,

    both linear in Q x, which the reports estimate without bias (theory.md, section 12).
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
        if checked.users % self.rounds.number:
            raise ValueError(
                f"{checked.users:,} reports are not the same number in each of {self.rounds.number:,} rounds: give the "
                "reports of people who took part in every round"
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
        - (1 - alpha)^2 N g g^T, g = R rho.
        """
        redrawn, g = self._redrawn
        a, b, cross = self.rounds.kept, 1 - self.rounds.kept, np.outer(x, g)
        return a * single - a * b * users * redrawn + b * (cross + cross.T) - b * b * users * np.outer(g, g)

    @cached_property
    def _redrawn(self) -> tuple[np.ndarray, np.ndarray]:
        """R diag(rho) R^T (n x n) and R rho (n,) of reports that are drawn whatever the value."""
        rho = lowest(self.one.strategy)
        rho /= rho.sum()
        return self.one.estimated_spread(rho), self.one.estimated_data(rho)


def lowest(strategy: Strategy) -> np.ndarray:
    """Return the smallest probability (m,) of every row, to which the weights of two-level rows are proportional."""
    return (
        strategy.theta.copy()
        if isinstance(strategy, TwoLevelStrategy)
        else strategy.dense().matrix.min(axis=1)
    )
