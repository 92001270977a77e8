"""The reconstruction of the data vector by the estimator that a protocol was published with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.accuracy import check_seen
from stratagem.estimation.dense_reconstruction import DenseReconstruction
from stratagem.estimation.reconstruction import MAX_USERS
from stratagem.math.prior import uniform
from stratagem.strategies import LinearProtocol
from stratagem.workloads import Workload


@final
@dataclass(frozen=True, eq=False)
class Published(DenseReconstruction):
    """The reconstruction x_hat by a protocol's published estimator, linear in the totals (k,) and unbiased."""

    protocol: LinearProtocol
    totals: np.ndarray
    """Totals of the reports (k,); the first is the number of reports."""

    @staticmethod
    def of(protocol: LinearProtocol, totals: np.ndarray) -> Published:
        """Check the totals and reconstruct.

        Raises:
            ValueError: unless the totals are as many numbers as the protocol's, all finite, the first a number of
                reports from 1 to 2^53.
        """
        given = np.asarray(totals)
        shape = protocol.collect(protocol.randomise(np.zeros(1, dtype=int), np.random.default_rng(0))).shape
        if given.dtype.kind not in "iuf" or given.shape != shape or not np.isfinite(given).all():
            raise ValueError(
                f"the totals were given as {given.dtype} of shape {given.shape}, but this protocol has "
                f"{shape[0]} finite ones: collect the reports with it"
            )
        if not (1 <= given[0] <= MAX_USERS and given[0] % 1 == 0):
            raise ValueError(
                f"the totals begin with {given[0]:.6g} reports, but an estimate needs a whole number from 1 to "
                "2^53: collect the reports with this protocol"
            )
        return Published(protocol, given)

    @property
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of the protocol."""
        return self.protocol.epsilon, self.protocol.delta

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return round(float(self.totals[0]))

    def estimated_data(self) -> np.ndarray:
        """Return the protocol's estimate (n,)."""
        return self.protocol.reconstruct(self.totals)

    @property
    def unseen(self) -> int:
        """Number of dimensions of the data vector that no score depends on."""
        return self.protocol.unseen.shape[1]

    @property
    def blind(self) -> np.ndarray:
        """A random vector (n,) among the data vectors that no score depends on; zeros if there is none."""
        directions = self.protocol.unseen
        return directions @ np.random.default_rng(0).standard_normal(directions.shape[1])

    @property
    def shares(self) -> np.ndarray:
        """The uniform prior 1/n (n,): the published scores use no other."""
        return uniform(self.protocol.domain_size)

    def estimated_spread(self) -> np.ndarray:
        """Return sum_u x_hat_u E[s s^T | u] (n x n), linear in the estimate and so unbiased."""
        return self.protocol.spread(self.data)

    @property
    def least_spread(self) -> np.ndarray:
        """Second moments (n x n) of the scores of one report from a user of uniformly random type."""
        return self.protocol.spread(self.shares)

    def check(self, workload: Workload) -> None:
        """Refuse a workload that needs dimensions of the data vector that no score depends on.

        Raises:
            UnsupportedWorkloadError: if there is such a query.
            ValueError: if the domains differ in size.
        """
        check_seen(workload, self.protocol)
