"""A workload whose queries are multiplied by a weight."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import final

from stratagem.io.screen import brief
from stratagem.workloads.domain import Domain
from stratagem.workloads.product import workloads
from stratagem.workloads.query import Query
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Array, Margin, Workload

SMALLEST, LARGEST = 1e-75, 1e75  # the square stays far from the ends of float64


@final
@dataclass(frozen=True)
class Weighted(Workload):
    """Multiply every query by a weight: weight W, so V by weight^2.

    Raises:
        ValueError: for a weight that is zero, not finite, or outside 1e-75..1e75 in absolute value.
    """

    __repr__ = brief

    workload: Workload
    weight: float
    domain: Domain = field(init=False, repr=False)

    def __post_init__(self):
        (workload,) = workloads([self.workload], "a weight")
        object.__setattr__(self, "weight", _weight(self.weight))
        object.__setattr__(self, "domain", workload.domain)

    @property
    def queries(self) -> int:
        """The number of queries, unchanged."""
        return self.workload.queries

    @property
    def frobenius_squared(self) -> float:
        """The trace of V times weight^2."""
        return self.weight**2 * self.workload.frobenius_squared

    @property
    def structure(self) -> Structure:
        """The structure of the workload with the weight applied."""
        return self.workload.structure.weighted(self.weight)

    def margins(self) -> Iterator[Margin]:
        """Yield the margins of the workload, each weighted."""
        for margin in self.workload.margins():
            yield replace(margin, workload=Weighted(margin.workload, self.weight))

    def _gram(self) -> Array:
        return self.weight**2 * self.workload.gram()

    def _describe(self, query: int) -> Query:
        return self.workload.describe(query).scaled(self.weight)

    def _answer(self, x: Array) -> Array:
        return self.weight * self.workload.answer(x)

    def _adjoint(self, y: Array) -> Array:
        return self.weight * self.workload.adjoint(y)


def unweighted(workload: Workload) -> tuple[float, Workload]:
    """Return the product of all weights around a workload, and the workload inside them."""
    weight = 1.0
    while isinstance(workload, Weighted):
        weight, workload = weight * workload.weight, workload.workload
    return weight, workload


def _weight(value: object) -> float:
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not SMALLEST <= abs(number) <= LARGEST:
        raise ValueError(
            f"the weight is {value!r}, but must be a number between {SMALLEST} and {LARGEST} or its "
            "negative: leave out the queries that should not count"
        )
    return number
