"""Kronecker products: a query on each of several attributes at once."""

import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, final

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.domain import Domain
from stratagem.io.screen import brief
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.query import Query
from stratagem.workloads.structure import Structure, multiplied
from stratagem.workloads.workload import Array, Margin, Workload


def apply_along(function: Callable[[Array], Array], tensor: Array, axis: int) -> Array:
    """Apply a map from (n, k) to (p, k) along one axis of a tensor, all other axes being columns."""
    moved = np.moveaxis(tensor, axis, 0)
    image = function(moved.reshape(len(moved), math.prod(moved.shape[1:])))
    return np.moveaxis(image.reshape(len(image), *moved.shape[1:]), 0, axis)


def axis_vectors(vectors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Turn the i-th vector into a tensor that varies along axis i only, ready to broadcast."""
    ones = (1,) * len(vectors)
    return [vector.reshape(*ones[:i], -1, *ones[i + 1 :]) for i, vector in enumerate(vectors)]


def elementary_symmetric(factors: Iterable[Any], top: int) -> list[Any]:
    """Return e_0, ..., e_top: e_k is the sum over all k-subsets S of the factors of prod_{i in S} factor_i.

    Factors may be Python ints (exact at any size) or arrays that broadcast.
    """
    e: list[Any] = [1] + [0] * top
    for factor in factors:
        for k in range(top, 0, -1):
            e[k] = e[k] + factor * e[k - 1]
    return e


def first_sets(
    sizes: Sequence[int], group: Sequence[int], orders: Container[int]
) -> Iterator[tuple[int, ...]]:
    """Yield the sets with the first attributes of each size and `group` (d,), in every number whose sum is an order."""
    alike: dict[tuple[int, int], list[int]] = {}
    for i, kind in enumerate(zip(sizes, group, strict=True)):
        alike.setdefault(kind, []).append(i)
    for many in itertools.product(*(range(len(members) + 1) for members in alike.values())):
        if sum(many) in orders:
            taken = zip(alike.values(), many, strict=True)
            yield tuple(sorted(i for members, k in taken for i in members[:k]))


@lru_cache(maxsize=8)
def symmetric_tails(factors: tuple[int, ...], top: int) -> list[list[int]]:
    """Return e_0, ..., e_top of the factors from i on, for every i = 0, ..., d."""
    tails = [[1] + [0] * top]
    for factor in reversed(factors):
        after = tails[-1]
        tails.append([1, *(after[k] + factor * after[k - 1] for k in range(1, top + 1))])
    return tails[::-1]


def translates(row: Array, sizes: tuple[int, ...]) -> Array:
    """Return the matrix V[u, v] = row[u - v] of a function on Z_a1 x ... x Z_ad, shape (n, n)."""
    index = np.zeros((1, 1), dtype=np.intp)
    for a in sizes:
        step = np.subtract.outer(np.arange(a), np.arange(a)) % a
        n = len(index) * a
        index = (index[:, None, :, None] * a + step[None, :, None, :]).reshape(n, n)
    return row[index]


@final
@dataclass(frozen=True)
class Product(Workload):
    """Ask every combination of one query from each factor: W = W_1 kron ... kron W_k, V likewise.

    The domain joins the factors' attributes in order; a name already taken gets the first free
    suffix _2, _3, ... Queries are in row-major order, the last factor's vary fastest.

    Raises:
        ValueError: for no factors, or a factor that is not a workload.
    """

    __repr__ = brief

    factors: tuple[Workload, ...]
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "factors", workloads(self.factors, "a Kronecker product"))
        object.__setattr__(self, "domain", _join(factor.domain for factor in self.factors))

    @property
    def in_order(self) -> bool:
        return any(factor.in_order for factor in self.factors)

    @property
    def by_rows(self) -> bool:
        return any(factor.by_rows for factor in self.factors)

    def factored(self) -> tuple[Workload, ...]:
        return tuple(one for factor in self.factors for one in factor.factored())

    @property
    def queries(self) -> int:
        return math.prod(factor.queries for factor in self.factors)

    @property
    def frobenius_squared(self) -> float:
        return math.prod(factor.frobenius_squared for factor in self.factors)

    @property
    def structure(self) -> Structure:
        return multiplied([factor.structure for factor in self.factors])

    def margins(self) -> Iterator[Margin]:
        for chosen in itertools.product(*(factor.margins() for factor in self.factors)):
            touched, workload = self._joined([(one.attributes, one.workload) for one in chosen])
            yield Margin(touched, workload, self._places(chosen))

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        """Yield every combination of one kind of margins from each factor."""
        ends = itertools.accumulate(len(factor.domain.sizes) for factor in self.factors)
        parts = [
            factor.kinds(group[end - len(factor.domain.sizes) : end])
            for end, factor in zip(ends, self.factors, strict=True)
        ]
        yield from map(self._joined, itertools.product(*parts))

    def _joined(self, chosen: Sequence[tuple[tuple[int, ...], Workload]]) -> tuple[tuple[int, ...], Workload]:
        """Return the attributes and the queries of a combination of margins, one from each factor."""
        first = itertools.accumulate((len(factor.domain.sizes) for factor in self.factors), initial=0)
        touching = [(start, *one) for start, one in zip(first, chosen, strict=False) if not one[1].of_all]
        attributes = tuple(start + i for start, own, _ in touching for i in own) or (0,)
        return attributes, _together(self.domain.part(attributes), [queries for *_, queries in touching])

    def _places(self, chosen: Iterable[Margin]) -> np.ndarray:
        """Return the numbers of the combinations of queries, one margin from each factor."""
        places = np.zeros(1, dtype=np.int64)
        for factor, margin in zip(self.factors, chosen, strict=True):
            own = np.arange(factor.queries)[margin.places]
            places = np.add.outer(places * factor.queries, own).ravel()
        return places

    def _gram(self) -> Array:
        gram = np.ones((1, 1))
        for factor in self.factors:
            gram = np.kron(gram, factor.gram())
        return gram.astype(np.float64, copy=False)

    def _describe(self, query: int) -> Query:
        found, first = Query(), len(self.domain.sizes)
        for factor in reversed(self.factors):
            first -= len(factor.domain.sizes)
            query, own = divmod(query, factor.queries)
            one = factor.describe(own).moved(first)
            found = Query((*one.parts, *found.parts), one.weight * found.weight)
        return found

    def _answer(self, x: Array) -> Array:
        tensor = x.reshape(*(factor.domain_size for factor in self.factors), x.shape[1])
        for i in self._by_growth():
            tensor = apply_along(self.factors[i].answer, tensor, i)
        return tensor.reshape(self.queries, x.shape[1])

    def _adjoint(self, y: Array) -> Array:
        tensor = y.reshape(*(factor.queries for factor in self.factors), y.shape[1])
        for i in reversed(self._by_growth()):
            tensor = apply_along(self.factors[i].adjoint, tensor, i)
        return tensor.reshape(self.domain.size, y.shape[1])

    def _by_growth(self) -> list[int]:
        """Order the factors so that the tensor stays as small as it can on the way."""
        growth = [factor.queries / factor.domain_size for factor in self.factors]
        return sorted(range(len(growth)), key=growth.__getitem__)


def _together(domain: Domain, parts: list[Workload]) -> Workload:
    """Return all combinations of the queries of workloads that share out the attributes of a domain."""
    if not parts:
        return Total(domain)
    if all(part.by_cell for part in parts):
        return Identity(domain)
    return parts[0] if len(parts) == 1 else Product(tuple(parts))


def workloads(parts: Iterable[object], what: str) -> tuple[Workload, ...]:
    """Return the parts as a tuple when there is at least one and each is a workload."""
    given = tuple(parts)
    checked = tuple(part for part in given if isinstance(part, Workload))
    if not checked or len(checked) != len(given):
        kinds = ", ".join(type(part).__name__ for part in given) or "nothing"
        raise ValueError(f"{what} was given {kinds}, but needs one or more workloads: pass them as a list")
    return checked


def _join(domains: Iterable[Domain]) -> Domain:
    found: dict[str, Attribute] = {}
    for one in (one for domain in domains for one in domain.attributes):
        name = _free(one.name, found)
        found[name] = one if name == one.name else replace(one, name=name)
    return Domain(*found.values())


def _free(name: str, taken: Mapping[str, Attribute]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate
