"""One row of a comparison: a mechanism, its error and what one user sends."""

from __future__ import annotations

from dataclasses import dataclass

from stratagem.study.ranking import OPTIMISED


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
