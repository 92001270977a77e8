"""The closed-form bound with whole pattern sizes."""

from __future__ import annotations

import math

import numpy as np

from stratagem.bounds.nuclear import centred_nuclear_norm, total_term
from stratagem.workloads import Workload


def integer(workload: Workload, epsilon: float) -> float:
    """Return ||W 1||^2/n + (sum_i sigma_i(W P))^2 / (n max_k g(k) - 1) <= L(Q).

    g(k) = (k E^2 + n - k)/(k E + n - k)^2 is ||s||^2/(1^T s)^2 for a pattern s with k entries E, so
    tr M <= n max_k g(k) over the whole numbers k; attained by subset selection on histograms.
    """
    return total_term(workload) + spread(workload.domain.size, epsilon) * centred_nuclear_norm(workload) ** 2


def spread(n: int, epsilon: float) -> float:
    """Return 1/(n max_k g(k) - 1), zero for n = 1 where 1^perp is empty.

    n g(k) - 1 = c^2 f (1 - f)/(1 + c f)^2 with f = k/n and c = E - 1, written so that nothing cancels; its
    real maximum is at f = 1/(1 + E), and on either side of that the whole k next to it is best.
    """
    if n == 1:
        return 0.0
    c = math.expm1(epsilon)
    below = math.floor(n / (2 + c))
    f = np.array([k for k in (below, below + 1) if 0 < k < n]) / n
    return 1 / float((c**2 * f * (1 - f) / (1 + c * f) ** 2).max())
