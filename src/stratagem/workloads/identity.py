"""The histogram, one query for each cell, and the total, one query for all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.number import as_float
from stratagem.workloads.domain import Domain
from stratagem.workloads.norm import Norms
from stratagem.workloads.query import Query, cell
from stratagem.workloads.spectrum import Spectrum, by_size
from stratagem.workloads.workload import Array, Margin, Workload, whole


@final
@dataclass(frozen=True)
class Identity(Workload):
    """Count the users in every cell: W = I, V = I, p = n."""

    __repr__ = brief

    domain: Domain

    @property
    def queries(self) -> int:
        """The number of cells, n."""
        return self.domain.size

    @property
    def frobenius_squared(self) -> float:
        """The trace of I, n."""
        return as_float(self.domain.size, "tr V")

    @property
    def symmetry(self) -> tuple[int, ...]:
        """Sizes of the attributes: every translation of the domain leaves V unchanged."""
        return self.domain.sizes

    @property
    def spectrum(self) -> Spectrum:
        """Spectrum of V/n: eigenvalue 1/n at every character."""
        sizes = self.domain.sizes
        level = 1 / as_float(self.domain.size, "the number of cells")
        return Spectrum(sizes, by_size(sizes), len(sizes), lambda kind: level)

    @property
    def norms(self) -> Norms:
        """Norms of W, from the eigenvalues of V."""
        return Norms.of(self.spectrum)

    def margins(self) -> Iterator[Margin]:
        """Yield all queries at once."""
        yield whole(self)

    def translation_spectrum(self) -> Array:
        """Return the eigenvalues of V, one for each character."""
        return self.spectrum.array()

    def _gram(self) -> Array:
        return np.eye(self.domain.size)

    def _describe(self, query: int) -> Query:
        return cell(self.domain, range(len(self.domain.sizes)), query)

    def _answer(self, x: Array) -> Array:
        return x

    def _adjoint(self, y: Array) -> Array:
        return y


@final
@dataclass(frozen=True)
class Total(Workload):
    """Count all users: W = 1^T, V = 1 1^T, p = 1."""

    __repr__ = brief

    domain: Domain

    @property
    def queries(self) -> int:
        """The number of queries, 1."""
        return 1

    @property
    def frobenius_squared(self) -> float:
        """The number of cells, n."""
        return as_float(self.domain.size, "tr V")

    @property
    def symmetry(self) -> tuple[int, ...]:
        """Sizes of the attributes: every translation of the domain leaves V unchanged."""
        return self.domain.sizes

    @property
    def spectrum(self) -> Spectrum:
        """Spectrum of V/n: eigenvalue 1 at the constant character, 0 at all others."""
        sizes = self.domain.sizes
        return Spectrum(sizes, by_size(sizes), 0, lambda kind: float(not any(kind)))

    @property
    def norms(self) -> Norms:
        """Norms of W, from the eigenvalues of V."""
        return Norms.of(self.spectrum)

    def margins(self) -> Iterator[Margin]:
        """Yield the total of the first attribute's table."""
        yield Margin((0,), Total(self.domain.part((0,))), slice(0, 1))

    def translation_spectrum(self) -> Array:
        """Return the eigenvalues of V, one for each character."""
        return self.spectrum.array()

    def _gram(self) -> Array:
        return np.ones((self.domain.size, self.domain.size))

    def _describe(self, query: int) -> Query:
        return Query()

    def _answer(self, x: Array) -> Array:
        return x.sum(axis=0, keepdims=True)

    def _adjoint(self, y: Array) -> Array:
        return np.repeat(y, self.domain.size, axis=0)
