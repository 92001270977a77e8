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
from stratagem.accuracy.measure import Accuracy, UnsupportedWorkloadError
from stratagem.strategies import InvariantStrategy, JuntaStrategy, Randomiser
from stratagem.strategies.invariant import OUTPUTS
from stratagem.workloads import Workload
from stratagem.workloads.spectrum import Spectrum, common

__all__ = [
    "Accuracy",
    "UnsupportedWorkloadError",
    "check_domain",
    "check_seen",
    "check_support",
    "evaluate",
    "objective",
    "per_query_variance",
    "quadratic_forms",
    "spread",
    "supporting_inverse",
]


def evaluate(workload: Workload, strategy: Randomiser, prior: np.ndarray | None = None) -> Accuracy:
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
    return dense_accuracy(workload, strategy, prior)


def objective(
    workload: Workload,
    strategy: Randomiser | InvariantStrategy,
    F: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> float:
    """Return L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), the average-case variance in its published scale.

    Whoever compares many strategies on one workload passes F = factor(V) to compute it once. Of an invariant
    strategy on more than 2^53 user types it is L(Q)/n.

    Raises:
        UnsupportedWorkloadError: as `evaluate`.
    """
    if not isinstance(strategy, InvariantStrategy):
        return dense_objective(workload, strategy, F, prior)
    if prior is not None:
        raise ValueError(
            "a prior was given for an invariant strategy, which treats all user types alike: leave it out"
        )
    spectrum = workload.spectrum
    if not isinstance(strategy, JuntaStrategy) or spectrum is None:
        return dense_objective(workload, strategy.dense(), F, None)
    return _spectral(spectrum, strategy) * (strategy.domain_size if strategy.domain_size <= OUTPUTS else 1)


def _spectral(spectrum: Spectrum, strategy: JuntaStrategy) -> float:
    """Return L/n, the sum over characters of v_chi/(n m_chi), each type's at once."""
    fine = spectrum.refined(common((spectrum.groups, strategy.groups)))
    owner = [next(g for g, group in enumerate(strategy.groups) if part[0] in group) for part in fine.groups]
    total = 0.0
    for kind, value, many in zip(fine.types, fine.values, fine.multiplicities, strict=True):
        touched = np.bincount(owner, kind, len(strategy.groups)).astype(int)
        total += value * many * (1 / strategy.eigenvalues(tuple(touched.tolist()))).mean()
    return float(total)
