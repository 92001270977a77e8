"""Patterns whose mean energy is the same at all characters of a type, as the search takes for granted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from stratagem.solvers.junta.pool import Pool
from stratagem.solvers.junta.signature import Signature

WORK = 4e9
"""Cubes of the numbers of equations of all tables that are solved, 1.6 ns each."""
VARIANTS, SPARE = 2.2, 8
"""Variants for each equation, and more: random points about their mean have it in their convex hull if they
are more than twice as many as dimensions (Wendel 1962)."""
TRIES = 3
"""How often variants are drawn until the weights are exact, each time twice as many."""
FEWEST, MOST, CELLS = 32, 256, 1 << 21
"""Equally likely variants of a table with more equations, between the first two, and the cells of all of them:
with k variants the objective is about 1/k larger than with equal energies."""
NEGLIGIBLE = 1e-9
"""Energy relative to the largest below which a type has none."""
EXACT = 1e-9
"""Largest relative error of a mean energy that is no error."""


def equalised(pool: Pool, weights: np.ndarray, rng: np.random.Generator) -> tuple[Pool, np.ndarray]:
    """Return patterns and weights with the same energies of each type, now equal at all its characters.

    Permuting the values of an axis that knows no order moves the energy of a pattern between the characters of
    a class that touch the same axes, and leaves their sum. Weights w >= 0 of variants v of the patterns of a
    signature solve sum_v w_v |x_v^(chi)|^2 = the mean over such characters, one equation for each chi up to
    conjugation; a vertex has no more variants than equations. The tables with most equations have many
    equally likely variants instead, which come close.
    """
    tables = [_Table(pool.chosen(places), weights[places]) for places in _by_signature(pool)]
    order = sorted(tables, key=lambda table: len(table.asked))
    work = np.cumsum([float(len(table.asked)) ** 3 for table in order])
    solved = [
        table.solved(rng) if spent <= WORK else table.drawn(rng)
        for table, spent in zip(order, work, strict=True)
    ]
    whole = Pool(
        tuple(one for part, _ in solved for one in part.signatures),
        tuple(one for part, _ in solved for one in part.packed),
        np.concatenate([part.energies for part, _ in solved]),
    )
    return whole, np.concatenate([w for _, w in solved])


def _by_signature(pool: Pool) -> Iterator[np.ndarray]:
    """Yield the places of the patterns of each signature."""
    axes = [one.axes for one in pool.signatures]
    for wanted in dict.fromkeys(axes):
        yield np.array([b for b, one in enumerate(axes) if one == wanted])


@dataclass(frozen=True, eq=False)
class _Table:
    """The patterns of one signature, and what the mean energies of their variants must be."""

    part: Pool
    weights: np.ndarray
    """(P,), positive."""

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
    def asked(self) -> np.ndarray:
        """The characters that the queries need, one of each pair of conjugates (R,)."""
        shape, numbers = self.signature.shape, np.arange(self.signature.cells)
        conjugate = np.ravel_multi_index(
            tuple(-place % a for place, a in zip(np.unravel_index(numbers, shape), shape, strict=True)), shape
        )
        return np.flatnonzero((self.touched > 0) & (numbers <= conjugate))

    @property
    def even(self) -> bool:
        """Whether no two equations are of one type."""
        return len(self.asked) == len(np.unique(self.touched[self.asked]))

    def drawn(self, rng: np.random.Generator) -> tuple[Pool, np.ndarray]:
        """Return equally likely variants of each pattern and their weights."""
        count = int(np.clip(CELLS // self.signature.cells, FEWEST, MOST))
        variants, parents = self._variants(count, rng)
        return self._weighted(variants, parents, self.shares[parents] / np.bincount(parents)[parents])

    def solved(self, rng: np.random.Generator) -> tuple[Pool, np.ndarray]:
        """Return variants of equal mean energies, and their weights."""
        if self.even:
            return self.part, self.weights
        count, best, least = int(VARIANTS * len(self.asked)) + SPARE, None, np.inf
        for _ in range(TRIES):
            variants, parents = self._variants(count, rng)
            shares, error = self._balance(variants)
            if error < least:
                used, least = shares > 0, error
                best = self._weighted(variants[used], parents[used], shares[used])
            if least <= EXACT:
                break
            count *= 2
        return self.drawn(rng) if best is None else best

    def _weighted(
        self, variants: np.ndarray, parents: np.ndarray, shares: np.ndarray
    ) -> tuple[Pool, np.ndarray]:
        """Return variants (V, cells) with the energies of the patterns they come from (V,), and their weights."""
        packed = tuple(np.packbits(variants, axis=1))
        pool = Pool((self.signature,) * len(shares), packed, self.part.energies[parents])
        return pool, shares * (self.weights.sum() / shares.sum())

    def _variants(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the patterns and, in proportion to their shares, some with values permuted that have no order."""
        each = np.maximum(1, np.round(count * self.shares)).astype(int)
        parents, shape = np.repeat(np.arange(len(each)), each), self.signature.shape
        fixed = [self.signature.characters.ordered[g] for g in self.signature.axes]

        def places() -> list[np.ndarray]:
            sides = zip(shape, fixed, strict=True)
            return [np.arange(a) if ordered else rng.permutation(a) for a, ordered in sides]

        made = [self.patterns[b].reshape(shape)[np.ix_(*places())].ravel() for b in parents]
        firsts = np.cumsum(each) - each
        variants = np.stack(made)
        variants[firsts] = self.patterns
        return variants, parents

    def _balance(self, variants: np.ndarray) -> tuple[np.ndarray, float]:
        """Return shares of variants (V,) that make energies equal, and the largest relative error."""
        wanted = self._levels()
        known = wanted > NEGLIGIBLE * wanted.max()
        energies = self.signature.power(variants)[:, self.asked[known]]
        A = np.vstack([energies.T / wanted[known, None], np.ones(len(variants))])
        try:
            shares, _ = nnls(A, np.ones(len(A)))
        except RuntimeError:  # too many iterations
            return np.zeros(len(variants)), np.inf
        return shares, float(np.abs(A @ shares - 1).max())

    def _levels(self) -> np.ndarray:
        """Return the mean energy of the patterns at all characters that touch the same axes (R,)."""
        power = self.shares @ self.signature.power(self.patterns)
        return (np.bincount(self.touched, power) / np.maximum(1, np.bincount(self.touched)))[
            self.touched[self.asked]
        ]
