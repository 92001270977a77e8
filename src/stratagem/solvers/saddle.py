"""The solver of worst cases: the certified design against an adversary who chooses what counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from stratagem.objective import Minimax
from stratagem.solvers.certified import Certified, Round
from stratagem.solvers.solver import Limits, Problem, Solver, stalled
from stratagem.strategies import TwoLevelStrategy

FLOOR = 1e-12
"""Least share of a mixture, relative to the even one: a variance left out may have to come back."""
CLOSE = 2e-3
"""Distance from the bound at which the adversary gives up."""


@dataclass(frozen=True)
class Saddle(Solver):
    """Multiplicative weights of an adversary against certified designs, patterns kept throughout.

    First the even mixture is solved in full, so that the result is never worse than the average case's.
    Then the adversary plays the mixture at which the weighted bound is largest, and from there
    lambda_i <- lambda_i v_i / mean(v): variances above the mean count more. Every strategy comes with the
    reconstruction that is optimal for its mixture.
    """

    reference: ClassVar[str] = "saddle point by multiplicative weights over certified designs"

    aim: Minimax
    inner: Certified = field(default_factory=Certified)
    moves: int = 24
    """Most moves of the adversary."""
    patience: int = 8
    tolerance: float = 2e-4

    @property
    def limits(self) -> Limits:
        """When to stop."""
        steps, inner = self.inner.max_steps + self.moves, self.inner
        return Limits(steps, 1, self.tolerance, self.patience, inner.max_seconds, inner.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Standing:
        """Begin with the even mixture."""
        even = self._problem(problem, None)
        return self._standing(problem, even, self.inner.begin(even, start, None), None, ())

    def advance(self, problem: Problem, state: Standing) -> Standing:
        """Go on with the even mixture until it is solved, then answer the adversary."""
        case = self._problem(problem, state.mixture)
        if state.mixture is None:
            return self._standing(problem, case, self.inner.advance(case, state.round), None, state.trace)
        answer = self.inner.advance(case, self.inner.retarget(case, state.round))
        return self._standing(problem, case, answer, state.mixture, state.trace)

    def finish(self, problem: Problem, state: Standing) -> TwoLevelStrategy:
        """Return the strategy of a state."""
        return state.strategy

    def _problem(self, problem: Problem, mixture: np.ndarray | None) -> Problem:
        """Return the average case of a mixture, None for the even one."""
        case = self.aim.even if mixture is None else self.aim.mixed(mixture)
        return Problem(case.workload, problem.epsilon, problem.lower_bound, case.prior)

    def _standing(
        self,
        problem: Problem,
        case: Problem,
        answer: Round,
        played: np.ndarray | None,
        trace: tuple[float, ...],
    ) -> Standing:
        """Measure an answer and choose the next mixture, None as long as the even one is unsolved."""
        strategy = self.inner.finish(case, answer)
        variances = self.aim.variances(strategy, case.prior)
        value, trace = self.aim.largest(variances), (*trace, answer.objective)
        mixture = None
        if played is not None:
            mixture = _reweighed(played, variances)
        elif stalled(list(trace), self.inner.limits) or len(trace) > self.inner.max_steps:
            mixture = self.aim.least_favourable(problem.epsilon)
        close = mixture is not None and value <= (1 + CLOSE) * problem.lower_bound
        return Standing(answer, strategy, case.prior, value, mixture, trace, answer.stuck or close)


def _reweighed(mixture: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the mixture after a multiplicative step towards the large variances."""
    moved = np.maximum(mixture * variances / (mixture @ variances), FLOOR / len(mixture))
    return moved / moved.sum()


@dataclass(frozen=True, eq=False)
class Standing:
    """A strategy, the prior of its reconstruction and what it is worth."""

    round: Round
    strategy: TwoLevelStrategy
    prior: np.ndarray | None
    objective: float
    """The largest variance."""
    mixture: np.ndarray | None
    """What the adversary plays next (k,); None for the even mixture."""
    trace: tuple[float, ...]
    """Objectives of the averages so far."""
    stuck: bool
