"""Parities: the characters of the domain, up to a weight."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from stratagem.domain.domain import Domain, check_order
from stratagem.io.screen import brief
from stratagem.math.number import as_float
from stratagem.math.transform import fourier_adjoint, fourier_transform
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Total
from stratagem.workloads.product import (
    Product,
    apply_along,
    axis_vectors,
    elementary_symmetric,
    first_sets,
    symmetric_tails,
    translates,
)
from stratagem.workloads.query import Query, Wave
from stratagem.workloads.spectrum import Spectrum, by_size
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Array, Margin, Workload


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
            part = self.domain.part(chosen or (0,))
            yield Margin(chosen or (0,), _touching_all(part) if chosen else Total(part), places)

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        for chosen in first_sets(self.domain.sizes, group, range(self.order + 1)):
            if all(self.domain.sizes[i] > 1 for i in chosen):
                part = self.domain.part(chosen or (0,))
                yield chosen or (0,), _touching_all(part) if chosen else Total(part)

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


def _touching_all(domain: Domain) -> Workload:
    """Return the real characters that are trivial on none of the attributes."""
    parts = zip(domain.names, domain.sizes, strict=True)
    rows = [Explicit.of(fourier_transform(np.eye(a))[1:], Domain.of({name: a})) for name, a in parts]
    return rows[0] if len(rows) == 1 else Product(tuple(rows))
