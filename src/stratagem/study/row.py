"""The rows of a comparison: a mechanism each, with its objective, its variances and what a report is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import user_counts
from stratagem.study.ranking import OPTIMISED, Contender, ten_digits
from stratagem.study.solution import Solution
from stratagem.workloads import Workload

ALPHA = 0.01
"""Normalised variance for which sample complexities are stated."""
DETAILED = 4096
"""Largest number of user types for which the bound for given data is computed, which takes a minute."""


@dataclass(frozen=True)
class Row:
    """One mechanism of a comparison."""

    mechanism: str
    """Name of the baseline, or of the strategy that was found."""
    parameters: str
    """Tuned parameters in words; for the optimised strategy, the solver that found it."""
    objective: float
    """L(Q) = tr(M^+ V), or the objective that was asked for."""
    worst_case_variance: float
    """Total variance added by one user of the least favourable type."""
    sample_complexity: float
    """Users needed for worst-case normalised variance 0.01, the measure of the literature."""
    epsilon: float
    """Epsilon of the mechanism as measured from its probabilities."""
    outputs: int | None
    """Number of possible reports; None for a protocol, whose reports are sets, hashes or real vectors."""
    report: str
    """What one user sends, in a few words."""
    delta: float = 0.0
    """Probability with which the loss may exceed epsilon; 0 for pure epsilon-LDP."""
    error: float | None = None
    """Expected error of an answer on the data, root mean square, in users; None without data."""

    @property
    def value(self) -> float:
        """The number that rows are sorted by: the error on the data, or the objective without data."""
        return self.objective if self.error is None else self.error

    @property
    def optimised(self) -> bool:
        """Whether this is the strategy that was found."""
        return self.mechanism == OPTIMISED


def check_data(data: ArrayLike, workload: Workload) -> np.ndarray:
    """Return a data vector (n,) as an array."""
    n = workload.domain_size
    if n > DETAILED:
        raise ValueError(
            f"data were given for {n} user types, but the bound on their error is computed for at most "
            f"{DETAILED}: use fewer and wider bins"
        )
    return user_counts(data, n)


def row_of(mechanism: str, parameters: str, found: Solution | Contender) -> Row:
    """Return the row of a mechanism of this name."""
    one, exact = found.strategy, found.accuracy
    variances = found.objective, exact.worst_case_variance, exact.samples_for(ALPHA)
    outputs = one.outputs if one.runnable else None
    return Row(mechanism, parameters, *variances, one.epsilon, outputs, one.report, one.delta)


def ranked(rows: list[Row]) -> tuple[Row, ...]:
    """Return the rows, the least value first."""
    return tuple(sorted(rows, key=lambda row: ten_digits(row.value)))
