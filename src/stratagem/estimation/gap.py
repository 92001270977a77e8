"""Gaps: people who gave no answer, or whose value is "other", and queries about the others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stratagem.estimation.answer import ANSWERED, VALUED
from stratagem.math.number import entries
from stratagem.workloads import Attribute, Labels
from stratagem.workloads.workload import MATRIX_LIMIT


def gaps(attribute: Attribute, *, ordered: bool = False) -> tuple[int, ...]:
    """Return the cells that shares leave out, or with `ordered` quantiles.

    No answer is one. "Other" has no place in an order, but is an answer like others among labels without one, where
    it does not also stand for people who gave none.
    """
    values = attribute.values
    plain = not ordered and values.no_answer and isinstance(values, Labels) and not values.ordered
    return values.outside[-1:] if plain else values.outside


def who(attributes: Iterable[Attribute], *, ordered: bool = False) -> str:
    """Return in words who has none of the values that are left out."""
    others = any(one.other in gaps(one, ordered=ordered) for one in attributes)
    return VALUED if others else ANSWERED


def inside(attribute: Attribute, *, ordered: bool = False) -> np.ndarray:
    """Return 1 for every value that is not left out (size,)."""
    return (~np.isin(np.arange(attribute.size), gaps(attribute, ordered=ordered))).astype(float)


def below(attribute: Attribute, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the places (k,) of all values in the order, and for each the query (k, size) that decides a quantile.

    It counts those at or below the value, less the share of all who have one: the smallest value where it is not
    negative is the quantile among these.

    Raises:
        ValueError: for more than 2^27 entries.
    """
    known = inside(attribute, ordered=True)
    places = np.flatnonzero(known)
    entries(len(places) * attribute.size, MATRIX_LIMIT, "the quantile", "ask for a share of all people")
    return places, np.tri(attribute.size)[places] * known - share * known
