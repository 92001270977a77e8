"""Marginals, the contingency tables of every few attributes, and parities, the characters up to a weight."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations
from math import comb, prod
from typing import final

import numpy as np

from stratagem.domain.domain import Domain, check_order
from stratagem.io.screen import brief
from stratagem.math.number import as_float
from stratagem.math.transform import fourier_adjoint, fourier_transform
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.product import (
    Product,
    apply_along,
    axis_vectors,
    elementary_symmetric,
    first_sets,
    symmetric_tails,
    translates,
)
from stratagem.workloads.query import Query, Wave, cell
from stratagem.workloads.structure import Spectrum, Structure, Type, by_size
from stratagem.workloads.workload import Array, Margin, Workload

LISTED = 1 << 18
"""Most tables that are listed to describe a query at once."""


@final
@dataclass(frozen=True)
class Marginals(Workload):
    """Ask for the table of every set of exactly k attributes, for each k in `orders`.

    V[u, v] = sum_k C(agree(u, v), k), agree the number of equal coordinates, and
    p = sum_k e_k(sizes), e_k the elementary symmetric polynomial. Tables come by order, then by
    attributes in lexicographic order; cells of a table in row-major order.

    Raises:
        ValueError: for no orders, or an order above the number of attributes.

    Reference: Cormode, Kulkarni, Srivastava, Marginal release under local differential privacy, SIGMOD 2018.
    """

    __repr__ = brief

    domain: Domain
    orders: tuple[int, ...]

    def __post_init__(self):
        orders = sorted({check_order(k, self.domain) for k in self.orders})
        if not orders:
            raise ValueError("marginals were given no orders, but need at least one: pass for example (2,)")
        object.__setattr__(self, "orders", tuple(orders))

    @property
    def whole_table(self) -> bool:
        return self.orders == (len(self.domain.sizes),)

    @property
    def queries(self) -> int:
        e = symmetric_tails(self.domain.sizes, self.orders[-1])[0]
        return sum(e[k] for k in self.orders)

    @property
    def frobenius_squared(self) -> float:
        tables = sum(comb(len(self.domain.sizes), k) for k in self.orders)
        return as_float(self.domain.size * tables, "tr V")

    @property
    def structure(self) -> Structure:
        """Eigenvalues of V/n: the sum of 1/cells over the tables that hold all attributes touched.

        With l of the group's attributes touched that is prod_g a_g^-l_g sum_k e_(k - |l|)(1/a_i of the others).
        """
        sizes, orders, groups = self.domain.sizes, self.orders, by_size(self.domain.sizes)

        def value(kind: Type) -> float:
            touched, tables = sum(kind), np.ones(1)
            if touched > orders[-1]:
                return 0.0
            for group, count in zip(groups, kind, strict=True):
                a, others = sizes[group[0]], len(group) - count
                terms = [
                    _share(comb(others, k), a ** (k + count)) for k in range(min(others, orders[-1]) + 1)
                ]
                tables = np.convolve(tables, terms)[: orders[-1] + 1]
            return float(sum(tables[k - touched] for k in orders if 0 <= k - touched < len(tables)))

        return Structure.of(Spectrum(sizes, groups, orders[-1], value))

    def gram_row(self) -> Array:
        """Return V[u, 0] for all cells u, shape (n,); V[u, v] is its value at u - v."""
        agrees = axis_vectors([(np.arange(a) == 0) * 1.0 for a in self.domain.sizes])
        e = elementary_symmetric(agrees, self.orders[-1])
        row = np.zeros(self.domain.sizes)
        for k in self.orders:
            row += e[k]
        return row.reshape(-1)

    def margins(self) -> Iterator[Margin]:
        start = 0
        for k in self.orders:
            for chosen in combinations(range(len(self.domain.sizes)), k):
                attributes, table = self._table(chosen)
                yield Margin(attributes, table, slice(start, start + table.queries))
                start += table.queries

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        yield from map(self._table, first_sets(self.domain.sizes, group, self.orders))

    def _table(self, chosen: tuple[int, ...]) -> tuple[tuple[int, ...], Workload]:
        """Return the attributes and the queries of a table, of none the total of the first."""
        part = self.domain.part(chosen or (0,))
        return chosen or (0,), Identity(part) if chosen else Total(part)

    def _gram(self) -> Array:
        return translates(self.gram_row(), self.domain.sizes)

    def _describe(self, query: int) -> Query:
        d = len(self.domain.sizes)
        if sum(comb(d, k) for k in self.orders) <= LISTED:
            sets, starts = _listed(self.domain.sizes, self.orders)
            place = bisect_right(starts, query) - 1
            return cell(self.domain, sets[place], query - starts[place])
        tails = symmetric_tails(self.domain.sizes, self.orders[-1])
        of_order = [tails[0][k] for k in self.orders]
        place = bisect_right(list(accumulate(of_order)), query)
        keep, query = self.orders[place], query - sum(of_order[:place])
        chosen, cells = [], 1
        for i, size in enumerate(self.domain.sizes):
            holding = cells * size * tails[i + 1][keep - 1] if keep else 0
            if query < holding:
                chosen, cells, keep = [*chosen, i], cells * size, keep - 1
            else:
                query -= holding
        return cell(self.domain, chosen, query)

    def _answer(self, x: Array) -> Array:
        tensor = x.reshape(*self.domain.sizes, x.shape[1])
        tables = (table for k in self.orders for table in _tables(tensor, 0, k))
        return np.concatenate([table.reshape(prod(table.shape[:-1]), x.shape[1]) for table in tables])

    def _adjoint(self, y: Array) -> Array:
        tables = self._split(y)
        result = np.zeros((*self.domain.sizes, y.shape[1]))
        for k in self.orders:
            result += _spread(tables, (), self.domain.sizes, k)
        return result.reshape(self.domain.size, y.shape[1])

    def _split(self, y: Array) -> Iterator[Array]:
        """Cut stacked answers into tables, each of shape (cells, k)."""
        start = 0
        for k in self.orders:
            for sizes in combinations(self.domain.sizes, k):
                stop = start + prod(sizes)
                yield y[start:stop]
                start = stop


@lru_cache(maxsize=4)
def _listed(sizes: tuple[int, ...], orders: tuple[int, ...]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Return the attributes of every table, and the number of its first query."""
    sets = [chosen for k in orders for chosen in combinations(range(len(sizes)), k)]
    cells = (prod(sizes[i] for i in chosen) for chosen in sets)
    return sets, list(accumulate(cells, initial=0))[:-1]


