"""Workloads made of others: the queries of several, one after the other, and queries multiplied by a weight."""

import operator
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import final

import numpy as np

from stratagem.domain.domain import Domain
from stratagem.io.screen import brief
from stratagem.math.number import real
from stratagem.workloads.product import workloads
from stratagem.workloads.query import Query
from stratagem.workloads.structure import Structure, stacked
from stratagem.workloads.workload import Array, Margin, Workload

SMALLEST, LARGEST = 1e-75, 1e75  # the square stays far from the ends of float64


@final
@dataclass(frozen=True)
class Stack(Workload):
    """Ask the queries of every part, in order: W = [W_1; ...; W_k], V = V_1 + ... + V_k.

    Raises:
        ValueError: for no parts, a part that is not a workload, or parts over different domains.
    """

    __repr__ = brief

    parts: tuple[Workload, ...]
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "parts", workloads(self.parts, "a stack"))
        object.__setattr__(self, "domain", self.parts[0].domain)
        for part in self.parts:
            if part.domain != self.domain:
                raise ValueError(
                    f"a stack was given parts over the domains {self.domain} and {part.domain}, but all "
                    "parts share one domain: use kron with total for attributes not asked about"
                )

    @property
    def in_order(self) -> bool:
        return any(part.in_order for part in self.parts)

    @property
    def by_rows(self) -> bool:
        return any(part.by_rows for part in self.parts)

    def split(self) -> tuple[Workload, ...]:
        return self.parts

    @property
    def queries(self) -> int:
        return sum(part.queries for part in self.parts)

    @property
    def frobenius_squared(self) -> float:
        return sum(part.frobenius_squared for part in self.parts)

    @property
    def structure(self) -> Structure:
        return stacked([part.structure for part in self.parts])

    def margins(self) -> Iterator[Margin]:
        """Yield the margins of all parts, with places counted among the queries of the stack."""
        start = 0
        for part in self.parts:
            for margin in part.margins():
                places = margin.places
                moved = (
                    slice(start + places.start, start + places.stop)
                    if isinstance(places, slice)
                    else start + places
                )
                yield replace(margin, places=moved)
            start += part.queries

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        for part in self.parts:
            yield from part.kinds(group)

    def _gram(self) -> Array:
        gram = self.parts[0].gram()
        for part in self.parts[1:]:
            gram += part.gram()
        return gram

    def _describe(self, query: int) -> Query:
        starts = list(accumulate((part.queries for part in self.parts), initial=0))
        place = bisect_right(starts, query) - 1
        return self.parts[place].describe(query - starts[place])

    def _answer(self, x: Array) -> Array:
        return np.concatenate([part.answer(x) for part in self.parts])

    def _adjoint(self, y: Array) -> Array:
        result = np.zeros((self.domain.size, y.shape[1]))
        start = 0
        for part in self.parts:
            result += part.adjoint(y[start : start + part.queries])
            start += part.queries
        return result


@final
@dataclass(frozen=True)
class Weighted(Workload):
    """Multiply every query by a weight: weight W, so V by weight^2.

    Raises:
        ValueError: for a weight that is zero, not finite, or outside 1e-75..1e75 in absolute value.
    """

    __repr__ = brief

    workload: Workload
    weight: float
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self):
        (workload,) = workloads([self.workload], "a weight")
        object.__setattr__(self, "weight", _weight(self.weight))
        object.__setattr__(self, "domain", workload.domain)

    @property
    def in_order(self) -> bool:
        return self.workload.in_order

    @property
    def whole_table(self) -> bool:
        return self.workload.whole_table

    @property
    def by_rows(self) -> bool:
        return self.workload.by_rows

    @property
    def unweighted(self) -> tuple[float, Workload]:
        weight, inner = self.workload.unweighted
        return self.weight * weight, inner

    def split(self) -> tuple[Workload, ...]:
        return tuple(Weighted(part, self.weight) for part in self.workload.split())

    def factored(self) -> tuple[Workload, ...]:
        first, *rest = self.workload.factored()
        return Weighted(first, self.weight), *rest

    @property
    def queries(self) -> int:
        return self.workload.queries

    @property
    def frobenius_squared(self) -> float:
        return self.weight**2 * self.workload.frobenius_squared

    @property
    def structure(self) -> Structure:
        return self.workload.structure.weighted(self.weight)

    def margins(self) -> Iterator[Margin]:
        for margin in self.workload.margins():
            yield replace(margin, workload=Weighted(margin.workload, self.weight))

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        for attributes, queries in self.workload.kinds(group):
            yield attributes, Weighted(queries, self.weight)

    def _gram(self) -> Array:
        return self.weight**2 * self.workload.gram()

    def _describe(self, query: int) -> Query:
        return self.workload.describe(query).scaled(self.weight)

    def _answer(self, x: Array) -> Array:
        return self.weight * self.workload.answer(x)

    def _adjoint(self, y: Array) -> Array:
        return self.weight * self.workload.adjoint(y)


def _weight(value: object) -> float:
    number = real(value)
    if not SMALLEST <= abs(number) <= LARGEST:
        raise ValueError(
            f"the weight is {value!r}, but must be a number between {SMALLEST} and {LARGEST} or its "
            "negative: leave out the queries that should not count"
        )
    return number


def without_weights(workload: Workload) -> Workload:
    """Return the same queries with weight 1, as people read their answers: weights say how much their errors count."""
    _, inner = workload.unweighted
    parts = inner.split()
    plain = tuple(map(without_weights, parts))
    return inner if all(map(operator.is_, plain, parts)) else Stack(plain)
