"""Workloads over other cells: of several attributes, of merged values, of the values that have a place in an order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.domain import Domain, check_one_attribute
from stratagem.io.screen import brief
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.harmonics import averaged
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.marginals import Marginals
from stratagem.workloads.naming import Naming
from stratagem.workloads.product import Product
from stratagem.workloads.query import MatrixRow, Query
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.structure import Structure
from stratagem.workloads.table import asks
from stratagem.workloads.workload import Array, Workload


def merged(workload: Workload) -> Workload:
    """Return the same queries in the same order about one attribute of n values, the cells in row-major order."""
    weight, inner = workload.unweighted
    single = inner if len(inner.domain.sizes) == 1 else Merged(inner)
    found = Identity(Domain.of(inner.domain_size)) if inner.whole_table else single
    return found if inner is workload else Weighted(found, weight)


def _averaged(workload: Workload) -> Structure:
    """Return the sum of the queries' power spectra over n, as all that is known."""

    def spectrum() -> Array:
        return np.square(np.abs(np.fft.fft(workload.matrix()))).sum(axis=0) / workload.domain_size

    return Structure(translation_spectrum=spectrum)


@final
@dataclass(frozen=True, eq=False)
class Merged(Workload):
    """The queries of a workload with the cells of its domain as values of one attribute: W, and so V, unchanged."""

    __repr__ = brief

    workload: Workload
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "domain", Domain.of(self.workload.domain_size))

    @property
    def unmerged(self) -> Workload:
        return self.workload.unmerged

    @property
    def queries(self) -> int:
        return self.workload.queries

    @property
    def frobenius_squared(self) -> float:
        return self.workload.frobenius_squared

    @property
    def structure(self) -> Structure:
        return _averaged(self)

    def _gram(self) -> Array:
        return self.workload.gram()

    def _describe(self, query: int) -> Query:
        return self.workload.describe(query)

    def _answer(self, x: Array) -> Array:
        return self.workload.answer(x)

    def _adjoint(self, y: Array) -> Array:
        return self.workload.adjoint(y)


@final
@dataclass(frozen=True, eq=False)
class Spread(Workload):
    """The queries of a workload W over n ordered values, asked of K merged ones: W A, each spread evenly by A (n x K).

    A[u, k] is 1 over the number of values in k if u is in it, else 0. A query that weighs the values of each merged
    one alike loses nothing.
    """

    __repr__ = brief

    workload: Workload
    starts: tuple[int, ...]
    """First value of every merged one (K,), rising from 0."""
    naming: Naming
    """Names of the queries."""
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "domain", Domain.of(len(self.starts)))

    @property
    def tells_entries(self) -> bool:
        return False

    @property
    def queries(self) -> int:
        return self.workload.queries

    @property
    def frobenius_squared(self) -> float:
        return float(np.trace(self._gram()))

    @property
    def structure(self) -> Structure:
        return _averaged(self)

    @cached_property
    def exact(self) -> np.ndarray:
        """Whether W A G = W for every query (p,), G the sums over merged values: for one random vector, as for all."""
        x = np.random.default_rng(0).standard_normal(self.workload.domain_size)
        moved = self.workload.answer(x) - self.answer(np.add.reduceat(x, self.starts))
        return np.abs(moved) <= 1e-9 * self.workload.domain_size

    @property
    def _sizes(self) -> np.ndarray:
        return np.diff(self.starts, append=self.workload.domain_size)

    def _gram(self) -> Array:
        once = self._adjoint_of(self.workload.gram())
        return self._adjoint_of(once.T)

    def _describe(self, query: int) -> Query:
        return Query((MatrixRow((0,), query, self.naming.label(query)),))

    def _answer(self, x: Array) -> Array:
        return self.workload.answer(np.repeat(x / self._sizes[:, None], self._sizes, axis=0))

    def _adjoint(self, y: Array) -> Array:
        return self._adjoint_of(self.workload.adjoint(y))

    def _adjoint_of(self, z: Array) -> Array:
        """Return A^T z for z of shape (n, k)."""
        return np.add.reduceat(z, self.starts, axis=0) / self._sizes[:, None]