def _share(tables: int, cells: int) -> float:
    """Return tables/cells.

    Raises:
        ValueError: above the largest float64.
    """
    try:
        return tables / cells
    except OverflowError:
        return as_float(tables // cells, "the number of tables over their cells")


def _tables(tensor: Array, axis: int, keep: int) -> Iterator[Array]:
    """Yield the tables that keep all axes before `axis` and `keep` of the rest, sharing partial sums."""
    rest = tensor.ndim - 1 - axis
    if keep in (0, rest):
        yield tensor if keep == rest else tensor.sum(axis=tuple(range(axis, axis + rest)))
        return
    yield from _tables(tensor, axis + 1, keep - 1)
    yield from _tables(tensor.sum(axis=axis), axis, keep)


def _spread(tables: Iterator[Array], kept: tuple[int, ...], rest: tuple[int, ...], keep: int) -> Array:
    """Add up the tables that `_tables` yields, in its order, broadcasting to (kept, rest, k)."""
    if keep in (0, len(rest)):
        table = next(tables)
        ends = rest if keep else (1,) * len(rest)
        return table.reshape(*kept, *ends, table.shape[-1])
    with_first = _spread(tables, (*kept, rest[0]), rest[1:], keep - 1)
    without = _spread(tables, kept, rest[1:], keep)
    return with_first + np.expand_dims(without, len(kept))


@final
@dataclass(frozen=True)
class Parity(Workload):
    """Ask for every real character of Z_a1 x ... x Z_ad that touches at most `order` attributes.

    A query is a product over the attributes of one row of the real Fourier basis B (B^T B = a I, first
    row all ones); its weight is the number of rows that are not the first. Queries are in row-major
    order of the rows chosen, so binary attributes at full order give the Hadamard matrix.
    V[u, v] = sum_{|S| <= order} prod_{i in S} (a_i [u_i = v_i] - 1), V = n I at full order;
    p = sum_{l <= order} e_l(a_1 - 1, ..., a_d - 1) and tr V = n p.

    Raises:
        ValueError: for an order above the number of attributes.

    Reference: McKenna, Maity, Mazumdar, Miklau, VLDB 2020, section 6 (binary attributes).
    """

    __repr__ = brief

    domain: Domain
    order: int

    def __post_init__(self):
        object.__setattr__(self, "order", check_order(self.order, self.domain))

    @property
    def queries(self) -> int:
        return sum(elementary_symmetric((a - 1 for a in self.domain.sizes), self.order))

    @property
    def frobenius_squared(self) -> float:
        return as_float(self.domain.size * self.queries, "tr V")

    @property
    def structure(self) -> Structure:
        sizes = self.domain.sizes
        spectrum = Spectrum(sizes, by_size(sizes), self.order, lambda kind: float(sum(kind) <= self.order))
        return Structure.of(spectrum)

    def gram_row(self) -> Array:
        """Return V[u, 0] for all cells u, shape (n,); V[u, v] is its value at u - v."""
        factors = axis_vectors([a * (np.arange(a) == 0) - 1.0 for a in self.domain.sizes])
        row = np.zeros(self.domain.sizes)
        for e in elementary_symmetric(factors, self.order):
            row += e
        return row.reshape(-1)

    def margins(self) -> Iterator[Margin]:
        """Yield the characters that touch exactly a set of attributes, for every such set."""
        sizes = self.domain.sizes
        sets = [c for k in range(self.order + 1) for c in combinations(range(len(sizes)), k)]
        sets = [chosen for chosen in sets if all(sizes[i] > 1 for i in chosen)]
        stops = np.cumsum([math.prod(sizes[i] - 1 for i in chosen) for chosen in sets])
        for chosen, places in zip(sets, np.split(self._ranks(sets), stops[:-1]), strict=True):
            yield Margin(*self._touching(chosen), places)

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        for chosen in first_sets(self.domain.sizes, group, range(self.order + 1)):
            if all(self.domain.sizes[i] > 1 for i in chosen):
                yield self._touching(chosen)

    def _touching(self, chosen: tuple[int, ...]) -> tuple[tuple[int, ...], Workload]:
        """Return the real characters that are trivial on none of some attributes, with these; of none the total."""
        part = self.domain.part(chosen or (0,))
        if not chosen:
            return (0,), Total(part)
        sizes = zip(part.names, part.sizes, strict=True)
        rows = [Explicit.of(fourier_transform(np.eye(a))[1:], Domain.of({name: a})) for name, a in sizes]
        return chosen, rows[0] if len(rows) == 1 else Product(tuple(rows))

    def _ranks(self, sets: list[tuple[int, ...]]) -> np.ndarray:
        """Return the numbers (p,) of all characters, listed set by set.

        In row-major order a character that touches an earlier attribute comes later.
        """
        sizes, d = self.domain.sizes, len(self.domain.sizes)
        keys = np.zeros((self.queries, max(1, self.order)), dtype=np.int64)
        start = 1  # the constant keeps zeros
        for chosen in sets[1:]:
            rows = np.indices([sizes[i] - 1 for i in chosen]).reshape(len(chosen), -1).T + 1
            stop = start + len(rows)
            keys[start:stop, : len(chosen)] = (d - np.array(chosen)) * max(sizes) + rows
            start = stop
        ranks = np.empty(self.queries, dtype=np.int64)
        ranks[np.lexsort(keys.T[::-1])] = np.arange(self.queries)
        return ranks

    def _gram(self) -> Array:
        return translates(self.gram_row(), self.domain.sizes)

    def _describe(self, query: int) -> Query:
        tails = symmetric_tails(tuple(a - 1 for a in self.domain.sizes), self.order)
        parts, left = [], self.order
        for i in range(len(self.domain.sizes)):
            trivial = sum(tails[i + 1][: left + 1])
            if query >= trivial:
                row, query = divmod(query - trivial, sum(tails[i + 1][:left]))
                parts, left = [*parts, Wave(i, row + 1)], left - 1
        return Query(tuple(parts))

    def _answer(self, x: Array) -> Array:
        tensor = x.reshape(*self.domain.sizes, x.shape[1])
        for axis in range(len(self.domain.sizes)):
            tensor = apply_along(fourier_transform, tensor, axis)
        return tensor.reshape(x.shape)[self._chosen()]

    def _adjoint(self, y: Array) -> Array:
        tensor = np.zeros((self.domain.size, y.shape[1]))
        tensor[self._chosen()] = y
        tensor = tensor.reshape(*self.domain.sizes, y.shape[1])
        for axis in range(len(self.domain.sizes)):
            tensor = apply_along(fourier_adjoint, tensor, axis)
        return tensor.reshape(self.domain.size, y.shape[1])

    def _chosen(self) -> np.ndarray:
        """Mark the characters of weight at most the order, shape (n,)."""
        weight = np.zeros(self.domain.sizes, dtype=np.int64)
        for touched in axis_vectors([np.arange(a) > 0 for a in self.domain.sizes]):
            weight += touched
        return weight.reshape(-1) <= self.order
