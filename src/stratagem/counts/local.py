"""Count programs in the local model, and the rectangular channels that go beyond them.

Every user holds one of n + 1 values and randomises it alone: a channel Q (m outputs x n+1 user types) with
Q[y, j] <= exp(eps) Q[y, j'] for all j, j'. `design(..., reach=n)` solves the square case m = n + 1; under L0
it returns randomised response (thesis, section 6.8).

More outputs cannot help a loss of a single answer: whoever decides i = d(y) and pays C[i, j] pays what the
merged channel P[i, j] = sum of Q[y, j] over d(y) = i pays. P is square, its rows are sums of rows that keep
within exp(eps), so it keeps within it too, and it is a candidate of the square program; random decisions are
mixtures of such. `merged` carries that out. They do help where many reports are combined: the variance of an
unbiased reconstruction is no loss of a single answer. That is the strategy optimiser's problem, and
`rectangular` poses it beside the square program. It is the only function of the package `counts` that
calls the strategy optimiser, through the public names of stratagem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from stratagem.counts.decay import log_decay
from stratagem.counts.exact import Whole
from stratagem.counts.loss import Loss, weights_of
from stratagem.counts.mechanism import CountMechanism
from stratagem.counts.optimum import REACHES, CountDesign, design
from stratagem.counts.remap import best_answers, gathered
from stratagem.counts.table import worst_ratio
from stratagem.number import integer

if TYPE_CHECKING:
    from stratagem.accuracy import Accuracy
    from stratagem.solvers import Auto, Solver
    from stratagem.study.solution import Solution
    from stratagem.workloads import Workload


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
        raise ValueError("the channel has one column; a decision needs at least two user types.")
    return gathered(Q, best_answers(Q, Loss.of(loss, n), weights_of(prior, n)))


@dataclass(frozen=True, eq=False)
class LocalComparison:
    """The square program and the optimised rectangular channel on one workload, both eps-LDP."""

    square: CountDesign
    """The channel with as many outputs as user types that has the least expected loss."""
    accuracy: Accuracy | None
    """Accuracy of the square channel on the workload; None if the channel cannot answer it without bias."""
    rectangular: Solution
    """The strategy of least variance, with any number of outputs."""

    @property
    def objective(self) -> float:
        """L(Q) of the square channel on the workload, infinite where it cannot answer it."""
        return math.inf if self.accuracy is None else self.accuracy.objective

    @property
    def gain(self) -> float:
        """L of the square channel / L of the rectangular one: above 1 where more outputs help."""
        return self.objective / self.rectangular.objective

    def __str__(self) -> str:
        """Return two lines with the number of outputs and the objective of both channels."""
        return (
            f"square      {self.square.mechanism.size + 1} outputs, objective {self.objective:.6g}\n"
            f"rectangular {self.rectangular.strategy.outputs} outputs, "
            f"objective {self.rectangular.objective:.6g}: {self.gain:.4g} times less"
        )


def rectangular(
    size: int,
    alpha: float | str | Fraction | None = None,
    loss: str | Sequence | np.ndarray = "L0",
    *,
    epsilon: float | None = None,
    workload: Workload | None = None,
    prior: Sequence[float] | np.ndarray | None = None,
    solver: Solver | Auto | None = None,
) -> LocalComparison:
    """Return the square local program beside the rectangular channel that the strategy optimiser finds.

    Args:
        size: n; users hold one of n + 1 values, 0 to n.
        alpha: exp(-epsilon), between 0 and 1; give this or epsilon.
        loss: what the square program minimises, as in `design`.
        epsilon: the privacy budget, instead of alpha.
        workload: what is to be estimated from all reports; the histogram of the n + 1 values by default.
        prior: weights of the values (n+1), for both; uniform by default. The square program gives no answer
            to a value that is much rarer than others, and then reconstructs nothing about it.
        solver: of the strategy optimiser, as in `optimise`.

    Raises:
        ValueError: for parameters out of range or a workload of another domain size.
        RuntimeError: if the linear program's solver fails.

    Reference:
        Kulkarni's thesis (Warwick), section 6.8; McKenna et al., VLDB 2020.

    Example:
        >>> from stratagem import counts
        >>> found = counts.rectangular(7, epsilon=1.0)
        >>> found.gain > 1.02
        True
    """
    import stratagem as st

    square = design(size, alpha, loss, epsilon=epsilon, prior=prior, reach=size)
    workload = st.histogram(size + 1) if workload is None else workload
    budget = epsilon if epsilon is not None else -log_decay(square.mechanism.alpha)
    weights = None if prior is None else np.asarray(prior, dtype=float)
    channel = st.MatrixStrategy(square.mechanism.matrix)
    try:
        accuracy = st.evaluate(workload, channel, weights)
    except st.UnsupportedWorkloadError:
        accuracy = None
    return LocalComparison(square, accuracy, st.optimise(workload, budget, solver, prior=weights))
