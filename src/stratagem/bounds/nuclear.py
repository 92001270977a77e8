"""Nuclear norms of a workload, the quantity that every spectral bound is made of."""

from __future__ import annotations

import numpy as np

from stratagem.linalg import centre, eigenvalues
from stratagem.workloads import Workload


def nuclear_norm(workload: Workload) -> float:
    """Return sum_i sigma_i(W), the trace of V^(1/2)."""
    return float(np.sqrt(eigenvalues(workload.gram())).sum())


def centred_nuclear_norm(workload: Workload) -> float:
    """Return sum_i sigma_i(W P), P = I - 11^T/n."""
    return float(np.sqrt(eigenvalues(centre(workload.gram()))).sum())


def total_term(workload: Workload) -> float:
    """Return 1^T V 1/n = ||W 1||^2/n: what the direction 1 costs under every strategy, because M 1 = 1."""
    return float(workload.gram().sum()) / workload.domain.size
