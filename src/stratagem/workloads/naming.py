"""The names of a workload's queries, in the words of whoever described its attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stratagem.workloads.domain import Attribute, plain
from stratagem.workloads.query import Query, Row, Span, Wave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stratagem.workloads.workload import Workload


@dataclass(frozen=True, eq=False)
class Naming:
    """Names of the queries of a workload, each made when it is asked for: there may be billions.

    >>> from stratagem.workloads import prefix
    >>> delay = Attribute(name="delay", size=2, edges=("-5", "0", "15"), unit="minutes")
    >>> Naming.of(prefix(2), [delay]).label(1)
    'delay below 15 minutes'
    """

    workload: Workload
    attributes: tuple[Attribute, ...]
    """Descriptions of the attributes of the domain, in its order."""

    @staticmethod
    def of(workload: Workload, attributes: Sequence[Attribute] = ()) -> Naming:
        """Return the names of a workload's queries; attributes whose sizes do not match are ignored."""
        fit = tuple(one.size for one in attributes) == workload.domain.sizes
        return Naming(workload, tuple(attributes) if fit else plain(workload.domain))

    def label(self, query: int) -> str:
        """Return the name of query number 0..p-1.

        Raises:
            ValueError: as `Workload.describe`.
        """
        found = self.workload.describe(query)
        if len(found.parts) == 1 and isinstance(found.parts[0], Row):
            words = found.parts[0].name or f"query {query}"
        else:
            words = ", ".join([*self._conditions(found), *self._waves(found)]) or "everybody"
        return words if found.weight == 1 else f"{found.weight:g} × {words}"

    def where(self, query: int) -> list[dict[str, Any]]:
        """Return the condition on each attribute that a query depends on; empty where it is no such count.

        Raises:
            ValueError: as `Workload.describe`.
        """
        parts = self.workload.describe(query).parts
        spans = [part for part in parts if isinstance(part, Span)]
        if len(spans) < len(parts):
            return []
        return [self.attributes[one.attribute].bounds(one.low, one.high) for one in spans]

    def _conditions(self, query: Query) -> list[str]:
        words = []
        for part in query.parts:
            if isinstance(part, Span):
                words.append(self.attributes[part.attribute].text(part.low, part.high))
            elif isinstance(part, Row):
                names = " and ".join(self.attributes[i].name for i in part.attributes)
                words.append(part.name or f"query {part.number} of {names}")
        return words

    def _waves(self, query: Query) -> list[str]:
        """Return the attributes whose values count positive or negative, as one phrase if there are any."""
        names = []
        for part in query.parts:
            if isinstance(part, Wave):
                one = self.attributes[part.attribute]
                names.append(one.name if one.size == 2 else f"{one.name} (wave {part.row})")
        return [f"parity of {' and '.join(names)}"] if names else []
