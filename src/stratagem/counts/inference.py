"""What one output says about the count of its group, given a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stratagem.counts.loss import weights_of
from stratagem.counts.mechanism import CountMechanism


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
            f"output {output} cannot come from any count that the prior allows; give weight to other counts."
        )
    joint = np.exp(joint - joint.max())
    return Posterior(joint / joint.sum())
