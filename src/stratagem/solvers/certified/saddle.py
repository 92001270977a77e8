"""The solver for worst-case objectives: certified designs for a sequence of mixtures of the variances."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.estimators import estimator
from stratagem.math.privacy import uniform
from stratagem.solvers.certified.certified import Certified
from stratagem.solvers.certified.column_generation import ColumnGenerationState
from stratagem.solvers.problem import Average, Minimax, Problem
from stratagem.solvers.solver import Algorithm, Limits, stalled
from stratagem.strategies import Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import mixture

FLOOR = 1e-12
"""Least weight of a variance in a mixture, times k; a multiplicative update cannot change a weight of zero."""
NOISE = 1e-3
"""Relative fall of the mean variance that is accepted, because a design may not be fully optimised."""
CLOSE = 2e-3
"""Relative gap of the largest variance to the lower bound at which the search ends."""
EVEN, LONGER = 1.005, 3
"""Ratio of the largest variance to the best mean above which the patience is longer, and the factor by which it is:
the rate may have to be halved several times before the mean rises."""
SHARES = 65
"""Number of mixing shares of two strategies that are compared."""
BOLDER, FASTEST = 1.25, 4.0
"""Factor by which the rate grows after a mixture whose mean did not fall, and largest rate."""
FINEST = 0.1
"""Rate at or below which a mixture is kept even if its mean falls."""


@dataclass(frozen=True)
class Saddle(Algorithm):
    """Minimisation of the largest of k variances by multiplicative weights over mixtures of them.

    A mixture lambda (k,) is a probability vector over the variances v (k,). The solver first optimises the
    design for the uniform mixture, so the largest variance is never above that of the average case's
    strategy. The next mixture is the one at which the weighted bound is largest. From there on lambda_i <-
    lambda_i (v_i / mean v)^rate, which raises the weight of variances above the mean. After each update a
    round of the certified solver improves the design, whose patterns are kept. A mixture with a smaller mean
    is discarded and the rate halved, else the rate grows. The search ends once the largest variance neither
    falls nor comes nearer to the best mean, from which the final lower bound follows. Every strategy comes
    with the reconstruction that is optimal for its mixture (theory.md, section 7).
    """

    reference: ClassVar[str] = "@stratagem, saddle point by multiplicative weights over certified designs"
    general: ClassVar[bool] = True
    costly: ClassVar[bool] = True

    minimax: Minimax
    inner: Certified = field(default_factory=Certified)
    moves: int = 64
    """Most updates of the mixture."""
    patience: int = 8
    """Number of updates that together must lower the largest variance, or its ratio to the best mean, by the
    share `tolerance`; three times as many while the ratio is above 1.005."""
    tolerance: float = 2e-4

    @property
    def limits(self) -> Limits:
        steps, inner = self.inner.max_steps + self.moves, self.inner
        return Limits(steps, 1, 0.0, steps, inner.max_seconds, inner.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> SaddleState:
        even = self._case(None)
        return self._average(problem, even, self.inner.columns(even), None)

    def advance(self, problem: Problem, state: SaddleState) -> SaddleState:
        """Return the state after one more round: on the uniform mixture until it is solved, then on a new mixture."""
        case = self._case(state.mixture)
        if state.mixture is None or state.best is None:
            return self._average(problem, case, state.round.advanced(case), state)
        answer = self.inner.retarget(case, state.round).advanced(case)
        given = self._answer(answer.strategy(case, self.inner.outputs), case)
        best = state.best.against(Play(state.mixture, given.variances, state.best.rate))
        found = self._between(state.found, given, case).unless(given.unless(state.found))
        trace, ratios = (*state.trace, found.value), (*state.ratios, found.value / best.mean)
        close = found.value <= (1 + CLOSE) * problem.lower_bound
        patience = self.patience if ratios[-1] <= EVEN else LONGER * self.patience
        idle = _idle(trace, patience, self.tolerance) and _idle(ratios, patience, self.tolerance)
        return SaddleState(answer, found, best.onwards(), best, trace, ratios, close or idle)

    def finish(self, problem: Problem, state: SaddleState) -> Strategy:
        return state.found.strategy

    def _answer(self, strategy: TwoLevelStrategy, case: Average) -> PriorAnswer:
        """Return a strategy with its variances (k,) under the reconstruction for a mixture's average case."""
        variances = self.minimax.variances(estimator(strategy, case.prior))
        return PriorAnswer(strategy, case.prior, variances, self.minimax.largest(variances))

    def _between(self, one: PriorAnswer, two: PriorAnswer, case: Average) -> PriorAnswer:
        """Return the mixture of two strategies with the smallest largest variance, or `one` if none is smaller.

        At the saddle point several strategies can be optimal for the mixture of variances, and only a mixture
        of these strategies has equal variances. `one` is also returned if the mixture would have too many
        rows.
        """
        shares = np.linspace(0, 1, SHARES)
        largest = [((1 - share) * one.variances + share * two.variances).max() for share in shares]
        share = float(shares[np.argmin(largest)])
        if not 0 < share < 1:
            return one
        strategy = mixture(one.strategy, two.strategy, share)
        few = strategy.outputs <= self.inner.rows(strategy.domain_size)
        return self._answer(strategy, case) if few else one

    def _case(self, mixture: np.ndarray | None) -> Average:
        """Return the average case of a mixture (k,); None stands for the uniform mixture."""
        return self.minimax.even if mixture is None else self.minimax.mixed(mixture)

    def _average(
        self, problem: Problem, case: Average, answer: ColumnGenerationState, last: SaddleState | None
    ) -> SaddleState:
        """Return the state after a round on the uniform mixture, with the next mixture once the rounds have ended."""
        given = self._answer(answer.strategy(case, self.inner.outputs), case)
        found = given.unless(last and last.found)
        trace = (*(last.trace if last else ()), answer.objective)
        if not (stalled(list(trace), self.inner.limits) or len(trace) > self.inner.max_steps):
            return SaddleState(answer, found, None, None, trace, (), answer.stuck)
        even = Play(uniform(self.minimax.size), given.variances, 1.0)
        first = self.minimax.least_favourable()
        close = found.value <= (1 + CLOSE) * problem.lower_bound
        return SaddleState(answer, found, first, even, (found.value,), (found.value / even.mean,), close)


