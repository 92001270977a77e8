"""Nuclear norms of a workload, the quantity that every spectral bound is made of."""

from __future__ import annotations

import math

import numpy as np

from stratagem.bounds.allowance import root_trace, ulps
from stratagem.bounds.blocks import block_norms
from stratagem.prior import uniform
from stratagem.workloads import Workload
from stratagem.workloads.difference import centred
from stratagem.workloads.harmonics import harmonics
from stratagem.workloads.norm import Norms


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
    V, n, error = workload.gram(), workload.domain.size, ulps(workload)
    p, seen = uniform(n) if prior is None else prior, centred(workload, prior)
    root = np.sqrt(p)
    rest = root_trace(np.linalg.eigvalsh(root[:, None] * seen.gram * root), error * float(p @ seen.own))
    whole = math.nan
    if prior is None:
        whole = root_trace(np.linalg.eigvalsh(V / n), error * float(np.trace(V)) / n)
    return Norms(total_term(workload, prior) / n, whole, rest)


def total_term(workload: Workload, prior: np.ndarray | None = None) -> float:
    """Return n p^T V p: what the direction p costs under every strategy, because M (n p) = 1; p = 1/n."""
    V = workload.gram()
    return float(V.sum()) / len(V) if prior is None else len(V) * float(prior @ V @ prior)
