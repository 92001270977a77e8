"""The orbit solver: all translates of patterns of the right spectra, on domains of up to millions of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stratagem.estimators import Accuracy, evaluate
from stratagem.estimators.translation.transformed import transformed_objective
from stratagem.math.deadline import deadline
from stratagem.math.number import count_text
from stratagem.math.privacy import ratio
from stratagem.math.transform import multiplicities
from stratagem.solvers.orbit.sets import CycleTarget, flat_orbit
from stratagem.solvers.pattern_weights import simplex_weights
from stratagem.solvers.problem import Average, Problem
from stratagem.solvers.solver import Algorithm, Callback, Limits, check_limits, check_whole, search
from stratagem.strategies import OrbitStrategy, Pattern
from stratagem.workloads import Workload

LARGEST = 1 << 22
"""Most cells of a domain whose transforms are held in memory."""
BATCH = 16
"""Number of patterns that one step adds."""
SINGLE = 1 << 18
"""Number of characters above which energies are in single precision, and of cells above which patterns are fewer."""
MANY, FEW = 64, 32
"""Default numbers of patterns up to `SINGLE` cells and above."""
WIDE = 256
"""Domain size from which a histogram is solved by `flat_orbit`."""
DRAWN = 0.3
"""Share of the time after which no pattern is drawn on a window: weights and exact variances are to come."""
ALTERNATIONS = 2
"""Number of alternations between weights and estimator on a window."""


@dataclass(frozen=True, eq=False)
class OrbitMixture:
    """The state of the search: patterns, their energies and their weights."""

    target: CycleTarget
    rng: np.random.Generator
    patterns: tuple[Pattern, ...]
    energies: np.ndarray
    """Energies of the patterns at the half spectrum, flattened (B, C)."""
    total: np.ndarray
    """Sum of the energies of all patterns, of the shape of the half spectrum."""
    weights: np.ndarray
    objective: float
    """L computed by transforms; on short windows it is a little above L with the optimal reconstruction."""
    strategy: OrbitStrategy | None = None
    """The strategy of all translates of the patterns with positive weight; None before the first patterns."""
    stuck: bool = False

    @property
    def accuracy(self) -> Accuracy:
        """The exact accuracy of the strategy."""
        assert self.strategy is not None
        return evaluate(self.target.workload, self.strategy)


class Flat(NamedTuple):
    """The final state for a histogram: the strategy of `flat_orbit` and its accuracy."""

    strategy: OrbitStrategy
    accuracy: Accuracy
    stuck: bool

    @property
    def objective(self) -> float:
        """L(Q) of the strategy."""
        return self.accuracy.objective


@dataclass(frozen=True)
class Orbit(Algorithm):
    """All translates of a few patterns on Z_a1 x ... x Z_ad, O(n log n) each, for domains up to 2^22 cells.

    Averaged over translations the information is diagonal in the characters, with eigenvalues m = sum_b w_b
    |x_b^|^2, and L = sum v/m. Patterns are shaped to follow the best m, each correcting the sum of those
    before. Their sizes are those of earlier patterns of large weight. Weights are optimal within 1e-9. For
    prefixes the cycle has at most 1.28 n points, of which the domain is a window. For a histogram the
    patterns are sets on one cycle and their multiples, with equal energies at all characters. Such a strategy
    is as good as subset selection, up to a few idle points where n has many divisors. Queries whose V
    translations change are answered without bias as well; the more V changes, the larger is the variance
    against the optimum.

    Raises:
        ValueError: for parameters out of range.

    Guarantee:
        Every report has two levels of ratio E; columns sum to one whatever patterns and weights are found.

    Reference: McKenna, Maity, Mazumdar, Miklau, VLDB 2020, for the objective.

    Example:
        >>> import stratagem as st
        >>> strategy, accuracy = st.solvers.Orbit().solve(st.all_range(256), 1.0)
        >>> strategy.epsilon <= 1, strategy.outputs < 256 * 65
        (True, True)
    """

    reference: ClassVar[str] = (
        "@stratagem, A-optimal design over the orbits of two-level rows under translation"
    )

    patterns: int | None = None
    """Largest number B of patterns, m = B times the points of the cycles; by default 64, 32 beyond 2^18 cells."""
    seed: int = 0
    max_seconds: float = math.inf
    gap: float = 0.0
    tolerance: float = 2e-4
    """The search ends when a batch of 16 patterns improves the objective by less than this ratio."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_whole(patterns=self.patterns)
        check_whole(0, seed=self.seed)
        check_limits(self.max_seconds, gap=self.gap, tolerance=self.tolerance)

    @property
    def limits(self) -> Limits:
        steps = -(-(self.patterns or MANY) // BATCH) - 1
        return Limits(steps, 1, self.tolerance, 1, self.max_seconds, self.gap)

    def solve(
        self, workload: Workload, epsilon: float, on_step: Callback | None = None, lower_bound: float = 0.0
    ) -> tuple[OrbitStrategy, Accuracy]:
        """Return the strategy found and its exact accuracy; `gap` is measured against `lower_bound` on L.

        Ctrl-C ends the search and keeps the best so far.

        Raises:
            ValueError: for a domain of one cell or more than 2^22.
        """
        problem = Average(workload=workload, epsilon=epsilon)
        best: Any = search(self, problem, on_step, lower_bound).best
        if best is None:
            raise KeyboardInterrupt
        return best.strategy, best.accuracy

    def begin(self, problem: Problem, start: int, best: Any) -> OrbitMixture | Flat:
        """Return the state with the first batch of patterns, or the final state for a large histogram.

        Raises:
            ValueError: for a domain of one cell or more than 2^22.
        """
        n = problem.workload.domain_size
        if not 2 <= n <= LARGEST:
            raise ValueError(
                f"the domain has {count_text(n)} cells, but orbits are searched for on 2 to {LARGEST}: use coarser "
                "values, or st.solvers.Junta() for marginals and parities of many attributes"
            )
        target = CycleTarget(problem.workload, ratio(problem.epsilon))
        rng = np.random.default_rng([self.seed, start])
        if n >= WIDE and problem.workload.whole_table:
            flat = flat_orbit(target.sizes, target.ratio)
            return Flat(flat, evaluate(problem.workload, flat), True)
        characters = math.prod(target.half)
        precision = np.float32 if characters > SINGLE else np.float64
        none = np.zeros((0, characters), dtype=precision)
        return self.advance(
            problem, OrbitMixture(target, rng, (), none, np.zeros(target.half), np.zeros(0), math.inf)
        )

    def advance(self, problem: Problem, state: OrbitMixture) -> OrbitMixture:
        """Return the state with one more batch of patterns and the best weights of all patterns."""
        target, shaping = state.target, state.target.shaping
        axes, total = tuple(range(len(target.sizes))), state.total.copy()
        drawn, energies = [], []
        most = self.patterns or (MANY if target.workload.domain_size <= SINGLE else FEW)
        many = min(BATCH, most - len(state.patterns))
        for count, size in enumerate(_sizes(shaping.sizes, state, many), len(state.patterns)):
            inside = shaping.draw(total, count, state.rng, size)
            energy = shaping.energies(inside)
            total += energy
            drawn.append(Pattern.of(axes, inside))
            energies.append(energy.ravel().astype(state.energies.dtype))
            if deadline().until(DRAWN if target.windowed else 1.0) <= 0:
                break
        if not drawn:
            return replace(state, stuck=True)
        energies = np.concatenate([state.energies, np.array(energies)])
        w = mixed(target, energies)
        patterns = state.patterns + tuple(drawn)
        used = tuple(pattern for pattern, one in zip(patterns, w, strict=True) if one > 0)
        shares = w[w > 0] / w[w > 0].sum()
        strategy = OrbitStrategy(target.sizes, target.cycles, used, shares / shares.sum(), target.ratio)
        value = transformed_objective(problem.workload, strategy)
        ahead = OrbitMixture(target, state.rng, patterns, energies, total, w, value, strategy)
        if value < state.objective:
            return ahead
        kept = np.append(state.weights, np.zeros(len(drawn)))
        return replace(ahead, weights=kept, objective=state.objective, strategy=state.strategy)

    def finish(self, problem: Problem, state: Any) -> OrbitStrategy:
        return state.strategy


def _sizes(tried: Sequence[int], state: OrbitMixture, many: int) -> list[int]:
    """Return the sizes of the next `many` patterns.

    The first batch takes the sizes `tried` in turn; later ones take sizes of earlier patterns, by their
    weights.
    """
    if not state.patterns:
        return [tried[i % len(tried)] for i in range(many)]
    shares = np.cumsum(state.weights)
    quantiles = (np.arange(many) + 0.5) / max(many, 1) * shares[-1]
    return [state.patterns[b].size for b in np.searchsorted(shares, quantiles)]


def mixed(target: CycleTarget, energies: np.ndarray) -> np.ndarray:
    """Return the best weights (B,) of patterns with given energies (B, C).

    On windows the costs depend on the weights through the best estimator, so the two are computed in turn.
    """
    w = np.full(len(energies), 1 / len(energies))
    if len(w) == 1:
        return w
    counts = np.broadcast_to(multiplicities(target.cycles), target.half).ravel()
    for _ in range(ALTERNATIONS if target.windowed else 1):
        costs = counts * target.costs((w @ energies).reshape(target.half)).ravel()
        costs[0] = 0
        w = simplex_weights(energies, costs, w).weights
        if deadline().over:
            break
    return w
