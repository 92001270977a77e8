"""The domain of a user's value: named attributes, their sizes, and what their values are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stratagem.io.screen import brief
from stratagem.math.number import integer

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

    @property
    def other(self) -> int | None:
        """The place of the value that stands for whatever has none of its own, a gap for one; None without one."""
        if self.edges:
            return self.size - 1 if self._other(self.size - 1) else None
        return self.labels.index(OTHER) if OTHER in self.labels else None

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


MAX_SIZE = 2**53  # whole numbers up to here are exact in float64
MAX_ATTRIBUTES = 100_000
FORMS = "write a domain as 64, as 2^6 (six binary attributes) or as age=100,sex=2"


@dataclass(frozen=True)
class Domain:
    """All combinations of values of named attributes; a cell is one combination.

    Cells are numbered in row-major (C) order: the last attribute varies fastest.
    `size` is the number of cells, a Python int without any limit.

    >>> Domain.of("age=100,sex=2").size
    200

    Raises:
        ValueError: for no attributes, a repeated or unusable name, or a size outside 1..2^53.
    """

    attributes: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self):
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not 1 <= len(self.attributes) <= MAX_ATTRIBUTES or len(self.attributes) != len(self.sizes):
            raise ValueError(
                f"a domain was given {len(self.attributes)} attributes and {len(self.sizes)} sizes, but "
                f"needs one size for each of 1 to {MAX_ATTRIBUTES} attributes: {FORMS}"
            )
        _check_names(self.attributes)
        sizes = (_size(name, size) for name, size in zip(self.attributes, self.sizes, strict=True))
        object.__setattr__(self, "sizes", tuple(sizes))

    @staticmethod
    def of(value: Domain | int | str | Mapping[str, int] | Sequence[int]) -> Domain:
        """Read a domain from a number of cells, a mapping from names to sizes, a list of sizes, or text.

        An int n gives one attribute named `value`; the sizes [7, 16] give a1 and a2, the text `2^6` a1, ..., a6.

        Raises:
            ValueError: for anything that is not one of these forms.
        """
        if isinstance(value, Domain):
            return value
        if isinstance(value, Mapping):
            return Domain(tuple(value.keys()), tuple(value.values()))
        if isinstance(value, str):
            return _parse(value)
        if isinstance(value, Sequence):
            return Domain(_numbered(len(value)), tuple(value))
        return Domain(("value",), (value,))

    @property
    def size(self) -> int:
        """The number of cells, prod(sizes)."""
        return math.prod(self.sizes)

    def part(self, places: Sequence[int]) -> Domain:
        """Return the domain of some of the attributes, by their places."""
        return Domain(tuple(self.attributes[i] for i in places), tuple(self.sizes[i] for i in places))

    __repr__ = brief

    def __str__(self) -> str:
        """The shortest text that `Domain.of` reads back."""
        if self.attributes == ("value",):
            return str(self.sizes[0])
        if len(set(self.sizes)) == 1 and self.attributes == _numbered(len(self.sizes)):
            return f"{self.sizes[0]}^{len(self.sizes)}"
        return ",".join(f"{name}={size}" for name, size in zip(self.attributes, self.sizes, strict=True))


def _size(name: str, size: object) -> int:
    return integer(size, f"the size of attribute {name!r}", 1, MAX_SIZE, FORMS)


def _check_names(attributes: tuple[str, ...]) -> None:
    for name in attributes:
        usable = isinstance(name, str) and name and name.isprintable() and name == name.strip()
        if not usable or "=" in name or "," in name:
            raise ValueError(
                f"{name!r} was given as the name of an attribute, but a name is printable text without "
                "'=', ',' or outer spaces: rename it"
            )
    name, times = Counter(attributes).most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"attribute {name!r} was named {times} times, but names must differ: rename all but one"
        )


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in range(1, count + 1))


def _parse(text: str) -> Domain:
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,16}", text):
        return Domain(("value",), (int(text),))
    if power := re.fullmatch(r"([0-9]{1,16})\s*\^\s*([0-9]{1,9})", text):
        count = integer(int(power[2]), "the number of attributes", 1, MAX_ATTRIBUTES, FORMS)
        return Domain(_numbered(count), (int(power[1]),) * count)
    pairs = [re.fullmatch(r"\s*([^=]*[^=\s])\s*=\s*([0-9]{1,16})\s*", part) for part in text.split(",")]
    if all(pairs):
        return Domain(tuple(pair[1] for pair in pairs if pair), tuple(int(pair[2]) for pair in pairs if pair))
    shown = text if len(text) <= 60 else text[:57] + "..."
    raise ValueError(f"{shown!r} was given as a domain, but is not one: {FORMS}")


def check_order(value: object, domain: Domain) -> int:
    """Return the order (how many attributes a query may touch), 0 <= order <= attributes of the domain.

    Raises:
        ValueError: when the domain has fewer attributes than the order asks for.
    """
    advice = f"lower the order, or name more attributes than {domain} has, for example domain='2^6'"
    return integer(value, "the order", 0, len(domain.sizes), advice)


def check_one_attribute(domain: Domain, what: str) -> int:
    """Return the size of the only attribute of `domain`.

    Raises:
        ValueError: when there are several, because an order along the cells would be arbitrary.
    """
    size, *others = domain.sizes
    if others:
        raise ValueError(
            f"{what} was given the {len(domain.sizes)} attributes of domain {domain}, but is defined along "
            "one attribute: name one attribute, or combine one workload an attribute with kron"
        )
    return size
