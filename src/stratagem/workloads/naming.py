"""The names of a workload's queries, in the words of whoever described its attributes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stratagem.domain.attribute import Attribute
from stratagem.workloads.ranges import AllRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stratagem.workloads.query import QueryPart
    from stratagem.workloads.workload import Workload

KNOWN = 1 << 12
"""Most parts of queries whose words are kept."""
NAMED = 1 << 20
"""Names that are made to find one of them: some seconds."""


@dataclass(frozen=True, eq=False)
class Naming:
    """Names of the queries of a workload, each made when it is asked for: there may be billions.

    >>> from stratagem.workloads import prefix
    >>> from stratagem.domain import Domain
    >>> from stratagem.domain.bins import Bins
    >>> delay = Attribute("delay", Bins(("-5", "0", "15")), unit="minutes")
    >>> Naming.of(prefix(Domain(delay))).label(1)
    'delay below 15 minutes'
    """

    workload: Workload
    attributes: tuple[Attribute, ...]
    """Descriptions of the attributes of the domain, in its order."""

    @staticmethod
    def of(workload: Workload, attributes: Sequence[Attribute] = ()) -> Naming:
        """Return the names of a workload's queries; attributes whose sizes do not match are ignored."""
        fit = tuple(one.size for one in attributes) == workload.domain.sizes
        return Naming(workload, tuple(attributes) if fit else workload.domain.attributes)

    def label(self, query: int) -> str:
        """Return the name of query number 0..p-1."""
        found = self.workload.describe(query)
        alone = query if len(found.parts) == 1 else None
        said = [self._words(one, alone) for one in found.parts if not one.signed]
        signed = [self._words(one, alone) for one in found.parts if one.signed]
        words = ", ".join([*said, *([f"parity of {' and '.join(signed)}"] if signed else [])]) or "everybody"
        return words if found.weight == 1 else f"{found.weight:g} × {words}"

    def _words(self, part: QueryPart, alone: int | None) -> str:
        """Return a part in words; those of tables of several attributes come again and again, and are kept."""
        if alone is not None:
            return part.words(self.attributes, alone)
        if (said := self._known.get(part)) is None:
            if len(self._known) >= KNOWN:
                self._known.clear()
            said = self._known[part] = part.words(self.attributes, None)
        return said

    @cached_property
    def _known(self) -> dict[QueryPart, str]:
        return {}

    def number(self, label: str) -> int:
        """Return the number of the query of a name: the first one that has it.

        All names are made, or for more than 2^20 ranges of one attribute those of its values.
        """
        many = self.workload.queries
        if many <= NAMED:
            found = next((query for query in range(many) if self.label(query) == label), None)
        elif isinstance(self.workload, AllRange) and self.workload.domain_size <= NAMED:
            found = self._range(label, self.workload)
        else:
            raise ValueError(
                f"a query was asked for by name, but {many:,} are too many to be named: give its number"
            )
        if found is None:
            raise ValueError(
                f"no query has the name {label!r}; the first one is {self.label(0)!r}: give its number"
            )
        return found

    def _range(self, label: str, ranges: AllRange) -> int | None:
        """Return the number of the range of one attribute that has a name."""
        attribute, ends = self.attributes[0], range(ranges.domain_size)

        def half(low: int, high: int, side: int) -> str:
            return attribute.text(low, high).rpartition(" to ")[side]

        begins = [low for low in ends if label.startswith(half(low, ends[-1], 0))]
        stops = [high for high in ends if label.endswith(half(0, high, 2))]
        pairs = ((low, high) for low in begins for high in stops if 0 <= high - low < ranges.width)
        singles = ((value, value) for value in ends if attribute.text(value, value) == label)
        several = (pair for pair in pairs if attribute.text(*pair) == label)
        found = next(several, None) or next(singles, None)
        return None if found is None else ranges.number(*found)

    def where(self, query: int) -> list[dict[str, Any]]:
        """Return the condition on each attribute that a query depends on; empty where it is no such count."""
        spans = self.workload.describe(query).spans or ()
        return [self.attributes[one.attribute].bounds(one.low, one.high) for one in spans]
