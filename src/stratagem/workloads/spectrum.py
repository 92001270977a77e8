"""The eigenvalues of a Gram matrix that translations leave unchanged, by the attributes that a character touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod

import numpy as np

from stratagem.math.number import as_float

Type = tuple[int, ...]
"""How many attributes of each group a character touches."""

TYPES = 200_000
"""Most types of characters that are listed."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of V/n for the Gram matrix V of a workload that compares values only for equality.

    Every character of Z_a1 x ... x Z_ad is an eigenvector of V, and its eigenvalue depends on the set of
    attributes that it touches alone. Attributes of one group are interchangeable, so that only the type of the
    set matters: how many attributes of each group it holds. A type l has prod_g C(|g|, l_g) (a_g - 1)^l_g
    characters. The eigenvalues of V/n, unlike those of V, stay finite on domains of any size.
    """

    sizes: tuple[int, ...]
    """Attribute sizes a1, ..., ad."""
    groups: tuple[tuple[int, ...], ...]
    """A partition of the attributes 0, ..., d - 1; all attributes of a group have one size."""
    order: int
    """Characters that touch more attributes have eigenvalue 0."""
    value: Callable[[Type], float]
    """The eigenvalue of V/n at a type."""

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The types with a positive eigenvalue, the empty one first (whatever its eigenvalue)."""
        room = prod(min(len(group), self.order) + 1 for group in self.groups)
        listed = (t for t in _bounded([len(group) for group in self.groups], self.order))
        found = [kind for kind in listed if not any(kind) or self.value(kind) > 0]
        if len(found) > TYPES and room > TYPES:
            raise ValueError(
                f"the queries touch {len(found)} different sets of attributes, above the limit of {TYPES}: "
                "ask for fewer marginals, or treat more attributes alike"
            )
        return tuple(sorted(found, key=lambda kind: (sum(kind), tuple(-count for count in kind))))

    @cached_property
    def values(self) -> np.ndarray:
        """The eigenvalues of V/n at the types (t,)."""
        return np.array([self.value(kind) for kind in self.types], dtype=float)

    @cached_property
    def multiplicities(self) -> np.ndarray:
        """How many characters have each type (t,), as floats."""
        counts = (self.multiplicity(kind) for kind in self.types)
        return np.array([as_float(count, "the number of characters of a type") for count in counts])

    def multiplicity(self, kind: Type) -> int:
        """Return how many characters have a type."""
        sides = ((len(group), self.sizes[group[0]]) for group in self.groups)
        return prod(
            comb(many, count) * (a - 1) ** count for (many, a), count in zip(sides, kind, strict=True)
        )

    def array(self) -> np.ndarray:
        """Return the eigenvalues of V at all characters, shape `sizes`, in the order of `numpy.fft.fftn`."""
        place = np.zeros(self.sizes, dtype=np.intp)
        shape = tuple(len(group) + 1 for group in self.groups)
        for group, step in zip(self.groups, np.cumprod((1, *shape[:0:-1]))[::-1], strict=True):
            for i in group:
                touched = np.arange(self.sizes[i]) > 0
                place += int(step) * touched.reshape(-1, *[1] * (len(self.sizes) - 1 - i))
        kinds = (tuple(map(int, kind)) for kind in np.ndindex(shape))
        return prod(self.sizes) * np.array([self.value(kind) for kind in kinds])[place]

    def of(self, attributes: Sequence[int]) -> float:
        """Return the eigenvalue of V/n at the characters that touch exactly these attributes."""
        touched = set(attributes)
        return self.value(tuple(len(touched & set(group)) for group in self.groups))

    def refined(self, groups: tuple[tuple[int, ...], ...]) -> Spectrum:
        """Return the same eigenvalues by finer groups, each part of one of the present ones."""
        parent = {i: g for g, group in enumerate(self.groups) for i in group}
        place = [parent[group[0]] for group in groups]

        def value(kind: Type) -> float:
            coarse = [0] * len(self.groups)
            for g, count in zip(place, kind, strict=True):
                coarse[g] += count
            return self.value(tuple(coarse))

        return Spectrum(self.sizes, groups, self.order, value)


def by_size(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the partition of attributes into those of equal size, in order of their first attribute."""
    groups: dict[int, list[int]] = {}
    for i, a in enumerate(sizes):
        groups.setdefault(a, []).append(i)
    return tuple(map(tuple, groups.values()))


def common(partitions: Sequence[tuple[tuple[int, ...], ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the coarsest partition that is finer than all those given."""
    labels: dict[int, list[int]] = {}
    for partition in partitions:
        for g, group in enumerate(partition):
            for i in group:
                labels.setdefault(i, []).append(g)
    groups: dict[tuple[int, ...], list[int]] = {}
    for i in sorted(labels):
        groups.setdefault(tuple(labels[i]), []).append(i)
    return tuple(map(tuple, groups.values()))


def _bounded(most: Sequence[int], order: int) -> Iterator[Type]:
    """Yield all tuples of counts, each at most its limit and together at most the order."""
    if order == 0 or len(most) == 1:
        yield from ((first, *[0] * (len(most) - 1)) for first in range(min(most[0], order) + 1))
        return
    if all(limit == 1 for limit in most):
        yield from _subsets(len(most), order)
        return
    for first in range(min(most[0], order) + 1):
        yield from ((first, *rest) for rest in _bounded(most[1:], order - first))


def _subsets(many: int, order: int) -> Iterator[Type]:
    """Yield the indicators of all sets of at most `order` of the places 0, ..., many - 1."""
    for count in range(order + 1):
        for chosen in combinations(range(many), count):
            inside = set(chosen)
            yield tuple(int(i in inside) for i in range(many))


def summed(parts: Sequence[Spectrum]) -> Spectrum:
    """Return the spectrum of a stack: the sum of the parts' eigenvalues, by groups common to all of them."""
    groups = common([one.groups for one in parts])
    fine = [one.refined(groups) for one in parts]
    order = max(one.order for one in parts)
    return Spectrum(parts[0].sizes, groups, order, lambda kind: sum(one.value(kind) for one in fine))


def combined(factors: Sequence[Spectrum]) -> Spectrum:
    """Return the spectrum of a Kronecker product: the product of the factors' eigenvalues.

    Factors of one attribute with equal sizes and eigenvalues become one group.
    """
    starts = np.cumsum([0, *(len(factor.sizes) for factor in factors)])
    alike: dict[object, list[int]] = {}
    for number, factor in enumerate(factors):
        single = len(factor.sizes) == 1
        key = (factor.sizes, factor.value((0,)), factor.value((1,))) if single else number
        alike.setdefault(key, []).append(number)
    groups, parts = [], []
    for members in alike.values():
        first = factors[members[0]]
        if len(members) > 1:
            groups.append(tuple(int(starts[number]) for number in members))
        else:
            groups += [tuple(int(starts[members[0]]) + i for i in group) for group in first.groups]
        parts.append((first, len(members)))

    def value(kind: Type) -> float:
        product, place = 1.0, 0
        for first, many in parts:
            if many > 1:
                touched = kind[place]
                product *= first.value((0,)) ** (many - touched) * first.value((1,)) ** touched
                place += 1
            else:
                product *= first.value(kind[place : place + len(first.groups)])
                place += len(first.groups)
        return product

    sizes = tuple(a for factor in factors for a in factor.sizes)
    return Spectrum(sizes, tuple(groups), sum(factor.order for factor in factors), value)
