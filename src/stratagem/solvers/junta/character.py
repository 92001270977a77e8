"""The characters that queries need, those that touch equally many attributes of each group counted as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from stratagem.workloads.spectrum import Spectrum, Type


@dataclass(frozen=True, eq=False)
class Characters:
    """The types c of nontrivial characters with their costs, so that L/n = v_0 + sum_c costs_c/m_c.

    V stays as it is when the values of an attribute are permuted. Averaging a strategy over these permutations
    never raises L, and leaves one eigenvalue of M for each type: so the best energies per type are those of
    an optimal strategy. `equalised` turns patterns into some whose energies agree within each type.
    """

    spectrum: Spectrum
    kinds: tuple[Type, ...] = field(init=False)
    """The types with characters and a positive eigenvalue, without the trivial one."""
    costs: np.ndarray = field(init=False)
    """v times the number of characters (C,)."""
    counts: np.ndarray = field(init=False)
    """How many characters there are of each type (C,)."""
    _places: dict[Type, int] = field(init=False)

    def __post_init__(self) -> None:
        """List the types."""
        spectrum = self.spectrum
        listed = zip(spectrum.types, spectrum.values, spectrum.multiplicities, strict=True)
        needed = [(kind, v, many) for kind, v, many in listed if any(kind) and many > 0]
        object.__setattr__(self, "kinds", tuple(kind for kind, _, _ in needed))
        object.__setattr__(self, "costs", np.array([v * many for _, v, many in needed], dtype=float))
        object.__setattr__(self, "counts", np.array([many for _, _, many in needed], dtype=float))
        object.__setattr__(self, "_places", {kind: c for c, kind in enumerate(self.kinds)})

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The attribute size of each group."""
        return tuple(self.spectrum.sizes[group[0]] for group in self.spectrum.groups)

    def labels(self, axes: Sequence[int]) -> np.ndarray:
        """Return the type of each character of some axes, given by their groups; -1 where no query needs it."""
        labels = np.full([self.lengths[g] for g in axes], -1, dtype=np.int64)
        for touched in product((False, True), repeat=len(axes)):
            chosen = [g for g, one in zip(axes, touched, strict=True) if one]
            kind = tuple(chosen.count(g) for g in range(len(self.lengths)))
            if kind in self._places:
                labels[tuple(slice(1, None) if one else 0 for one in touched)] = self._places[kind]
        return labels
