"""Patterns whose mean energy is the same at all characters of a class, which the search only assumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from stratagem.solvers.junta.complementary import MultiplierGroup, complementary
from stratagem.solvers.junta.signature import Pool, Signature

WORK = 4e9
"""Largest sum of the cubed numbers of equations of all tables that are solved, at 1.6 ns for each unit."""
EQUATIONS, ELEMENTS = 400, 128
"""Number of equations of a table above which multiplications of its axes reduce them, and most multiplications."""
PATTERNS, CELLS = 1 << 15, 1 << 28
"""Most patterns of all tables that are solved exactly, and most cells of these patterns; the same limits apply to
all other tables."""
VARIANTS, SPARE = 2.2, 8
"""Number of variants for each equation, and least number of variants of each pattern. Random points have their
mean in their convex hull if they are more than twice as many as dimensions (Wendel 1962)."""
CLOSE = 8
"""Ratio of the cells to the squared size of patterns from which some differences of cells are rare."""
TRIES = 3
"""Number of times that variants are drawn until the weights are exact, each time twice as many."""
FEWEST, MOST, IMAGES = 4, 256, 16
"""Limits for a table that is not solved exactly: the fewest patterns, the number of patterns above which each has
fewer images, and the most images."""
RATE, PATTERN, SECONDS = 1 << 22, 1 << 10, (2.0, 60.0)
"""Cells of patterns that are computed in a second, the fixed cost of a pattern in cells, and the least and largest
time in seconds for the patterns of all tables."""
SPARSE = 256.0
"""Value of E - 1 from which patterns have so few cells that their images improve the spectrum."""
LITTLE = 1e-4
"""Relative loss, against equal energies, up to which complementary patterns are accepted at once."""
BLOCK = 1 << 21
"""Number of cells that are transformed together."""
NEGLIGIBLE = 1e-9
"""Energies below this share of the largest one are treated as zero."""
EXACT = 1e-9
"""Largest relative error of a mean energy that counts as rounding."""


class Variants(NamedTuple):
    """Weighted patterns (V,) of one signature."""

    signature: Signature
    packed: np.ndarray
    """The bits of each pattern (V, bytes)."""
    weights: np.ndarray
    """Weights of the patterns in the whole mixture (V,), positive."""
    shares: np.ndarray
    """For each pattern, the largest share that it has of the energy of a class in the whole mixture (V,)."""


def equalised(pool: Pool, weights: np.ndarray, seconds: float, rng: np.random.Generator) -> list[Variants]:
    """Return patterns and weights with the energies of the mixture, made equal at all characters of a class.

    A permutation of the values of an unordered axis moves the energy of a pattern between the characters of a
    class that touch the same axes; their sum stays the same. Patterns permuted in this way are called
    variants. Weights w >= 0 of the variants v of a signature solve sum_v w_v |x_v^(chi)|^2 = the mean over
    such characters, one equation for each chi up to conjugation. A vertex has no more variants than
    equations. Where there are many equations, a variant stands for its images under multiplications of
    unordered axes, so that an orbit of characters has one equation. The tables with most equations get
    patterns each of which corrects the spectrum of those before it (see `complementary`). `seconds` is the
    time for these.
    """
    mixed = weights @ pool.energies
    tables = [_Table(pool.chosen(places), weights[places], mixed) for places in _by_signature(pool)]
    solved = _affordable(tables)
    others = [table for table in tables if table not in solved]
    cells, many = max(1, sum(table.signature.cells for table in others)), max(1, len(others))
    room = max(FEWEST, min(PATTERNS // many, CELLS // cells))
    affordable = RATE * np.clip(seconds, *SECONDS) / (cells + PATTERN * many)
    count = int(np.clip(affordable, FEWEST, room))
    made = [table.solved(rng) for table in solved] + [None for _ in others]
    pairs = zip(solved + others, made, strict=True)
    return [found or table.drawn(count, room, rng) for table, found in pairs]


def _affordable(tables: list[_Table]) -> list[_Table]:
    """Return the tables with the fewest cells whose equations fit into the limits of time and memory."""
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
    """Yield the indices in the pool of the patterns of each signature."""
    places: dict[tuple[int, ...], list[int]] = {}
    for b, one in enumerate(pool.signatures):
        places.setdefault(one.axes, []).append(b)
    yield from map(np.array, places.values())


@dataclass(frozen=True, eq=False)
class _Table:
    """The patterns of one signature, with the mean energies that their variants must have."""

    part: Pool
    weights: np.ndarray
    """Weights of the patterns in the whole mixture (P,), positive."""
    mixed: np.ndarray
    """The energy of each class in the whole mixture (C,)."""

    @property
    def signature(self) -> Signature:
        """The signature that all patterns of the table share."""
        return self.part.signatures[0]

    @cached_property
    def patterns(self) -> np.ndarray:
        """The sets of cells (P, cells), boolean."""
        return self.part.inside()

    @cached_property
    def shares(self) -> np.ndarray:
        """The weights of the patterns divided by their sum (P,)."""
        return self.weights / self.weights.sum()

    @cached_property
    def touched(self) -> np.ndarray:
        """A label of each character (cells,), which stands for its class and the axes that it touches.

        The label is 0 for characters that no query needs.
        """
        shape, characters = self.signature.shape, self.signature.characters
        powers = 1 << np.arange(len(shape)).reshape(-1, *[1] * len(shape))
        touched = ((np.indices(shape) > 0) * powers).sum(axis=0)
        labels = characters.labels(self.signature.axes)
        numbers = np.where(labels >= 0, touched * len(characters.costs) + labels, -1)
        return np.unique(np.append(-1, numbers), return_inverse=True)[1][1:]

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The axes whose values have no order that a query uses."""
        ordered = self.signature.characters.ordered
        return tuple(t for t, g in enumerate(self.signature.axes) if not ordered[g])

    @cached_property
    def group(self) -> MultiplierGroup:
        """The multiplications of axes under which all images of a variant have the same weight."""
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
        """The mean of `power` over all characters of the same label, the energy wanted at each (cells,)."""
        levels = np.bincount(self.touched, self.power) / np.maximum(1, np.bincount(self.touched))
        levels[0] = 0
        return levels[self.touched]

    def solved(self, rng: np.random.Generator) -> Variants | None:
        """Return variants with equal mean energies at all characters of a label; None if none are found."""
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
        """Return complementary patterns, or variants if these lose less accuracy.

        There are at most `count` patterns, and at most `room` with their images. If `count` is above `MOST`
        and the patterns are not sets of few cells (see `SPARSE`), they are used without images.
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
        """Return the images of patterns (V, cells) under a group; `shares` (V,) divide the weight of the table.

        `energies` (C,) are the energies of each class if all patterns have nearly the same, else None.
        """
        many = len(group.elements)
        weights = shares * (self.weights.sum() / shares.sum() / many)
        blocks = self._blocks(variants) if energies is None else []
        parts = [energies[None]] if energies is not None else map(self.signature.energies, blocks)
        most = weights * np.concatenate([(part / self.mixed).max(axis=1, initial=0) for part in parts])
        packed = [np.packbits(image) for one in variants for image in group.images(one)]
        return Variants(self.signature, np.stack(packed), weights.repeat(many), most.repeat(many))

    def _close(self, rng: np.random.Generator) -> np.ndarray:
        """Return random patterns (k x cells) that contain the cells 0 and d, one for a cell d of each orbit.

        Random variants of few cells seldom contain two cells with a given difference d. For larger patterns
        the array is empty.
        """
        size = int(self.patterns[self.shares.argmax()].sum())
        near = np.flatnonzero(self.group.firsts)[1:]
        if size < 2 or size**2 * CLOSE > self.signature.cells:
            near = near[:0]
        fields = rng.random((len(near), self.signature.cells))
        fields[:, 0], fields[np.arange(len(near)), near] = 2, 2
        return self.signature.top(fields, np.full(len(near), size))

    def _variants(self, count: int, fewest: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the patterns with random variants of them (V, cells), and the pattern that each comes from (V,).

        The number of variants of a pattern is proportional to its share, and at least `fewest`. A variant has
        the values of its unordered axes permuted.
        """
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
        """Return shares of the variants (V,) that make the mean energies equal, and the largest relative error."""
        A = np.vstack([self._relative(variants).T, np.ones(len(variants))])
        try:
            shares, _ = nnls(A, np.ones(len(A)))
        except RuntimeError:  # too many iterations
            return np.zeros(len(variants)), np.inf
        return shares, float(np.abs(A @ shares - 1).max())

    def _relative(self, patterns: np.ndarray) -> np.ndarray:
        """Return each pattern's mean energy at each orbit of positive level, divided by that level (V, R)."""
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
        """Return the rows divided into blocks of at most `BLOCK` cells."""
        many = max(1, BLOCK // self.signature.cells)
        return [rows[first : first + many] for first in range(0, len(rows), many)]


def _waste(levels: np.ndarray, power: np.ndarray) -> float:
    """Return sum_chi levels^2/power for mean energies `power` (cells,), which is least where they equal the levels."""
    known = levels > NEGLIGIBLE * levels.max()
    with np.errstate(divide="ignore"):
        return float((np.square(levels[known]) / power[known]).sum())
