"""What one query asks, by attribute: enough to name it in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from stratagem.math.transform import fourier_transform

if TYPE_CHECKING:
    from stratagem.domain.domain import Domain


@dataclass(frozen=True)
class Span:
    """The users whose attribute has a value from `low` to `high`, both included."""

    attribute: int
    """Place of the attribute in the domain."""
    low: int | None
    """Lowest value; None if the query counts all values up to `high`."""
    high: int


@dataclass(frozen=True)
class Wave:
    """A row of the real Fourier basis of an attribute: of two values the first counts 1, the second -1."""

    attribute: int
    row: int
    """1 to size - 1; row 0 counts everybody and is no wave."""


@dataclass(frozen=True)
class Row:
    """A row of a matrix over some attributes, known by its number unless it was given a name."""

    attributes: tuple[int, ...]
    number: int
    name: str | None = None
    entries: np.ndarray | None = field(default=None, compare=False, repr=False)
    """The row over the cells of the attributes (n,), where it is written out."""


@dataclass(frozen=True)
class Query:
    """One query: the weight times the product of its parts; attributes that no part names are summed out."""

    parts: tuple[Span | Wave | Row, ...] = ()
    weight: float = 1.0

    def scaled(self, weight: float) -> Query:
        """Return the query times a weight."""
        return replace(self, weight=weight * self.weight)

    def answer(self, columns: np.ndarray, sizes: Sequence[int]) -> float:
        """Return the true answer about users given by their values, one attribute of some size a row (d, N)."""
        product = np.full(columns.shape[1], self.weight)
        for part in self.parts:
            cells = np.zeros(columns.shape[1], dtype=np.int64)
            for i in touched_by(part):
                cells = cells * sizes[i] + columns[i]
            product = product * entries_of(part, math.prod(sizes[i] for i in touched_by(part)))[cells]
        return float(product.sum())

    def mean(self, sizes: Sequence[int]) -> float:
        """Return the mean of the entries over the cells: the answer per person where all cells are equally frequent."""
        means = [
            entries_of(part, math.prod(sizes[i] for i in touched_by(part))).mean() for part in self.parts
        ]
        return self.weight * math.prod(means)

    def moved(self, first: int) -> Query:
        """Return the same query in a domain that has `first` more attributes in front."""
        return replace(self, parts=tuple(_moved(part, first) for part in self.parts))


def touched_by(part: Span | Wave | Row) -> tuple[int, ...]:
    """Return the attributes that a part of a query is about."""
    return part.attributes if isinstance(part, Row) else (part.attribute,)


def entries_of(part: Span | Wave | Row, size: int) -> np.ndarray:
    """Return the entries (size,) of a part of a query over the cells of its attributes."""
    match part:
        case Span(low=low, high=high):
            place = np.arange(size)
            return ((place >= (low or 0)) & (place <= high)).astype(float)
        case Wave(row=row):
            return fourier_transform(np.eye(size))[row]
        case Row(entries=known) if known is not None:
            return known
    raise ValueError("queries were chosen from a workload that does not tell their entries: ask all of it")


def cell(domain: Domain, attributes: Sequence[int], number: int) -> Query:
    """Return the query of cell `number` in the table of some attributes, the last of which varies fastest."""
    parts = []
    for i in reversed(attributes):
        number, k = divmod(number, domain.sizes[i])
        parts.append(Span(i, k, k))
    return Query(tuple(reversed(parts)))


def _moved(part: Span | Wave | Row, first: int) -> Span | Wave | Row:
    if isinstance(part, Row):
        return replace(part, attributes=tuple(first + i for i in part.attributes))
    return replace(part, attribute=first + part.attribute)