def _idle(trace: tuple[float, ...], moves: int, tolerance: float) -> bool:
    """Return whether the last `moves` entries of a trace together fell by less than the share `tolerance`."""
    return len(trace) > moves and trace[-1] > (1 - tolerance) * trace[-1 - moves]


@dataclass(frozen=True, eq=False)
class Play:
    """A mixture, the variances of the strategy found for it, both (k,), and the rate of the next update."""

    mixture: np.ndarray
    variances: np.ndarray
    rate: float

    @property
    def mean(self) -> float:
        """The mean variance under the mixture."""
        return float(self.mixture @ self.variances)

    def against(self, other: Play) -> Play:
        """Return `other` with a larger rate, unless its mean is smaller; then this one with half the rate.

        At a rate of at most `FINEST` the other is returned in any case: if even a small step lowers the mean,
        the mean of this one was too large because its design was not fully optimised.
        """
        if other.mean < (1 - NOISE) * self.mean and self.rate > FINEST:
            return replace(self, rate=self.rate / 2)
        return replace(other, rate=min(BOLDER * other.rate, FASTEST))

    def onwards(self) -> np.ndarray:
        """Return the mixture after a multiplicative step towards the large variances."""
        moved = self.mixture * np.maximum(self.variances / self.mean, 0) ** self.rate
        moved = np.maximum(moved / moved.sum(), FLOOR / len(moved))
        return moved / moved.sum()


@dataclass(frozen=True, eq=False)
class PriorAnswer:
    """A strategy and its variances with the reconstruction that is optimal for a prior."""

    strategy: TwoLevelStrategy
    prior: np.ndarray | None
    variances: np.ndarray
    """The variances per user (k,)."""
    value: float
    """The largest variance."""

    def unless(self, other: PriorAnswer | None) -> PriorAnswer:
        """Return this answer if its largest variance is below that of the other, else the other."""
        return self if other is None or self.value < other.value else other


@dataclass(frozen=True, eq=False)
class SaddleState:
    """The state of the search for the saddle point."""

    round: ColumnGenerationState
    """The state of column generation for the most recent mixture."""
    found: PriorAnswer
    """The strategy with the smallest largest variance so far."""
    mixture: np.ndarray | None
    """The next mixture (k,); None while the uniform mixture is being solved."""
    best: Play | None
    """The mixture that the next update starts from; None while the uniform mixture is being solved."""
    trace: tuple[float, ...]
    """Objectives of the rounds on the uniform mixture; after these, the smallest largest variance of each step."""
    ratios: tuple[float, ...]
    """The smallest largest variance over the mean of `best`, for each step after the uniform mixture."""
    stuck: bool

    @property
    def objective(self) -> float:
        """The smallest value of the largest variance so far."""
        return self.found.value

    @property
    def adversary(self) -> np.ndarray:
        """The adversary's best weights (k,), uniform ones before its first step."""
        return self.best.mixture if self.best else uniform(len(self.found.variances))
