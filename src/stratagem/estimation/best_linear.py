"""The best linear reconstruction of the data vector from counts of a strategy's outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.accuracy import check_domain, check_support, spread
from stratagem.estimation.dense_reconstruction import DenseReconstruction
from stratagem.estimation.reconstruction import impossible_report, whole_counts
from stratagem.math.linalg import CentredInverse, PseudoInverse
from stratagem.math.privacy import check_prior, uniform
from stratagem.strategies import Strategy
from stratagem.strategies.strategy import apply_inverse, reconstructed
from stratagem.workloads import Workload


@final
@dataclass(frozen=True, eq=False)
class BestLinear(DenseReconstruction):
    """The reconstruction x_hat = R c, R = M^+ Q^T D^-1, from counts c (m,) of the outputs.

    R has the least average variance under the prior among the unbiased reconstructions.
    """

    strategy: Strategy
    counts: np.ndarray
    """Counts of reports (m,), whole numbers."""
    prior: np.ndarray | None
    """Prior p (n,) for which R has the least average variance; None for the uniform prior."""
    inverse: CentredInverse | PseudoInverse
    """Pseudo-inverse (M - 11^T/n)^+ of the centred information matrix."""

    @staticmethod
    def of(strategy: Strategy, counts: np.ndarray, prior: np.ndarray | None = None) -> BestLinear:
        """Check the counts and reconstruct.

        Raises:
            ValueError: for counts that are not m nonnegative whole numbers of at least one report and at most
                2^53, a report that the strategy never makes, or a wrong prior.
        """
        prior = None if prior is None else check_prior(prior, strategy.domain_size)
        counts = check_reports(counts, strategy)
        return BestLinear(strategy, counts, prior, strategy.inverse_information(prior))

    @property
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of the strategy."""
        return self.strategy.epsilon, self.strategy.delta

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return round(self.counts.sum())

    def estimated_data(self) -> np.ndarray:
        """Return R c (n,); meaningful on the row space of Q."""
        return reconstructed(self.strategy, self.inverse, self.counts, self.prior)

    @property
    def nullity(self) -> int:
        """Number of dimensions of the data vector that no report depends on; 0 if Q has rank n."""
        return self.inverse.null.shape[1] - 1

    @property
    def null_vector(self) -> np.ndarray:
        """A random vector (n,) among the data vectors that no report depends on; zeros if there is none."""
        null = self.inverse.null
        if not self.nullity:
            return np.zeros(len(null))
        null_vector = null @ np.random.default_rng(0).standard_normal(null.shape[1])
        return (
            null_vector - self.shares * null_vector.sum()
        )  # p is in the null space of M - 11^T/n, but M sees it

    @property
    def shares(self) -> np.ndarray:
        """The prior p (n,); 1/n unless one was given."""
        return uniform(self.strategy.domain_size) if self.prior is None else self.prior

    @property
    def exact_total(self) -> bool:
        """True: the strategy knows the number of users."""
        return True

    def estimated_spread(self) -> np.ndarray:
        """Return R diag(c) R^T (n x n), an unbiased estimate of sum_u x_u E[s s^T | u]."""
        return spread(self.strategy, self.inverse, self.counts, self.prior)

    @property
    def least_spread(self) -> np.ndarray:
        """Second moments R diag(Q p) R^T = M^+ / n (n x n) of one report's scores under the prior."""
        n = self.strategy.domain_size
        return apply_inverse(self.inverse, np.eye(n), self.prior) / n

    def check(self, workload: Workload) -> None:
        """Refuse a workload that is not in the row space of Q.

        Raises:
            UnsupportedWorkloadError: naming what is missing.
            ValueError: if the domains differ in size.
        """
        check_domain(workload, self.strategy)
        check_support(workload, self.inverse.null, self.prior)


def check_reports(counts: np.ndarray, strategy: Strategy) -> np.ndarray:
    """Return the counts of reports (m,) as floats that hold whole numbers.

    Raises:
        ValueError: as `whole_counts`, or for a report that the strategy never makes.
    """
    checked = whole_counts(counts, strategy.outputs)
    impossible = (checked > 0) & (strategy.row_sums <= 0)
    if impossible.any():
        raise impossible_report(int(np.argmax(impossible)))
    return checked
