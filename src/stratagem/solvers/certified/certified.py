"""The certified solver: column generation over two-level rows, with translates as first rows, and a polish."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.math.deadline import deadline
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.column_generation import ColumnGenerationState
from stratagem.solvers.certified.design import project_to_feasible
from stratagem.solvers.certified.polish import STRIDES, Polish
from stratagem.solvers.certified.translates import translated
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Algorithm, Limits, check_limits, check_whole
from stratagem.strategies import Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import DENSE

SHARE = 0.6
"""Share of max_seconds for column generation if the projected gradient polishes the rows afterwards."""
MOVABLE = 0.2
"""Share 1/(1 + E) of the types in optimal patterns up to which translates are better first rows than random fields:
of 1,024 prefixes by 0.5 % above them at epsilon 1, by 3 % below them at 2 and by 24 % at 4."""


@dataclass(frozen=True)
class Certified(Algorithm):
    """Two-level rows from Gaussian fields, optimal weights, and new rows by local search.

    An optimal strategy has rows theta_s s with s in {1, E}^n, and in theta the problem is convex. Random
    patterns with the covariance that attains the weighted bound come within a few percent; each round then
    adds the patterns that the dual multipliers undervalue most, improves the weights and drops idle rows.
    Where `outputs` limits the rows and a matrix can hold them, the projected gradient goes first, from random
    rows, then polishes the two-level rows, then starts again and again from the best matrix so far.

    Raises:
        ValueError: for parameters out of range.

    Example:
        >>> import stratagem as st
        >>> solution = st.optimise(st.prefix(8), epsilon=1.0, solver=st.Certified())
        >>> solution.gap < 0.01
        True
    """

    reference: ClassVar[str] = "@stratagem, A-optimal design over two-level rows, with column generation"
    general: ClassVar[bool] = True
    costly: ClassVar[bool] = True

    outputs: int | None = None
    """Largest number m of rows, at least n; default 1024 sqrt(n), at least 20 n from n = 2622 on.

    Beyond 256 user types patterns that reversing the order of the values leaves as good have mirror images, and by
    default there are twice as many rows: those of 1,024 prefixes at epsilon 1 ended 0.4 % nearer to the optimum so.
    """
    seed: int = 0
    max_steps: int = 40
    """Rounds of column generation."""
    max_seconds: float = math.inf
    tolerance: float = 3e-4
    patience: int = 3
    gap: float = 0.0
    updates: int | None = None
    """Weight updates in a round; default 40 up to n = 64, then 2560/n, at least 8."""
    start: TwoLevelStrategy | None = None
    """A strategy whose patterns join the first patterns where these are small sets; its epsilon may differ."""
    resume: TwoLevelStrategy | None = None
    """A strategy for the same epsilon whose rows replace the first patterns."""
    translated: bool = False
    """Whether the first rows are translates of patterns on a cycle where patterns are small, for many prefixes."""
    polish: bool = True
    """Whether the projected gradient may move rows off the two levels where `outputs` limits their number."""
    restarts: int = 40
    """Number of further starts of the projected gradient after the polish of the two-level rows.

    Each starts from the best matrix so far, with its lightest rows replaced by undervalued ones.
    """

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_whole(
            max_steps=self.max_steps, patience=self.patience, outputs=self.outputs, updates=self.updates
        )
        check_whole(0, seed=self.seed, restarts=self.restarts)
        check_limits(self.max_seconds, tolerance=self.tolerance, gap=self.gap)

    @property
    def limits(self) -> Limits:
        rounds = self._rounds
        if self.outputs is None or not self.polish:
            return rounds
        starts = (2 if self.resume is None else 1) + self.restarts
        return replace(
            rounds, max_steps=self.max_steps + STRIDES, restarts=starts, patience=self.patience + 1
        )

    @property
    def _rounds(self) -> Limits:
        """The conditions under which the rounds of column generation stop."""
        return Limits(self.max_steps, 1, self.tolerance, self.patience, self.max_seconds, self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> ColumnGenerationState | Polish:
        """Return the first state of a start: the first patterns with weights, or a point of the projected gradient.

        Where rows are polished, start 0 runs the projected gradient from random rows (unless `resume` is
        given), the next start polishes two-level rows, and each later start runs the gradient from the best
        matrix so far.

        Raises:
            ValueError: for fewer outputs than user types, or a start for another number of user types.
        """
        self._check_size(problem)
        polishes, part = self._polishes(problem), start if self.resume is None else start + 1
        if polishes and part == 0:
            return Polish.begun(problem, None, self.rows(problem.workload.domain_size), self.seed)
        if best is not None and (not polishes or part > 1):
            return best.renewed(problem, self.seed, start)
        return self._polished(problem, self.columns(problem))

    def columns(self, problem: Problem) -> ColumnGenerationState:
        """Return the first state of column generation, without a polish."""
        self._check_size(problem)
        fresh = self._fresh(problem, np.random.default_rng([self.seed, 0]))
        if self.translated and self.resume is None and 1 / (1 + ratio(problem.epsilon)) <= MOVABLE:
            return translated(problem, fresh, self.seed)
        return fresh.begun(problem, self.start, self.resume)

    def retarget(self, problem: Problem, state: ColumnGenerationState) -> ColumnGenerationState:
        """Return the state for a problem with another workload or prior, from the patterns and weights of `state`."""
        rng = state.search.rng if state.search else np.random.default_rng(self.seed)
        return state.retargeted(self._fresh(problem, rng))

    def advance(
        self, problem: Problem, state: ColumnGenerationState | Polish
    ) -> ColumnGenerationState | Polish:
        """Return the state after one round of column generation, or after some gradient steps of a polish."""
        return self._polished(problem, state.advanced(problem))

    def finish(self, problem: Problem, state: Any) -> Strategy:
        return state.strategy(problem, self.outputs)

    def _fresh(self, problem: Problem, rng: np.random.Generator) -> ColumnGenerationState:
        """Return the state of column generation before the first patterns."""
        n, until = problem.workload.domain_size, deadline()
        until = until.part(SHARE) if self._polishes(problem) else until
        return ColumnGenerationState.fresh(
            problem, self.rows(n), self.outputs, self.weight_updates(n), rng, until
        )

    def _polished(
        self, problem: Problem, state: ColumnGenerationState | Polish
    ) -> ColumnGenerationState | Polish:
        """Return the state, or its polished rows where the rounds of column generation have ended."""
        if self.outputs is None or not self._polishes(problem):
            return state
        settled = state.settled(self._rounds)
        if settled is None:
            return state
        rows = project_to_feasible(settled, problem, self.outputs)
        return Polish.begun(problem, rows, self.outputs, self.seed).advanced(problem)

    def _check_size(self, problem: Problem) -> None:
        """Refuse fewer outputs than user types, and a start for another number of user types."""
        n = problem.workload.domain_size
        if self.outputs is not None and self.outputs < n:
            raise ValueError(
                f"outputs is {self.outputs}; this solver needs at least {n}, one for each user type"
            )
        if self.start is not None and self.start.domain_size != n:
            raise ValueError(f"start has {self.start.domain_size} user types and the workload {n}")

    def _polishes(self, problem: Problem) -> bool:
        """Return whether the projected gradient polishes the rows.

        It needs a limit of `outputs`, no prior, and a matrix of at most `DENSE` entries.
        """
        if not self.polish or self.outputs is None or problem.prior is not None:
            return False
        return self.outputs * problem.workload.domain_size <= DENSE

    def weight_updates(self, n: int) -> int:
        """Return the number of weight updates in a round."""
        return self.updates or int(np.clip(2560 // n, 8, 40))

    def rows(self, n: int) -> int:
        """Return the number of rows to work with."""
        return self.outputs or max(512, int(1024 * math.sqrt(n)), 20 * n)
