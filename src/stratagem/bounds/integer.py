"""The closed-form bound with whole pattern sizes."""

from __future__ import annotations

import math

from stratagem.workloads.norm import Norms


def integer(norms: Norms, n: int, epsilon: float) -> float:
    """Return ||W 1||^2/n^2 + (sum_i sigma_i(W P))^2/n / (n max_k g(k) - 1) <= L(Q)/n.

    g(k) = (k E^2 + n - k)/(k E + n - k)^2 is ||s||^2/(1^T s)^2 for a pattern s with k entries E, so
    tr M <= n max_k g(k) over the whole numbers k; attained by subset selection on histograms.
    """
    return norms.total + spread(n, epsilon) * norms.centred * norms.centred


def spread(n: int, epsilon: float) -> float:
    """Return 1/(n max_k g(k) - 1), zero for n = 1 where 1^perp is empty."""
    return 0.0 if n == 1 else 1 / pattern_information(n, epsilon, pattern_size(n, epsilon))


def pattern_size(n: int, epsilon: float) -> int:
    """Return the whole k with the largest g(k), n >= 2: next to the real maximum at n/(1 + E)."""
    below = math.floor(n / (2 + math.expm1(epsilon)))
    return max((k for k in (below, below + 1) if 0 < k < n), key=lambda k: pattern_information(n, epsilon, k))


def pattern_information(n: int, epsilon: float, k: int) -> float:
    """Return n g(k) - 1 = c^2 f (1 - f)/(1 + c f)^2, f = k/n and c = E - 1, so written that nothing cancels.

    It is tr(M) - 1 of a strategy whose patterns all have k of the n user types.
    """
    c, f = math.expm1(epsilon), k / n
    return c**2 * f * (1 - f) / (1 + c * f) ** 2
