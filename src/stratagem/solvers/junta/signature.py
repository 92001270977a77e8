"""Characters that queries need, in classes, and signatures of juntas (the groups of their axes) with their energies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from scipy.fft import fftn, irfftn, rfftn
from scipy.linalg import hadamard
from scipy.sparse import csr_array

from stratagem.workloads.harmonics import Harmonics
from stratagem.workloads.structure import Spectrum, Type


@dataclass(frozen=True, eq=False)
class Characters:
    """The classes c of nontrivial characters with their costs, so that L/n = v_0 + sum_c costs_c/m_c.

    V is invariant under permutations of the values of an attribute whose order no query uses. Averaging a
    strategy over these permutations never raises L. It leaves one eigenvalue of M for each type and frequency
    of the ordered attributes, with conjugates in one class. So the best energies per class are those of an
    optimal strategy among the translation-invariant ones. `equalised` replaces patterns by some whose
    energies agree within each class.
    """

    harmonics: Harmonics
    spectrum: Spectrum
    """The spectrum of the harmonics, whose largest group may be divided (see `divided`)."""
    kinds: tuple[Type, ...] = field(init=False)
    """The nontrivial types of the spectrum that have characters."""
    costs: np.ndarray = field(init=False)
    """The mean eigenvalue v of each class, times the number of its characters (C,)."""
    counts: np.ndarray = field(init=False)
    """The number of characters of each class (C,)."""
    _places: dict[Type, np.ndarray] = field(init=False)
    """For each type, the class at each frequency of the ordered attributes that it touches."""

    def __post_init__(self) -> None:
        """Compute the classes of all types, with their costs and counts."""
        spectrum, kinds, start = self.spectrum, [], 0
        costs, counts, places = [np.zeros(0)], [np.zeros(0)], {}
        for kind, value, many in zip(spectrum.types, spectrum.values, spectrum.multiplicities, strict=True):
            if not any(kind) or many <= 0:
                continue
            sides = zip(self.lengths, kind, self.ordered, strict=True)
            owner = _conjugates(tuple(a - 1 for a, touched, ordered in sides if touched and ordered))
            v = self._values(kind) if owner.ndim else np.array(value)
            each = np.bincount(owner.ravel()) * (many / owner.size)
            cost = each * np.bincount(owner.ravel(), v.ravel()) / np.bincount(owner.ravel())
            kinds, places[kind] = [*kinds, kind], start + owner
            costs, counts, start = [*costs, cost], [*counts, each], start + len(each)
        object.__setattr__(self, "kinds", tuple(kinds))
        object.__setattr__(self, "costs", np.concatenate(costs))
        object.__setattr__(self, "counts", np.concatenate(counts))
        object.__setattr__(self, "_places", places)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The attribute size of each group."""
        return tuple(self.spectrum.sizes[group[0]] for group in self.spectrum.groups)

    @cached_property
    def ordered(self) -> tuple[bool, ...]:
        """For each group, whether some query uses an order of its values; such a group has one attribute."""
        return tuple(group[0] in self.harmonics.ordered for group in self.spectrum.groups)

    def labels(self, axes: Sequence[int]) -> np.ndarray:
        """Return the class of each character of the given axes, an array of the shape of their lengths.

        An axis is given by the number of its group. The class is -1 for characters that no query needs.
        """
        labels = np.full([self.lengths[g] for g in axes], -1, dtype=np.int64)
        for touched in product((False, True), repeat=len(axes)):
            chosen = [g for g, one in zip(axes, touched, strict=True) if one]
            kind = tuple(chosen.count(g) for g in range(len(self.lengths)))
            if kind in self._places:
                shape = [self.lengths[g] - 1 if self.ordered[g] else 1 for g in chosen]
                places = self._places[kind].reshape(shape)
                labels[tuple(slice(1, None) if one else 0 for one in touched)] = places
        return labels

    def _values(self, kind: Type) -> np.ndarray:
        """Return v at each frequency of the ordered attributes that a type touches."""
        sides = zip(self.spectrum.groups, kind, strict=True)
        return self.harmonics.values([i for group, count in sides for i in group[:count]])


