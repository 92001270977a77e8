"""What one output says: the posterior of the count of a group, and what a consumer of counts loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem.counts.closed import Geometric
from stratagem.counts.loss import Aggregate, weights_of
from stratagem.counts.mechanism import CountMechanism
from stratagem.counts.optimum import CountDesign, design
from stratagem.counts.program import Engine
from stratagem.counts.remap import Remap, best_remap


@dataclass(frozen=True, eq=False)
class Consumer:
    """Two ways to serve one consumer: a mechanism made for it, and the geometric one that serves everybody."""

    tailored: CountDesign
    """The private mechanism of least cost."""
    remapped: Remap
    """The geometric mechanism, post-processed as this consumer would."""

    @property
    def excess(self) -> float:
        """Relative excess of the remapped cost over the least possible cost, computed as the gap of a design is."""
        return self.tailored.excess(self.remapped.cost)

    def __str__(self) -> str:
        """Return two lines with the costs of both mechanisms."""
        return (
            f"made for this consumer: {self.tailored.loss} {self.tailored.cost:.6f}, "
            f"bound {self.tailored.bound:.6f}\n"
            f"geometric, remapped:    {self.tailored.loss} {self.remapped.cost:.6f}"
        )


def serve(
    size: int,
    alpha: float | str | Fraction | None = None,
    loss: str | Sequence | np.ndarray = "L0",
    prior: Sequence[float] | np.ndarray | None = None,
    *,
    epsilon: float | None = None,
    aggregate: Aggregate = "sum",
    solver: Engine = "HIGHS",
) -> Consumer:
    """Return the optimum for one consumer beside the geometric mechanism with the best post-processing.

    Universal optimality: for every prior over the counts and every loss that never falls as |i - j| grows,
    both cost the same, so one release of the geometric mechanism serves all consumers at their own optimum
    (losses that rise at different rates on both sides of the count showed no exception either).
    A minimax consumer (aggregate "max"), who knows only which counts are possible, needs random answers.

    The parameters are those of `design`; aggregate "sum" is the Bayesian consumer, "max" the minimax one.

    Raises:
        ValueError: for parameters out of range, or n > 512.
        RuntimeError: if the solver fails.

    Reference:
        Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", STOC 2009;
        Gupte, Sundararajan, "Universally optimal privacy mechanisms for minimax agents", PODS 2010.

    Example:
        >>> from stratagem import counts
        >>> consumer = counts.serve(4, "10/11", "L1", prior=[1, 4, 6, 4, 1])
        >>> consumer.excess < 1e-8
        True
    """
    found = design(size, alpha, loss, epsilon=epsilon, prior=prior, aggregate=aggregate, solver=solver)
    remapped = best_remap(
        Geometric(found.mechanism.size, found.mechanism.alpha), loss, prior, aggregate=aggregate
    )
    return Consumer(found, remapped)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The distribution of a group's count after its output is known."""

    probabilities: np.ndarray
    """Posterior probabilities of the counts 0..n, of shape (n+1,), with sum 1."""

    @property
    def mean(self) -> float:
        """The expected count, which has the least expected squared error."""
        return float(self.probabilities @ np.arange(len(self.probabilities)))

    @property
    def mode(self) -> int:
        """The likeliest count, the smallest of several."""
        return int(np.argmax(self.probabilities))


def posterior(
    mechanism: CountMechanism, output: int, prior: Sequence[float] | np.ndarray | None = None
) -> Posterior:
    """Return Pr[count j | output i] = w_j P[i, j] / sum_j' w_j' P[i, j'], by Bayes' rule; no matrix is made.

    Args:
        mechanism: What made the output.
        output: A whole number from 0 to n.
        prior: Weights w of the counts (n+1,) before the output is known; uniform by default.

    Raises:
        ValueError: for an output outside 0..n, a prior that is not n + 1 weights, or an output that no count
            of positive weight can have.

    Example:
        >>> from stratagem import counts
        >>> posterior(counts.geometric(8, 0.5), 3, [0, 0, 0, 0, 0, 1, 1, 0, 0]).mode
        5
    """
    weights = weights_of(prior, mechanism.size)
    with np.errstate(divide="ignore"):
        joint = np.log(weights) + mechanism.log_likelihood(output)
    if not np.isfinite(joint.max()):
        raise ValueError(
            f"output {output} cannot come from any count that the prior allows: give weight to other counts"
        )
    joint = np.exp(joint - joint.max())
    return Posterior(joint / joint.sum())
