"""The published bound."""

from __future__ import annotations

import math

from stratagem.workloads.norm import Norms


def svd(norms: Norms, epsilon: float) -> float:
    """Return (sum_i sigma_i(W))^2/(n E) <= L(Q)/n for every epsilon-LDP strategy Q.

    Proof sketch: d_y >= n q_min gives tr M <= E, and tr(M^-1 V) tr(M) >= (tr V^(1/2))^2 by Cauchy-Schwarz.

    Reference:
        McKenna, Maity, Mazumdar, Miklau, VLDB 2020, Theorem 5.6.
    """
    return norms.whole * norms.whole / math.exp(epsilon)
