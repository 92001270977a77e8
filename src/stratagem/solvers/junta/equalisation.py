"""Patterns whose mean energy is the same at all characters of a type, as the search takes for granted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from stratagem.solvers.junta.complementary import complementary
from stratagem.solvers.junta.multiplier_group import MultiplierGroup
from stratagem.solvers.junta.pool import Pool
from stratagem.solvers.junta.signature import Signature

WORK = 4e9
"""Cubes of the numbers of equations of all tables that are solved, 1.6 ns each."""
EQUATIONS, ELEMENTS = 400, 128
"""Equations of a table beyond which multiplications of its axes make them fewer, and most multiplications."""
PATTERNS, CELLS = 1 << 15, 1 << 28
"""Patterns of all tables that are solved, and their cells; as many are for those that are not."""
VARIANTS, SPARE = 2.2, 8
"""Variants for each equation, and at least so many of each pattern: random points about their mean have it in
their convex hull if they are more than twice as many as dimensions (Wendel 1962)."""
CLOSE = 8
"""Cells over the square of the size of patterns from which some differences of cells are rare."""
TRIES = 3
"""How often variants are drawn until the weights are exact, each time twice as many."""
FEWEST, MOST, IMAGES = 4, 256, 16
"""Of a table that is not solved: the fewest patterns, those beyond which each has fewer images, and the most images."""
RATE, PATTERN, SECONDS = 1 << 22, 1 << 10, (2.0, 60.0)
"""Cells of patterns that are found in a second or less, cells that take as long as what every pattern takes
whatever its size, and how long all may take."""
SPARSE = 256.0
"""E - 1 from which patterns are sets of so few cells that images help them to follow a spectrum."""
LITTLE = 1e-4
"""Loss relative to equal energies that no other patterns are tried for."""
BLOCK = 1 << 21
"""Cells that are transformed together."""
NEGLIGIBLE = 1e-9
"""Energy relative to the largest below which a type has none."""
EXACT = 1e-9
"""Largest relative error of a mean energy that is no error."""


class Variants(NamedTuple):
    """Weighted patterns (V,) of one signature."""

    signature: Signature
    packed: np.ndarray
    """The bits of each pattern (V, bytes)."""
    weights: np.ndarray
    """(V,), positive."""
    shares: np.ndarray
    """The largest share that each pattern has of the energy of a type in the whole mixture (V,)."""


def equalised(pool: Pool, weights: np.ndarray, seconds: float, rng: np.random.Generator) -> list[Variants]:
    """Return patterns and weights with the same energies of each type, now equal at all its characters.

    Permuting the values of an axis that knows no order moves the energy of a pattern between the characters of
    a class that touch the same axes, and leaves their sum. Weights w >= 0 of variants v of the patterns of a
    signature solve sum_v w_v |x_v^(chi)|^2 = the mean over such characters, one equation for each chi up to
    conjugation; a vertex has no more variants than equations. Where these are many, a variant stands for its
    images under multiplications of such axes, so that an orbit of characters has one equation. The tables with
    most equations have patterns instead each of which makes up for those before it (see `complementary`).
    """
    mixed = weights @ pool.energies
    tables = [_Table(pool.chosen(places), weights[places], mixed) for places in _by_signature(pool)]
    solved = _affordable(tables)
    others = [table for table in tables if table not in solved]
    cells, many = max(1, sum(table.signature.cells for table in others)), max(1, len(others))
    room = max(FEWEST, min(PATTERNS // many, CELLS // cells))
    affordable = RATE * np.clip(seconds, *SECONDS) / (cells + PATTERN * many)
    count = int(np.clip(affordable, FEWEST, room))
    made = [table.solved(rng) or table for table in solved] + others
    return [table.drawn(count, room, rng) if isinstance(table, _Table) else table for table in made]


def _affordable(tables: list[_Table]) -> list[_Table]:
    """Return the tables with the fewest cells, for whose equations there are time and room."""
    work, patterns, cells, found = 0.0, 0, 0, []
    for table in sorted(tables, key=lambda table: table.signature.cells):
        many = table.signature.cells
        if cells + many**2 // 2 > CELLS:
            break
        equations, images = len(table.asked), len(table.group.elements)
        work += float(equations) ** 3
        patterns += equations * images
        cells += equations * images * many
        if work > WORK or patterns > PATTERNS or cells > CELLS:
            break
        found.append(table)
    return found


def _by_signature(pool: Pool) -> Iterator[np.ndarray]:
    """Yield the places of the patterns of each signature."""
    places: dict[tuple[int, ...], list[int]] = {}
    for b, one in enumerate(pool.signatures):
        places.setdefault(one.axes, []).append(b)
    yield from map(np.array, places.values())


@dataclass(frozen=True, eq=False)
class _Table:
    """The patterns of one signature, and what the mean energies of their variants must be."""

    part: Pool
    weights: np.ndarray
    """(P,), positive."""
    mixed: np.ndarray
    """The energy of each type in the whole mixture (C,)."""

    @property
    def signature(self) -> Signature:
        """The axes of all patterns."""
        return self.part.signatures[0]

    @cached_property
    def patterns(self) -> np.ndarray:
        """The sets of cells (P, cells), boolean."""
        return self.part.inside()

    @cached_property
    def shares(self) -> np.ndarray:
        """The weights (P,) over their sum."""
        return self.weights / self.weights.sum()

    @cached_property
    def touched(self) -> np.ndarray:
        """A number for the axes that each character touches and its class; 0 where no query needs it (cells,)."""
        shape, characters = self.signature.shape, self.signature.characters
        powers = 1 << np.arange(len(shape)).reshape(-1, *[1] * len(shape))
        touched = ((np.indices(shape) > 0) * powers).sum(axis=0)
        labels = characters.labels(self.signature.axes)
        numbers = np.where(labels >= 0, touched * len(characters.costs) + labels, -1)
        return np.unique(np.append(-1, numbers), return_inverse=True)[1][1:]

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The axes whose values know no order."""
        ordered = self.signature.characters.ordered
        return tuple(t for t, g in enumerate(self.signature.axes) if not ordered[g])

    @cached_property
    def group(self) -> MultiplierGroup:
        """The multiplications whose images of a variant come with it."""
        return MultiplierGroup.within(self.signature.shape, self.free, EQUATIONS, ELEMENTS)

    @cached_property
    def asked(self) -> np.ndarray:
        """The characters that the queries need, one of each orbit (R,)."""
        return np.flatnonzero((self.touched > 0) & self.group.firsts)

    @cached_property
    def power(self) -> np.ndarray:
        """The mean energy of the patterns at the characters that the queries need, 0 at others (cells,)."""
        return np.where(self.touched > 0, self._mean_power(self.patterns, self.shares), 0)

    @cached_property
    def levels(self) -> np.ndarray:
        """The mean of that over all characters of a class that touch the same axes (cells,)."""
        levels = np.bincount(self.touched, self.power) / np.maximum(1, np.bincount(self.touched))
        levels[0] = 0
        return levels[self.touched]

    def solved(self, rng: np.random.Generator) -> Variants | None:
        """Return variants of equal mean energies, None where none are found."""
        if np.allclose(self.power, self.levels, rtol=EXACT, atol=NEGLIGIBLE * self.levels.max()):
            return self._images(MultiplierGroup.trivial(self.signature.shape), self.patterns, self.shares)
        many, best, least = int(VARIANTS * len(self.asked)), None, np.inf
        for attempt in range(TRIES):
            variants, _ = self._variants(many << attempt, SPARE << attempt, rng)
            variants = np.concatenate([variants, self._close(rng)])
            shares, error = self._balance(variants)
            if error < least:
                best, least = (variants[shares > 0], shares[shares > 0]), error
            if least <= EXACT:
                break
        return self._images(self.group, *best) if best else None

    def drawn(self, count: int, room: int, rng: np.random.Generator) -> Variants:
        """Return patterns that complement each other, or variants if these waste less.

        They are at most `count`, and with their images at most `room`. Where there is time for patterns enough,
        and they are no sets of few cells, images of them are not needed.
        """
        most = 1 if count > MOST and self.signature.excess < SPARSE else min(IMAGES, room // min(count, MOST))
        group = MultiplierGroup.within(self.signature.shape, self.free, 0, most)
        few = min(count, room // len(group.elements))
        sizes = self.patterns.sum(axis=1)[rng.choice(len(self.shares), few, p=self.shares)]
        energies = self.shares @ self.part.energies
        levels = np.square(self.signature.amplitudes(energies).ravel())
        one = complementary(self.signature, levels, sizes, group, rng)
        waste = _waste(levels, one.power)
        if waste > levels.sum() * (1 + LITTLE):
            variants, parents = self._variants(min(few, MOST), 1, rng)
            shares = self.shares[parents] / np.bincount(parents)[parents]
            if _waste(levels, group.mean(self._mean_power(variants, shares))) < waste:
                return self._images(group, variants, shares)
        return self._images(group, one.patterns, one.shares, energies)

    def _images(
        self,
        group: MultiplierGroup,
        variants: np.ndarray,
        shares: np.ndarray,
        energies: np.ndarray | None = None,
    ) -> Variants:
        """Return the images of patterns (V, cells), which share the weight of the table as the patterns do.

        `energies` are those of each type (C,), if all patterns have about the same.
        """
        many = len(group.elements)
        weights = shares * (self.weights.sum() / shares.sum() / many)
        blocks = self._blocks(variants) if energies is None else []
        parts = [energies[None]] if energies is not None else map(self.signature.energies, blocks)
        most = weights * np.concatenate([(part / self.mixed).max(axis=1, initial=0) for part in parts])
        packed = [np.packbits(image) for one in variants for image in group.images(one)]
        return Variants(self.signature, np.stack(packed), weights.repeat(many), most.repeat(many))

    def _close(self, rng: np.random.Generator) -> np.ndarray:
        """Return patterns of few cells, two of them 0 and d, with one d of each orbit: few variants have a rare d."""
        size = int(self.patterns[self.shares.argmax()].sum())
        near = np.flatnonzero(self.group.firsts)[1:]
        if size < 2 or size**2 * CLOSE > self.signature.cells:
            near = near[:0]
        fields = rng.random((len(near), self.signature.cells))
        fields[:, 0], fields[np.arange(len(near)), near] = 2, 2
        return self.signature.top(fields, np.full(len(near), size))

    def _variants(self, count: int, fewest: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the patterns and, in proportion to their shares, some with values permuted that have no order."""
        each = np.maximum(fewest, np.round(count * self.shares)).astype(int)
        parents, shape = np.repeat(np.arange(len(each)), each), self.signature.shape

        def places() -> list[np.ndarray]:
            return [rng.permutation(a) if t in self.free else np.arange(a) for t, a in enumerate(shape)]

        made = [self.patterns[b].reshape(shape)[np.ix_(*places())].ravel() for b in parents]
        firsts = np.cumsum(each) - each
        variants = np.stack(made)
        variants[firsts] = self.patterns
        return variants, parents

    def _balance(self, variants: np.ndarray) -> tuple[np.ndarray, float]:
        """Return shares of variants (V,) that make energies equal, and the largest relative error."""
        A = np.vstack([self._relative(variants).T, np.ones(len(variants))])
        try:
            shares, _ = nnls(A, np.ones(len(A)))
        except RuntimeError:  # too many iterations
            return np.zeros(len(variants)), np.inf
        return shares, float(np.abs(A @ shares - 1).max())

    def _relative(self, patterns: np.ndarray) -> np.ndarray:
        """Return the mean energies of patterns at the orbits that have any, over their levels (V, R)."""
        wanted = self.levels[self.asked]
        known = self.asked[wanted > NEGLIGIBLE * wanted.max()]
        cells, first = self.signature.cells, np.full(self.signature.cells, -1)
        first[known] = np.arange(len(known))
        place = first[self.group.labels]
        inside = np.flatnonzero(place >= 0)
        sizes = np.bincount(place[inside], minlength=len(known))
        scale = 1 / (self.levels[inside] * sizes[place[inside]])
        mean = csr_array((scale, (inside, place[inside])), shape=(cells, len(known)))
        return np.concatenate([self.signature.power(block) @ mean for block in self._blocks(patterns)])

    def _mean_power(self, patterns: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the mean energies of a mixture of patterns at all characters (cells,)."""
        parts = zip(self._blocks(patterns), self._blocks(shares), strict=True)
        return np.sum([share @ self.signature.power(block) for block, share in parts], axis=0)

    def _blocks(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the rows in blocks that are transformed together."""
        many = max(1, BLOCK // self.signature.cells)
        return [rows[first : first + many] for first in range(0, len(rows), many)]


def _waste(levels: np.ndarray, power: np.ndarray) -> float:
    """Return sum_chi levels^2/power of mean energies (cells,): what their not being at the levels costs."""
    known = levels > NEGLIGIBLE * levels.max()
    with np.errstate(divide="ignore"):
        return float((np.square(levels[known]) / power[known]).sum())
