"""The certified solver: a direct construction, convex weights and column generation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.bounds.nuclear import total_term
from stratagem.bounds.weighted import WeightedDual, weighted_dual
from stratagem.linalg import centre, factor
from stratagem.privacy import ratio
from stratagem.solvers.design import Arithmetic, Design, exact
from stratagem.solvers.patterns import (
    EXHAUSTIVE,
    all_patterns,
    distinct,
    field_factor,
    gaussian_patterns,
    juntas,
    published_patterns,
)
from stratagem.solvers.solver import Limits, Problem, Solver
from stratagem.strategies import TwoLevelStrategy

DOUBLE = 128
"""Domain size up to which products with all rows are made in double precision."""
TARGET_STEPS = 6
"""Steps of the weighted bound: a target for random fields needs no more."""
NOISE = 1e-12
"""Share of tr V below which what is left of a workload beside the total is rounding."""
SEED = 0.1
"""Probability given to the patterns that a round adds."""
NEGLIGIBLE = 1e-6
"""Total probability of the rows that a round may drop."""


@dataclass(frozen=True)
class Certified(Solver):
    """Two-level rows from Gaussian fields, optimal weights, and new rows by local search.

    An optimal strategy has rows theta_s s with s in {1, E}^n, and in theta the problem is convex. Random
    patterns with the covariance that attains the weighted bound come within a few percent; each round then
    adds the patterns that the dual multipliers undervalue most, improves the weights and drops idle rows.

    Raises:
        ValueError: for parameters out of range.

    Example:
        >>> import stratagem as st
        >>> solution = st.optimise(st.prefix(8), epsilon=1.0, solver=st.Certified())
        >>> solution.gap < 0.01
        True
    """

    reference: ClassVar[str] = "A-optimal design over two-level rows, with column generation"

    outputs: int | None = None
    """Largest number m of rows, at least n; default 1024 sqrt(n)."""
    seed: int = 0
    max_steps: int = 40
    """Rounds of column generation."""
    max_seconds: float = math.inf
    tolerance: float = 3e-4
    patience: int = 3
    gap: float = 0.0
    updates: int | None = None
    """Weight updates in a round; default 40 up to n = 64, then 2560/n, at least 6."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        whole = {"max_steps": self.max_steps, "patience": self.patience}
        optional = {"outputs": self.outputs, "updates": self.updates}
        whole |= {name: value for name, value in optional.items() if value is not None}
        for name, value in whole.items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value!r}; give a whole number of at least 1.")
        if not (self.tolerance >= 0 and self.gap >= 0 and self.max_seconds > 0):
            raise ValueError("tolerance and gap must be at least 0 and max_seconds above 0.")

    @property
    def limits(self) -> Limits:
        """When to stop."""
        return Limits(self.max_steps, 1, self.tolerance, self.patience, self.max_seconds, self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Round:
        """Build the first patterns and their weights."""
        n = problem.workload.domain_size
        if self.outputs is not None and self.outputs < n:
            raise ValueError(
                f"outputs is {self.outputs}; this solver needs at least {n}, one for each user type."
            )
        total, scale, tools = self._tools(problem, np.random.default_rng([self.seed, start]))
        if tools is None:
            return Round(None, total, 0.0, None)
        patterns = self._first(problem, tools)
        design = tools.numbers.improved(patterns, np.ones(len(patterns)), None, self._updates(n))
        return Round(self._limited(tools, design), total, scale, tools)

    def retarget(self, problem: Problem, state: Round) -> Round:
        """Return the round of another workload or prior, with the patterns and probabilities of this one."""
        rng = state.tools.rng if state.tools else np.random.default_rng(self.seed)
        total, scale, tools = self._tools(problem, rng)
        if tools is None or state.design is None:
            return Round(None, total, 0.0, None)
        design = state.design
        steps = max(4, self._updates(len(design.nu)) // 4)
        return Round(tools.numbers.improved(design.patterns, design.p, None, steps), total, scale, tools)

    def _tools(self, problem: Problem, rng: np.random.Generator) -> tuple[float, float, Tools | None]:
        """Return n p^T V p, tr V_c and what every round uses; nothing where the total is all that is asked."""
        n = problem.workload.domain_size
        F = factor(centre(problem.gram, problem.prior))
        total = total_term(problem.workload, problem.prior)
        scale = float(np.square(F).sum())
        if n == 1 or scale <= NOISE * np.trace(problem.gram):
            return total, 0.0, None
        E = ratio(problem.epsilon)
        precision = "float64" if n <= DOUBLE else "float32"
        numbers = Arithmetic(F / math.sqrt(scale), E - 1, precision, problem.shares)
        target = weighted_dual(problem.workload, problem.epsilon, TARGET_STEPS, problem.prior)
        return total, scale, Tools(numbers, target, field_factor(target.information), E, rng)

    def advance(self, problem: Problem, state: Round) -> Round:
        """Add undervalued patterns, improve all weights, drop idle rows."""
        if state.design is None or state.tools is None:
            return state
        tools, design = state.tools, state.design
        new = self._undervalued(tools, design)
        patterns = np.concatenate([design.patterns, new])
        share = SEED / max(1, len(new)) if len(new) else 0.0
        p = np.concatenate([design.p * (1 - share * len(new)), np.full(len(new), share)])
        improved = self._limited(
            tools, tools.numbers.improved(patterns, p, design, self._updates(len(design.nu)))
        )
        return replace(state, design=improved)

    def finish(self, problem: Problem, state: Round) -> TwoLevelStrategy:
        """Return the strategy with columns that sum to one exactly."""
        n = problem.workload.domain_size
        if state.design is None:
            return TwoLevelStrategy(np.zeros((1, -(-n // 8)), dtype=np.uint8), np.ones(1), n, 1.0)
        return exact(state.design, ratio(problem.epsilon), problem.shares)

    def _updates(self, n: int) -> int:
        """Return the number of weight updates in a round."""
        return self.updates or int(np.clip(2560 // n, 6, 40))

    def _rows(self, n: int) -> int:
        """Return the number of rows to work with."""
        return self.outputs or max(512, int(1024 * math.sqrt(n)))

    def _first(self, problem: Problem, tools: Tools) -> np.ndarray:
        """Return the first patterns: all of them on small domains, else random and published ones."""
        domain, n = problem.workload.domain, problem.workload.domain_size
        if n <= EXHAUSTIVE:
            return all_patterns(n)
        count = max(self._rows(n), 8 * n)
        families = [np.eye(n, dtype=bool), published_patterns(n), tools.fields(count)]
        if len(domain.sizes) > 1:
            families.append(juntas(domain.sizes, tools.E, count // 4, tools.rng))
        return distinct(np.concatenate(families))

    def _undervalued(self, tools: Tools, design: Design) -> np.ndarray:
        """Return new patterns of positive score, the best first."""
        n = design.patterns.shape[1]
        count = int(np.clip(16 * n, 256, 2048))
        support = tools.rng.choice(len(design.p), count // 2, p=design.p / design.p.sum())
        shaken = design.patterns[support] ^ (tools.rng.random((len(support), n)) < 1.0 / n)
        starts = np.concatenate([tools.fields(count - len(support)), shaken])
        found, score = tools.numbers.priced(design, starts, 8)
        order = np.argsort(-score)
        order = order[score[order] > 1e-6]
        return distinct(found[order], design.patterns)[: max(64, self._rows(n) // 4)]

    def _limited(self, tools: Tools, design: Design) -> Design:
        """Drop the rows that hardly matter, and as many more as `outputs` asks for, a third at a time."""
        order = np.argsort(-design.p)
        needed = int(np.searchsorted(np.cumsum(design.p[order]), 1 - NEGLIGIBLE)) + 1
        limit = self._rows(design.patterns.shape[1])
        keep = np.sort(order[: min(needed, max(limit, 2 * len(order) // 3))])
        kept = replace(design, patterns=design.patterns[keep], p=design.p[keep])
        if needed <= len(keep):
            return kept
        improved = tools.numbers.improved(
            kept.patterns, kept.p, kept, max(4, self._updates(len(design.nu)) // 4)
        )
        return self._limited(tools, improved) if len(keep) > limit else improved


@dataclass(frozen=True, eq=False)
class Tools:
    """What every round of one start uses."""

    numbers: Arithmetic
    target: WeightedDual
    factor: np.ndarray
    """Factor of the covariance of the random fields (n x r)."""
    E: float
    rng: np.random.Generator

    def fields(self, count: int) -> np.ndarray:
        """Return random patterns (count x n) with the target's covariance."""
        return gaussian_patterns(self.target, self.factor, self.E, count, self.rng)


@dataclass(frozen=True, eq=False)
class Round:
    """Where the search stands after a round."""

    design: Design | None
    """None if every strategy is optimal because the workload asks for the total alone."""
    total: float
    """n p^T V p, what the total costs under every strategy."""
    scale: float
    """tr V_c: the design works with V_c divided by it."""
    tools: Tools | None

    @property
    def objective(self) -> float:
        """L(Q) of the design."""
        return self.total + (self.scale * self.design.value if self.design else 0.0)

    @property
    def stuck(self) -> bool:
        """Whether nothing is left to improve."""
        return self.design is None
