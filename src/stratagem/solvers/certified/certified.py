"""The certified solver: column generation over two-level rows, with translates as first rows, and a polish.

Where a pattern may be moved along a line almost freely (theory.md, section 6, windows), the sets that `Orbit` finds by
transforms are better first rows than random fields; column generation then improves them without symmetry.

An optimal strategy needs two levels only, but many rows. With few rows, values between the levels lower the objective,
because such a row replaces several two-level rows. A descent ends in a local minimum; the next one starts from the best
matrix with its lightest rows replaced by rows that its prices undervalue (`row_prices`; theory.md, section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stratagem.math.deadline import deadline
from stratagem.math.linalg import centred_factor
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.column_generation import ColumnGenerationState
from stratagem.solvers.certified.design import project_to_feasible
from stratagem.solvers.certified.patterns import Prices, search
from stratagem.solvers.gradient.projected_gradient import ProjectedGradient
from stratagem.solvers.orbit.orbit import Orbit
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Algorithm, Limits, check_limits, check_whole
from stratagem.strategies import OrbitStrategy, Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import DENSE

if TYPE_CHECKING:
    from stratagem.solvers.gradient.descent import Point

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5)
"""Shares of the rows to replace, one drawn at random each time; large shares lead to other local minima."""
SHAKE = 0.02
"""Size of the random term that is added to a score, relative to mu, so that renewals differ."""
MOVES = 8
"""Most moves of one local search for a pattern."""


def row_prices(Q: np.ndarray, F: np.ndarray, E: float) -> Prices:
    """Return the dual prices at which patterns are scored as additions to the rows of Q (m x n), V_c = F F^T.

    With p = Q 1/n and x = q/p - 1, C = sum p x x^T/n. At optimal weights x^T K x = mu + nu^T x in every row,
    K = C^-1 V_c C^-1/n; mu and nu are fitted to that by least squares weighted with p.
    """
    Q = Q[Q.max(axis=1) > 0]
    n = Q.shape[1]
    p = Q.mean(axis=1)
    X = Q / p[:, None] - 1
    values, vectors = np.linalg.eigh(X.T @ (p[:, None] * X) / n)
    kept = values > 1e-12 * values[-1]
    root = (vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ F) / np.sqrt(n)
    energy = np.square(X @ root).sum(axis=1)
    basis = np.column_stack([np.ones(len(p)), X]) * np.sqrt(p)[:, None]
    mu, *nu = np.linalg.lstsq(basis, np.sqrt(p) * energy, rcond=1e-10)[0]
    numbers = (root @ root.T, mu, np.array(nu) - np.mean(nu), E - 1, np.full(n, 1 / n))
    return Prices(*(np.asarray(number, dtype=float) for number in numbers))


def undervalued(Q: np.ndarray, prices: Prices, rng: np.random.Generator) -> np.ndarray:
    """Return distinct patterns (boolean, k x n) in falling order of their score plus a small random term.

    The local search starts from the patterns of the rows with a few cells changed, and from random sets.
    """
    m, n = Q.shape
    half = int(np.clip(8 * n, 128, 1024))
    weight = Q.sum(axis=1)
    drawn = Q[rng.choice(m, half, p=weight / weight.sum())]
    near = (drawn > drawn.mean(axis=1, keepdims=True)) ^ (rng.random((half, n)) < 1 / n)
    far = rng.random((half, n)) < rng.random((half, 1))
    found, scores = search(np.concatenate([near, far]).astype(float), prices, MOVES)
    patterns, first = np.unique(found > 0.5, axis=0, return_index=True)
    worth = scores[first] + SHAKE * float(prices.mu) * rng.random(len(first))
    return patterns[np.argsort(-worth)]


def repriced_rows(
    Q: np.ndarray, z: np.ndarray, F: np.ndarray, E: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start (R, z) near Q with its lightest rows replaced by undervalued two-level rows."""
    patterns = undervalued(Q, row_prices(Q, F, E), rng)
    light = np.argsort(Q.sum(axis=1))[: max(1, int(rng.choice(SHARES) * len(Q)))][: len(patterns)]
    R, z = np.array(Q, dtype=float), np.array(z, dtype=float)
    z[light] = z.mean()
    R[light] = z[light, None] * np.where(patterns[: len(light)], E, 1)
    total = R.sum(axis=0).mean()
    return R / total, z / total


