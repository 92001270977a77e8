"""A lower bound for strategies that hold few pairs of user types apart, as shuffled reports ask for."""

from __future__ import annotations

import numpy as np

from stratagem.bounds.formulas import root_trace, safe, total_term, ulps
from stratagem.math.linalg import factor
from stratagem.workloads import Workload
from stratagem.workloads.explicit import centred

STEPS = 60
"""Steps in which the weights of pairs are found; every step is a bound."""
PRICES = 400
"""Prices of one pair that are tried."""


def shuffled_bound(workload: Workload, epsilon: float, apart: float) -> float:
    """Return a lower bound on L(Q) of every epsilon-LDP strategy with sum_y theta_y [u in T_y, v not] <= apart.

    With weights mu of the pairs, sum mu = 1, and their Laplacian G, section 4 of theory.md asks for D >= tr(G M):
    tr(G M) = sum_y theta_y c^2 cut(T_y)/(n + c k), and sum_y theta_y cut(T_y) <= 2 apart, sum_y theta_y (n + c k) = n.
    So D = n nu + 2 apart kappa for any kappa, with nu the largest cut (c^2/(n + c k) - kappa)/(n + c k) over all
    sizes k. No set of k types cuts more than (largest eigenvalue of G) k (n - k)/n or than its k largest degrees.

    Source:
        theory.md, section 10.
    """
    n, c = workload.domain_size, np.expm1(epsilon)
    seen = centred(workload)
    F = factor(seen.gram)
    error = ulps(workload) * float(np.trace(seen.gram))
    k = np.arange(n + 1)
    kappa = np.linspace(0, c**2 / n, PRICES)[:, None]
    size = n + c * k
    mu = (np.ones((n, n)) - np.eye(n)) * (2 / (n * (n - 1)))
    best = 0.0
    for _ in range(STEPS):
        degrees = mu.sum(axis=1)
        G = np.diag(degrees) - mu
        top = float(np.linalg.eigvalsh(G)[-1]) * (1 + 1e-9)
        sums = np.append(0.0, np.cumsum(np.sort(degrees)[::-1]))
        cut = np.minimum(top * k * (n - k) / n, np.minimum(sums[k], sums[n - k]))
        nu = np.maximum(cut * (c**2 / size - kappa) / size, 0).max(axis=1)
        D = float((n * nu + 2 * apart * kappa[:, 0]).min())
        values, vectors = np.linalg.eigh(F.T @ G @ F)
        S = root_trace(values, error * top)
        best = max(best, total_term(workload) + S**2 / D)
        values = np.maximum(values, 1e-12 * values[-1])
        K = F @ (vectors / np.sqrt(values)) @ vectors.T @ F.T
        gain = np.diag(K)[:, None] + np.diag(K) - 2 * K
        mu = mu * np.sqrt(np.maximum(gain, 0) / gain.max())
        mu *= 2 / mu.sum()
    return safe(best, epsilon)
