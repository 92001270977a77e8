"""The solver of worst cases: the certified design against an adversary who chooses what counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.objective import Minimax
from stratagem.prior import uniform
from stratagem.solvers.certified.certified import Certified
from stratagem.solvers.certified.column_generation import ColumnGenerationState
from stratagem.solvers.certified.polish import Polish
from stratagem.solvers.solver import Limits, Problem, Solver, stalled
from stratagem.strategies import Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import mixture

FLOOR = 1e-12
"""Least share of a mixture, relative to the even one: a variance left out may have to come back."""
NOISE = 1e-3
"""Share of a mean that an unfinished answer may cost the adversary's next play."""
CLOSE = 2e-3
"""Distance from the bound at which the adversary gives up."""
EVEN, LONGER = 1.005, 3
"""Largest variance over the best mean beyond which the adversary has more patience, and how many times more: its
rate may have to be halved again and again before a play gets more."""
SHARES = 65
"""Mixtures of two answers that are compared."""
BOLDER, FASTEST = 1.25, 4.0
"""Growth of the rate after a play that did not get less, and its limit."""
FINEST = 0.1
"""Rate from which on a play is not taken back."""


@dataclass(frozen=True)
class Saddle(Solver):
    """Multiplicative weights of an adversary against certified designs, patterns kept throughout.

    First the even mixture is solved in full, so that the result is never worse than the average case's.
    Then the adversary plays the mixture at which the weighted bound is largest, and from there
    lambda_i <- lambda_i (v_i / mean v)^rate: variances above the mean count more. A mixture with a smaller
    mean is taken back and the rate halved, else the rate grows. The game ends once the largest variance
    neither falls nor comes nearer to the best mean, which is what the final bound is made of. Every strategy comes
    with the reconstruction that is optimal for its mixture (theory.md, section 7).
    """

    reference: ClassVar[str] = "@stratagem, saddle point by multiplicative weights over certified designs"

    aim: Minimax
    inner: Certified = field(default_factory=Certified)
    moves: int = 64
    """Most moves of the adversary."""
    patience: int = 8
    """Moves that together must lower the largest variance, or bring it nearer to the mean, by `tolerance`, once the
    variances are nearly even."""
    tolerance: float = 2e-4

    @property
    def limits(self) -> Limits:
        """When to stop, apart from the adversary's patience."""
        steps, inner = self.inner.max_steps + self.moves, self.inner
        return Limits(steps, 1, 0.0, steps, inner.max_seconds, inner.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> SaddleState:
        """Begin with the even mixture."""
        even = self._problem(problem, None)
        return self._average(problem, even, _round(self.inner.begin(even, start, None)), None)

    def advance(self, problem: Problem, state: SaddleState) -> SaddleState:
        """Go on with the even mixture until it is solved, then answer the adversary."""
        case = self._problem(problem, state.mixture)
        if state.mixture is None or state.best is None:
            return self._average(problem, case, _round(self.inner.advance(case, state.round)), state)
        answer = _round(self.inner.advance(case, self.inner.retarget(case, state.round)))
        strategy = self.inner.finish(case, answer)
        given = self._answer(strategy, case.prior)
        best = state.best.against(Play(state.mixture, given.variances, state.best.rate))
        found = self._between(state.found, given).unless(given.unless(state.found))
        trace, ratios = (*state.trace, found.value), (*state.ratios, found.value / best.mean)
        close = found.value <= (1 + CLOSE) * problem.lower_bound
        patience = self.patience if ratios[-1] <= EVEN else LONGER * self.patience
        idle = _idle(trace, patience, self.tolerance) and _idle(ratios, patience, self.tolerance)
        return SaddleState(answer, found, best.onwards(), best, trace, ratios, close or idle)

    def finish(self, problem: Problem, state: SaddleState) -> Strategy:
        """Return the strategy of a state."""
        return state.found.strategy

    def _answer(self, strategy: Strategy, prior: np.ndarray | None) -> Answer:
        """Return a strategy with what it is worth."""
        variances = self.aim.variances(strategy, prior)
        return Answer(strategy, prior, variances, self.aim.largest(variances))

    def _between(self, one: Answer, two: Answer) -> Answer:
        """Return the two answers mixed for the least of the largest variance: between them it may be lower.

        At the best mixture several answers can be optimal, and only a mixture of them has even variances.
        """
        shares = np.linspace(0, 1, SHARES)
        largest = [((1 - share) * one.variances + share * two.variances).max() for share in shares]
        share, first, second = float(shares[np.argmin(largest)]), one.strategy, two.strategy
        if not (
            0 < share < 1 and isinstance(first, TwoLevelStrategy) and isinstance(second, TwoLevelStrategy)
        ):
            return one
        strategy = mixture(first, second, share)
        few = strategy.outputs <= self.inner.rows(strategy.domain_size)
        return self._answer(strategy, two.prior) if few else one

    def _problem(self, problem: Problem, mixture: np.ndarray | None) -> Problem:
        """Return the average case of a mixture, None for the even one."""
        case = self.aim.even if mixture is None else self.aim.mixed(mixture)
        return Problem(case.workload, problem.epsilon, problem.lower_bound, case.prior)

    def _average(
        self, problem: Problem, case: Problem, answer: ColumnGenerationState, last: SaddleState | None
    ) -> SaddleState:
        """Return the standing of a round of the even mixture; once that is solved the adversary may move."""
        strategy = self.inner.finish(case, answer)
        given = self._answer(strategy, case.prior)
        found = given.unless(last and last.found)
        trace = (*(last.trace if last else ()), answer.objective)
        if not (stalled(list(trace), self.inner.limits) or len(trace) > self.inner.max_steps):
            return SaddleState(answer, found, None, None, trace, (), answer.stuck)
        even = Play(uniform(self.aim.size), given.variances, 1.0)
        first = self.aim.least_favourable(problem.epsilon)
        close = found.value <= (1 + CLOSE) * problem.lower_bound
        return SaddleState(answer, found, first, even, (found.value,), (found.value / even.mean,), close)


def _idle(trace: tuple[float, ...], moves: int, tolerance: float) -> bool:
    """Return whether the last moves together gained too little."""
    return len(trace) > moves and trace[-1] > (1 - tolerance) * trace[-1 - moves]


def _round(state: ColumnGenerationState | Polish) -> ColumnGenerationState:
    """Return the state of a solver that does not polish."""
    assert isinstance(state, ColumnGenerationState), "the inner solver must not polish"
    return state


@dataclass(frozen=True, eq=False)
class Play:
    """A mixture and the variances of the answer to it, both (k,)."""

    mixture: np.ndarray
    variances: np.ndarray
    rate: float

    @property
    def mean(self) -> float:
        """What the adversary got."""
        return float(self.mixture @ self.variances)

    def against(self, other: Play) -> Play:
        """Return the other play, to go on more boldly, unless it got less; then this one, more carefully.

        Where even a small step gets less, this one owed its mean to an unfinished answer.
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
class Answer:
    """A strategy with the reconstruction of a prior."""

    strategy: Strategy
    prior: np.ndarray | None
    variances: np.ndarray
    """(k,)"""
    value: float
    """The largest variance."""

    def unless(self, other: Answer | None) -> Answer:
        """Return this answer unless the other is no worse."""
        return self if other is None or self.value < other.value else other


@dataclass(frozen=True, eq=False)
class SaddleState:
    """Where the game stands."""

    round: ColumnGenerationState
    """The answer to the mixture played last."""
    found: Answer
    """The best of them all."""
    mixture: np.ndarray | None
    """What the adversary plays next (k,); None for the even mixture."""
    best: Play | None
    """The adversary's best play; None before the first."""
    trace: tuple[float, ...]
    """Objectives of the even mixture so far, then the least of the largest variances."""
    ratios: tuple[float, ...]
    """The latter over the adversary's best mean, which falls where either improves."""
    stuck: bool

    @property
    def objective(self) -> float:
        """The least of the largest variances so far."""
        return self.found.value
