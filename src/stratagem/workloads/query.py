"""What one query asks, by attribute: enough to name it in words."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from stratagem.math.transform import fourier_transform

if TYPE_CHECKING:
    from stratagem.domain.attribute import Attribute
    from stratagem.domain.domain import Domain


class QueryPart(ABC):
    """A factor of a query: what it asks of one attribute, or of a few together."""

    signed: ClassVar[bool] = False
    """Whether values count positive or negative."""
    several: Any = False
    """Whether it is a range of several values."""
    numbered: Any = False
    """Whether nothing but the number of the query names it."""

    @property
    @abstractmethod
    def touched(self) -> tuple[int, ...]:
        """Places of its attributes in the domain."""

    @abstractmethod
    def column(self, size: int) -> np.ndarray:
        """Return the entries (size,) over the cells of its attributes."""

    @abstractmethod
    def moved(self, first: int) -> QueryPart:
        """Return the same in a domain that has `first` more attributes in front."""

    @abstractmethod
    def words(self, attributes: Sequence[Attribute], query: int | None) -> str:
        """Return it in words; `query` is the number of the query that asks nothing else, None beside other parts."""


@dataclass(frozen=True)
class _OfOne(QueryPart):
    """What a query asks of one attribute."""

    attribute: int
    """Place of the attribute in the domain."""

    @final
    @property
    def touched(self) -> tuple[int, ...]:
        return (self.attribute,)

    @final
    def moved(self, first: int) -> Self:
        return replace(self, attribute=first + self.attribute)


@final
@dataclass(frozen=True)
class Span(_OfOne):
    """The users whose attribute has a value from `low` to `high`, both included."""

    low: int | None
    """Lowest value; None if the query counts all values up to `high`."""
    high: int

    @property
    def several(self) -> bool:
        return self.low != self.high

    def column(self, size: int) -> np.ndarray:
        place = np.arange(size)
        return ((place >= (self.low or 0)) & (place <= self.high)).astype(float)

    def words(self, attributes: Sequence[Attribute], query: int | None) -> str:
        return attributes[self.attribute].text(self.low, self.high)


@final
@dataclass(frozen=True)
class Wave(_OfOne):
    """A row of the real Fourier basis of an attribute: of two values the first counts 1, the second -1."""

    signed: ClassVar[bool] = True
    row: int
    """1 to size - 1; row 0 counts everybody and is no wave."""

    def column(self, size: int) -> np.ndarray:
        return fourier_transform(np.eye(size))[self.row]

    def words(self, attributes: Sequence[Attribute], query: int | None) -> str:
        one = attributes[self.attribute]
        return one.name if one.size == 2 else f"{one.name} (wave {self.row})"


@final
@dataclass(frozen=True)
class MatrixRow(QueryPart):
    """A row of a matrix over some attributes, known by its number unless it was given a name."""

    attributes: tuple[int, ...]
    number: int
    name: str | None = None
    entries: np.ndarray | None = field(default=None, compare=False, repr=False)
    """The row over the cells of the attributes (n,), where it is written out."""

    @property
    def numbered(self) -> bool:
        return not self.name

    @property
    def touched(self) -> tuple[int, ...]:
        return self.attributes

    def column(self, size: int) -> np.ndarray:
        if self.entries is None:
            raise ValueError(
                "queries were chosen from a workload that does not tell their entries: ask all of it"
            )
        return self.entries

    def moved(self, first: int) -> MatrixRow:
        return replace(self, attributes=tuple(first + i for i in self.attributes))

    def words(self, attributes: Sequence[Attribute], query: int | None) -> str:
        among = " and ".join(attributes[i].name for i in self.attributes)
        return self.name or (f"query {self.number} of {among}" if query is None else f"query {query}")


@dataclass(frozen=True)
class Query:
    """One query: the weight times the product of its parts; attributes that no part names are summed out."""

    parts: tuple[QueryPart, ...] = ()
    weight: float = 1.0

    @property
    def spans(self) -> tuple[Span, ...] | None:
        """The ranges of values that it counts; None where it has other parts."""
        spans = tuple(part for part in self.parts if isinstance(part, Span))
        return spans if len(spans) == len(self.parts) else None

    def scaled(self, weight: float) -> Query:
        """Return the query times a weight."""
        return replace(self, weight=weight * self.weight)

    def answer(self, columns: np.ndarray, sizes: Sequence[int]) -> float:
        """Return the true answer about users given by their values, one attribute of some size a row (d, N)."""
        product = np.full(columns.shape[1], self.weight)
        for part in self.parts:
            cells = np.zeros(columns.shape[1], dtype=np.int64)
            for i in part.touched:
                cells = cells * sizes[i] + columns[i]
            product = product * part.column(math.prod(sizes[i] for i in part.touched))[cells]
        return float(product.sum())

    def mean(self, sizes: Sequence[int]) -> float:
        """Return the mean of the entries over the cells: the answer per person where all cells are equally frequent."""
        means = (part.column(math.prod(sizes[i] for i in part.touched)).mean() for part in self.parts)
        return self.weight * math.prod(means)

    def moved(self, first: int) -> Query:
        """Return the same query in a domain that has `first` more attributes in front."""
        return replace(self, parts=tuple(part.moved(first) for part in self.parts))


def cell(domain: Domain, attributes: Sequence[int], number: int) -> Query:
    """Return the query of cell `number` in the table of some attributes, the last of which varies fastest."""
    parts = []
    for i in reversed(attributes):
        number, k = divmod(number, domain.sizes[i])
        parts.append(_value(i, k))
    return Query(tuple(reversed(parts)))


@lru_cache(1 << 12)
def _value(attribute: int, k: int) -> Span:
    """Return the condition that an attribute has a value; tables of several attributes ask it again and again."""
    return Span(attribute, k, k)
