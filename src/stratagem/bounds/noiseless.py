"""The objective of a mechanism without noise."""

from __future__ import annotations

import numpy as np

from stratagem.workloads import Workload


def noiseless(workload: Workload, prior: np.ndarray | None = None) -> float:
    """Return tr V <= L(Q), n sum_u p_u V_uu under a prior p; per user type where nobody can count the domain.

    Proof: L(Q) = n sum_u p_u (t_u + V_uu), and no variance t_u is negative. At large epsilon it is attained up
    to terms of order 1/E, where bounds that shrink like 1/E leave nothing.
    """
    if prior is None:
        return workload.mean_square * workload.scale
    return workload.domain_size * float(prior @ np.diag(workload.gram()))
