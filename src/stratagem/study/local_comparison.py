"""The square local count program beside rectangular channels, which gain where many reports are combined.

The variance of an unbiased reconstruction is no loss of a single answer, so that more outputs than user types
can help it (`counts.merged` shows that they cannot help such a loss).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem import counts
from stratagem.counts.exact import log_decay
from stratagem.estimators import Accuracy, UnsupportedWorkloadError, evaluate
from stratagem.io.screen import brief
from stratagem.solvers import Solver
from stratagem.strategies import MatrixStrategy
from stratagem.study.optimisation import optimise
from stratagem.study.solution import Solution
from stratagem.workloads import histogram
from stratagem.workloads.given import WorkloadLike, workload_of


@dataclass(frozen=True, eq=False)
class LocalComparison:
    """The square program and the optimised rectangular channel on one workload, both eps-LDP."""

    __repr__ = brief

    square: counts.CountDesign
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
    workload: WorkloadLike | None = None,
    prior: Sequence[float] | np.ndarray | None = None,
    solver: Solver | None = None,
) -> LocalComparison:
    """Return the square local program beside the rectangular channel that the strategy optimiser finds.

    Args:
        size: n; users hold one of n + 1 values, 0 to n.
        alpha: exp(-epsilon), between 0 and 1; give this or epsilon.
        loss: what the square program minimises, as in `design`.
        epsilon: the privacy budget, instead of alpha.
        workload: what is to be estimated from all reports, as in `optimise`; by default the histogram of the values.
        prior: weights of the values (n+1), for both; uniform by default. The square program gives no answer to a value
            that is much rarer than others, and then reconstructs nothing about it.
        solver: of the strategy optimiser, as in `optimise`.

    Raises:
        ValueError: for parameters out of range or a workload of another domain size.
        RuntimeError: if the linear program's solver fails.

    Reference:
        Kulkarni's thesis (Warwick), section 6.8; McKenna et al., VLDB 2020.

    Example:
        >>> import stratagem as st
        >>> found = st.study.rectangular(7, epsilon=1.0)
        >>> found.gain > 1.02
        True
    """
    square = counts.design(size, alpha, loss, epsilon=epsilon, prior=prior, reach=size)
    asked = workload_of(histogram(size + 1) if workload is None else workload, default=lambda: size + 1)
    budget = epsilon if epsilon is not None else -log_decay(square.mechanism.alpha)
    weights = None if prior is None else np.asarray(prior, dtype=float)
    channel = MatrixStrategy(square.mechanism.matrix)
    try:
        accuracy = evaluate(asked, channel, weights)
    except UnsupportedWorkloadError:
        accuracy = None
    return LocalComparison(square, accuracy, optimise(asked, budget, solver, prior=weights))
