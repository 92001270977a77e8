"""The solver of worst cases: the certified design against an adversary who chooses what counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.objective import Minimax
from stratagem.prior import uniform
from stratagem.solvers.certified import Certified, Round
from stratagem.solvers.polish import Polish
from stratagem.solvers.solver import Limits, Problem, Solver, stalled
from stratagem.strategies import Strategy

FLOOR = 1e-12
"""Least share of a mixture, relative to the even one: a variance left out may have to come back."""
NOISE = 1e-3
"""Share of a mean that an unfinished answer may cost the adversary's next play."""
CLOSE = 2e-3
"""Distance from the bound at which the adversary gives up."""


@dataclass(frozen=True)
class Saddle(Solver):
    """Multiplicative weights of an adversary against certified designs, patterns kept throughout.

    First the even mixture is solved in full, so that the result is never worse than the average case's.
    Then the adversary plays the mixture at which the weighted bound is largest, and from there
    lambda_i <- lambda_i (v_i / mean v)^rate: variances above the mean count more. A mixture with a smaller
    mean is taken back and the rate halved. Every strategy comes with the reconstruction that is optimal for
    its mixture.
    """

    reference: ClassVar[str] = "saddle point by multiplicative weights over certified designs"

    aim: Minimax
    inner: Certified = field(default_factory=Certified)
    moves: int = 32
    """Most moves of the adversary."""
    patience: int = 8
    """Moves that together must gain at least `tolerance`."""
    tolerance: float = 2e-4

    @property
    def limits(self) -> Limits:
        """When to stop, apart from the adversary's patience."""
        steps, inner = self.inner.max_steps + self.moves, self.inner
        return Limits(steps, 1, 0.0, steps, inner.max_seconds, inner.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Standing:
        """Begin with the even mixture."""
        even = self._problem(problem, None)
        return self._average(problem, even, _round(self.inner.begin(even, start, None)), ())

    def advance(self, problem: Problem, state: Standing) -> Standing:
        """Go on with the even mixture until it is solved, then answer the adversary."""
        case = self._problem(problem, state.mixture)
        if state.mixture is None or state.best is None:
            return self._average(problem, case, _round(self.inner.advance(case, state.round)), state.trace)
        answer = _round(self.inner.advance(case, self.inner.retarget(case, state.round)))
        strategy = self.inner.finish(case, answer)
        variances = self.aim.variances(strategy, case.prior)
        best = state.best.against(Play(state.mixture, variances, state.best.rate))
        value = self.aim.largest(variances)
        trace = (*state.trace, min(value, state.trace[-1]))
        close = value <= (1 + CLOSE) * problem.lower_bound
        idle = len(trace) > self.patience and trace[-1] > (1 - self.tolerance) * trace[-1 - self.patience]
        return Standing(answer, strategy, case.prior, value, best.onwards(), best, trace, close or idle)

    def finish(self, problem: Problem, state: Standing) -> Strategy:
        """Return the strategy of a state."""
        return state.strategy

    def _problem(self, problem: Problem, mixture: np.ndarray | None) -> Problem:
        """Return the average case of a mixture, None for the even one."""
        case = self.aim.even if mixture is None else self.aim.mixed(mixture)
        return Problem(case.workload, problem.epsilon, problem.lower_bound, case.prior)

    def _average(self, problem: Problem, case: Problem, answer: Round, trace: tuple[float, ...]) -> Standing:
        """Return the standing of a round of the even mixture; once that is solved the adversary may move."""
        strategy = self.inner.finish(case, answer)
        variances = self.aim.variances(strategy, case.prior)
        value, trace = self.aim.largest(variances), (*trace, answer.objective)
        if not (stalled(list(trace), self.inner.limits) or len(trace) > self.inner.max_steps):
            return Standing(answer, strategy, case.prior, value, None, None, trace, answer.stuck)
        even = Play(uniform(self.aim.size), variances, 1.0)
        first = self.aim.least_favourable(problem.epsilon)
        close = value <= (1 + CLOSE) * problem.lower_bound
        return Standing(answer, strategy, case.prior, value, first, even, (value,), close)


def _round(state: Round | Polish) -> Round:
    """Return the state of a solver that does not polish."""
    assert isinstance(state, Round), "the inner solver must not polish"
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
        """Return the other play unless it got less; then this one, to go on more carefully."""
        return other if other.mean >= (1 - NOISE) * self.mean else replace(self, rate=self.rate / 2)

    def onwards(self) -> np.ndarray:
        """Return the mixture after a multiplicative step towards the large variances."""
        moved = self.mixture * np.maximum(self.variances / self.mean, 0) ** self.rate
        moved = np.maximum(moved / moved.sum(), FLOOR / len(moved))
        return moved / moved.sum()


@dataclass(frozen=True, eq=False)
class Standing:
    """A strategy, the prior of its reconstruction and what it is worth."""

    round: Round
    strategy: Strategy
    prior: np.ndarray | None
    objective: float
    """The largest variance."""
    mixture: np.ndarray | None
    """What the adversary plays next (k,); None for the even mixture."""
    best: Play | None
    """The adversary's best play; None before the first."""
    trace: tuple[float, ...]
    """Objectives of the even mixture so far, then the least of the largest variances."""
    stuck: bool
