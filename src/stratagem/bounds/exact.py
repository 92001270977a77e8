"""The exact optimum of small domains: the design problem over all patterns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from stratagem.bounds.allowance import safe, ulps
from stratagem.bounds.master import solve
from stratagem.bounds.nuclear import total_term
from stratagem.bounds.patterns import sets
from stratagem.bounds.proof import Proof
from stratagem.numeric.linalg import centred_factor
from stratagem.prior import uniform
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
            f"The domain has {n} elements; all patterns are tried up to {LIMIT}: use the nonnegative bound."
        )
    total, seen = total_term(workload, prior), centred(workload, prior)
    size = float(seen.own.sum())
    if not seen.gram.any():
        return safe(total, epsilon)
    X = all_patterns(n)
    try:
        centre = solve(1 + (E - 1) * X[1:-1], seen.gram / size, gap, prior=prior)
    except np.linalg.LinAlgError:  # epsilon about 1e-6: two-level rows are constant rows up to rounding
        return safe(total, epsilon)
    B = np.linalg.solve(centre.information, centred_factor(seen.gram / size, prior))
    G = B @ B.T
    proof = Proof(
        gamma=np.diag(G).copy(),
        avoided=np.diag(np.diag(G)) - G,
        spread=np.zeros(n),
        level=(0.0, 0.0),
        prices=centre.multiplier,
        factor=centred_factor(seen.gram, prior),
        total=total,
        epsilon=epsilon,
        prior=prior,
        ulps=ulps(workload),
    )
    # an unlikely type has h = 0 in a = h^T s: what its own price lacks is added there and not to delta
    S, h = 1 + (E - 1) * X, n * (uniform(n) if prior is None else prior)
    lacking = proof.excess(X.astype(float), proof.gamma) * (S @ h) / S.sum(axis=1)
    return replace(proof, prices=proof.prices + max(0.0, float(lacking.max()))).value


def all_patterns(n: int) -> np.ndarray:
    """Return all 2^n patterns (2^n, n) bool, the empty one first and the full one last."""
    return sets(np.arange(2**n), n).astype(bool)
