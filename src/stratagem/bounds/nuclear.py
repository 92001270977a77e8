"""Nuclear norms of a workload, the quantity that every spectral bound is made of."""

from __future__ import annotations

import math

import numpy as np

from stratagem.bounds.blocks import block_norms
from stratagem.numeric.linalg import centre, eigenvalues
from stratagem.workloads import Workload
from stratagem.workloads.harmonics import harmonics
from stratagem.workloads.norm import Norms

NOISE = 1e-12
"""Share of tr V below which what is left of a workload beside the total is rounding."""


def norms(workload: Workload, prior: np.ndarray | None = None) -> Norms:
    """Return ||W 1||^2/n^2 and the nuclear norms of W and W P, both over n^(1/2).

    Under a prior p (n,): p^T V p, nan, as no bound needs it, and W (I - p 1^T) diag(n p)^(1/2) in place of W P.
    Where the workload does not know them: by blocks where some attributes know no order, else by one
    eigendecomposition for each norm.
    """
    known = workload.norms if prior is None else None
    if known is not None:
        return known
    found = harmonics(workload) if prior is None else None
    if found is not None and math.prod(found.grid) < workload.domain_size:
        return block_norms(found)
    V, n = workload.gram(), workload.domain.size
    centred = centre(V, prior)
    if prior is not None:
        root = np.sqrt(n * prior)
        centred = root[:, None] * centred * root
    total = float(V.mean() if prior is None else prior @ V @ prior)
    return Norms(total, _root_trace(V) if prior is None else math.nan, _root_trace(centred))


def _root_trace(V: np.ndarray) -> float:
    """Return tr (V/n)^(1/2) of a positive semidefinite V (n x n)."""
    return float(np.sqrt(eigenvalues(V) / len(V)).sum())


def total_alone(V: np.ndarray) -> bool:
    """Return whether every query is a multiple of the total: all else is rounding, and no report is needed."""
    return float(np.trace(centre(V))) <= NOISE * float(np.trace(V))


def total_term(workload: Workload, prior: np.ndarray | None = None) -> float:
    """Return n p^T V p: what the direction p costs under every strategy, because M (n p) = 1; p = 1/n."""
    V = workload.gram()
    return float(V.sum()) / len(V) if prior is None else len(V) * float(prior @ V @ prior)
