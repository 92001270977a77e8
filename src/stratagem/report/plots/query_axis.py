"""The axis of queries in a figure: positions and names, in the units of the user's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stratagem.math.number import spread
from stratagem.workloads.attribute import Bin
from stratagem.workloads.query import Query, Row, Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stratagem.workloads.attribute import Attribute
    from stratagem.workloads.naming import Naming

LETTERS = 18
"""Largest number of letters of a vertical name below an axis."""
TICKS = 7
"""Largest number of names below an axis."""
ROOM = 30
"""Number of letters that fit side by side below the axis of a panel."""
NAMES = 0.9
"""Space in inches for vertical names."""


@dataclass(frozen=True, eq=False)
class QueryAxis:
    """Positions of queries along an axis, and their names there."""

    places: np.ndarray
    """Positions: numbers in the unit of the attribute, or the numbers of the queries."""
    names: Sequence[str]
    """Names of the queries; empty where the positions are numbers with a meaning of their own."""
    title: str
    """Title of the axis."""

    @staticmethod
    def of(naming: Naming, queries: Sequence[int]) -> QueryAxis:
        """Return the axis of some queries: of numbers wherever they ask about the numbers of one attribute."""
        found = [naming.workload.describe(int(query)) for query in queries]
        places = np.array(queries, dtype=float)
        spans = _spans(found) if len(naming.attributes) == 1 else []
        if not spans:
            if all(len(one.parts) == 1 and _nameless(one.parts[0]) for one in found):
                return QueryAxis(places, (), "query")
            return QueryAxis(places, [naming.label(int(query)) for query in queries], "")
        attribute = naming.attributes[0]
        title = attribute.title(prefixes=all(one.low is None for one in spans))
        numbers = _numbers(attribute, spans)
        if numbers is not None:
            return QueryAxis(numbers, (), title)
        return QueryAxis(places, [attribute.words(one.low, one.high) for one in spans], title)

    def write_below(self, axes: Axes) -> None:
        """Name the queries below the axes, some of them where there are many."""
        from matplotlib.ticker import MaxNLocator

        axes.set_xlabel(self.title)
        if not self.names:
            whole = bool((self.places % 1 == 0).all())
            axes.xaxis.set_major_locator(MaxNLocator(nbins=TICKS, integer=whole, min_n_ticks=1))
            return
        name_places(axes, [(self.places[k], self.names[k]) for k in spread(len(self.names), TICKS)])

    @property
    def upright(self) -> bool:
        """Whether the names below the axis are vertical."""
        return _crowded([self.names[k] for k in spread(len(self.names), TICKS)])


def name_places(axes: Axes, named: Sequence[tuple[float, str]]) -> None:
    """Write names at positions below an axis, vertical where they are long."""
    places, names = zip(*named, strict=True)
    shown = [shortened(name, LETTERS) for name in names]
    axes.set_xticks(places, shown, rotation=90 if _crowded(shown) else 0)


def _crowded(names: Sequence[str]) -> bool:
    return sum(len(name) + 2 for name in names) > ROOM


def shortened(name: str, letters: int) -> str:
    """Return a name of at most so many letters on one line, its middle left out where it has more."""
    line = " ".join(name.split())
    if len(line) <= letters:
        return line
    end = (letters - 1) // 2
    return f"{line[: letters - 1 - end]}…{line[len(line) - end :]}"


def _nameless(part: object) -> bool:
    return isinstance(part, Row) and not part.name


def _spans(found: Sequence[Query]) -> list[Span]:
    """Return the single span of values of every query, if all are single unweighted spans; otherwise nothing."""
    spans = [part for one in found for part in one.parts if isinstance(part, Span) and one.weight == 1]
    return spans if len(spans) == len(found) else []


def _numbers(attribute: Attribute, spans: Sequence[Span]) -> np.ndarray | None:
    """Return the upper ends of prefixes or the middles of single values; None for others and what is no number."""
    if attribute.labels or not (
        all(one.low is None for one in spans) or all(one.low == one.high for one in spans)
    ):
        return None
    if not attribute.edges:
        return np.array([one.high for one in spans], dtype=float)
    values = [attribute.value(k) for k in (0, attribute.size - 1)]
    if not all(isinstance(one, Bin) and isinstance(one.start, float) for one in values):
        return None  # dates, times and the value other are named
    edges = np.array(attribute.edges, dtype=float)
    high = edges[[one.high + 1 for one in spans]]
    if spans[0].low is None:
        return high
    return (edges[[one.high for one in spans]] + high) / 2
