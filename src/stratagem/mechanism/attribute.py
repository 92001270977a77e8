"""What the values of an attribute are: labels or edges, as a bundle states them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stratagem.data.binning import Binning, Codes, Edges, Labels
from stratagem.mechanism.client import reader
from stratagem.workloads import Domain


def described(
    domain: Domain,
    labels: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
    edges: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
) -> dict[str, dict[str, list[str]]]:
    """Return {"labels": texts} or {"edges": numbers as text} for the attributes that have them.

    Raises:
        ValueError: for an unknown attribute, one with both, a repeated label, edges that do not increase, or
            another number of either than the attribute needs.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for key, given, text in (("labels", labels, str), ("edges", edges, _number)):
        for name, values in _by_name(domain, key, given).items():
            found.setdefault(name, {})[key] = [text(value) for value in values]
    for name, entry in found.items():
        size = domain.sizes[domain.attributes.index(name)]
        reader({"name": name, "size": size} | entry)
    return found


def parsed(attribute: Mapping[str, Any], text: str) -> str | int | float:
    """Return the value of an attribute that a text stands for: a label, or a number.

    Raises:
        ValueError: for a text that is no number where one is asked for.
    """
    if "labels" in attribute:
        return text
    kind, words = (float, "a number") if "edges" in attribute else (int, "a whole number")
    try:
        return kind(text)
    except ValueError:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise ValueError(f"{attribute['name']} is {shown!r}, but must be {words}: give one") from None


def name_of(attribute: Mapping[str, Any], place: int) -> str:
    """Return what value number `place` of an attribute is called: a label, a range or its number."""
    if "labels" in attribute:
        return attribute["labels"][place]
    if "edges" in attribute:
        return f"{attribute['edges'][place]} to below {attribute['edges'][place + 1]}"
    return str(place)


def binning(attribute: Mapping[str, Any]) -> Binning:
    """Return the rule that reads an attribute's column of a file."""
    if "labels" in attribute:
        return Labels(tuple(attribute["labels"]), attribute["size"])
    if "edges" in attribute:
        return Edges(tuple(map(float, attribute["edges"])), attribute["size"])
    return Codes(attribute["size"])


def _by_name(domain: Domain, key: str, given: Any) -> Mapping[str, Sequence[Any]]:
    """Return labels or edges by the name of their attribute."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(domain.attributes) != 1:
            raise ValueError(
                f"{key} were given as one list, but the domain has {len(domain.attributes)} attributes: "
                "give a mapping from their names"
            )
        given = dict.fromkeys(domain.attributes, given)
    for name in (name for name in given if name not in domain.attributes):
        raise ValueError(
            f"{key} were given for {name!r}, but the attributes are {', '.join(domain.attributes[:20])}: "
            "name one of them"
        )
    return {name: list(values) for name, values in given.items()}


def _number(value: Any) -> str:
    """Return the shortest text of a number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"the edge {value!r} is not a number: give finite numbers that increase") from None
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
