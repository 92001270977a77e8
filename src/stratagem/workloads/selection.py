"""Some queries of a workload, by number: nothing is as large as the workload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from stratagem.domain.domain import Domain
from stratagem.io.screen import brief
from stratagem.math.number import entries
from stratagem.workloads.combined import Weighted
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.harmonics import averaged
from stratagem.workloads.query import Query, Span, cell
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Array, Margin, Workload

ROWS = 1 << 25
"""Most entries of the rows that stand for queries about one set of attributes (256 MiB)."""


@final
@dataclass(frozen=True, eq=False)
class Ranges(Workload):
    """Count the users with a value from low_i to high_i, both included, i = 1, ..., k, in any order."""

    __repr__ = brief

    domain: Domain
    low: np.ndarray
    """First value of each range (k,)."""
    high: np.ndarray
    """Last value of each range (k,)."""

    @property
    def queries(self) -> int:
        return len(self.low)

    @property
    def lengths(self) -> np.ndarray:
        """Number of values of each range (k,)."""
        return self.high - self.low + 1

    @property
    def range_lengths(self) -> np.ndarray:
        return np.unique(self.lengths)

    @property
    def range_classes(self) -> np.ndarray:
        return np.searchsorted(np.unique(self.lengths), self.lengths)

    @property
    def frobenius_squared(self) -> float:
        return float(self.lengths.sum())

    @property
    def structure(self) -> Structure:
        return Structure(translation_spectrum=self._averaged)

    def _averaged(self) -> Array:
        """Return the eigenvalues of the average: a range of length l holds l - k pairs u, u + k."""
        ranges = np.bincount(self.lengths - 1, minlength=self.domain.size)
        longer = np.cumsum(ranges[::-1])[::-1].astype(float)
        return averaged(np.cumsum(longer[::-1])[::-1])

    def _gram(self) -> Array:
        rows = self._answer(np.eye(self.domain.size))
        return rows.T @ rows

    def _describe(self, query: int) -> Query:
        return Query((Span(0, int(self.low[query]), int(self.high[query])),))

    def _answer(self, x: Array) -> Array:
        below = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
        return below[self.high + 1] - below[self.low]

    def _adjoint(self, y: Array) -> Array:
        steps = np.zeros((self.domain.size + 1, y.shape[1]))
        np.add.at(steps, self.low, y)
        np.add.at(steps, self.high + 1, -y)
        return np.cumsum(steps, axis=0)[:-1]


@final
@dataclass(frozen=True, eq=False)
class Cells(Workload):
    """Count the users in the cells `chosen` (k,), in that order: rows of the histogram."""

    __repr__ = brief

    domain: Domain
    chosen: np.ndarray

    @property
    def cells(self) -> np.ndarray:
        return self.chosen

    @property
    def queries(self) -> int:
        return len(self.chosen)

    @property
    def frobenius_squared(self) -> float:
        return float(len(self.chosen))

    @property
    def structure(self) -> Structure:
        n = self.domain.size
        return Structure(translation_spectrum=lambda: np.full(self.domain.sizes, self.queries / n))

    def _gram(self) -> Array:
        return np.diag(np.bincount(self.chosen, minlength=self.domain.size).astype(float))

    def _describe(self, query: int) -> Query:
        return cell(self.domain, range(len(self.domain.sizes)), int(self.chosen[query]))

    def _answer(self, x: Array) -> Array:
        return x[self.chosen]

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((self.domain.size, y.shape[1]))
        np.add.at(total, self.chosen, y)
        return total


@final
@dataclass(frozen=True, eq=False)
class SomeQueries(Workload):
    """The queries of a workload with the numbers `chosen` (k,), in that order; any may come several times."""

    __repr__ = brief

    workload: Workload
    chosen: np.ndarray
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "domain", self.workload.domain)

    @property
    def queries(self) -> int:
        return len(self.chosen)

    @property
    def frobenius_squared(self) -> float:
        n = self.domain.size
        return math.fsum(
            one.workload.frobenius_squared * (n // one.workload.domain_size) for one in self._margins
        )

    @property
    def structure(self) -> Structure:
        return Structure(translation_spectrum=lambda: Explicit(self.matrix(), self.domain)._averaged())

    def margins(self) -> Iterator[Margin]:
        """Yield the chosen queries by the sets of attributes: their ranges or cells, or their rows over the table."""
        yield from self._margins

    @cached_property
    def _margins(self) -> tuple[Margin, ...]:
        asked = [self.workload.describe(int(number)) for number in self.chosen]
        alike: dict[tuple[tuple[int, ...], float, type[Workload]], list[int]] = {}
        for place, query in enumerate(asked):
            touched = tuple(sorted({i for part in query.parts for i in part.touched})) or (0,)
            alike.setdefault((touched, query.weight, _kind(query)), []).append(place)
        return tuple(
            self._margin([asked[i] for i in places], *kind, np.array(places))
            for kind, places in alike.items()
        )

    def _margin(
        self,
        asked: list[Query],
        touched: tuple[int, ...],
        weight: float,
        kind: type[Workload],
        places: np.ndarray,
    ) -> Margin:
        part = self.domain.part(touched)
        if kind is Ranges:
            low, high = zip(*(_span(query, part.size) for query in asked), strict=True)
            queries: Workload = Ranges(part, np.array(low), np.array(high))
        elif kind is Cells:
            queries = Cells(part, np.array([_cell(query, touched, part.sizes) for query in asked]))
        else:
            advice = "ask for fewer of these queries at once"
            entries(len(asked) * part.size, ROWS, "the rows of the queries", advice)
            queries = Explicit(np.stack([_row(query, touched, part.sizes) for query in asked]), part)
        return Margin(touched, queries if weight == 1 else Weighted(queries, weight), places)

    def _gram(self) -> Array:
        rows = self.matrix()
        return rows.T @ rows

    def _describe(self, query: int) -> Query:
        return self.workload.describe(int(self.chosen[query]))

    def _answer(self, x: Array) -> Array:
        answers, tensor = np.empty((self.queries, x.shape[1])), x.reshape(*self.domain.sizes, x.shape[1])
        for margin in self._margins:
            away = tuple(i for i in range(len(self.domain.sizes)) if i not in margin.attributes)
            table = tensor.sum(axis=away).reshape(-1, x.shape[1])
            answers[margin.places] = margin.workload.answer(table)
        return answers

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*self.domain.sizes, y.shape[1]))
        for margin in self._margins:
            sides = [a if i in margin.attributes else 1 for i, a in enumerate(self.domain.sizes)]
            total += margin.workload.adjoint(y[margin.places]).reshape(*sides, y.shape[1])
        return total.reshape(self.domain.size, y.shape[1])


def _kind(query: Query) -> type[Workload]:
    """Return what a query is over the table that it touches: a range of one attribute, a cell of several, or a row."""
    spans = query.spans
    if spans is None or len({part.attribute for part in spans}) < len(spans):
        return Explicit
    if len(spans) <= 1:
        return Ranges
    return Cells if all(part.low == part.high for part in spans) else Explicit


def _span(query: Query, size: int) -> tuple[int, int]:
    """Return the first and the last value that a query counts, all where it has no part."""
    spans = query.spans
    return (spans[0].low or 0, spans[0].high) if spans else (0, size - 1)


def _cell(query: Query, touched: tuple[int, ...], sizes: Sequence[int]) -> int:
    """Return the number of the cell that a query counts."""
    values = {part.attribute: part.high for part in query.spans or ()}
    return int(np.ravel_multi_index(tuple(values[i] for i in touched), tuple(sizes)))


def _row(query: Query, touched: tuple[int, ...], sizes: Sequence[int]) -> np.ndarray:
    """Return the entries (n,) of a query over the table of the attributes that it touches, its weight left out."""
    row = np.ones(tuple(sizes))
    for part in query.parts:
        sides = [a if i in part.touched else 1 for i, a in zip(touched, sizes, strict=True)]
        row = row * part.column(math.prod(sides)).reshape(sides)
    return row.ravel()
