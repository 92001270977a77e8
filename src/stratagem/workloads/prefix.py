"""Prefixes of one ordered attribute: the distribution function."""

from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.workloads.domain import Domain, check_one_attribute
from stratagem.workloads.harmonics import averaged
from stratagem.workloads.norm import prefix_norms
from stratagem.workloads.query import Query, Span
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Array, Workload


@final
@dataclass(frozen=True)
class Prefix(Workload):
    """Count the users at or below each value: (W x)_i = x_0 + ... + x_i, p = n.

    V[i, j] = n - max(i, j) and tr V = n (n + 1) / 2, with i, j = 0, ..., n - 1.

    Raises:
        ValueError: for a domain of several attributes.
    """

    __repr__ = brief

    domain: Domain

    def __post_init__(self):
        check_one_attribute(self.domain, "prefix")

    @property
    def queries(self) -> int:
        """The number of cells, n."""
        return self.domain.size

    @property
    def frobenius_squared(self) -> float:
        """The trace of V: n (n + 1) / 2."""
        return float(self.domain.size * (self.domain.size + 1) // 2)

    @property
    def structure(self) -> Structure:
        """Norms in closed form at any n; no symmetry, because the values have an order."""
        return Structure(
            translation_spectrum=self._averaged, closed_norms=lambda: prefix_norms(self.domain.size)
        )

    def _averaged(self) -> Array:
        """Return the eigenvalues of the average: V[u, u + k] sums to (n - k) (n - k + 1) / 2 over u."""
        left = self.domain.size - np.arange(self.domain.size, dtype=np.float64)
        return averaged(left * (left + 1) / 2)

    def _gram(self) -> Array:
        left = float(self.domain.size) - np.arange(self.domain.size)
        return np.minimum.outer(left, left)

    def _describe(self, query: int) -> Query:
        return Query((Span(0, None, query),))

    def _answer(self, x: Array) -> Array:
        return np.cumsum(x, axis=0)

    def _adjoint(self, y: Array) -> Array:
        return np.cumsum(y[::-1], axis=0)[::-1]
