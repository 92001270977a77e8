"""Count programs in the local model.

Every user holds one of n + 1 values and randomises it alone: a channel Q (m outputs x n+1 user types) with
Q[y, j] <= exp(eps) Q[y, j'] for all j, j'. `design(..., reach=n)` solves the square case m = n + 1; under L0
it returns randomised response (thesis, section 6.8).

More outputs cannot help a loss of a single answer: whoever decides i = d(y) and pays C[i, j] pays what the
merged channel P[i, j] = sum of Q[y, j] over d(y) = i pays. P is square, its rows are sums of rows that keep
within exp(eps), so it keeps within it too, and it is a candidate of the square program; random decisions are
mixtures of such. `merged` carries that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from stratagem.counts.exact import Whole
from stratagem.counts.loss import Loss, weights_of
from stratagem.counts.mechanism import CountMechanism
from stratagem.counts.optimum import REACHES
from stratagem.counts.remap import best_answers, gathered
from stratagem.counts.table import worst_ratio
from stratagem.math.number import integer


def reach_ratio(mechanism: CountMechanism, reach: int) -> Fraction:
    """Return the largest ratio of two entries of a row at most `reach` counts apart, exactly.

    At most exp(eps) for a mechanism that is (reach, eps)-LLDP (limited-precision local DP); reach n is
    eps-LDP, reach 1 central eps-DP.

    Raises:
        ValueError: unless reach is a whole number from 1 to n, or if a zero faces a positive number.
    """
    reach = integer(reach, "reach", 1, mechanism.size, REACHES)
    cells, total = mechanism.whole()
    pairs = [(cells[:, :-step].ravel(), cells[:, step:].ravel()) for step in range(1, reach + 1)]
    return max(worst_ratio(Whole(np.column_stack(pair), total)) for pair in pairs)


def merged(
    channel: np.ndarray,
    loss: str | Sequence | np.ndarray = "L0",
    prior: Sequence[float] | np.ndarray | None = None,
) -> np.ndarray:
    """Return the square channel (n+1 x n+1) of a channel Q (m x n+1) whose outputs become their best answers.

    P[i, j] = sum of Q[y, j] over the outputs y whose answer of least posterior expected loss is i: the
    expected loss is that of Q with its best decoder, the largest ratio in a row no larger.

    Raises:
        ValueError: unless Q holds probabilities with columns that sum to one, for at least two user types,
            and loss and prior fit them.
    """
    from stratagem.strategies import MatrixStrategy

    Q = MatrixStrategy(channel).matrix
    n = Q.shape[1] - 1
    if n < 1:
        raise ValueError("the channel has one column; a decision needs at least two user types")
    return gathered(Q, best_answers(Q, Loss.of(loss, n), weights_of(prior, n)))
