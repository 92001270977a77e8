"""The junta solver: mixtures of patterns on a few attributes, for queries that touch few at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stratagem.privacy import ratio
from stratagem.published_junta import published_juntas
from stratagem.solvers.character import Characters
from stratagem.solvers.parameter import check_limits, check_whole
from stratagem.solvers.pool import Pool, joined, pooled
from stratagem.solvers.signature import Signature
from stratagem.solvers.signatures import divided, signatures
from stratagem.solvers.simplex_weight import simplex_weights
from stratagem.solvers.solver import Limits, Problem, Solver
from stratagem.strategies import JuntaStrategy, Pattern
from stratagem.strategies.invariant import OUTPUTS

COUNTABLE = 1 << 53
"""Domain size up to which objectives are stated for all user types together."""
EXHAUSTIVE, LISTED = 16, 1 << 22
"""Cells of a signature up to which all sets may be listed, and how many energies all of them may have."""
ENTRIES, STARTS = 1 << 19, 256
"""Cells of the random patterns that one signature is given in a round, and most patterns."""
ENERGIES, FEWEST = 1 << 17, 4
"""Energies of the random patterns of a signature, unless they are fewer patterns than so many."""
TURNS = 16
"""Signatures that a round looks at."""
BALANCING = 24
"""Steps that move the spectrum of a random pattern towards the one wanted."""
SPARE = 400
"""Patterns beyond the ones in use that a round keeps."""
NEW = 64
"""Most new patterns of a signature in a round."""
UNDERVALUED = 1e-7
"""Worth above that of the mixture, relative to it, from which a pattern enters the pool."""
ROUGH, FINAL = 1e-6, 1e-9
"""How far weights may be from the best ones while patterns are searched for, and at the end."""
FAINT = 1e-9
"""Weight below which a pattern is dropped."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Where the search stands: a pool of patterns and their best weights."""

    objective: float
    """L(Q), or L(Q)/n where n > 2^53."""
    pool: Pool
    weights: np.ndarray
    signatures: tuple[Signature, ...]
    """Those that are searched."""
    number: int
    """Rounds done."""
    end: float
    stuck: bool = False
    """Whether there is nothing to search for: the queries ask for the total alone."""


@dataclass(frozen=True)
class Junta(Solver):
    """Patterns by listing, balanced random fields and column generation; weights by convex optimisation.

    For fixed patterns L/n = v_0 + sum_c costs_c/m_c is convex in the weights. Its gradient prices the energy
    of a further pattern at each character: a quadratic form, which the top cells of its own gradient raise,
    two fast transforms for all starts at once.

    Raises:
        ValueError: for parameters out of range.

    Example:
        >>> import stratagem as st
        >>> problem, solver = Problem(st.marginals("2^100", 2), 1.0, 0.0), Junta()
        >>> solver.finish(problem, solver.begin(problem, 0, None)).epsilon <= 1.0
        True
    """

    reference: ClassVar[str] = "mixtures of juntas by column generation"

    seed: int = 0
    max_steps: int = 40
    """Rounds of column generation."""
    max_seconds: float = 20.0
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
        """When to stop."""
        return Limits(self.max_steps, 1, self.tolerance, self.patience, self.max_seconds, self.gap)

    def begin(self, problem: Problem, start: int, best: Mixture | None) -> Mixture:
        """Return the best mixture of published juntas, all small patterns and balanced random ones."""
        end, rng = time.perf_counter() + self.max_seconds, np.random.default_rng([self.seed, 0])
        spectrum = problem.workload.spectrum
        if spectrum is None:
            raise ValueError(
                "juntas were asked for queries that know an order of values: ask for marginals, parities or "
                "other queries that know values only as equal or not, or use another solver"
            )
        characters, excess = Characters(divided(spectrum)), ratio(problem.epsilon) - 1
        listed = signatures(characters, excess, rng)
        first = [_published(problem, characters), *_exhaustive(listed)]
        first += [pooled(one, _fields(one, _wanted(characters), rng)) for one in listed]
        pool = joined(first)
        state = Mixture(0.0, pool, np.full(len(pool.packed), 1.0), listed, 0, end)
        return _weighed(problem, state)

    def advance(self, problem: Problem, state: Mixture) -> Mixture:
        """Add the patterns that the prices undervalue most and improve all weights."""
        rng = np.random.default_rng([self.seed, 1 + state.number])
        costs = state.signatures[0].characters.costs
        m = state.weights @ state.pool.energies
        prices = costs / np.square(m)
        value, gains = float(prices @ m), state.pool.energies @ prices
        spare = np.argsort(-np.where(state.weights > FAINT, np.inf, gains), kind="stable")
        keep = np.sort(spare[: int((state.weights > FAINT).sum()) + SPARE])
        found = [state.pool.chosen(keep)]
        for i in rng.permutation(len(state.signatures))[:TURNS]:
            found.append(_undervalued(state.signatures[i], state.pool, prices, value, rng))
            if time.perf_counter() > state.end:
                break
        pool = joined(found)
        weights = np.full(len(pool.packed), 1e-3 / len(pool.packed))
        weights[: len(keep)] += state.weights[keep]
        return _weighed(problem, replace(state, pool=pool, weights=weights, number=state.number + 1))

    def finish(self, problem: Problem, state: Mixture) -> Any:
        """Return the `JuntaStrategy` of a state: measured epsilon within the budget, at most 2^53 outputs."""
        spectrum = state.signatures[0].characters.spectrum
        light = _lightened(problem, state)
        used = zip(light.pool.signatures, light.pool.packed, strict=True)
        patterns = tuple(Pattern(signature.axes, signature.shape, bits) for signature, bits in used)
        return JuntaStrategy(spectrum.sizes, spectrum.groups, patterns, light.weights, ratio(problem.epsilon))


