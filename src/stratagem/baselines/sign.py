"""One sign of the user's value, drawn from a table of signs and reported by randomised response."""

from __future__ import annotations

import numpy as np

from stratagem.math.privacy import ratio
from stratagem.strategies.two_level import TwoLevelStrategy, pack


def report_sign(plus: np.ndarray, shares: np.ndarray, epsilon: float) -> TwoLevelStrategy:
    """Draw row k of a table of signs, report (k, the user's sign there), the sign flipped at odds 1 : E.

    With s_k[u] = +-1 and q = (E - 1)/(E + 1): Q[(k, +-), u] = shares_k (1 +- q s_k[u])/2, and every function
    sum_k c_k s_k of the value has the unbiased estimate sum of +-c_k/(shares_k q) over the reports (k, +-).

    Args:
        plus: where the sign is +1 (K x n), boolean.
        shares: probabilities of the rows (K,), summing to one.
        epsilon: the budget.

    Guarantee:
        epsilon-LDP: reports (k, +) and (k, -) take the two probabilities shares_k E/(E + 1) and
        shares_k/(E + 1).

    Reference:
        Warner 1965, on a random binary feature.
    """
    E = ratio(epsilon)
    patterns = np.concatenate([pack(plus), pack(~plus)])
    return TwoLevelStrategy(patterns, np.tile(shares, 2) / (E + 1), plus.shape[1], E)