@final
@dataclass(frozen=True)
class Padded(Workload):
    """Ask prefixes or ranges of the first m of n values: W = [W', 0], V = [[V', 0], [0, 0]].

    The last n - m cells, "other" and "no answer", count in no query.

    Raises:
        ValueError: for other queries, or a domain that has several attributes or no values beyond theirs.
    """

    __repr__ = brief

    workload: Prefix | AllRange
    domain: Domain

    def __post_init__(self):
        n = check_one_attribute(self.domain, "padded")
        if not isinstance(self.workload, Prefix | AllRange) or self.workload.domain_size >= n:
            raise ValueError(
                f"{self.workload!r:.60} was given for the first of {n} values, but prefixes or ranges of fewer are "
                "padded: leave the domain as it is"
            )

    @property
    def in_order(self) -> bool:
        return True

    @property
    def unpadded(self) -> Workload:
        return self.workload

    @property
    def queries(self) -> int:
        return self.workload.queries

    @property
    def frobenius_squared(self) -> float:
        return self.workload.frobenius_squared

    @property
    def structure(self) -> Structure:
        return Structure(translation_spectrum=lambda: averaged(self._padded(self.workload.diagonals())))

    def _padded(self, rows: Array) -> Array:
        more = self.domain.size - len(rows)
        return np.concatenate([rows, np.zeros((more, *rows.shape[1:]))])

    def _gram(self) -> Array:
        V = self._padded(self.workload.gram())
        return np.ascontiguousarray(self._padded(V.T))

    def _describe(self, query: int) -> Query:
        return self.workload.describe(query)

    def _answer(self, x: Array) -> Array:
        return self.workload.answer(x[: self.workload.domain_size])

    def _adjoint(self, y: Array) -> Array:
        return self._padded(self.workload.adjoint(y))


def answered(domain: Domain) -> Domain:
    """Return the values that have an order where one stands for no answer, else the domain itself."""
    values = domain.attributes[0].values
    if len(domain.attributes) > 1 or not values.no_answer:
        return domain
    return Domain.sized(domain.names, (values.size - len(values.outside),))


def padded(workload: Prefix | AllRange, domain: Domain) -> Workload:
    """Return prefixes or ranges of the values of a domain that are `answered` as queries over the domain.

    >>> from stratagem.domain import bins
    >>> domain = Domain.of(bins([0, 18, 65], other=True, no_answer=True))
    >>> padded(Prefix(answered(domain)), domain).matrix().tolist()
    [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]
    """
    return workload if workload.domain is domain else Padded(workload, domain)


def about(workload: Workload, merged: Attribute) -> Workload:
    """Return all prefixes or all ranges of merged bins, as a workload asks for those of one attribute."""
    if len(workload.domain.sizes) == 1:
        domain = Domain(merged)
        ordered = answered(domain)
        match workload.unweighted[1].unpadded:
            case Prefix():
                return padded(Prefix(ordered), domain)
            case AllRange():
                return padded(AllRange(ordered, ordered.sizes[0]), domain)
    raise ValueError(
        "the first mechanism answers other queries, but two rounds are for prefixes and ranges of one attribute: "
        "make it for prefix or all-range"
    )


def with_merged(asked: Workload, merged: Mapping[str, Attribute]) -> Workload:
    """Return the same queries about attributes with merged bins, by name.

    Those of one question count together as much as before.
    """
    match asked:
        case Stack():
            return Stack(tuple(with_merged(one, merged) for one in asked.parts))
        case Weighted():
            inner = with_merged(asked.workload, merged)
            return Weighted(inner, asked.weight * math.sqrt(asked.queries / inner.queries))
        case Product():
            return Product(tuple(with_merged(one, merged) for one in asked.factors))
    if not {*asked.domain.names} & merged.keys():
        return asked
    attributes = [merged.get(one.name, one) for one in asked.domain.attributes]
    return about(asked, attributes[0]) if asks(asked) else Total(Domain(*attributes))


def coarser(workload: Workload, values: int) -> Workload | None:
    """Return the same queries over attributes of at most so many values; None where that means nothing."""
    domain = Domain.sized(workload.domain.names, (min(size, values) for size in workload.domain.sizes))
    match workload:
        case Identity() | Prefix() | Marginals():
            return replace(workload, domain=domain)
        case AllRange():
            return replace(workload, domain=domain, width=min(workload.width, values))
        case Padded():
            spare = workload.domain_size - workload.workload.domain_size
            inner = coarser(workload.workload, max(1, values - spare))
            return (
                replace(workload, workload=inner, domain=Domain.of(inner.domain_size + spare))
                if inner
                else None
            )
        case Product():
            parts = [coarser(part, values) for part in workload.factors]
            return Product(tuple(part for part in parts if part)) if all(parts) else None
        case Stack():
            parts = [coarser(part, values) for part in workload.parts]
            return Stack(tuple(part for part in parts if part)) if all(parts) else None
        case Weighted():
            inner = coarser(workload.workload, values)
            return None if inner is None else Weighted(inner, workload.weight)
    return None
