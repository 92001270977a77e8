"""The queries of a workload, table by table of the attributes that they ask about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stratagem.domain.domain import Domain
from stratagem.math.privacy import uniform
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.product import Product
from stratagem.workloads.workload import Array, Margin, Workload

BLOCK = 1 << 24
"""Entries of a temporary array."""


def by_attributes(workload: Workload) -> list[Margin]:
    """Return the margins with all queries of the same attributes as one, in the order of their first queries.

    Queries that touch no attribute are one margin of the first attribute.
    """
    found: dict[tuple[int, ...], list[Margin]] = {}
    for margin in workload.margins():
        found.setdefault(margin.attributes, []).append(margin)
    return [one[0] if len(one) == 1 else _together(one, workload.queries) for one in found.values()]


def _together(margins: Sequence[Margin], queries: int) -> Margin:
    every = np.arange(queries)
    places = np.concatenate([every[one.places] for one in margins])
    return Margin(margins[0].attributes, Stack(tuple(one.workload for one in margins)), places)


def asks(workload: Workload) -> bool:
    """Return whether queries are about some attribute, and not about everybody."""
    return not workload.unweighted[1].of_all


def attributes_asked(margin: Margin) -> tuple[int, ...]:
    """Return the attributes that the queries of a margin are about; none for everybody, whom every table counts."""
    return margin.attributes if asks(margin.workload) and margin.workload.domain_size > 1 else ()


def means(workload: Workload) -> Array:
    """Return the mean of every query over the user types (p,), which the number of users gives an answer for."""
    return workload.answer(uniform(workload.domain_size))


def spreads(workload: Workload) -> np.ndarray:
    """Return sum_q (w_u - m)^2 over the queries q of mean m for every user type u (n,)."""
    n, mean = workload.domain_size, means(workload)
    found, step = np.empty(n), max(1, BLOCK // workload.queries)
    for first in range(0, n, step):
        units = np.eye(n, min(step, n - first), -first)
        found[first : first + step] = np.square(workload.answer(units) - mean[:, None]).sum(axis=0)
    return found


def on_table(workload: Workload, own: Sequence[int], attributes: Sequence[int], domain: Domain) -> Workload:
    """Return queries of the table of some attributes, `own`, as ones of the table of more `attributes`, summed out.

    Raises:
        ValueError: for queries of several attributes that are no products, where others would stand between them.
    """
    if tuple(own) == tuple(attributes):
        return workload
    if isinstance(workload, Stack):
        return Stack(tuple(on_table(part, own, attributes, domain) for part in workload.parts))
    pieces: dict[int, tuple[tuple[int, ...], Workload]] = {}
    start, weight = 0, 1.0
    for factor in workload.factored():
        places = tuple(own[start : start + len(factor.domain.sizes)])
        start += len(places)
        size, inner = factor.unweighted
        weight *= size
        for held, piece in _pieces(places, inner):
            first = attributes.index(held[0])
            if tuple(attributes[first : first + len(held)]) != held:
                raise ValueError(
                    "other attributes stand between those of queries about several attributes together"
                )
            pieces[first] = held, piece
    found, place = list[Workload](), 0
    while place < len(attributes):
        held, piece = pieces.get(place, ((attributes[place],), Total(domain.part((attributes[place],)))))
        found.append(piece)
        place += len(held)
    whole = found[0] if len(found) == 1 else Product(tuple(found))
    return whole if weight == 1 else Weighted(whole, weight)


def _pieces(places: tuple[int, ...], factor: Workload) -> list[tuple[tuple[int, ...], Workload]]:
    """Return a factor, cells of several attributes one by one; the total is left out, as that of others is."""
    if not asks(factor):
        return []
    if factor.by_cell and len(places) > 1:
        return [((i,), Identity(factor.domain.part((k,)))) for k, i in enumerate(places)]
    return [(places, factor)]
