"""The closed-form bound: one eigendecomposition."""

from __future__ import annotations

import math

from stratagem.bounds.nuclear import centred_nuclear_norm, total_term
from stratagem.workloads import Workload


def closed(workload: Workload, epsilon: float) -> float:
    """Return ||W 1||^2/n + 4E/(E - 1)^2 (sum_i sigma_i(W P))^2 <= L(Q), P = I - 11^T/n.

    Proof sketch: an optimal row is theta s with s in {1, E}^n, so s_i^2 = (1 + E) s_i - E and, with
    kappa = (1 + E)^2/(4E), ||s||^2 <= kappa (1^T s)^2/n; summing over rows, tr M <= kappa. Since M 1 = 1,
    at most kappa - 1 = (E - 1)^2/(4E) is left on 1^perp, where Cauchy-Schwarz for the nuclear norm ends it.
    """
    return total_term(workload) + centred_nuclear_norm(workload) ** 2 / math.sinh(epsilon / 2) ** 2
