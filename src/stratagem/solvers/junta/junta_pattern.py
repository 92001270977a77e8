"""Patterns of juntas, from published mechanisms, complete lists, balanced random fields and ascents by price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb, perm, prod

import numpy as np

from stratagem.math.privacy import ratio
from stratagem.solvers.junta.signature import Characters, Pool, Signature, joined, pooled
from stratagem.strategies import JuntaStrategy, Pattern, SubsetSelection, TableSampling
from stratagem.strategies.junta import shares_by_cost
from stratagem.strategies.translation import OUTPUTS
from stratagem.workloads.structure import Spectrum, Type


def sampled_tables(spectrum: Spectrum, epsilon: float) -> dict[str, TableSampling]:
    """Return table sampling with "equal shares" and with "shares by cost", by name.

    The dictionary is empty if the spectrum has no tables or one of more than 2^20 cells.

    Reference:
        Zhang et al., CALM, CCS 2018 (tables); Ye, Barg, IEEE Trans. Inf. Theory 2018 (subset selection).
    """
    kinds = [kind for kind in spectrum.types if any(kind) and spectrum.multiplicity(kind)]
    tables = maximal(kinds)
    lengths = [spectrum.sizes[group[0]] for group in spectrum.groups]
    cells = [prod(a**own for a, own in zip(lengths, table, strict=True)) for table in tables]
    if not tables or max(cells) > CELLS:
        return {}
    oracles = tuple(SubsetSelection.best(many, epsilon) for many in cells)
    sets = np.array([sets_of(spectrum, table) for table in tables])
    held = np.array([[_holding(spectrum, table, kind) for table in tables] for kind in kinds])
    energies = np.array([spectrum.value(kind) * spectrum.multiplicity(kind) for kind in kinds])
    strengths = np.array([oracle.eigenvalue for oracle in oracles])
    by_cost = shares_by_cost(energies, held, strengths, sets)
    shares = {"equal shares": sets / sets.sum(), "shares by cost": by_cost}
    return {
        name: TableSampling(
            sizes=spectrum.sizes, groups=spectrum.groups, tables=tuple(tables), oracles=oracles, shares=share
        )
        for name, share in shares.items()
    }


def _holding(spectrum: Spectrum, table: Type, kind: Type) -> float:
    """Return the number of tables of the type `table` that contain a given set of attributes of the type `kind`."""
    return float(
        math.prod(
            comb(len(group) - touched, own - touched) if own >= touched else 0
            for group, own, touched in zip(spectrum.groups, table, kind, strict=True)
        )
    )


CELL = "marginal-response"
"""Name of the mechanism whose reports are cells of a table; the reports of the others are parities."""
CELLS = 1 << 20
"""Largest number of cells of a table that a report may be about."""


def published_juntas(spectrum: Spectrum, epsilon: float) -> dict[str, JuntaStrategy]:
    """Return the published mechanisms for marginals that apply to the queries, by name.

    "marginal-response" reports the cell of a random table by randomised response (MargPS), a pattern of one
    cell. The others apply where the tables have binary attributes only. "fourier" reports a random parity
    that the queries need, all equally likely (InpHT). "fourier, optimal shares" draws them in proportion to
    sqrt(v), v the eigenvalues of V/n, so that L/n = v_0 + ((E + 1)/(E - 1))^2 (sum_chi sqrt(v_chi))^2.
    "marginal-hadamard" reports a random parity of a random table (MargHT). A mechanism with more than 2^53
    outputs, or with tables of more than 2^20 cells, is left out.

    Guarantee:
        Measured epsilon at most `epsilon`.

    Reference:
        Cormode, Kulkarni, Srivastava, "Marginal release under local differential privacy", SIGMOD 2018.
    """
    kinds = [kind for kind in spectrum.types if any(kind) and spectrum.multiplicity(kind)]
    tables = {kind: sets_of(spectrum, kind) for kind in maximal(kinds)}
    shares = {CELL: tables}
    if all(spectrum.sizes[spectrum.groups[g][0]] == 2 for kind in kinds for g in axes_of(kind)):
        shares["fourier"] = {kind: sets_of(spectrum, kind) for kind in kinds}
        optimal = {kind: many * math.sqrt(spectrum.value(kind)) for kind, many in shares["fourier"].items()}
        shares["fourier, optimal shares"] = optimal
        shares["marginal-hadamard"] = {
            kind: sum(
                many * prod(map(comb, table, kind)) / (2 ** sum(table) - 1) for table, many in tables.items()
            )
            for kind in kinds
        }
    made = {name: _strategy(spectrum, epsilon, share, name == CELL) for name, share in shares.items()}
    return {name: strategy for name, strategy in made.items() if strategy is not None}


def axes_of(kind: Type) -> tuple[int, ...]:
    """Return the groups of the attributes that a type touches, in order."""
    return tuple(g for g, count in enumerate(kind) for _ in range(count))


def maximal(kinds: Sequence[Type]) -> list[Type]:
    """Return the types that no other type of the list contains."""
    below, waiting = set(), list(kinds)
    while waiting:
        kind = waiting.pop()
        for g in set(axes_of(kind)):
            smaller = (*kind[:g], kind[g] - 1, *kind[g + 1 :])
            if smaller not in below:
                below.add(smaller)
                waiting.append(smaller)
    return [kind for kind in kinds if kind not in below]


def sets_of(spectrum: Spectrum, kind: Type) -> float:
    """Return the number of sets of attributes that have the given type."""
    return float(prod(comb(len(group), count) for group, count in zip(spectrum.groups, kind, strict=True)))


def _strategy(
    spectrum: Spectrum, epsilon: float, shares: Mapping[Type, float], cell: bool
) -> JuntaStrategy | None:
    """Return the mixture of one pattern for each type, with weights in proportion to `shares`.

    The pattern is one cell of the table if `cell`, else a parity. None is returned if the mixture has more
    than 2^53 outputs or a table more than 2^20 cells.
    """
    outputs, patterns = 0, []
    for kind in shares:
        shape = tuple(spectrum.sizes[spectrum.groups[g][0]] for g in axes_of(kind))
        outputs += prod(shape) * prod(map(perm, map(len, spectrum.groups), kind))
        if prod(shape) > CELLS or outputs > OUTPUTS:
            return None
        sums = np.indices(shape).sum(axis=0)
        patterns.append(Pattern.of(axes_of(kind), np.equal(sums if cell else sums % 2, 0)))
    if not patterns:
        return None
    w = np.array(list(shares.values()), dtype=float)
    return JuntaStrategy(spectrum.sizes, spectrum.groups, tuple(patterns), w / w.sum(), ratio(epsilon))


EXHAUSTIVE, LISTED = 16, 1 << 22
"""Cells of a signature up to which all sets may be listed, and how many energies all of them may have."""
ENTRIES, STARTS = 1 << 17, 256
"""Most cells of the random patterns that a round draws for one signature, and most of these patterns."""
ENERGIES, FEWEST = 1 << 17, 4
"""Most energies of the random patterns of a signature, and fewest of these patterns, which has precedence."""
EACH, STEPS, POOL, LARGE = 8, 4, 1 << 24, 1 << 20
"""Limits of the first patterns of tables: the most patterns of each kind for a table, the steps that adjust their
spectra, the most energies of all of them (half a gigabyte), and the most cells of the patterns of one table."""
SOLVED = 1 << 14
"""Cells of a table whose patterns may have equal energies exactly."""
SLICED, SLICINGS = 4, 3
"""Number of axes that those along which slices are filled stay below, and patterns of each choice of axes and
size."""
BALANCING, MOVED = 24, 1 << 25
"""Most steps that adjust the spectrum of random patterns, and most cells in all steps for one signature."""
SHAKEN = 0.1
"""Share of the cells of known patterns that are flipped before an ascent starts from them."""
NEW = 64
"""Most new patterns of a signature in a round."""
UNDERVALUED = 1e-7
"""Relative excess of a pattern's worth over the mixture's from which the pattern enters the pool."""


def published(characters: Characters, epsilon: float, excess: float) -> list[Pool]:
    """Return the patterns of the published mechanisms in `published_juntas`, one pool for each pattern."""
    found = published_juntas(characters.spectrum, epsilon).values()
    patterns = [pattern for strategy in found for pattern in strategy.patterns]
    return [pooled(Signature(one.axes, characters, excess), one.inside.reshape(1, -1)) for one in patterns]


def exhaustive(listed: Sequence[Signature]) -> Iterator[Pool]:
    """Yield for each signature of at most `EXHAUSTIVE` cells all sets of its cells, while there is room for them."""
    left = LISTED
    for signature in listed:
        energies = len(signature.characters.costs) << min(signature.cells, EXHAUSTIVE)
        if signature.cells <= EXHAUSTIVE and energies <= left:
            left -= energies
            codes = np.arange(1, (1 << signature.cells) - 1)[:, None]
            yield pooled(signature, (codes >> np.arange(signature.cells)) & 1 == 1)


def _wanted(characters: Characters) -> np.ndarray:
    """Return the energies of each class at which the closed bound is attained, m proportional to sqrt(v) (C,)."""
    return np.sqrt(characters.costs / characters.counts)


def balanced(signature: Signature, rng: np.random.Generator) -> Pool:
    """Return random patterns with energies near those at which the closed bound is attained."""
    amplitudes = signature.amplitudes(_wanted(signature.characters))
    return pooled(signature, _fields(signature, amplitudes, rng))


def tables(signature: Signature, rng: np.random.Generator) -> Pool:
    """Return random patterns of a table, of two kinds.

    Patterns of the first kind have nearly equal energies at all characters, as subset selection on the cells
    of the table has. Those of the second kind have most energy at the characters that touch all axes. So they
    have nearly equal numbers of cells in every row and column, so that mixtures of them with patterns of
    smaller tables can have any wanted energies. For a table too large for exact equations, the pool also
    holds patterns with the energies of subset selection itself; complementary patterns with these energies
    are found at the end.
    """
    whole = np.indices(signature.shape).all(axis=0)  # characters that touch every axis
    energies = len(signature.characters.costs) ** 2  # of one pattern of each table
    count = int(np.clip(min(POOL // energies, LARGE // signature.cells), 2, EACH))
    best = int(signature.cells / (2 + signature.excess))
    sizes = np.clip(best + np.arange(count) % 2, 1, signature.cells - 1)
    fields = [
        signature.balanced(sizes, amplitudes, STEPS, rng)
        for amplitudes in (np.ones(signature.shape), whole.astype(float))
    ]
    if EACH * signature.cells <= LARGE:
        sliced = _sliced(signature, sizes, rng)
        fields += [sliced] if len(sliced) * energies <= POOL else []
    own = pooled(signature, np.concatenate(fields))
    return joined([_selection(signature, fields[0]), own]) if signature.cells > SOLVED else own


def _selection(signature: Signature, patterns: np.ndarray) -> Pool:
    """Return the pool of patterns (P, cells) with energies replaced by those of subset selection of their sizes.

    Subset selection has the same energy at all nontrivial characters.
    """
    found = pooled(signature, patterns)
    totals = [signature.total(int(inside.sum())) for inside in found.inside()]
    shares = signature.energies_of(np.arange(signature.cells) > 0) / (signature.cells - 1)
    return found._replace(energies=np.outer(totals, shares))


def _sliced(signature: Signature, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return patterns (P, cells), of the least and the largest size, that fill one slice after another.

    In random patterns of few cells hardly any two cells differ in few axes only, so no mixture of such
    patterns has equal energies at all characters. With the patterns returned here such a mixture exists.
    """
    shape, axes = signature.shape, range(len(signature.shape))
    chosen = [along for many in range(1, min(len(shape), SLICED)) for along in combinations(axes, many)]
    fields, both = [np.zeros((0, signature.cells))], (sizes.min(), sizes.max())
    for along in SLICINGS * chosen:
        slices = rng.random([1 if t in along else a for t, a in enumerate(shape)])
        fields.append((slices + 1e-3 * rng.random((2, *shape))).reshape(2, -1))
    return signature.top(np.concatenate(fields), np.tile(both, SLICINGS * len(chosen)))