def _conjugates(shape: tuple[int, ...]) -> np.ndarray:
    """Return a class number for each tuple of frequencies 1, ..., a - 1; a tuple and its negative share one."""
    numbers = np.arange(prod(shape)).reshape(shape)
    least = np.minimum(numbers, np.flip(numbers))
    return np.unique(least, return_inverse=True)[1].reshape(shape)


MERGED = 5
"""Number of binary axes that one Hadamard matrix transforms together."""
ASCENTS, FLIPS = 20, 30
"""Most steps of an ascent at a fixed size, and most steps of one that flips single cells."""


@dataclass(frozen=True, eq=False)
class Signature:
    """The axes of a junta, each from a group of interchangeable attributes, with methods for patterns on them.

    Patterns are sets T of cells of the axes, a boolean array (P, cells). With c = E - 1 and k = |T| the
    energy of a pattern at a nontrivial character chi is |c 1_T^(chi)/(cells + c k)|^2.
    """

    axes: tuple[int, ...]
    characters: Characters
    excess: float
    """c = E - 1."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.characters.lengths[g] for g in self.axes)

    @property
    def cells(self) -> int:
        """Number of cells of the axes, the product of their lengths."""
        return prod(self.shape)

    @property
    def placements(self) -> int:
        """Number of ways to assign the axes to distinct attributes of their groups."""
        groups, count = self.characters.spectrum.groups, 1
        for t, g in enumerate(self.axes):
            count *= len(groups[g]) - self.axes[:t].count(g)
        return count

    @property
    def outputs(self) -> int:
        """Number of outputs of one pattern, one for each placement and translate."""
        return self.cells * self.placements

    def total(self, size: int) -> float:
        """Return the energy of a pattern of k = `size` cells at all characters: c^2 k (cells - k)/(cells + c k)^2."""
        share = self.excess / (self.cells + self.excess * size)
        return share * share * size * (self.cells - size)

    def energies(self, patterns: np.ndarray) -> np.ndarray:
        """Return the mean energy of each pattern at each class of characters over all placements (P, C)."""
        return self.energies_of(self.power(patterns))

    def energies_of(self, power: np.ndarray) -> np.ndarray:
        """Return the mean energies at each class (..., C), given those at the characters of the axes (..., cells)."""
        return np.asarray(power @ self._mean)

    def prices(self, prices: np.ndarray) -> np.ndarray:
        """Return the price of energy at each character of the axes (shape), given the prices of classes (C,)."""
        return np.asarray(self._mean @ prices).reshape(self.shape)

    def amplitudes(self, wanted: np.ndarray) -> np.ndarray:
        """Return amplitudes at the characters of the axes (shape) with energies in proportion to `wanted` (C,).

        `wanted` holds one mean energy for each class. All characters of the axes in one class get the same
        energy.
        """
        together = self._mean.T @ np.ones(self.cells)  # characters of the axes over those of the type
        known = together > 0
        each = np.zeros(len(wanted))
        each[known] = wanted[known] / together[known]
        return np.sqrt(np.asarray((self._mean > 0) @ each).reshape(self.shape))

    def values(self, patterns: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return the worth of patterns (P,), the sum of their energies times `prices` (shape)."""
        return self.power(patterns) @ prices.ravel()

    def ascended(self, patterns: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return patterns (P, cells) of no smaller worth, by ascents from `patterns`.

        Steps at fixed sizes move to the largest cells of the worth's gradient; then single cells are flipped.
        """
        patterns = self._risen(patterns, prices)
        return self._flipped(patterns, prices)

    def balanced(
        self, sizes: np.ndarray, amplitudes: np.ndarray, steps: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return random patterns of given sizes (P,) whose spectrum is near the amplitudes (shape).

        A pattern starts as the largest cells of a Gaussian field with that spectrum. Each step combines the
        phases of the pattern's transform with the wanted amplitudes and takes the largest cells of that field
        (Gerchberg-Saxton).
        """
        fields = self._filtered(rng.standard_normal((len(sizes), self.cells)), amplitudes)
        patterns = self.top(fields, sizes)
        for _ in range(steps):
            transformed = self._transform(patterns)
            size = np.abs(transformed)
            wanted = self._half(amplitudes) / np.where(size > 0, size, 1)
            patterns = self.top(self._inverse(transformed * wanted), sizes)
        return patterns

    def top(self, fields: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the sets of the sizes[p] largest entries of each field (P, cells), of equal ones the first."""
        chosen = sizes > 0
        last = -np.sort(-fields, axis=1)[np.arange(len(fields)), np.maximum(sizes, 1) - 1, None]
        inside, level = fields > last, fields == last
        room = sizes - inside.sum(axis=1)
        tied = level.sum(axis=1) > room
        level[tied] &= np.cumsum(level[tied], axis=1) <= room[tied, None]
        return (inside | level) & chosen[:, None]

    def _risen(self, patterns: np.ndarray, prices: np.ndarray) -> np.ndarray:
        sizes, moving = patterns.sum(axis=1), np.arange(len(patterns))
        patterns = patterns.copy()
        for _ in range(ASCENTS):
            fields = self._filtered(patterns[moving], prices) + 1e-9 * patterns[moving]
            new = self.top(fields, sizes[moving])
            moved = (new != patterns[moving]).any(axis=1)
            patterns[moving] = new
            moving = moving[moved]
            if not len(moving):
                break
        return patterns

    def _flipped(self, patterns: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return the patterns after flips of single cells, each the flip that raises the worth of a pattern most."""
        patterns, moving, own = patterns.copy(), np.arange(len(patterns)), prices.sum() / self.cells
        for _ in range(FLIPS):
            here = patterns[moving]
            fields, k = self._filtered(here, prices), here.sum(axis=1, keepdims=True)
            forms = (fields * here).sum(axis=1, keepdims=True)
            sign = 1 - 2.0 * here
            after = (forms + 2 * sign * fields + own) / np.square(self.cells + self.excess * (k + sign))
            after[((k + sign) <= 0) | ((k + sign) >= self.cells)] = 0
            best = after.argmax(axis=1)
            now = (forms / np.square(self.cells + self.excess * k))[:, 0]
            better = after[np.arange(len(best)), best] > now * (1 + 1e-9)
            moving, best = moving[better], best[better]
            if not len(moving):
                break
            patterns[moving, best] ^= True
        return patterns

    def power(self, patterns: np.ndarray) -> np.ndarray:
        """Return |x^(chi)|^2 at all characters of the axes (P, cells), 0 at the trivial one."""
        fields = patterns.astype(float)
        if self._binary:
            transformed = self._hadamard(fields)
        else:
            transformed = np.asarray(
                fftn(fields.reshape(-1, *self.shape), axes=range(1, 1 + len(self.shape)))
            )
        power = np.square(np.abs(transformed)).reshape(-1, self.cells)
        power *= np.square(self.excess / (self.cells + self.excess * patterns.sum(axis=1)))[:, None]
        power[:, 0] = 0
        return power

    def _filtered(self, fields: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """Return the convolution of fields (P, cells) with the function of spectrum `prices` (shape)."""
        return self._inverse(self._transform(fields) * self._half(prices))

    def _transform(self, fields: np.ndarray) -> np.ndarray:
        if self._binary:
            return self._hadamard(fields.astype(float))
        array = fields.reshape(-1, *self.shape).astype(float)
        return np.asarray(rfftn(array, axes=range(1, array.ndim)))

    def _inverse(self, transformed: np.ndarray) -> np.ndarray:
        if self._binary:
            return self._hadamard(transformed) / self.cells
        back = irfftn(transformed, self.shape, axes=range(1, transformed.ndim))
        return np.asarray(back).reshape(-1, self.cells)

    def _half(self, spectrum: np.ndarray) -> np.ndarray:
        """Return the part of a real, symmetric spectrum that `_transform` works with."""
        return spectrum.ravel() if self._binary else spectrum[..., : self.shape[-1] // 2 + 1]

    def _hadamard(self, fields: np.ndarray) -> np.ndarray:
        """Return the Walsh-Hadamard transform of each row, five axes at a time, as products of few large matrices."""
        for first in range(0, len(self.shape), MERGED):
            block = 1 << min(MERGED, len(self.shape) - first)
            after = self.cells // (block << first)
            turn = _walsh(block)
            fields = (
                fields.reshape(-1, block) @ turn if after == 1 else turn @ fields.reshape(-1, block, after)
            )
        return fields.reshape(-1, self.cells)

    @cached_property
    def _binary(self) -> bool:
        return all(a == 2 for a in self.shape)

    @cached_property
    def _mean(self) -> csr_array:
        """The sparse matrix (cells, C) that takes energies at characters of the axes to mean energies of classes.

        The row of a character has one entry, in the column of its class: one over the number of characters
        there.
        """
        labels = self.characters.labels(self.axes).ravel()
        asked = np.flatnonzero(labels >= 0)
        shares = 1 / self.characters.counts[labels[asked]]
        size = (self.cells, len(self.characters.counts))
        return csr_array((shares, (asked, labels[asked])), shape=size)


DIGITS = 12
"""Patterns whose energies agree to this many digits, relative to the largest, count as the same pattern."""


class Pool(NamedTuple):
    """Patterns (B,) of a mixture, no two of equal energies."""

    signatures: tuple[Signature, ...]
    """The signature of each pattern."""
    packed: tuple[np.ndarray, ...]
    """The bits of each pattern (bytes,)."""
    energies: np.ndarray
    """Mean energy of each pattern at each class of characters (B, C)."""

    def chosen(self, places: np.ndarray) -> Pool:
        """Return the pool of the patterns with the given indices."""
        signatures = tuple(self.signatures[b] for b in places)
        return Pool(signatures, tuple(self.packed[b] for b in places), self.energies[places])

    def inside(self) -> np.ndarray:
        """Return the patterns as a boolean array (B, cells); all must have the same signature."""
        packed = np.stack(self.packed)
        return np.unpackbits(packed, axis=1, count=self.signatures[0].cells).astype(bool)


def pooled(signature: Signature, patterns: np.ndarray) -> Pool:
    """Return the pool of the proper patterns (neither empty nor full) among `patterns` (P, cells).

    Of patterns with equal energies only the first is kept.
    """
    sizes = patterns.sum(axis=1)
    patterns = patterns[(sizes > 0) & (sizes < signature.cells)]
    energies = signature.energies(patterns)
    first = _distinct(energies)
    return Pool((signature,) * len(first), tuple(np.packbits(patterns[first], axis=1)), energies[first])


def joined(pools: Iterable[Pool]) -> Pool:
    """Return one pool of the patterns of all pools, in order; of patterns with equal energies the first is kept."""
    parts = list(pools)
    energies = np.concatenate([part.energies for part in parts])
    whole = Pool(
        tuple(one for part in parts for one in part.signatures),
        tuple(one for part in parts for one in part.packed),
        energies,
    )
    return whole.chosen(_distinct(energies))


def _distinct(energies: np.ndarray) -> np.ndarray:
    """Return the rising indices of the rows that differ from all earlier rows.

    Rows are compared by a fixed random projection, rounded to `DIGITS` digits.
    """
    scale = energies.max(axis=0, initial=0)
    weights = np.random.default_rng(0).random(energies.shape[1]) / np.where(scale > 0, scale, 1)
    keys = np.round(energies @ weights / max(1, len(weights)), DIGITS)
    return np.sort(np.unique(keys, return_index=True)[1])


@cache
def _walsh(block: int) -> np.ndarray:
    """Return the Hadamard matrix (block x block), made once for each of the few sizes."""
    return hadamard(block).astype(float)
