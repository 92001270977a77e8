"""The estimator that a protocol was published with: its scores, whatever the prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from stratagem.estimators.accuracy import Accuracy
from stratagem.estimators.dense import Dense, DenseEvidence, quadratic_forms
from stratagem.estimators.estimator import Estimator, estimator
from stratagem.estimators.evidence import MAX_USERS
from stratagem.estimators.support import check_domain, check_entries, check_support, check_work
from stratagem.math.privacy import check_prior, uniform
from stratagem.strategies import LinearProtocol
from stratagem.workloads import Workload


@final
@dataclass(frozen=True, eq=False)
class Published(Dense, Estimator):
    """The estimator of a protocol, linear in the totals (k,) of its reports and unbiased.

    A prior decides nothing but which average the objective is.
    """

    exact_total: ClassVar[bool] = False
    """Published scores of a report need not add up to one."""
    protocol: LinearProtocol
    prior: np.ndarray | None = None

    @property
    def privacy(self) -> tuple[float, float]:
        return self.protocol.epsilon, self.protocol.delta

    @property
    def shares(self) -> np.ndarray:
        return uniform(self.protocol.domain_size)

    @property
    def null(self) -> np.ndarray:
        return self.protocol.null_space

    @property
    def least_spread(self) -> np.ndarray:
        return self.protocol.spread(self.shares)

    def check(self, workload: Workload) -> None:
        check_domain(workload, self.protocol.domain_size)
        check_support(workload, self.null)

    def accuracy(self, workload: Workload) -> Accuracy:
        self.check(workload)
        V, n = workload.gram(), workload.domain_size
        moments = self.protocol.second_moments(V)
        objective = float(n * ((uniform(n) if self.prior is None else self.prior) @ moments))
        return Accuracy(objective, np.maximum(moments - np.diag(V), 0.0), workload.queries)

    def objective(self, workload: Workload, factor: Callable[[], np.ndarray] | None = None) -> float:
        return self.accuracy(workload).objective

    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        self.check(workload)
        return np.maximum(quadratic_forms(workload, self.protocol.spread(x) - np.diag(x)), 0.0)

    def _typical(self, workload: Workload) -> np.ndarray:
        check_entries(workload)
        return self._variances(workload, self.shares if self.prior is None else self.prior)

    def _largest(self, workload: Workload) -> np.ndarray:
        self.check(workload)
        check_work(workload, workload.queries * workload.domain_size**3)
        moments = (self.protocol.second_moments(np.outer(w, w)) - np.square(w) for w in workload.matrix())
        return np.array([max(0.0, float(one.max())) for one in moments])

    def _worst(self, workload: Workload) -> float:
        return float(self._largest(workload).max())

    def evidence(self, counts: np.ndarray) -> DenseEvidence:
        given, protocol = np.asarray(counts), self.protocol
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
        return DenseEvidence(self, given)

    def users(self, counts: np.ndarray) -> int:
        return round(float(counts[0]))

    def estimated_data(self, counts: np.ndarray) -> np.ndarray:
        return self.protocol.reconstruct(counts)

    def estimated_spread(self, counts: np.ndarray) -> np.ndarray:
        """Return sum_u x_hat_u E[s s^T | u] (n x n), linear in the estimate and so unbiased."""
        return self.protocol.spread(self.estimated_data(counts))


@estimator.register
def _(strategy: LinearProtocol, prior: np.ndarray | None = None) -> Published:
    return Published(strategy, None if prior is None else check_prior(prior, strategy.domain_size))
