"""Eigenvalues of Gram matrices averaged over translations, for queries about ordered attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, product

import numpy as np

from stratagem.workloads.combined import Stack
from stratagem.workloads.structure import Spectrum, Type, by_size, combined, common
from stratagem.workloads.workload import Array, Margin, Workload


def averaged(diagonals: Array) -> Array:
    """Return the eigenvalues of the average of a symmetric V over all translations of Z_n, O(n log n).

    `diagonals` (n,): the sum of V[u, u + k] over u = 0, ..., n - 1 - k, for k = 0, ..., n - 1.
    """
    row = diagonals / len(diagonals)
    row[1:] += row[:0:-1].copy()
    return np.fft.fft(row).real


TABLES, QUERIES = 1 << 12, 1 << 26
"""Largest number of tables, and of queries, about ordered attributes that are listed."""


@dataclass(frozen=True, eq=False)
class Part:
    """Queries W_o kron W_f about the table of a few attributes, split by whether the order of values matters.

    Permuting the values of an attribute leaves the Gram matrix of W_f unchanged, but may change that of W_o.
    """

    ordered: tuple[int, ...]
    """Places of the attributes of W_o in the domain, ascending."""
    queries: tuple[Workload, ...]
    """The factors of W_o, each over the next few of its attributes."""
    free: tuple[int, ...]
    """Places of the attributes of W_f in the domain, ascending."""
    spectrum: Spectrum | None
    """The eigenvalues of W_f^T W_f over its size; None where it has no attributes."""

    @staticmethod
    def of(margin: Margin) -> Part:
        """Split the queries of a table by their factors."""
        ordered, queries, free, spectra, start = [], [], [], [], 0
        for factor in margin.workload.factored():
            own = margin.attributes[start : start + len(factor.domain.sizes)]
            spectrum, start = factor.structure.spectrum, start + len(own)
            if spectrum is None:
                ordered, queries = [*ordered, *own], [*queries, factor]
            else:
                free, spectra = [*free, *own], [*spectra, spectrum]
        return Part(tuple(ordered), tuple(queries), tuple(free), combined(spectra) if spectra else None)

    @property
    def attributes(self) -> tuple[int, ...]:
        """Places of all attributes of the table in the domain, ascending."""
        return tuple(sorted((*self.ordered, *self.free)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the ordered attributes."""
        return tuple(a for factor in self.queries for a in factor.domain.sizes)

    def share(self, touched: Iterable[int]) -> float:
        """Return the eigenvalue of W_f^T W_f over its size where exactly these of its attributes are touched."""
        places = [self.free.index(i) for i in touched]
        return 1.0 if self.spectrum is None else self.spectrum.of(places)

    def gram(self) -> Array:
        """Return the Gram matrix W_o^T W_o divided by its size."""
        grams = [factor.gram() / factor.domain_size for factor in self.queries]
        return reduce(np.kron, grams, np.ones((1, 1))).astype(np.float64, copy=False)

    @cached_property
    def average(self) -> Array:
        """The eigenvalues of W_o^T W_o over its size, averaged over translations, shape `sizes`."""
        spectra = [factor.structure.translation_spectrum() / factor.domain_size for factor in self.queries]
        return reduce(np.multiply.outer, spectra, np.ones(()))


@dataclass(frozen=True, eq=False)
class Harmonics:
    """The eigenvalues of V/n averaged over all translations of the domain, and the parts that these change.

    Every character chi of Z_a1 x ... x Z_ad is an eigenvector of the average, with v = chi^* V chi/n^2. For queries
    that know values as equal or not, v depends on the attributes touched alone; where some know an order, it
    depends on the frequencies of the ordered attributes too. A strategy whose information matrix M has the
    characters as eigenvectors has L/n = tr(M^-1 V)/n = sum_chi v/m, whatever else V is.
    """

    plain: Spectrum
    """Spectrum of the queries whose Gram matrix does not change when values are permuted."""
    parts: tuple[Part, ...]
    """Parts of the remaining queries, for which the order of some values matters."""
    ordered: tuple[int, ...]
    """Places of the attributes whose order of values matters to some query, ascending."""
    spectrum: Spectrum
    """v averaged over the characters of a type as well, all attributes of `parts` in groups of their own."""

    @cached_property
    def tables(self) -> dict[tuple[int, ...], Array]:
        """v of `parts` by the attributes touched: one axis of a - 1 frequencies for each ordered one, rising."""
        return _tables(self.parts, self.ordered, self.plain.sizes)

    def values(self, attributes: Sequence[int]) -> Array:
        """Return v at the characters that touch exactly these attributes, one axis for each ordered one."""
        touched = tuple(sorted(attributes))
        shape = [self.plain.sizes[i] - 1 for i in touched if i in self.ordered]
        return self.plain.of(touched) + np.broadcast_to(self.tables.get(touched, np.zeros(())), shape)

    @property
    def grid(self) -> tuple[int, ...]:
        """The sizes of the ordered attributes."""
        return tuple(self.plain.sizes[i] for i in self.ordered)