def _fields(signature: Signature, amplitudes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return random patterns (P, cells) with a spectrum near the amplitudes (shape)."""
    most = min(ENTRIES // signature.cells, ENERGIES // len(signature.characters.costs))
    count = int(np.clip(most, FEWEST, STARTS))
    steps = int(np.clip(MOVED // (count * signature.cells), 2, BALANCING))
    return signature.balanced(_sizes(signature, count, rng), amplitudes, steps, rng)


def _sizes(signature: Signature, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return random pattern sizes (count,): half next to cells/(1 + E), others sixteenths of the cells or around."""
    cells, best = signature.cells, signature.cells / (2 + signature.excess)
    near = np.clip(np.floor(best + rng.random(count)), 1, cells - 1)
    dyadic = cells * rng.integers(1, 9, count) / 16
    around = best * np.exp(rng.normal(0, 0.3, count))
    kind = rng.choice(3, count, p=(0.5, 0.25, 0.25))
    return np.clip(np.choose(kind, (near, dyadic, around)).astype(int), 1, cells - 1)


def undervalued(
    signature: Signature, pool: Pool, prices: np.ndarray, value: float, rng: np.random.Generator
) -> Pool:
    """Return new patterns whose energies are worth more than `value`, the mixture's, at the prices of classes (C,)."""
    form, characters = signature.prices(prices), signature.characters
    tilt = np.power(prices / characters.counts, rng.uniform(0, 2))
    starts = [_fields(signature, signature.amplitudes(_wanted(characters) * tilt), rng)]
    own = [bits for one, bits in zip(pool.signatures, pool.packed, strict=True) if one.axes == signature.axes]
    if own:
        drawn = np.stack(own)[rng.integers(0, len(own), len(starts[0]))]
        known = np.unpackbits(drawn, axis=1, count=signature.cells).astype(bool)
        starts.append(known ^ (rng.random(known.shape) < SHAKEN))
    patterns = signature.ascended(np.concatenate(starts), form)
    worth = signature.values(patterns, form)
    order = np.argsort(-worth)[:NEW]
    better = order[worth[order] > value * (1 + UNDERVALUED)]
    return pooled(signature, patterns[better])
