"""An attribute of a domain: what its values are, what it is measured in, what people are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stratagem.domain.bins import Bins
from stratagem.domain.values import Bin, Codes, Labels

UNIT = 40
"""Largest number of letters of a unit."""


@dataclass(frozen=True)
class Attribute:
    """A name, the values that people choose from, the question that they are asked, and the unit of the numbers.

    >>> delay = Attribute("delay", Bins(("-5", "0", "12.5")), unit="minutes")
    >>> delay.value(0), delay.text(1, 1), delay.text(None, 1)
    (Bin(start=-5.0, stop=0.0), 'delay = 0 to below 12.5 minutes', 'delay below 12.5 minutes')

    Raises:
        ValueError: for a name or a unit that is no short printable text, or a unit of labels.
    """

    name: str
    values: Codes | Labels | Bins = field(repr=False)
    question: str = field(default="", repr=False)
    unit: str = ""

    def __post_init__(self) -> None:
        name, unit = self.name, self.unit
        usable = isinstance(name, str) and name and name.isprintable() and name == name.strip()
        if not usable or "=" in name or "," in name:
            raise ValueError(
                f"{name!r} was given as the name of an attribute, but a name is printable text without "
                "'=', ',' or outer spaces: rename it"
            )
        if unit != "":
            object.__setattr__(self, "unit", unit_text(name, unit))
            if self.values.texts:
                raise ValueError(
                    f"the unit {unit!r} was given, but {name!r} has labels: give numbers instead of labels, "
                    "or leave it out"
                )

    def __str__(self) -> str:
        """Return the name, the values and their unit, such as "age 18:80:5 years" or "region North|South|other"."""
        values = self.values
        if values.texts:
            return f"{self.name} {'|'.join(str(values.value(cell)) for cell in range(values.size))}"
        rest = [str(values.value(cell)) for cell in values.outside]
        return f"{self.name} {'|'.join([f'{values.own} {self.unit}'.strip(), *rest])}"

    @staticmethod
    def of(entry: Mapping[str, Any]) -> Attribute:
        """Return the attribute that an entry of a bundle's domain describes."""
        return Attribute(entry["name"], values_of(entry), unit=entry.get("unit") or "")

    def entry(self) -> dict[str, Any]:
        """Return the entry of a bundle's domain."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"name": self.name, "size": self.size} | self.values.entry() | unit

    @property
    def size(self) -> int:
        """The number of values."""
        return self.values.size

    @property
    def other(self) -> int | None:
        """The place of the value that stands for an answer in none of the others; None without one."""
        return self.values.other

    def value(self, place: int) -> str | int | Bin:
        """Return value number `place` as its owner knows it: its label, its bin, or the whole number itself."""
        return self.values.value(place)

    def title(self, *, prefixes: bool = False) -> str:
        """Return the name of an axis along the values, or along their prefixes: the attribute and its unit."""
        words = [self.name, self.values.UP_TO] if prefixes else [self.name]
        return " ".join([*words, f"({self.unit})"] if self.unit else words)

    def words(self, low: int | None, high: int) -> str:
        """Return the values from `low` to `high`, without their unit; without a `low` the last of them."""
        return self.values.text(low, high)

    def values_text(self, low: int | None, high: int) -> str:
        """Return the values from `low` to `high` in words; without a `low` those up to `high`."""
        return self.values.text(low, high, self.unit)

    def text(self, low: int | None, high: int) -> str:
        """Return a condition in words: the attribute has a value from `low` to `high`, or up to `high`."""
        return f"{self.name} {' '.join(self.values.relation(self._first(low), high, self.unit))}"

    def bounds(self, low: int | None, high: int) -> dict[str, Any]:
        """Return the same condition as named values: `value`, or `from` and `to`, or `from` and `below`."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"attribute": self.name} | self.values.bounds(self._first(low), high) | unit

    def _first(self, low: int | None) -> int | None:
        """Return the first of the values up to another: none, unless what lies below the first edge counts as other."""
        return 0 if low is None and self.values.cut else low


def unit_text(name: str, unit: object) -> str:
    """Return a unit that fits beside a number."""
    if not isinstance(unit, str) or not unit.isprintable() or not 0 < len(unit.strip()) <= UNIT:
        raise ValueError(
            f"the unit of {name} is {unit!r:.60}, but must be a word of at most {UNIT} letters: give for example "
            "'minutes'"
        )
    return unit.strip()


def value_of(attributes: Sequence[Attribute], cell: int) -> Any:
    """Return a value of a user type as a client takes it: the lower edge of a bin, the text of a label."""
    values: dict[str, Any] = {}
    for attribute in reversed(attributes):
        cell, k = divmod(cell, attribute.size)
        values[attribute.name] = attribute.values.member(k)
    return values if len(attributes) > 1 else values[attributes[0].name]


def values_of(entry: Mapping[str, Any]) -> Codes | Labels | Bins:
    """Return the values that an entry of a bundle's domain states: its labels, its edges, or the size alone.

    Raises:
        ValueError: for labels or edges that are none, or not as many as the size.
    """
    size, silent = entry["size"], bool(entry.get("no_answer"))
    if entry.get("labels"):
        return Labels(tuple(entry["labels"]), no_answer=silent).fit(size)
    if entry.get("edges"):
        zone, whole = entry.get("zone") or "", bool(entry.get("whole"))
        return Bins(tuple(entry["edges"]), silent, zone, whole).fit(size)
    return Codes(size, silent, bool(entry.get("other")))
