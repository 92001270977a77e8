"""The exact optimum of small domains: the design problem over all patterns."""

from __future__ import annotations

import math

import numpy as np

from stratagem.bounds.allowance import safe, ulps
from stratagem.bounds.certificate import Certificate
from stratagem.bounds.master import solve
from stratagem.bounds.nuclear import total_term
from stratagem.privacy import check
from stratagem.workloads import Workload
from stratagem.workloads.difference import centred

LIMIT = 10
"""Largest domain: 2^10 patterns, a minute or less."""


def exact(workload: Workload, epsilon: float, gap: float = 1e-7, prior: np.ndarray | None = None) -> float:
    """Return the least L(Q) of all epsilon-LDP strategies, from below to a relative gap, under a prior (n,).

    Splitting rows into two-level patterns never raises L, so the optimum is a convex program over the 2^n - 2
    patterns (theory: one Cholesky-based interior-point method, module master). The number is a certificate
    evaluated at every pattern, hence a lower bound whatever the solver did.

    Raises:
        ValueError: if epsilon is out of range or the domain has more than 10 elements.

    Example:
        >>> import stratagem as st
        >>> round(exact(st.prefix(4), 2.0), 3)
        14.11
    """
    n, E = workload.domain.size, math.exp(check(epsilon))
    if n > LIMIT:
        raise ValueError(
            f"The domain has {n} elements; all patterns are tried up to {LIMIT}: use pricing instead."
        )
    return safe(total_term(workload, prior) + _beside_total(workload, E, gap, prior), epsilon)


def _beside_total(workload: Workload, E: float, gap: float, prior: np.ndarray | None) -> float:
    """Return the least tr(M^-1 A V A^T), A = I - 1 p^T, for queries of size one: M (n p) = 1 settles the total."""
    seen, X = centred(workload, prior), all_patterns(workload.domain_size)
    size = float(seen.own.sum())
    if not seen.gram.any():
        return 0.0
    V = seen.gram / size
    try:
        centre = solve(1 + (E - 1) * X[1:-1], V, gap, prior=prior)
    except np.linalg.LinAlgError:  # epsilon about 1e-6: two-level rows are constant rows up to rounding
        return 0.0
    error = ulps(workload) / float(np.trace(V))
    certificate = Certificate.of(V, centre.information, centre.multiplier, E, prior, error)
    slack = certificate.slack
    lower = (slack.values(X) - slack.rounding[X.sum(axis=1)]) / slack.lengths[X.sum(axis=1)]
    return certificate.value(float(lower.min())) * size


def all_patterns(n: int) -> np.ndarray:
    """Return all 2^n patterns (2^n, n) bool, the empty one first and the full one last."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
