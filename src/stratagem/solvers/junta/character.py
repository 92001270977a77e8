"""Classes of the characters that queries need, by how many attributes of each group they touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from stratagem.workloads.harmonics import Harmonics
from stratagem.workloads.spectrum import Spectrum, Type


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
