"""Marginals: contingency tables of every few attributes."""

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
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.product import (
    axis_vectors,
    elementary_symmetric,
    first_sets,
    symmetric_tails,
    translates,
)
from stratagem.workloads.query import Query, cell
from stratagem.workloads.spectrum import Spectrum, Type, by_size
from stratagem.workloads.structure import Structure
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
                part = self.domain.part(chosen or (0,))
                table = Identity(part) if chosen else Total(part)
                yield Margin(chosen or (0,), table, slice(start, start + table.queries))
                start += table.queries

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        for chosen in first_sets(self.domain.sizes, group, self.orders):
            part = self.domain.part(chosen or (0,))
            yield chosen or (0,), Identity(part) if chosen else Total(part)

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
