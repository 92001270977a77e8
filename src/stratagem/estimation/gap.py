"""Gaps: people who gave no answer, or whose value is "other", and queries about the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stratagem.estimation.answer import ANSWERED, NEITHER, VALUED
from stratagem.math.number import entries
from stratagem.workloads import Attribute, Labels, Workload
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
    asked = list(attributes)
    if not any(one.other in gaps(one, ordered=ordered) for one in asked):
        return ANSWERED
    return NEITHER if any(one.values.no_answer for one in asked) else VALUED


def inside(attribute: Attribute, *, ordered: bool = False) -> np.ndarray:
    """Return 1 for every value that is not left out (size,)."""
    return (~np.isin(np.arange(attribute.size), gaps(attribute, ordered=ordered))).astype(float)


def check_arranged(attributes: Sequence[Attribute], asked: Workload, made_for: Workload) -> None:
    """Refuse queries along an order of labels that stand as the alphabet puts them, as where no order was known.

    A mechanism that was made for such queries knows the order. Queries of several attributes are not looked at.

    Raises:
        ValueError: naming the labels.
    """
    if (
        len(attributes) == 1
        and asked.in_order
        and not made_for.in_order
        and not attributes[0].values.arranged
    ):
        raise ValueError(
            f"the labels of {attributes[0].name} stand in the order of the alphabet ({attributes[0].values!s:.60}), so "
            "that none is above another and there is no quantile or prefix: ask for histogram, or state the labels "
            "from first to last where the mechanism is made"
        )


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
