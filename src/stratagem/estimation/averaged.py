"""The reconstruction from repeated reports: means of several reports of each person, of which a part is permanent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from stratagem.accuracy import spread
from stratagem.estimation.best_linear import BestLinear
from stratagem.estimation.dense_reconstruction import DenseReconstruction
from stratagem.strategies import Strategy, TranslationStrategy, TwoLevelStrategy
from stratagem.strategies.strategy import reconstructed
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
class Averaged(DenseReconstruction):
    """The mean x_hat of the reconstructions of k rounds in which the same users reported by a memo.

    A report repeats the permanent one with probability alpha, else it is drawn with probabilities rho. A permanent
    report y has the mean score t_y = alpha R e_y + (1 - alpha) R rho, so that the second moments of a user's mean are

        (1/k) sum_z Q[z, u] R e_z (R e_z)^T + (1 - 1/k) sum_y P[y, u] t_y t_y^T,  P = (Q - (1 - alpha) rho 1^T)/alpha,

    both linear in Q x, which the reports estimate without bias (theory.md, section 12).
    """

    all: BestLinear
    """The reconstruction from the reports of all rounds, as if each came from a user of its own."""
    rounds: Rounds

    @staticmethod
    def of(one: BestLinear, rounds: Rounds) -> Averaged:
        """Check that the reports are those of whole rounds.

        Raises:
            ValueError: unless their number is a multiple of the number of rounds.
        """
        if one.users % rounds.number:
            raise ValueError(
                f"{one.users:,} reports are not the same number in each of {rounds.number:,} rounds: give the reports "
                "of people who took part in every round"
            )
        return Averaged(one, rounds)

    @property
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of all reports of one user together."""
        return self.rounds.epsilon, 0.0

    @property
    def users(self) -> int:
        """Number N of users, each with k reports."""
        return self.all.users // self.rounds.number

    def estimated_data(self) -> np.ndarray:
        """Return R c/k (n,)."""
        return self.all.data / self.rounds.number

    @property
    def nullity(self) -> int:
        """Number of dimensions of the data vector that no report depends on."""
        return self.all.nullity

    @property
    def null_vector(self) -> np.ndarray:
        """A random vector (n,) among the data vectors that no report depends on; zeros if there is none."""
        return self.all.null_vector

    @property
    def shares(self) -> np.ndarray:
        """The prior p (n,) for which the scores were chosen."""
        return self.all.shares

    @property
    def exact_total(self) -> bool:
        """True: the strategy knows the number of users."""
        return True

    def estimated_spread(self) -> np.ndarray:
        """Return the estimated second moments (n x n) of the means of all users."""
        return self._mean(self.all.estimated_spread() / self.rounds.number, self.data, self.users)

    @property
    def least_spread(self) -> np.ndarray:
        """Second moments (n x n) of the mean of one user under the prior."""
        return self._mean(self.all.least_spread, self.shares, 1)

    def check(self, workload: Workload) -> None:
        """Refuse a workload that these reports cannot answer, as `BestLinear.check`."""
        self.all.check(workload)

    def _mean(self, single: np.ndarray, x: np.ndarray, users: int) -> np.ndarray:
        """Return the moments (n x n) of means of k reports from those of single reports, R diag(Q x) R^T."""
        k = self.rounds.number
        return single / k + (1 - 1 / k) * self.permanent(single, x, users)

    def permanent(self, single: np.ndarray, x: np.ndarray, users: int) -> np.ndarray:
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
        strategy, inverse, prior = self.all.strategy, self.all.inverse, self.all.prior
        rho = lowest(strategy)
        rho /= rho.sum()
        return spread(strategy, inverse, rho, prior), reconstructed(strategy, inverse, rho, prior)


def variances(
    strategy: Strategy | TranslationStrategy, workload: Workload, kept: float, prior: np.ndarray | None = None
) -> tuple[float, float]:
    """Return the total variances V_1 and V_p that one report of a user and its permanent part add under the prior.

    The mean of k reports adds V_p + (V_1 - V_p)/k.

    Raises:
        ValueError: for a strategy whose rows are too many to list.
    """
    listed = strategy.dense() if isinstance(strategy, TranslationStrategy) else strategy
    one = BestLinear.of(listed, (listed.row_sums > 0).astype(int), prior)
    one.check(workload)
    permanent = Averaged(one, Rounds(1, kept, listed.epsilon)).permanent(one.least_spread, one.shares, 1)
    V = workload.gram()
    single, lasting = (
        float(np.sum(V * moments) - np.diag(V) @ one.shares) for moments in (one.least_spread, permanent)
    )
    return single, lasting


def lowest(strategy: Strategy) -> np.ndarray:
    """Return the smallest probability (m,) of every row, to which the weights of two-level rows are proportional."""
    return (
        strategy.theta.copy()
        if isinstance(strategy, TwoLevelStrategy)
        else strategy.dense().matrix.min(axis=1)
    )
