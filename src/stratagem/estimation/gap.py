"""Gaps: people whose value is "other", and queries about those who answered."""

from __future__ import annotations

import numpy as np

from stratagem.math.number import entries
from stratagem.workloads.domain import Attribute
from stratagem.workloads.workload import MATRIX_LIMIT


def inside(attribute: Attribute) -> np.ndarray:
    """Return 1 for every value but "other" (size,)."""
    return (np.arange(attribute.size) != attribute.other).astype(float)


def below(attribute: Attribute, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the places (k,) of all values but "other", and for each the query (k, size) that decides a quantile.

    It counts those at or below the value, less the share of all who answered: the smallest value where it is not
    negative is the quantile among these.

    Raises:
        ValueError: for more than 2^27 entries.
    """
    who = inside(attribute)
    places = np.flatnonzero(who)
    entries(len(places) * attribute.size, MATRIX_LIMIT, "the quantile", "ask for a share of all people")
    return places, np.tri(attribute.size)[places] * who - share * who
