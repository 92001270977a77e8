"""The certified solver: a direct construction, convex weights and column generation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.bounds.proof import all_patterns
from stratagem.math.deadline import RATE, deadline
from stratagem.math.privacy import ratio
from stratagem.problem import Problem
from stratagem.solvers.certified.design import (
    Arithmetic,
    ColumnGenerationState,
    Design,
    SearchContext,
    project_to_feasible,
    uncompiled,
)
from stratagem.solvers.certified.patterns import (
    EXHAUSTIVE,
    SPREAD,
    distinct,
    field_factor,
    juntas,
    published_patterns,
    translates,
)
from stratagem.solvers.certified.polish import STRIDES, Polish, descended, descent, reached, renewed
from stratagem.solvers.floor import answering
from stratagem.solvers.orbit.orbit import Orbit
from stratagem.solvers.solver import Algorithm, Limits, check_limits, check_whole
from stratagem.strategies import Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import DENSE, unpack
from stratagem.workloads.centring import total_term

DOUBLE = 128
"""Domain size up to which products with all rows are computed in double precision."""
SEED = 0.1
"""Total probability given to the patterns that a round adds."""
SHARE = 0.6
"""Share of max_seconds for column generation if the projected gradient polishes the rows afterwards."""
NEGLIGIBLE = 1e-6
"""Total probability of the rows that a round may drop."""


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

    outputs: int | None = None
    """Largest number m of rows, at least n; default 1024 sqrt(n), at least 20 n from n = 2622 on."""
    seed: int = 0
    max_steps: int = 40
    """Rounds of column generation."""
    max_seconds: float = math.inf
    tolerance: float = 3e-4
    patience: int = 3
    gap: float = 0.0
    updates: int | None = None
    """Weight updates in a round; default 40 up to n = 64, then 2560/n, at least 6."""
    start: TwoLevelStrategy | None = None
    """A strategy whose patterns join the first patterns where these are small sets; its epsilon may differ."""
    resume: TwoLevelStrategy | None = None
    """A strategy for the same epsilon whose rows replace the first patterns."""
    translated: bool = False
    """Whether the first rows may be translates of patterns on a cycle, as for ranges of many values."""
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
        if self.outputs is None or not self.polish:
            return Limits(self.max_steps, 1, self.tolerance, self.patience, self.max_seconds, self.gap)
        steps, patience = self.max_steps + STRIDES, self.patience + 1
        starts = (2 if self.resume is None else 1) + self.restarts
        return Limits(steps, starts, self.tolerance, patience, self.max_seconds, self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> ColumnGenerationState | Polish:
        """Return the first state of a start: the first patterns with weights, or a point of the projected gradient.

        Where rows are polished, start 0 runs the projected gradient from random rows (unless `resume` is
        given), the next start polishes two-level rows, and each later start runs the gradient from the best
        matrix so far.

        Raises:
            ValueError: for fewer outputs than user types, or a start for another number of user types.
        """
        n = problem.workload.domain_size
        if self.outputs is not None and self.outputs < n:
            raise ValueError(
                f"outputs is {self.outputs}; this solver needs at least {n}, one for each user type"
            )
        if self.start is not None and self.start.domain_size != n:
            raise ValueError(f"start has {self.start.domain_size} user types and the workload {n}")
        polishes, part = self._polishes(problem), start if self.resume is None else start + 1
        if polishes and part == 0:
            return descent(problem, None, self.rows(n), self.seed)
        if polishes and part > 1 and isinstance(best, Polish):
            return renewed(problem, best, self.seed, start)
        if best is not None and (not polishes or part > 1):
            return replace(best, closed=True)
        fresh = self._fresh(problem, np.random.default_rng([self.seed, 0]))
        if fresh.tools is None:
            return fresh
        if self.resume is None:
            patterns = self._first(problem, fresh.tools)
            p, optimum = np.ones(len(patterns)), problem.duals.exact
            if optimum is not None and optimum.probabilities is not None:
                listed = Design(patterns, optimum.probabilities, 1.0, np.zeros(n), math.nan)
                fresh = replace(fresh, listed=listed)
        else:
            patterns, p = unpack(self.resume.patterns, n), self.resume.row_sums
        first = self._next(problem, fresh, patterns, p)
        return self._translated(problem, fresh, first) if self.translated else first

    def _translated(
        self, problem: Problem, fresh: ColumnGenerationState, first: ColumnGenerationState | Polish
    ) -> ColumnGenerationState | Polish:
        """Return the state with the translates that `Orbit` finds if their objective is lower, else `first`."""
        orbit, accuracy = Orbit(seed=self.seed).solve(problem.workload, problem.epsilon)
        if accuracy.objective >= first.objective:
            return first
        return self._next(problem, fresh, *translates(orbit, self.rows(orbit.domain_size)))

    def retarget(self, problem: Problem, state: ColumnGenerationState) -> ColumnGenerationState:
        """Return the state for a problem with another workload or prior, from the patterns and weights of `state`."""
        rng = state.tools.rng if state.tools else np.random.default_rng(self.seed)
        fresh = self._fresh(problem, rng)
        if fresh.tools is None or state.design is None:
            return replace(fresh, closed=True)
        design, numbers = state.design, fresh.tools.numbers
        steps = self.weight_updates(numbers.n)
        steps = steps if numbers.n <= EXHAUSTIVE else max(4, steps // 4)
        return replace(fresh, design=numbers.improved(design.patterns, design.p, None, steps))

    def _fresh(self, problem: Problem, rng: np.random.Generator) -> ColumnGenerationState:
        """Return the state before the first patterns; it is closed if the workload contains the total alone."""
        n = problem.workload.domain_size
        F = problem.factor
        total = total_term(problem.workload, problem.prior)
        scale = float(np.square(F).sum())
        if not F.any():
            return ColumnGenerationState(None, total, 0.0, None, closed=True)
        E, precision = ratio(problem.epsilon), "float64" if n <= DOUBLE else "float32"
        numbers = Arithmetic(F / math.sqrt(scale), E - 1, precision, problem.shares, uncompiled(n))
        until = deadline().part(SHARE) if self._polishes(problem) else deadline()
        field = field_factor(problem.target.information)
        context = SearchContext(numbers, problem.target, field, E, rng, until)
        return ColumnGenerationState(None, total, scale, context)

    def advance(
        self, problem: Problem, state: ColumnGenerationState | Polish
    ) -> ColumnGenerationState | Polish:
        """Return the state after one round of column generation, or after some gradient steps of a polish.

        A round adds undervalued patterns, improves all weights and drops rows of negligible weight.
        """
        if isinstance(state, Polish):
            return descended(problem, state)
        if state.design is None or state.tools is None:
            return state
        if state.listed is not None and not np.isfinite(state.design.p).all():
            return replace(state, design=state.listed, closed=True)
        design, new = state.design, self._undervalued(state.tools, state.design)
        share = SEED / max(1, len(new))
        p = np.concatenate([design.p * (1 - share * len(new)), np.full(len(new), share)])
        return self._next(problem, state, np.concatenate([design.patterns, new]), p)

    def finish(self, problem: Problem, state: Any) -> Strategy:
        n = problem.workload.domain_size
        if isinstance(state, Polish):
            return reached(problem, state)
        if state.design is None:
            return TwoLevelStrategy(np.zeros((1, -(-n // 8)), dtype=np.uint8), np.ones(1), n, 1.0)
        E = ratio(problem.epsilon)
        designs = [state.design, *([] if state.listed is None else [state.listed])]
        found = [project_to_feasible(one, E, problem.shares, self.outputs) for one in designs]
        return answering(problem, found, self.outputs)

    def _next(
        self, problem: Problem, state: ColumnGenerationState, patterns: np.ndarray, p: np.ndarray
    ) -> ColumnGenerationState | Polish:
        """Return the state with improved weights for patterns (m x n), starting from probabilities p (m,).

        Where rows are polished and the rounds have ended, the polished rows are returned instead.
        """
        tools, n = state.tools, patterns.shape[1]
        assert tools is not None
        design = tools.numbers.improved(patterns, p, state.design, self.weight_updates(n), tools.until)
        design = self._limited(tools, design)
        state = replace(state, design=design, trace=(*state.trace, design.value))
        if self.outputs is None or not self._polishes(problem) or not self._exhausted(state, tools):
            return state
        rows = project_to_feasible(design, tools.E, problem.shares, self.outputs)
        return descended(problem, descent(problem, rows, self.outputs, self.seed))

    def _exhausted(self, state: ColumnGenerationState, tools: SearchContext) -> bool:
        """Return whether the rounds of column generation end: by gain, by number or by time."""
        trace, late = state.trace, tools.until.over
        if late or len(trace) > self.max_steps:
            return True
        back = trace[-1 - self.patience :][0] - trace[-1]
        return len(trace) > self.patience and back < self.tolerance * trace[-1]

    def _polishes(self, problem: Problem) -> bool:
        """Return whether the projected gradient polishes the rows.

        It needs a limit of `outputs`, no prior, and a matrix of at most `DENSE` entries.
        """
        if not self.polish or self.outputs is None or problem.prior is not None:
            return False
        return self.outputs * problem.workload.domain_size <= DENSE

    def weight_updates(self, n: int) -> int:
        """Return the number of weight updates in a round."""
        return self.updates or int(np.clip(2560 // n, 6, 40))

    def rows(self, n: int) -> int:
        """Return the number of rows to work with."""
        return self.outputs or max(512, int(1024 * math.sqrt(n)), 20 * n)

    def _first(self, problem: Problem, tools: SearchContext) -> np.ndarray:
        """Return the first patterns (m x n): all patterns on small domains, else random and published ones.

        Little time means few patterns: two weight updates of all should fit into what is left.
        """
        domain, n = problem.workload.domain, problem.workload.domain_size
        if n <= EXHAUSTIVE:
            return all_patterns(n)[1:-1]
        count = max(self.rows(n), 8 * n)
        count = int(max(2 * n, min(count, tools.until.left * RATE / (2 * n**2))))
        families = [np.eye(n, dtype=bool), published_patterns(n)]
        if len(domain.sizes) > 1:
            families.append(juntas(domain.sizes, tools.E, count // 4, tools.rng))
        if self.start is not None and n < SPREAD * (1 + tools.E):
            families.append(self.start.high_sets(count // 2))
            count -= len(families[-1])
        families.append(tools.fields(count))
        return distinct(np.concatenate(families))

    def _undervalued(self, tools: SearchContext, design: Design) -> np.ndarray:
        """Return new patterns (k x n) of positive score, in order of falling score."""
        n = design.patterns.shape[1]
        if not np.isfinite(design.p).all():
            raise FloatingPointError("the weights of a design left double precision")
        count = int(np.clip(16 * n, 256, 2048))
        drawn = tools.rng.choice(len(design.p), count // 2, p=design.p / design.p.sum())
        shaken = design.patterns[drawn] ^ (tools.rng.random((len(drawn), n)) < 1.0 / n)
        starts = np.concatenate([tools.fields(count - len(drawn)), shaken])
        found, score = tools.numbers.priced(design, starts, 8, tools.until)
        order = np.argsort(-score)
        order = order[score[order] > 1e-6]
        return distinct(found[order], design.patterns)[: max(64, self.rows(n) // 4)]

    def _limited(self, tools: SearchContext, design: Design) -> Design:
        """Return the design without rows of negligible weight and with at most `rows(n)` rows.

        At most a third of the rows is dropped at a time, with weight updates in between, as long as there is time.
        """
        order = np.argsort(-design.p)
        needed = int(np.searchsorted(np.cumsum(design.p[order]), 1 - NEGLIGIBLE)) + 1
        limit = self.rows(design.patterns.shape[1])
        late = tools.until.over
        keep = np.sort(order[: min(needed, limit if late else max(limit, 2 * len(order) // 3))])
        kept = replace(design, patterns=design.patterns[keep], p=design.p[keep])
        if late or needed <= min(limit, len(keep)):
            return kept
        improved = tools.numbers.improved(
            kept.patterns, kept.p, kept, max(4, self.weight_updates(len(design.nu)) // 4), tools.until
        )
        return self._limited(tools, improved) if len(keep) > limit else improved
