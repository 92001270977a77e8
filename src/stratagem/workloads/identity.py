"""The histogram, one query for each cell, and the total, one query for all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from stratagem.domain.domain import Domain
from stratagem.io.screen import brief
from stratagem.math.number import as_float
from stratagem.workloads.query import Query, cell
from stratagem.workloads.structure import Spectrum, Structure, by_size
from stratagem.workloads.workload import Array, Margin, Workload


@final
@dataclass(frozen=True)
class Identity(Workload):
    """Count the users in every cell: W = I, V = I, p = n."""

    __repr__ = brief

    domain: Domain

    @property
    def cells(self) -> slice:
        return slice(None)

    @property
    def by_cell(self) -> bool:
        return True

    @property
    def queries(self) -> int:
        return self.domain.size

    @property
    def frobenius_squared(self) -> float:
        return as_float(self.domain.size, "tr V")

    @property
    def structure(self) -> Structure:
        """Eigenvalues of V/n: 1/n at every character."""
        sizes, n = self.domain.sizes, self.domain.size
        spectrum = Spectrum(
            sizes, by_size(sizes), len(sizes), lambda kind: 1 / as_float(n, "the number of cells")
        )
        return Structure.of(spectrum)

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

    of_all: ClassVar = True
    domain: Domain

    @property
    def queries(self) -> int:
        return 1

    @property
    def frobenius_squared(self) -> float:
        return as_float(self.domain.size, "tr V")

    @property
    def structure(self) -> Structure:
        sizes = self.domain.sizes
        return Structure.of(Spectrum(sizes, by_size(sizes), 0, lambda kind: float(not any(kind))))

    def margins(self) -> Iterator[Margin]:
        yield Margin((0,), Total(self.domain.part((0,))), slice(0, 1))

    def _gram(self) -> Array:
        return np.ones((self.domain.size, self.domain.size))

    def _describe(self, query: int) -> Query:
        return Query()

    def _answer(self, x: Array) -> Array:
        return x.sum(axis=0, keepdims=True)

    def _adjoint(self, y: Array) -> Array:
        return np.repeat(y, self.domain.size, axis=0)
