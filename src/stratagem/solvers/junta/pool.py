"""The patterns that a search for juntas knows, with their energies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stratagem.solvers.junta.signature import Signature

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
