"""Groups of multiplications of a pattern's axes by units, and patterns that correct each other's spectra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import NamedTuple

import numpy as np
from scipy.fft import irfftn, rfftn

from stratagem.math.deadline import deadline
from stratagem.solvers.junta.signature import Signature

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


LIGHTER = 0.9
"""Ratio of the weight of a pattern to the weight before; with a smaller ratio patterns cannot correct the rest."""
EXCESS = 15.0
"""Largest excess of energy at a character, as a multiple of the energy that the next pattern should have there."""
MOVES, INERTIA = 5, 3.5
"""Number of times that a pattern is redrawn from a field, and the advantage of its current cells in that field, in
standard deviations of the field."""
FAINT = 0.01
"""Amplitude relative to the mean below which the phase of a character is no guide."""
ENOUGH = 1e-10
"""Relative excess of L, over its value at the wanted energies, at which no more patterns are drawn."""


class Complementary(NamedTuple):
    """Weighted patterns of a table, and the mean energies of these patterns with their images."""

    patterns: np.ndarray
    """Sets of cells (P, cells), boolean."""
    shares: np.ndarray
    """Weights of the patterns (P,), of sum one."""
    power: np.ndarray
    """Mean energy of the patterns and their images at each character (cells,)."""


def complementary(
    signature: Signature,
    levels: np.ndarray,
    sizes: np.ndarray,
    group: MultiplierGroup,
    rng: np.random.Generator,
) -> Complementary:
    """Return at most one pattern of each of some sizes (P,), with mean energies near the levels (cells,).

    The spectrum of each pattern approximates the energy that is missing after the patterns before it. With
    equal weights the sum would miss its levels by about the energy of one pattern, and L its minimum by some
    1/P^2. So the weights fall geometrically and the error falls with them, on many cells as fast as on few.
    Patterns of few cells follow a wanted spectrum less well; there the weights fall more slowly, by the
    largest excess of energy. No pattern is begun after the deadline.
    """
    wanted, made, weights = levels / levels.sum(), [], []
    power, weight = np.zeros(signature.cells), 1.0
    for size in sizes.tolist():
        energy = signature.total(size)
        lacking = (power.sum() + weight * energy) * wanted - power
        inside = _near(signature.shape, size, np.sqrt(np.maximum(lacking, 0)), rng)
        power += weight * group.mean(signature.power(inside[None])[0] * (wanted > 0))
        made.append(inside)
        weights.append(weight)
        excess = power - power.sum() * wanted
        if deadline().over or _loss(excess, power.sum(), wanted) <= ENOUGH:
            break
        largest = float((excess[wanted > 0] / wanted[wanted > 0]).max())
        weight = min(weight, max(LIGHTER * weight, largest / (EXCESS * energy)))
    total = sum(weights)
    return Complementary(np.stack(made), np.array(weights) / total, power / total)


def _loss(excess: np.ndarray, total: float, wanted: np.ndarray) -> float:
    """Return the relative excess of L over its value at the wanted energies (cells,), to second order."""
    known = wanted > 0
    return float((np.square(excess[known]) / wanted[known]).sum()) / total**2


def _near(shape: tuple[int, ...], size: int, amplitudes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random set of cells (cells,) whose spectrum is near the amplitudes (cells,).

    The first set holds the largest values of a Gaussian field with that spectrum. A few times the set is then
    replaced by the largest values of the field with its own phases and the wanted amplitudes. The component
    of that field along the set is removed, because it would only keep the set as it is.
    """
    half = (amplitudes / np.sqrt(np.square(amplitudes).mean())).reshape(shape)[..., : shape[-1] // 2 + 1]
    half = half.astype(np.float32)
    noise = rng.standard_normal((*half.shape, 2), dtype=np.float32).view(np.complex64)[..., 0]
    inside = _top(np.asarray(irfftn(noise * half, shape)), size)
    for _ in range(MOVES):
        transformed = np.asarray(rfftn(inside.reshape(shape).astype(np.float32)))
        transformed.flat[0] = 0
        present = np.abs(transformed)
        present /= np.sqrt(np.square(present).mean())
        ratio = half / np.maximum(present, FAINT)
        field = np.asarray(irfftn(transformed * (ratio - (half * present).mean()), shape))
        inside = _top(field + INERTIA * field.std() * inside.reshape(shape), size)
    return inside


def _top(field: np.ndarray, size: int) -> np.ndarray:
    """Return the cells (cells,) of the `size` largest values; of equal ones at the edge, the first."""
    values = field.ravel()
    edge = np.partition(values, len(values) - size)[len(values) - size]
    inside = values > edge
    inside[np.flatnonzero(values == edge)[: size - int(inside.sum())]] = True
    return inside
