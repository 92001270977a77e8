"""Workloads over several attributes, rewritten over one attribute whose values are the cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.workloads.combined import Weighted, unweighted
from stratagem.workloads.domain import Domain
from stratagem.workloads.identity import Identity
from stratagem.workloads.marginals import Marginals
from stratagem.workloads.query import Query
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Array, Workload


def is_table_of_all(workload: Workload) -> bool:
    """Return whether the queries are those of one table of all attributes, however weighted."""
    _, inner = unweighted(workload)
    whole_table = isinstance(inner, Marginals) and inner.orders == (len(inner.domain.sizes),)
    return isinstance(inner, Identity) or whole_table


def merged(workload: Workload) -> Workload:
    """Return the same queries in the same order about one attribute of n values, the cells in row-major order."""
    if isinstance(workload, Weighted):
        return Weighted(merged(workload.workload), workload.weight)
    if is_table_of_all(workload):
        return Identity(Domain.of(workload.domain_size))
    return workload if len(workload.domain.sizes) == 1 else Merged(workload)


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
    def queries(self) -> int:
        """The number of queries, unchanged."""
        return self.workload.queries

    @property
    def frobenius_squared(self) -> float:
        """The trace of V, unchanged."""
        return self.workload.frobenius_squared

    @property
    def structure(self) -> Structure:
        """Nothing but the average of V over translations: translations of the cells change V in general."""
        return Structure(translation_spectrum=self._averaged)

    def _averaged(self) -> Array:
        """Return the sum of the queries' power spectra over n."""
        return np.square(np.abs(np.fft.fft(self.matrix()))).sum(axis=0) / self.domain_size

    def _gram(self) -> Array:
        return self.workload.gram()

    def _describe(self, query: int) -> Query:
        return self.workload.describe(query)

    def _answer(self, x: Array) -> Array:
        return self.workload.answer(x)

    def _adjoint(self, y: Array) -> Array:
        return self.workload.adjoint(y)
