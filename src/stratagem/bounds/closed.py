"""The closed-form bound: from the nuclear norm of the workload alone."""

from __future__ import annotations

import math

from stratagem.workloads.norm import Norms


def closed(norms: Norms, epsilon: float) -> float:
    """Return ||W 1||^2/n^2 + 4E/(E - 1)^2 (sum_i sigma_i(W P))^2/n <= L(Q)/n, P = I - 11^T/n.

    For a prior p: p^T V p + 4E/(E - 1)^2 (sum_i sigma_i(W (I - p 1^T) diag(n p)^(1/2)))^2/n <= L(Q)/n.

    Proof sketch: an optimal row is theta s with s in {1, E}^n, so s_i^2 = (1 + E) s_i - E and, with
    kappa = (1 + E)^2/(4E), ||s||^2 <= kappa (1^T s)^2/n; summing over rows, tr M <= kappa. Since M 1 = 1,
    at most kappa - 1 = (E - 1)^2/(4E) is left on 1^perp, where Cauchy-Schwarz for the nuclear norm ends it.
    A prior replaces ||s||^2 by sum_u p_u s_u^2 <= kappa (p^T s)^2: the weighted bound with weights p.
    """
    spread = norms.centred / math.sinh(epsilon / 2)
    return norms.total + spread * spread
