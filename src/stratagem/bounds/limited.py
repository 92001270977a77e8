"""A lower bound for strategies that keep to a limit besides their epsilon."""

from __future__ import annotations

import numpy as np

from stratagem.bounds.formulas import Rule, root_trace, safe, ulps
from stratagem.math.deadline import deadline
from stratagem.math.linalg import factor
from stratagem.workloads import Workload
from stratagem.workloads.centring import centred, total_term

CONSTRAINED = Rule(
    "constrained", "for strategies that keep to the constraint besides epsilon", "@stratagem", 12
)
STEPS = 60
"""Steps in which the weights of pairs are found; every step is a bound."""
PRICES = 400
"""Prices of the limit that are tried."""


def limited_bound(
    workload: Workload, epsilon: float, *, apart: float | None = None, guess: float | None = None
) -> float:
    """Return a lower bound on L(Q) of every epsilon-LDP strategy under a limit, one of two.

    `apart` limits a_uv = sum_y theta_y [u in T_y, v not], `guess` limits sum_y theta_y [u not in T_y], for all types.

    With weights mu of the pairs, sum mu = 1, and their Laplacian G, section 4 of theory.md asks for D >= tr(G M):
    tr(G M) = sum_y theta_y c^2 cut(T_y)/(n + c k), sum_y theta_y (n + c k) = n, and the limit is
    sum_y theta_y cut(T_y) <= 2 apart or sum_y theta_y (1 - k/n) <= guess. So D = n nu + kappa times the limit, for
    any price kappa, nu the largest (c^2 cut/(n + c k) - kappa cut or (1 - k/n))/(n + c k) over all sizes k.

    Source:
        theory.md, sections 10 and 11.
    """
    n, c = workload.domain_size, np.expm1(epsilon)
    seen = centred(workload)
    F = factor(seen.gram)
    if not F.shape[1]:  # the queries ask for the total alone
        return safe(total_term(workload), epsilon)
    error = ulps(workload) * float(np.trace(seen.gram))
    k = np.arange(1, n)
    size = n + c * k
    mu = (np.ones((n, n)) - np.eye(n)) * (2 / (n * (n - 1)))
    best = 0.0
    for _ in range(STEPS):
        G = np.diag(mu.sum(axis=1)) - mu
        top = float(np.linalg.eigvalsh(G)[-1]) * (1 + 1e-9)
        cut = largest_cuts(np.diag(G), top)
        gained = c**2 * cut / size
        used, limit = (1 - k / n, guess) if apart is None else (cut, 2 * apart)
        assert limit is not None, "one limit is given"
        kappa = np.linspace(0, float((gained / used).max()), PRICES)[:, None]
        nu = np.maximum((gained - kappa * used) / size, 0).max(axis=1)
        values, vectors = np.linalg.eigh(F.T @ G @ F)
        S = root_trace(values, error * top)
        best = max(best, total_term(workload) + S**2 / float((n * nu + limit * kappa[:, 0]).min()))
        values = np.maximum(values, 1e-12 * values[-1])
        K = F @ (vectors / np.sqrt(values)) @ vectors.T @ F.T
        gain = np.diag(K)[:, None] + np.diag(K) - 2 * K
        if best > 0 and deadline().over:
            break
        mu = mu * np.sqrt(np.maximum(gain, 0) / gain.max())
        mu *= 2 / mu.sum()
    return safe(best, epsilon)


def largest_cuts(degrees: np.ndarray, top: float) -> np.ndarray:
    """Return what sets of k types cut at most (n - 1,), k = 1, ..., n - 1, by degrees and the largest eigenvalue of G.

    No such set cuts more than top k (n - k)/n, or than the k largest degrees.
    """
    n, k = len(degrees), np.arange(1, len(degrees))
    sums = np.cumsum(np.sort(degrees)[::-1])
    return np.minimum(top * k * (n - k) / n, np.minimum(sums[k - 1], sums[n - k - 1]))
