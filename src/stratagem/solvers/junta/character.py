"""The characters that queries need, those that every placement of a pattern treats alike counted as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import comb, prod

import numpy as np

from stratagem.workloads.spectrum import Spectrum, Type

FINE = 1 << 16
"""Characters up to which every frequency is told from every other; above, a type counts as one."""


@dataclass(frozen=True, eq=False)
class Characters:
    """Classes c of nontrivial characters with their costs, so that L/n = v_0 + sum_c costs_c/m_c.

    Two characters are of one class if permuting interchangeable attributes maps one to the other or its
    conjugate: then every junta has the same m there. Where there are too many frequencies the class is the
    whole type, and m its mean.
    """

    spectrum: Spectrum
    kinds: tuple[Type, ...] = field(init=False)
    """The types with characters and a positive eigenvalue, without the trivial one."""
    costs: np.ndarray = field(init=False)
    """v times the number of characters (C,)."""
    counts: np.ndarray = field(init=False)
    """How many characters there are of each class (C,)."""
    _classes: dict[Type, tuple[int, np.ndarray]] = field(init=False)
    """The first class of each type, and the codes of all of them in rising order."""

    def __post_init__(self) -> None:
        """List the classes."""
        spectrum, known, costs, counts, first = self.spectrum, {}, [], [], 0
        listed = zip(spectrum.types, spectrum.values, spectrum.multiplicities, strict=True)
        needed = [(kind, float(v)) for kind, v, many in listed if any(kind) and many > 0]
        for kind, v in needed:
            codes, each = np.unique(self._codes(kind), return_counts=True)
            sets = prod(comb(len(group), count) for group, count in zip(spectrum.groups, kind, strict=True))
            known[kind] = (first, codes)
            each = each * float(sets) if self.fine else np.array([float(spectrum.multiplicity(kind))])
            counts.append(each)
            costs.append(v * each)
            first += len(codes)
        object.__setattr__(self, "kinds", tuple(kind for kind, _ in needed))
        object.__setattr__(self, "costs", np.concatenate([np.zeros(0), *costs]))
        object.__setattr__(self, "counts", np.concatenate([np.zeros(0), *counts]))
        object.__setattr__(self, "_classes", known)

    @cached_property
    def fine(self) -> bool:
        """Whether frequencies are told apart."""
        many = 0
        for kind in self.spectrum.types:
            many += prod((a - 1) ** count for a, count in zip(self.lengths, kind, strict=True))
        return many <= FINE

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The attribute size of each group."""
        return tuple(self.spectrum.sizes[group[0]] for group in self.spectrum.groups)

    def labels(self, axes: Sequence[int]) -> np.ndarray:
        """Return the class of each character of some axes, given by their groups; -1 where none asks for it."""
        shape = tuple(self.lengths[g] for g in axes)
        labels = np.full(shape, -1, dtype=np.int64)
        for picked in product((0, 1), repeat=len(axes)):
            kind = tuple(
                sum(p for p, g in zip(picked, axes, strict=True) if g == h) for h in range(len(self.lengths))
            )
            if kind in self._classes:
                first, codes = self._classes[kind]
                touched = [g for p, g in zip(picked, axes, strict=True) if p]
                place = np.searchsorted(codes, self._coded(touched))
                labels[tuple(slice(1, None) if p else 0 for p in picked)] = first + place
        return labels

    def _codes(self, kind: Type) -> np.ndarray:
        """Return the code of every frequency of a type's characters, one axis for each attribute touched."""
        return self._coded([g for g, count in enumerate(kind) for _ in range(count)])

    def _coded(self, touched: Sequence[int]) -> np.ndarray:
        """Return numbers that agree where characters have one class, one axis for each of these groups."""
        shape = [self.lengths[g] - 1 for g in touched]
        if not self.fine:
            return np.zeros(shape if prod(shape) <= FINE else [1] * len(shape), dtype=np.int64)
        frequencies = np.indices(shape).reshape(len(shape), -1) + 1
        mirrored = np.array(shape)[:, None] + 1 - frequencies
        codes = np.minimum(self._sorted(touched, frequencies), self._sorted(touched, mirrored))
        return codes.reshape(shape)

    def _sorted(self, touched: Sequence[int], frequencies: np.ndarray) -> np.ndarray:
        """Return frequencies (t, k) as numbers (k,), those of one group in rising order."""
        code = np.zeros(frequencies.shape[1], dtype=np.int64)
        for g in sorted(set(touched)):
            mine = np.sort(frequencies[[t for t, h in enumerate(touched) if h == g]], axis=0)
            for row in mine:
                code = code * self.lengths[g] + row
        return code
