"""What the values of an attribute are: labels or edges, as a bundle states them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
