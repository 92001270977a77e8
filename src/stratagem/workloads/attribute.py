"""An attribute in its owner's words: what its values are called, and what its numbers are measured in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stratagem.workloads.domain import Domain


OTHER = "other"
"""What the last value of an attribute with edges is called where it stands for whatever lies in no bin."""


class Bin(NamedTuple):
    """The numbers, or the dates and times as texts, from `start` to below `stop`."""

    start: float | str
    stop: float | str


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """Name and size of an attribute, with the labels of its values or the edges of its bins where it has them.

    >>> delay = Attribute(name="delay", size=2, edges=("-5", "0", "12.5"), unit="minutes")
    >>> delay.value(0), delay.text(1, 1), delay.text(None, 1)
    (Bin(start=-5.0, stop=0.0), 'delay = 0 to below 12.5 minutes', 'delay below 12.5 minutes')
    """

    name: str
    size: int
    labels: tuple[str, ...] = field(default=(), repr=False)
    """Text of every value, shape (size,); empty if the values have no labels."""
    edges: tuple[str, ...] = field(default=(), repr=False)
    """Numbers, dates or times as text (size + 1,), or none: value k is from edge k to below edge k + 1. After the
    text "other" in the place of the last edge, the last value is whatever lies in no bin."""
    unit: str = ""
    """What the numbers are measured in."""

    @staticmethod
    def of(entry: Mapping[str, Any]) -> Attribute:
        """Return the attribute that an entry of a bundle's domain describes."""
        lists = {key: tuple(entry.get(key) or ()) for key in ("labels", "edges")}
        return Attribute(name=entry["name"], size=entry["size"], unit=entry.get("unit") or "", **lists)

    def value(self, place: int) -> str | int | Bin:
        """Return value number `place` as its owner knows it: its label, its bin, or the whole number itself."""
        if self.labels:
            return self.labels[place]
        if self.edges:
            return (
                OTHER if self._other(place) else Bin(_edge(self.edges[place]), _edge(self.edges[place + 1]))
            )
        return place

    def title(self, *, prefixes: bool = False) -> str:
        """Return the name of an axis along the values, or along their prefixes: the attribute and its unit."""
        words = [self.name, self._relation(None, 0)[0]] if prefixes else [self.name]
        return " ".join([*words, f"({self.unit})"] if self.unit else words)

    def words(self, low: int | None, high: int) -> str:
        """Return the values from `low` to `high`, without their unit; without a `low` the last of them."""
        return self._relation(low, high)[1]

    def values_text(self, low: int | None, high: int) -> str:
        """Return the values from `low` to `high` in words; without a `low` those up to `high`."""
        return self._relation(low, high, self.unit)[1]

    def text(self, low: int | None, high: int) -> str:
        """Return a condition in words: the attribute has a value from `low` to `high`, or up to `high`."""
        return f"{self.name} {' '.join(self._relation(low, high, self.unit))}"

    def bounds(self, low: int | None, high: int) -> dict[str, Any]:
        """Return the same condition as named values: `value`, or `from` and `to`, or `from` and `below`."""
        found: dict[str, Any] = {"attribute": self.name}
        first = None if low is None else self.value(low)
        if self.edges and first != OTHER:
            found["from"] = first.start if isinstance(first, Bin) else None
            found["below"] = _edge(self.edges[high + (not self._other(high))])
            found |= {"or": OTHER} if self._other(high) else {}
        elif low == high:
            found["value"] = first
        else:
            found |= {"from": first, "to": self.value(high)}
        return found | ({"unit": self.unit} if self.unit else {})

    def _other(self, place: int) -> bool:
        """Return whether a value is the one for whatever lies in no bin."""
        return bool(self.edges) and self.edges[place + 1] == OTHER

    def _relation(self, low: int | None, high: int, unit: str = "") -> tuple[str, str]:
        """Return how an attribute is related to values, and the values with a unit."""
        if self._other(high) and low == high:
            return "=", OTHER
        relation, values = self._span(low, high - self._other(high))
        more = f" or {OTHER}" if self._other(high) else ""
        return relation, f"{values}{f' {unit}' if unit else ''}{more}"

    def _span(self, low: int | None, high: int) -> tuple[str, str]:
        link, names = (" to below ", self.edges) if self.edges else (" to ", self.labels)
        last = names[high + bool(self.edges)] if names else str(high)
        if low is None:
            return ("below" if self.edges else "up to" if self.labels else "at most"), last
        first = names[low] if names else str(low)
        if low == high:
            return "=", f"{first}{link}{last}" if self.edges else last
        return "from", f"{first}{link}{last}"


def _edge(text: str) -> float | str:
    """Return an edge as a number, or as text if it is a date or a time."""
    try:
        return float(text)
    except ValueError:
        return text


def plain(domain: Domain) -> tuple[Attribute, ...]:
    """Return the attributes of a domain whose values are known by their numbers alone."""
    return tuple(
        Attribute(name=name, size=size) for name, size in zip(domain.attributes, domain.sizes, strict=True)
    )