def harmonics(workload: Workload) -> Harmonics | None:
    """Return the eigenvalues of the average of V/n, None where too many queries depend on an order.

    Queries about tables are taken table by table, so that nothing is as large as the domain.
    """
    known, other = [], []
    for piece in _pieces(workload):
        (other if piece.symmetry is None else known).append(piece)
    if sum(piece.queries for piece in other) > QUERIES:
        return None
    margins = [margin for piece in other for margin in _first(piece)]
    if len(margins) > TABLES:
        return None
    sizes = workload.domain.sizes
    plain = (
        Stack(tuple(known)).structure.spectrum
        if known
        else Spectrum(sizes, by_size(sizes), 0, lambda kind: 0.0)
    )
    assert plain is not None, "a stack of queries with spectra has one"
    parts = tuple(map(Part.of, margins))
    ordered = tuple(sorted({i for part in parts for i in part.ordered}))
    return Harmonics(plain, parts, ordered, _averaged(plain, _tables(parts, ordered, sizes), parts))


def _first(piece: Workload) -> list[Margin]:
    """Return the first tables that a workload asks about, at most one more than the limit."""
    return [margin for margin, _ in zip(piece.margins(), range(TABLES + 1), strict=False)]


def _averaged(plain: Spectrum, tables: dict[tuple[int, ...], Array], parts: Sequence[Part]) -> Spectrum:
    held = sorted({i for part in parts for i in part.attributes})
    rest = tuple(i for i in range(len(plain.sizes)) if i not in held)
    groups = common([plain.groups, (*((i,) for i in held), *([rest] if rest else []))])
    fine = plain.refined(groups)
    means = {touched: float(v.mean()) for touched, v in tables.items() if v.size}

    def value(kind: Type) -> float:
        touched = [groups[g][0] for g, count in enumerate(kind) if count]
        alone = all(len(groups[g]) == 1 for g, count in enumerate(kind) if count)
        return fine.value(kind) + (means.get(tuple(touched), 0.0) if alone else 0.0)

    order = max([plain.order, *(len(part.attributes) for part in parts)])
    return Spectrum(plain.sizes, groups, order, value)


def _tables(
    parts: Sequence[Part], ordered: tuple[int, ...], sizes: tuple[int, ...]
) -> dict[tuple[int, ...], Array]:
    """Return the sum of v over the parts, one array for every set of attributes touched."""
    found: dict[tuple[int, ...], Array] = {}
    for part in parts:
        for free, own in product(subsets(part.free), subsets(part.ordered)):
            touched = tuple(sorted((*free, *own)))
            v = part.average[tuple(slice(1, None) if i in own else 0 for i in part.ordered)]
            axes = [i for i in touched if i in ordered]
            v = v.reshape([sizes[i] - 1 if i in own else 1 for i in axes])
            shape = [sizes[i] - 1 for i in axes]
            found[touched] = found.get(touched, np.zeros(shape)) + part.share(free) * v
    return found


def subsets(attributes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every set of some attributes, the smallest first."""
    for many in range(len(attributes) + 1):
        yield from combinations(attributes, many)


def _pieces(workload: Workload) -> Iterator[Workload]:
    """Yield the parts of nested stacks with their weights; a workload with a spectrum is yielded whole."""
    parts = workload.split() if workload.symmetry is None else ()
    for part in parts:
        yield from _pieces(part)
    if not parts:
        yield workload
