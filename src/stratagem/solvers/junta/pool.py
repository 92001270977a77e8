"""The patterns that a search for juntas knows, with their energies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stratagem.solvers.junta.signature import Signature

DIGITS = 12
"""Patterns whose energies agree to so many digits, relative to the largest, are one."""


class Pool(NamedTuple):
    """Columns (B,) of a mixture, no two of equal energies: a pattern, or some equally likely ones together."""

    signatures: tuple[Signature, ...]
    """The signature of each column."""
    packed: tuple[np.ndarray, ...]
    """The bits of each column's patterns (q, bytes)."""
    energies: np.ndarray
    """Their mean energies at the classes of characters (B, C)."""

    def chosen(self, places: np.ndarray) -> Pool:
        """Return some of the columns."""
        signatures = tuple(self.signatures[b] for b in places)
        return Pool(signatures, tuple(self.packed[b] for b in places), self.energies[places])


def pooled(signature: Signature, patterns: np.ndarray, together: bool = False) -> Pool:
    """Return those of some patterns (P, cells) that are neither empty nor full, one for each profile of energies.

    `together` they make one column.
    """
    sizes = patterns.sum(axis=1)
    patterns = patterns[(sizes > 0) & (sizes < signature.cells)]
    energies = signature.energies(patterns)
    first = _distinct(energies)
    bits = np.packbits(patterns[first], axis=1)
    if together and len(first) > 1:
        return Pool((signature,), (bits,), energies[first].mean(axis=0, keepdims=True))
    return Pool((signature,) * len(first), tuple(bits[:, None]), energies[first])


def joined(pools: Iterable[Pool]) -> Pool:
    """Return the patterns of all pools, the first of each profile of energies, in order."""
    parts = list(pools)
    energies = np.concatenate([part.energies for part in parts])
    whole = Pool(
        tuple(one for part in parts for one in part.signatures),
        tuple(one for part in parts for one in part.packed),
        energies,
    )
    return whole.chosen(_distinct(energies))


def _distinct(energies: np.ndarray) -> np.ndarray:
    """Return the places (rising) of the first row of each profile, told apart by a fixed random projection."""
    scale = energies.max(axis=0, initial=0)
    weights = np.random.default_rng(0).random(energies.shape[1]) / np.where(scale > 0, scale, 1)
    keys = np.round(energies @ weights / max(1, len(weights)), DIGITS)
    return np.sort(np.unique(keys, return_index=True)[1])
