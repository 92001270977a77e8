"""Groups of multiplications of the axes of a pattern by units, with their orbits of characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np

LONGEST = 9
"""Largest order of the cyclic group that one generator adds."""


@dataclass(frozen=True, eq=False)
class MultiplierGroup:
    """Multiplications x_i -> h_i x_i of the axes, h_i a unit modulo a_i, and their orbits of characters.

    A multiplication of a pattern moves its energies between the characters of an orbit, so that the mean over the
    group is the same at all of them. A character and its conjugate always have one energy.
    """

    shape: tuple[int, ...]
    elements: tuple[tuple[int, ...], ...]
    """The multipliers h of the axes for each element; of h and -h only one is listed."""
    labels: np.ndarray
    """For each character, the least index of a character in its orbit (cells,)."""

    @staticmethod
    def trivial(shape: tuple[int, ...]) -> MultiplierGroup:
        """Return the group of the identity, whose orbits are pairs of conjugates."""
        numbers = np.arange(int(np.prod(shape))).reshape(shape)
        conjugate = numbers[np.ix_(*(-np.arange(a) % a for a in shape))]
        return MultiplierGroup(shape, ((1,) * len(shape),), np.minimum(numbers, conjugate).ravel())

    @staticmethod
    def within(shape: tuple[int, ...], axes: Sequence[int], orbits: int, most: int) -> MultiplierGroup:
        """Return a group of multiplications of the given axes with at most `most` elements.

        Generators are added until there are at most `orbits` orbits of characters, or none makes them fewer.
        """
        group = MultiplierGroup.trivial(shape)
        while group.orbits > orbits:
            larger = group._larger(axes, most)
            if larger is None:
                break
            group = larger
        return group

    @property
    def firsts(self) -> np.ndarray:
        """Whether each character has the least index in its orbit, a boolean array (cells,)."""
        return self.labels == np.arange(len(self.labels))

    @property
    def orbits(self) -> int:
        """Number of orbits of characters."""
        return int(self.firsts.sum())

    def mean(self, power: np.ndarray) -> np.ndarray:
        """Return `power` (cells,), one number for each character, averaged over each orbit (cells,)."""
        many = np.maximum(1, np.bincount(self.labels))
        return (np.bincount(self.labels, power) / many)[self.labels]

    def images(self, pattern: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the image of a pattern (cells,) under each element of the group."""
        cells = pattern.reshape(self.shape)
        for element in self.elements:
            places = (np.arange(a) * h % a for h, a in zip(element, self.shape, strict=True))
            yield cells[np.ix_(*places)].ravel()

    def _larger(self, axes: Sequence[int], most: int) -> MultiplierGroup | None:
        """Return the group with one more generator, of the lowest order that reduces the orbits; None if none does."""
        found = [(axis, powers) for axis in axes for powers in _subgroups(self.shape[axis])]
        orders = sorted({len(powers) for _, powers in found if len(powers) * len(self.elements) <= most})
        for order in orders:
            made = [self._with(axis, powers) for axis, powers in found if len(powers) == order]
            useful = [one for one in made if one.orbits < self.orbits]
            if useful:
                return min(useful, key=lambda one: one.orbits * len(one.elements))
        return None

    def _with(self, axis: int, powers: tuple[int, ...]) -> MultiplierGroup:
        """Return the group that also contains the multiplications of `axis` by the given powers."""
        a, labels = self.shape[axis], self.labels.reshape(self.shape)
        moved = [labels.take(np.arange(a) * power % a, axis=axis) for power in powers]
        found: dict[tuple[int, ...], None] = {}
        for element in self.elements:
            for power in powers:
                one = (*element[:axis], element[axis] * power % a, *element[axis + 1 :])
                opposite = tuple(-h % size for h, size in zip(one, self.shape, strict=True))
                found[min(one, opposite)] = None
        return MultiplierGroup(self.shape, tuple(found), np.minimum.reduce(moved).ravel())


@lru_cache(maxsize=256)
def _subgroups(a: int) -> tuple[tuple[int, ...], ...]:
    """Return the cyclic subgroups of the units modulo a with 2 to `LONGEST` elements."""
    found = {}
    for unit in range(2, a):
        powers = [1]
        while gcd(unit, a) == 1 and len(powers) <= LONGEST and (power := powers[-1] * unit % a) != 1:
            powers.append(power)
        if 1 < len(powers) <= LONGEST:
            found[frozenset(powers)] = tuple(powers)
    return tuple(found.values())
