"""The published bound."""

from __future__ import annotations

import math

from stratagem.bounds.nuclear import nuclear_norm
from stratagem.workloads import Workload


def svd(workload: Workload, epsilon: float) -> float:
    """Return (sum_i sigma_i(W))^2 / E <= L(Q) for every epsilon-LDP strategy Q.

    Proof sketch: d_y >= n q_min gives tr M <= E, and tr(M^-1 V) tr(M) >= (tr V^(1/2))^2 by Cauchy-Schwarz.

    Reference:
        McKenna, Maity, Mazumdar, Miklau, VLDB 2020, Theorem 5.6.
    """
    return nuclear_norm(workload) ** 2 / math.exp(epsilon)
