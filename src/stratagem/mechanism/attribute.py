"""What the values of an attribute are: labels, or edges and a unit, as a bundle states them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from typing import Any

from stratagem.collection.binning import Binning, Codes, Labels
from stratagem.collection.edges import Edges, kind_of, shortest
from stratagem.io.numeral import plain_digits
from stratagem.mechanism.client import reader
from stratagem.workloads import Domain
from stratagem.workloads.domain import OTHER, Attribute


def described(
    domain: Domain,
    labels: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
    edges: Mapping[str, Sequence[float | str]] | Sequence[float | str] | None = None,
    units: Mapping[str, str] | str | None = None,
) -> dict[str, dict[str, Any]]:
    """Return "labels" (texts) or "edges" (texts), and "unit" (a text), for the attributes that have them.

    Edges are numbers, dates or times; "other" after the last one adds a value for whatever is in no bin.

    Raises:
        ValueError: for an unknown attribute, one with labels and edges, a repeated label, edges that do not
            increase, another number of either than the attribute needs, or a unit that is no short text.
    """
    found: dict[str, dict[str, Any]] = {}
    for key, given, text in (("labels", labels, str), ("edges", edges, edge_text)):
        for name, values in _by_name(domain, key, given).items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise ValueError(f"the {key} of {name} are {values!r:.60}, but must be several: give a list")
            found.setdefault(name, {})[key] = [text(value) for value in values]
    for name, unit in _by_name(domain, "units", units).items():
        found.setdefault(name, {})["unit"] = _unit(name, unit)
    for name, entry in found.items():
        size = domain.sizes[domain.attributes.index(name)]
        if "edges" in entry:
            Edges(tuple(map(edge_value, entry["edges"])), size)
        reader({"name": name, "size": size} | entry)
    return found


def described_attributes(domain: Domain, **values: Any) -> tuple[Attribute, ...]:
    """Return every attribute of a domain, with the labels, edges and units that `described` takes.

    Raises:
        ValueError: as `described`.
    """
    found = described(domain, **values)
    pairs = zip(domain.attributes, domain.sizes, strict=True)
    return tuple(Attribute.of({"name": name, "size": size} | found.get(name, {})) for name, size in pairs)


def parsed(attribute: Mapping[str, Any], text: str) -> str | int | float:
    """Return the value of an attribute that a text stands for: a label, or a number.

    Raises:
        ValueError: for a text that is no number where one is asked for.
    """
    if "labels" in attribute:
        return text
    kind, words = (edge_value, "a number") if "edges" in attribute else (int, "a whole number")
    try:
        return kind(plain_digits(text))
    except ValueError:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise ValueError(f"{attribute['name']} is {shown!r}, but must be {words}: give one") from None


def binning(attribute: Mapping[str, Any]) -> Binning:
    """Return the rule that reads an attribute's column of a file."""
    if "labels" in attribute:
        return Labels(tuple(attribute["labels"]), attribute["size"])
    if "edges" in attribute:
        return Edges(tuple(map(edge_value, attribute["edges"])), attribute["size"])
    return Codes(attribute["size"])


def _by_name(domain: Domain, key: str, given: Any) -> Mapping[str, Any]:
    """Return labels, edges or units as a mapping from the name of an attribute."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(domain.attributes) != 1:
            raise ValueError(
                f"{key} were given once, but the domain has {len(domain.attributes)} attributes: "
                "give a mapping from their names"
            )
        given = dict.fromkeys(domain.attributes, given)
    for name in (name for name in given if name not in domain.attributes):
        raise ValueError(
            f"{key} were given for {name!r}, but the attributes are {', '.join(domain.attributes[:20])}: "
            "name one of them"
        )
    return given


def _unit(name: str, unit: Any) -> str:
    """Return a unit that fits beside a number."""
    known = isinstance(unit, str) and unit.isprintable() and 0 < len(unit.strip()) <= 40
    if not known:
        raise ValueError(
            f"the unit of {name} is {unit!r:.60}, but must be a word of at most 40 letters: give for example 'minutes'"
        )
    return unit.strip()


def edge_value(text: str) -> float | str:
    """Return what the text of an edge stands for: a number; dates, times and "other" are texts.

    Raises:
        ValueError: for any other text.
    """
    return text if text == OTHER or kind_of([text]) else float(text)


def edge_text(value: Any) -> str:
    """Return the shortest text of a number, date or time; "other" as it is."""
    if isinstance(value, date | time):
        value = value.isoformat()
    if isinstance(value, str) and (value == OTHER or kind_of([value])):
        return shortest(value)
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"the edge {value!r:.60} is not a finite number, date or time: give such edges that increase, and "
            f"{OTHER!r} after the last one for everything else"
        )
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def value_of(attributes: Sequence[Mapping[str, Any]], cell: int) -> Any:
    """Return a value of a user type as a client takes it: the lower edge of a bin, the text of a label."""
    values: dict[str, Any] = {}
    for attribute in reversed(attributes):
        cell, k = divmod(cell, attribute["size"])
        if "labels" in attribute:
            values[attribute["name"]] = attribute["labels"][k]
        elif "edges" in attribute:
            last = attribute["edges"][k + 1]  # OTHER stands behind the edge that its value follows
            values[attribute["name"]] = last if last == OTHER else edge_value(attribute["edges"][k])
        else:
            values[attribute["name"]] = k
    return values if len(attributes) > 1 else values[attributes[0]["name"]]