STRIDE = 25
"""Gradient steps that count as one step of the search, about as much work as a round of weights."""
STRIDES = 80
"""Number of such steps that a start may take in addition to the rounds of column generation."""


@dataclass(frozen=True, eq=False)
class Polish:
    """A descent of the projected gradient within another search."""

    point: Point

    @staticmethod
    def begun(problem: Problem, rows: TwoLevelStrategy | None, outputs: int, seed: int) -> Polish:
        """Return the start of a descent with `outputs` rows: from `rows`, repeated as needed, or random if None."""
        start = None if rows is None else rows.dense()
        gradient = ProjectedGradient(outputs=outputs, seed=seed, start=start)
        return Polish(gradient.begin(problem, 0, None))

    @property
    def objective(self) -> float:
        """L(Q) with the regularised V of the descent."""
        return self.point.objective

    @property
    def stuck(self) -> bool:
        """Whether even the shortest step along the gradient was refused."""
        return self.point.stuck

    def renewed(self, problem: Problem, seed: int, start: int) -> Polish:
        """Return the start of a descent from this matrix, its lightest rows replaced by undervalued ones."""
        rng, F = np.random.default_rng([seed, start]), centred_factor(problem.gram)
        Q, z = np.asarray(self.point.Q), np.asarray(self.point.z)
        rows = repriced_rows(Q, z, F, ratio(problem.epsilon), rng)
        return Polish(ProjectedGradient().begin_at(problem, *rows))

    def advanced(self, problem: Problem) -> Polish:
        """Return the descent after `STRIDE` more gradient steps, or fewer if it is stuck or out of time."""
        point = self.point
        for _ in range(STRIDE):
            point = ProjectedGradient().advance(problem, point)
            if point.stuck or deadline().over:
                break
        return Polish(point)

    def settled(self, rounds: Limits) -> None:
        """Return None, as nothing follows a polish."""

    def strategy(self, problem: Problem, most: int | None) -> Strategy:
        """Return the strategy at the current point, projected so that it is exactly feasible."""
        return ProjectedGradient().finish(problem, self.point)


def translated(problem: Problem, fresh: ColumnGenerationState, seed: int) -> ColumnGenerationState:
    """Return the state with the translates that `Orbit` finds as its first rows."""
    if fresh.search is None:
        return fresh
    orbit = Orbit(seed=seed).solve(problem.workload, problem.epsilon)[0]
    return fresh.having(*translates(orbit, len(fresh.search.numbers.F) * fresh.search.rows))


def translates(strategy: OrbitStrategy, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets (m, n) bool of all translates of the heaviest patterns on a cycle, with probabilities (m,).

    The domain has one attribute, the first n points of the cycle. There are about `count` sets; empty and
    full ones are left out.
    """
    (n,), (cycle,) = strategy.sizes, strategy.cycles
    heaviest = np.argsort(-strategy.weights, kind="stable")[: max(1, count // cycle)]
    places = (np.arange(n) - np.arange(cycle)[:, None]) % cycle
    sets = np.concatenate([strategy.patterns[b].inside[places] for b in heaviest])
    chances = np.repeat(strategy.weights[heaviest], cycle)
    proper = sets.any(axis=1) & ~sets.all(axis=1)
    return sets[proper], chances[proper] / chances[proper].sum()


SHARE = 0.6
"""Share of max_seconds for column generation if the projected gradient polishes the rows afterwards."""
MOVABLE = 0.2
"""Share 1/(1 + E) of the types in optimal patterns up to which translates are better first rows than random fields.
Their objective for 1,024 prefixes is 0.5 % larger than that of fields at epsilon 1, 3 % smaller at 2, 24 % at 4."""


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
