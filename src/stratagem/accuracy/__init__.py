"""Exact variance of (workload, strategy): every formula once."""

from __future__ import annotations

import numpy as np

from stratagem.accuracy.dense import (
    check_domain,
    check_seen,
    check_support,
    dense_accuracy,
    dense_objective,
    per_query_variance,
    quadratic_forms,
    spread,
    supporting_inverse,
)
from stratagem.accuracy.junta import junta_accuracy
from stratagem.accuracy.largest import largest_variance, largest_variances
from stratagem.accuracy.measure import (
    ERROR,
    Accuracy,
    UnsupportedWorkloadError,
    Users,
    both_needed,
    users_needed,
)
from stratagem.accuracy.orbit import asked, orbit_accuracy, orbit_objective
from stratagem.accuracy.query import query_variances
from stratagem.strategies import JuntaStrategy, OrbitStrategy, Randomiser, TableSampling, TranslationStrategy
from stratagem.workloads import Workload

__all__ = [
    "ERROR",
    "Accuracy",
    "UnsupportedWorkloadError",
    "Users",
    "both_needed",
    "check_domain",
    "check_seen",
    "check_support",
    "evaluate",
    "largest_variance",
    "largest_variances",
    "objective",
    "per_query_variance",
    "quadratic_forms",
    "query_variances",
    "spread",
    "supporting_inverse",
    "users_needed",
]


def evaluate(
    workload: Workload,
    strategy: Randomiser | TranslationStrategy | TableSampling,
    prior: np.ndarray | None = None,
) -> Accuracy:
    """Return the exact accuracy of `strategy` (m x n) on `workload` (p x n); a protocol's with its own estimator.

    `prior` (n,), probabilities, chooses the reconstruction: the one of least variance if the types are so
    distributed; 1/n by default. The variances are exact for every data vector either way.
    Only directions of the row space of W are inverted: with V = F F^T, L = ||M^(+1/2) F||_F^2 and
    ||W R e_y||^2 = ||F^T M^+ q_y||^2 / d_y^2, so that directions nobody asks for cannot add noise.

    Raises:
        UnsupportedWorkloadError: if a query is not a combination of rows of Q, naming what is missing.
        ValueError: if the domains differ.

    Example:
        >>> import stratagem as st
        >>> accuracy = evaluate(st.histogram(8), st.randomised_response(8, 1.0))
        >>> round(accuracy.objective, 4)
        224.9176
    """
    if isinstance(strategy, TranslationStrategy):
        return _invariant_accuracy(*asked(workload, strategy), prior)
    if isinstance(strategy, TableSampling):
        return _invariant_accuracy(workload, strategy, prior)
    return dense_accuracy(workload, strategy, prior)


def objective(
    workload: Workload,
    strategy: Randomiser | TranslationStrategy,
    F: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> float:
    """Return L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), the average-case variance in its published scale.

    Whoever compares many strategies on one workload passes F = factor(V) to compute it once.

    Raises:
        UnsupportedWorkloadError: as `evaluate`.
    """
    if isinstance(strategy, TranslationStrategy):
        workload, strategy = asked(workload, strategy)
    if isinstance(strategy, OrbitStrategy) and prior is None:
        return orbit_objective(workload, strategy)
    if isinstance(strategy, TranslationStrategy):
        return _invariant_accuracy(workload, strategy, prior).objective
    return dense_objective(workload, strategy, F, prior)


def _invariant_accuracy(
    workload: Workload, strategy: TranslationStrategy | TableSampling, prior: np.ndarray | None
) -> Accuracy:
    """Return the accuracy by characters, refusing a prior, which breaks the symmetry of the estimator."""
    if prior is not None:
        raise ValueError(
            "a prior was given for a strategy of translates, whose estimates treat all user types alike: leave the "
            "prior out, or evaluate strategy.dense()"
        )
    if isinstance(strategy, OrbitStrategy):
        return orbit_accuracy(workload, strategy)
    assert isinstance(strategy, JuntaStrategy | TableSampling), "orbits are the only others"
    return junta_accuracy(workload, strategy)
