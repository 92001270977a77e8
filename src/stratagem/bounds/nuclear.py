"""Nuclear norms of a workload, the quantity that every spectral bound is made of."""

from __future__ import annotations

import numpy as np

from stratagem.linalg import centre, eigenvalues
from stratagem.workloads import Workload

NOISE = 1e-12
"""Share of tr V below which what is left of a workload beside the total is rounding."""


def nuclear_norm(workload: Workload) -> float:
    """Return sum_i sigma_i(W), the trace of V^(1/2)."""
    return float(np.sqrt(eigenvalues(workload.gram())).sum())


def centred_nuclear_norm(workload: Workload, prior: np.ndarray | None = None) -> float:
    """Return sum_i sigma_i(W (I - p 1^T) diag(n p)^(1/2)), which is sum_i sigma_i(W P) for p = 1/n."""
    V = centre(workload.gram(), prior)
    if prior is not None:
        root = np.sqrt(len(prior) * prior)
        V = root[:, None] * V * root
    return float(np.sqrt(eigenvalues(V)).sum())


def total_alone(V: np.ndarray) -> bool:
    """Return whether every query is a multiple of the total: all else is rounding, and no report is needed."""
    return float(np.trace(centre(V))) <= NOISE * float(np.trace(V))


def total_term(workload: Workload, prior: np.ndarray | None = None) -> float:
    """Return n p^T V p: what the direction p costs under every strategy, because M (n p) = 1; p = 1/n."""
    V = workload.gram()
    return float(V.sum()) / len(V) if prior is None else len(V) * float(prior @ V @ prior)
