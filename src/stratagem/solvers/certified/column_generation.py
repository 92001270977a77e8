"""Column generation over two-level rows, the first stage of `Certified` (theory.md, sections 3 and 5).

1. First patterns: all of them up to 12 user types; beyond, random fields with the covariance that attains the weighted
   bound, which come within a few per cent, and fixed families (`patterns`).
2. Weights of given patterns: the convex design problem, by a monotone majorisation (`weights`).
3. A round adds the patterns that the prices of these weights undervalue most (`patterns`), improves all weights, and
   drops rows of negligible weight. At the end `project_to_feasible` makes column sums one (`design`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from stratagem.bounds.duals import WeightedDual
from stratagem.bounds.proof import all_patterns
from stratagem.math.deadline import RATE, Deadline
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.design import PLAIN, Arithmetic, Design, project_to_feasible
from stratagem.solvers.certified.patterns import (
    EXHAUSTIVE,
    SPREAD,
    distinct,
    field_factor,
    gaussian_patterns,
    juntas,
    published_patterns,
)
from stratagem.solvers.floor import answering, mixed_patterns
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Limits, stalled
from stratagem.strategies import TwoLevelStrategy
from stratagem.strategies.two_level import unpack
from stratagem.workloads.centring import total_term

DOUBLE = 128
"""Domain size up to which products with all rows are computed in double precision."""
SEED = 0.1
"""Total probability given to the patterns that a round adds."""
SEARCHES = 1536, 32
"""Local searches of a round beyond `PLAIN` user types, and moves of each. On prefixes of 1,024 values 2,048 searches of
8 moves ended 0.2 % higher in the same time, 2,048 of 48 moves 0.5 % higher."""
NEGLIGIBLE = 1e-6
"""Total probability of the rows that a round may drop."""


@dataclass(frozen=True, eq=False)
class ColumnGeneration:
    """The numbers of one problem that all rounds share, and the parts of a round."""

    numbers: Arithmetic
    target: WeightedDual
    factor: np.ndarray
    """Factor L (n x r) of the covariance L L^T of the Gaussian fields that random patterns come from."""
    E: float
    rng: np.random.Generator
    until: Deadline
    """When the search for rows ends."""
    rows: int
    """Number of patterns to work with."""
    updates: int
    """Weight updates in a round."""

    def fields(self, count: int) -> np.ndarray:
        """Return random patterns (count x n) with the covariance of the target's information matrix."""
        return gaussian_patterns(self.target, self.factor, self.E, count, self.rng)

    def first(self, sizes: tuple[int, ...], start: TwoLevelStrategy | None) -> np.ndarray:
        """Return the first patterns (m x n): all patterns on small domains, else random and published ones.

        Little time means few patterns: two weight updates of all should fit into what is left.
        """
        n = self.numbers.n
        if n <= EXHAUSTIVE:
            return all_patterns(n)[1:-1]
        count = max(self.rows, 8 * n)
        count = int(max(2 * n, min(count, self.until.left * RATE / (2 * self.numbers.work))))
        families = [np.eye(n, dtype=bool), published_patterns(n)]
        if len(sizes) > 1:
            families.append(juntas(sizes, self.E, count // 4, self.rng))
        if start is not None and n < SPREAD * (1 + self.E):
            families.append(start.high_sets(count // 2))
            count -= len(families[-1])
        families.append(self.fields(count))
        return distinct(self.numbers.oriented(np.concatenate(families)))

    def weighed(self, patterns: np.ndarray, p: np.ndarray, near: Design | None) -> Design:
        """Return patterns (m x n) with improved weights, from probabilities p (m,), without light rows."""
        return self._limited(self.numbers.improved(patterns, p, near, self.updates, self.until))

    def undervalued(self, design: Design) -> np.ndarray:
        """Return new patterns (k x n) of positive score, in order of falling score."""
        n = self.numbers.n
        if not np.isfinite(design.p).all():
            raise FloatingPointError("the weights of a design left double precision")
        count, moves = SEARCHES if n > PLAIN else (int(np.clip(16 * n, 256, 2048)), 8)
        drawn = self.rng.choice(len(design.p), count // 2, p=design.p / design.p.sum())
        shaken = design.patterns[drawn] ^ (self.rng.random((len(drawn), n)) < 1.0 / n)
        starts = np.concatenate([self.fields(count - len(drawn)), shaken])
        found, score = self.numbers.priced(design, starts, moves, self.until)
        order = np.argsort(-score)
        order = order[score[order] > 1e-6]
        return distinct(self.numbers.oriented(found[order]), design.patterns)[: max(64, self.rows // 4)]

    def _limited(self, design: Design) -> Design:
        """Return the design without rows of negligible weight and with at most `rows` rows.

        At most a third of the rows is dropped at a time, with weight updates in between, as long as there is time.
        """
        order = np.argsort(-design.p)
        needed = int(np.searchsorted(np.cumsum(design.p[order]), 1 - NEGLIGIBLE)) + 1
        late = self.until.over
        keep = np.sort(order[: min(needed, self.rows if late else max(self.rows, 2 * len(order) // 3))])
        kept = replace(design, patterns=design.patterns[keep], p=design.p[keep])
        if late or needed <= min(self.rows, len(keep)):
            return kept
        steps = max(4, self.updates // 4)
        improved = self.numbers.improved(kept.patterns, kept.p, kept, steps, self.until)
        return self._limited(improved) if len(keep) > self.rows else improved


@dataclass(frozen=True, eq=False)
class ColumnGenerationState:
    """The state of the search after a round of column generation."""

    total: float
    """n p^T V p, the part of L(Q) that is the same for every strategy."""
    scale: float
    """tr V_c; the design works with V_c divided by this number."""
    search: ColumnGeneration | None
    """None if the workload contains the total alone."""
    design: Design | None = None
    """Patterns and weights; None before the first patterns, or if the workload contains the total alone."""
    listed: Design | None = None
    """The optimum over all patterns as the exact bound found it, where they can be listed."""
    trace: tuple[float, ...] = ()
    """Value of the design after each round so far."""
    closed: bool = False
    """Whether the search has ended, because no round remains that could improve the design."""

    @staticmethod
    def fresh(
        problem: Problem, rows: int, most: int | None, updates: int, rng: np.random.Generator, until: Deadline
    ) -> ColumnGenerationState:
        """Return the state before the first patterns; it is closed if the workload contains the total alone.

        It works with so many patterns, or as many as the `most` rows hold with their mirror images.
        """
        n, F = problem.workload.domain_size, problem.factor
        total = total_term(problem.workload, problem.prior)
        scale = float(np.square(F).sum())
        if not F.any():
            return ColumnGenerationState(total, 0.0, None, closed=True)
        E, precision = ratio(problem.epsilon), "float64" if n <= DOUBLE else "float32"
        numbers = Arithmetic.of(problem, F / math.sqrt(scale), precision)
        field = field_factor(problem.target.information)
        patterns = rows if most is None else most // len(numbers.F)
        search = ColumnGeneration(numbers, problem.target, field, E, rng, until, patterns, updates)
        return ColumnGenerationState(total, scale, search)

    @property
    def objective(self) -> float:
        """L(Q) of the design."""
        return self.total + (self.scale * self.design.value if self.design else 0.0)

    @property
    def whole(self) -> Design | None:
        """The design with all its rows."""
        return self.search.numbers.both(self.design) if self.search and self.design else None

    @property
    def stuck(self) -> bool:
        """Whether the search has ended."""
        return self.closed

    def begun(
        self, problem: Problem, start: TwoLevelStrategy | None, resume: TwoLevelStrategy | None
    ) -> ColumnGenerationState:
        """Return the state with the first patterns, or with the rows of a strategy to `resume`, and their weights."""
        if self.search is None:
            return self
        n = self.search.numbers.n
        if resume is not None:
            return self.having(unpack(resume.patterns, n), resume.row_sums)
        patterns, optimum = self.search.first(problem.workload.domain.sizes, start), problem.duals.exact
        state = self
        if optimum is not None and optimum.probabilities is not None:
            listed = Design(patterns, optimum.probabilities, 1.0, np.zeros(n), math.nan)
            state = replace(self, listed=listed)
        return state.having(patterns, np.ones(len(patterns)))

    def having(self, patterns: np.ndarray, p: np.ndarray) -> ColumnGenerationState:
        """Return the state with improved weights for patterns (m x n), starting from probabilities p (m,)."""
        assert self.search is not None
        design = self.search.weighed(*self.search.numbers.merged(patterns, p), self.design)
        return replace(self, design=design, trace=(*self.trace, design.value))

    def advanced(self, problem: Problem) -> ColumnGenerationState:
        """Return the state after a round: undervalued patterns join, all weights improve, light rows go."""
        if self.design is None or self.search is None:
            return self
        if self.listed is not None and not np.isfinite(self.design.p).all():
            return replace(self, design=self.listed, closed=True)
        design, new = self.design, self.search.undervalued(self.design)
        share = SEED / max(1, len(new))
        p = np.concatenate([design.p * (1 - share * len(new)), np.full(len(new), share)])
        return self.having(np.concatenate([design.patterns, new]), p)

    def retargeted(self, fresh: ColumnGenerationState) -> ColumnGenerationState:
        """Return the `fresh` state of a problem with another workload or prior, from these patterns and weights."""
        if fresh.search is None or self.whole is None:
            return replace(fresh, closed=True)
        numbers, steps = fresh.search.numbers, fresh.search.updates
        steps = steps if numbers.n <= EXHAUSTIVE else max(4, steps // 4)
        patterns, p = numbers.merged(self.whole.patterns, self.whole.p)
        return replace(fresh, design=numbers.improved(patterns, p, None, steps))

    def renewed(self, problem: Problem, seed: int, start: int) -> ColumnGenerationState:
        """Return the state for another start, which has nothing to add."""
        return replace(self, closed=True)

    def settled(self, rounds: Limits) -> Design | None:
        """Return the design once the rounds have ended, by gain, by number or by time; None before."""
        if self.search is None or self.closed:
            return None
        over = self.search.until.over or len(self.trace) > rounds.max_steps
        return self.whole if over or stalled(list(self.trace), rounds) else None

    def strategy(self, problem: Problem, most: int | None) -> TwoLevelStrategy:
        """Return the strategy of the design, with at most so many rows; a constant row where there is none."""
        n = problem.workload.domain_size
        if self.whole is None:
            return TwoLevelStrategy(np.zeros((1, -(-n // 8)), dtype=np.uint8), np.ones(1), n, 1.0)
        designs = [self.whole, *([] if self.listed is None else [self.listed])]
        found = [project_to_feasible(one, problem, most) for one in designs]
        return answering(problem, found, mixed_patterns, most)
