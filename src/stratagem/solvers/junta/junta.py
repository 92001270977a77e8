"""The junta solver: mixtures of patterns on a few attributes, for queries that touch few at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from stratagem.estimators import estimator
from stratagem.math.deadline import deadline
from stratagem.math.number import count_text
from stratagem.math.privacy import ratio
from stratagem.solvers.junta.equalisation import equalised
from stratagem.solvers.junta.junta_pattern import (
    axes_of,
    balanced,
    exhaustive,
    maximal,
    published,
    tables,
    undervalued,
)
from stratagem.solvers.junta.signature import Characters, Pool, Signature, joined, pooled
from stratagem.solvers.junta.signature_choice import check_tables, checked_harmonics, divided, signatures
from stratagem.solvers.orbit.orbit import LARGEST
from stratagem.solvers.orbit.sets import flat_orbit
from stratagem.solvers.pattern_weights import simplex_weights
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Algorithm, Limits, check_limits, check_whole
from stratagem.strategies import JuntaStrategy, Pattern, TranslationStrategy
from stratagem.strategies.translation import OUTPUTS

FIRST = 0.3
"""Share of the time after which no more balanced random patterns are added to the first ones."""
TURNS = 16
"""Number of signatures that one round searches for new patterns."""
SECONDS, AFTER = 12.0, 60.0
"""Default time of a search in seconds, and default limit of the time for `equalised` after it."""
LONGEST = 1 << 20
"""Largest number of values of an attribute for which a pattern is stored."""
SPARE = 1 << 20
"""Most energies of the unused patterns that a round keeps; these are also at most 400 patterns."""
ROUGH, FINAL = 1e-5, 1e-9
"""Relative gap of the weights to the best ones, during the search and at its end."""
ATTAINED = 1e-9
"""Gap at which a search ends."""
SOLVED = 20_000
"""Number of cells of a table of all attributes above which `flat_orbit` is compared with the mixture."""
FAINT = 1e-7
"""Weight at or below which a pattern counts as unused."""
IDLE = 1e-9
"""Largest share of every eigenvalue of M that the patterns dropped at the end may have together."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """The state of the search: a pool of patterns and their best weights."""

    objective: float
    """L(Q), or L(Q)/n where n > 2^53."""
    pool: Pool
    weights: np.ndarray
    signatures: tuple[Signature, ...]
    """The signatures that are searched for new patterns."""
    number: int
    """Number of rounds so far."""
    stuck: bool = False
    """Whether the search has ended: the lower bound is attained, or the workload contains the total alone."""
    empty: bool = False
    """Whether the workload contains the total alone."""


@dataclass(frozen=True)
class Junta(Algorithm):
    """Mixtures of patterns on few attributes, by column generation and convex optimisation of the weights.

    The first patterns are listed or come from balanced random fields. For fixed patterns L/n = v_0 + sum_c
    costs_c/m_c is convex in the weights. Its gradient prices the energy of a new pattern at each character.
    The worth of a pattern is a quadratic form, which rises when the pattern moves to the largest cells of the
    form's gradient; this takes two fast transforms for all starts at once. Along an attribute whose order
    some query uses, every frequency is a character of its own. Patterns are translated on a cycle of its
    values, although translations change V. So L is exact, but the best strategy on a line is not among the
    mixtures: all ranges of 100 values lose 0.1 % by the closed bounds, prefixes 53 %.

    Raises:
        ValueError: for parameters out of range.

    Example:
        >>> import stratagem as st
        >>> from stratagem.solvers.problem import problem_of
        >>> problem, solver = problem_of(st.marginals("2^100", 2), 1.0), Junta()
        >>> solver.finish(problem, solver.begin(problem, 0, None)).epsilon <= 1.0
        True
    """

    reference: ClassVar[str] = "@stratagem, mixtures of juntas by column generation"

    seed: int = 0
    max_steps: int = 40
    """Rounds of column generation."""
    max_seconds: float | None = None
    """Seconds of the search, and again of `equalised` after it; by default 12, and at most 60."""
    tolerance: float = 3e-5
    patience: int = 3
    gap: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_whole(max_steps=self.max_steps, patience=self.patience)
        check_whole(0, seed=self.seed)
        check_limits(self.max_seconds, tolerance=self.tolerance, gap=self.gap)

    @property
    def limits(self) -> Limits:
        return Limits(self.max_steps, 1, self.tolerance, self.patience, self.max_seconds or SECONDS, self.gap)

    def begin(self, problem: Problem, start: int, best: Mixture | None) -> Mixture:
        """Return the best mixture of published juntas, all patterns of few cells and balanced random ones."""
        rng, first = np.random.default_rng([self.seed, 0]), deadline().part(FIRST)
        found = checked_harmonics(problem.workload)
        check_tables(found.spectrum)
        characters, excess = Characters(found, divided(found.spectrum)), ratio(problem.epsilon) - 1
        if not characters.kinds:
            return _nothing(characters, excess, problem)
        listed = signatures(characters, excess, rng)
        pools = [*published(characters, problem.epsilon, excess), *exhaustive(listed)]
        own = (Signature(axes_of(kind), characters, excess) for kind in characters.kinds)
        pools += [tables(signature, rng) for signature in own]
        for signature in listed:
            if not first.over:
                pools.append(balanced(signature, rng))
        pool = joined(pools)
        return _weighed(problem, Mixture(0.0, pool, np.ones(len(pool.packed)), listed, 0))

    def advance(self, problem: Problem, state: Mixture) -> Mixture:
        """Return the mixture after one round, which adds patterns of high worth and optimises all weights."""
        if state.stuck:
            return state
        rng = np.random.default_rng([self.seed, 1 + state.number])
        costs = state.signatures[0].characters.costs
        m = state.weights @ state.pool.energies
        prices = costs / np.square(m)
        value, gains = float(prices @ m), state.pool.energies @ prices
        used = state.weights > FAINT
        order = np.argsort(-np.where(used, np.inf, gains), kind="stable")
        keep = np.sort(order[: int(used.sum()) + min(400, SPARE // len(costs))])
        found = [state.pool.chosen(keep)]
        for i in rng.permutation(len(state.signatures))[:TURNS]:
            found.append(undervalued(state.signatures[i], state.pool, prices, value, rng))
            if deadline().over:
                break
        pool = joined(found)
        weights = np.full(len(pool.packed), 1e-3 / len(pool.packed))
        weights[: len(keep)] += state.weights[keep]
        return _weighed(problem, replace(state, pool=pool, weights=weights, number=state.number + 1))

    def finish(self, problem: Problem, state: Mixture) -> TranslationStrategy:
        """Return the `JuntaStrategy` of a state: measured epsilon within the budget, at most 2^53 outputs.

        For a large table of all attributes, the strategy of `flat_orbit` is returned instead where it is
        better.
        """
        if not state.empty:
            state = _alone(problem, _lightened(_weighed(problem, _lightened(state), FINAL)))
        spectrum, rng = state.signatures[0].characters.spectrum, np.random.default_rng([self.seed, 0])
        found = equalised(state.pool, state.weights, self.max_seconds or AFTER, rng)
        outputs = np.concatenate([np.full(len(one.weights), float(one.signature.outputs)) for one in found])
        keep = _useful(np.concatenate([one.shares for one in found]), outputs)
        bits = [(one.signature, row) for one in found for row in one.packed]
        patterns = tuple(Pattern(bits[v][0].axes, bits[v][0].shape, bits[v][1]) for v in keep)
        w = np.concatenate([one.weights for one in found])[keep]
        E = ratio(problem.epsilon)
        mixture = JuntaStrategy(spectrum.sizes, spectrum.groups, patterns, w / w.sum(), E)
        if not (SOLVED < problem.workload.domain_size <= LARGEST and problem.workload.whole_table):
            return mixture
        return min(
            mixture, flat_orbit(spectrum.sizes, E), key=lambda one: estimator(one).objective(problem.workload)
        )


def _nothing(characters: Characters, excess: float, problem: Problem) -> Mixture:
    """Return the mixture for a workload of the total alone: one arbitrary pattern, as a strategy needs one."""
    groups = [(length, g) for g, length in enumerate(characters.lengths) if length > 1]
    if not groups:
        raise ValueError("there is only one user type, so that nobody has anything to tell: count the users")
    length, group = min(groups)
    if length > LONGEST:
        raise ValueError(
            f"the total is asked for over attributes of {count_text(length)} values or more, above the {LONGEST} of a "
            "pattern: use coarser values, or count the users"
        )
    signature = Signature((group,), characters, excess)
    pool = pooled(signature, np.arange(signature.cells)[None] == 0)
    share = float(characters.spectrum.values[0])
    return Mixture(share * problem.workload.scale, pool, np.ones(1), (signature,), 0, stuck=True, empty=True)


def _lightened(state: Mixture) -> Mixture:
    """Return the mixture without the patterns that `_useful` drops."""
    w, pool = state.weights, state.pool
    shares = w * (pool.energies / (w @ pool.energies)).max(axis=1)
    keep = _useful(shares, np.array([float(signature.outputs) for signature in pool.signatures]))
    return replace(state, pool=pool.chosen(keep), weights=w[keep])


def _alone(problem: Problem, state: Mixture) -> Mixture:
    """Return the mixture restricted to patterns on the largest table, if there is only one and L does not rise."""
    axes = {axes_of(kind) for kind in maximal(state.signatures[0].characters.kinds)}
    own = np.array([signature.axes in axes for signature in state.pool.signatures])
    pool = state.pool.chosen(np.flatnonzero(own))
    if len(axes) > 1 or own.all() or not pool.energies.any(axis=0).all():
        return state
    ahead = replace(state, pool=pool, weights=state.weights[own])
    ahead = _lightened(_weighed(problem, ahead, FINAL))
    return ahead if ahead.objective <= state.objective * (1 + ATTAINED) else state


def _useful(shares: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the indices of the patterns to keep: those that matter, with at most 2^53 outputs together.

    `shares` (P,) are the largest share that each pattern has of an eigenvalue of M, and `outputs` (P,) its
    number of outputs. Patterns of the smallest shares are dropped. If they hold at most a share d of every
    eigenvalue, L rises by at most the share d/(1 - d).
    """
    order = np.argsort(shares, kind="stable")
    idle = np.cumsum(shares[order]) <= IDLE
    idle |= np.cumsum(outputs[order][::-1])[::-1] > OUTPUTS
    idle[-1] = False
    return np.sort(order[~idle])


def _weighed(problem: Problem, state: Mixture, tolerance: float = ROUGH) -> Mixture:
    """Return the state with weights of its pool that are optimal up to a relative gap of `tolerance`."""
    characters = state.signatures[0].characters
    best = simplex_weights(state.pool.energies, characters.costs, state.weights, tolerance)
    objective = problem.workload.scale * (float(characters.spectrum.values[0]) + best.value)
    bound = problem.lower_bound
    if tolerance > FINAL and objective <= bound * (1 + tolerance):
        return _weighed(problem, replace(state, weights=best.weights), FINAL)
    stuck = objective <= bound * (1 + ATTAINED)
    return replace(state, weights=best.weights, objective=objective, stuck=stuck)