def _lightened(problem: Problem, state: Mixture) -> Mixture:
    """Return the mixture without idle patterns, and without the lightest until the outputs are at most 2^53."""
    order = np.argsort(-state.weights, kind="stable")
    outputs = np.cumsum([float(state.pool.signatures[b].outputs) for b in order])
    keep = order[(state.weights[order] > FAINT) & (outputs <= OUTPUTS)]
    kept = replace(state, pool=state.pool.chosen(keep), weights=state.weights[keep])
    return _weighed(problem, kept, FINAL)


def _weighed(problem: Problem, state: Mixture, tolerance: float = ROUGH) -> Mixture:
    """Return the state with the best weights of its pool."""
    characters = state.signatures[0].characters
    best = simplex_weights(state.pool.energies, characters.costs, state.weights, tolerance)
    n = problem.workload.domain_size
    share = float(characters.spectrum.values[0]) + best.value
    return replace(state, objective=share * (n if n <= COUNTABLE else 1), weights=best.weights)


def _published(problem: Problem, characters: Characters) -> Pool:
    """Return the patterns of published juntas."""
    found = published_juntas(characters.spectrum, problem.epsilon).values()
    patterns = [pattern for strategy in found for pattern in strategy.patterns]
    excess = ratio(problem.epsilon) - 1
    return joined(
        pooled(Signature(one.axes, characters, excess), one.inside.reshape(1, -1)) for one in patterns
    )


def _exhaustive(listed: Sequence[Signature]) -> Iterator[Pool]:
    """Yield all sets of the cells of small signatures."""
    left = LISTED
    for signature in listed:
        energies = len(signature.characters.costs) << min(signature.cells, EXHAUSTIVE)
        if signature.cells <= EXHAUSTIVE and energies <= left:
            left -= energies
            codes = np.arange(1, (1 << signature.cells) - 1)[:, None]
            yield pooled(signature, (codes >> np.arange(signature.cells)) & 1 == 1)


def _wanted(characters: Characters) -> np.ndarray:
    """Return the energies that the closed bound asks of each class (C,): m proportional to sqrt(v)."""
    return np.sqrt(characters.costs / characters.counts)


def _fields(signature: Signature, wanted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random patterns (P, cells) with energies in proportion to those wanted at each class (C,)."""
    most = min(ENTRIES // signature.cells, ENERGIES // len(wanted))
    count = int(np.clip(most, FEWEST, STARTS))
    return signature.balanced(_sizes(signature, count, rng), signature.amplitudes(wanted), BALANCING, rng)


def _sizes(signature: Signature, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return sizes (count,): most near cells/(1 + E), some dyadic shares of the cells, some around."""
    cells, best = signature.cells, signature.cells / (2 + signature.excess)
    near = np.floor(best + rng.random(count))
    dyadic = cells * rng.integers(1, 9, count) / 16
    around = best * np.exp(rng.normal(0, 0.3, count))
    kind = rng.choice(3, count, p=(0.5, 0.25, 0.25))
    return np.clip(np.choose(kind, (near, dyadic, around)).astype(int), 1, cells - 1)


def _undervalued(
    signature: Signature, pool: Pool, prices: np.ndarray, value: float, rng: np.random.Generator
) -> Pool:
    """Return new patterns whose energies are worth more than the mixture's at the prices of the classes (C,)."""
    form = signature.prices(prices)
    characters = signature.characters
    tilt = np.power(prices / characters.counts, rng.uniform(0, 2))
    starts = [_fields(signature, _wanted(characters) * tilt, rng)]
    own = [bits for one, bits in zip(pool.signatures, pool.packed, strict=True) if one.axes == signature.axes]
    if own:
        drawn = np.stack(own)[rng.integers(0, len(own), len(starts[0]))]
        known = np.unpackbits(drawn, axis=1, count=signature.cells).astype(bool)
        starts.append(known ^ (rng.random(known.shape) < 0.1))
    patterns = signature.ascended(np.concatenate(starts), form)
    worth = signature.values(patterns, form)
    order = np.argsort(-worth)[:NEW]
    return pooled(signature, patterns[order[worth[order] > value * (1 + UNDERVALUED)]])
