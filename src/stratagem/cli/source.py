"""The options `--column`, `--edges` and `--labels`: where each attribute's values come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stratagem.binning import Binning
    from stratagem.data import Source
    from stratagem.workloads import Domain


def read_sources(
    domain: Domain, columns: list[str], edges: list[str], labels: list[str]
) -> dict[str, Source]:
    """Return the source of each attribute that the options name.

    Raises:
        ValueError: for an unknown or repeated attribute, or edges and labels for the same one.
    """
    from stratagem.data import Source

    by_edges, by_labels = _assigned(domain, edges, "--edges"), _assigned(domain, labels, "--labels")
    both = next((name for name in by_edges if name in by_labels), None)
    if both is not None:
        raise ValueError(
            f"attribute {both!r} was given both --edges and --labels: keep the one that fits its column"
        )
    return {
        name: Source(column, _binning(domain, name, by_edges, by_labels))
        for name, column in _assigned(domain, columns, "--column").items()
    }


def read_columns(
    attributes: Sequence[Mapping[str, Any]], domain: Domain, columns: list[str]
) -> dict[str, Source]:
    """Return the source of each attribute, read by the labels and edges that a mechanism states."""
    from stratagem.data import Source
    from stratagem.mechanism.attribute import binning

    rules = {attribute["name"]: binning(attribute) for attribute in attributes}
    return {
        name: Source(column, rules[name]) for name, column in _assigned(domain, columns, "--column").items()
    }


def _binning(domain: Domain, name: str, edges: dict[str, str], labels: dict[str, str]) -> Binning:
    from stratagem.binning import Codes, Edges, Labels

    size = domain.sizes[domain.attributes.index(name)]
    if name in edges:
        return Edges.parse(edges[name], size)
    if name in labels:
        return Labels.parse(labels[name], size)
    return Codes(size)


def _assigned(domain: Domain, values: list[str], option: str) -> dict[str, str]:
    """Read ATTRIBUTE=VALUE; with a single attribute the prefix may be left out."""
    assigned: dict[str, str] = {}
    for value in values:
        name, text = _split(domain, value, option)
        if name in assigned:
            raise ValueError(f"attribute {name!r} was given {option} twice, but takes one: keep one of them")
        assigned[name] = text
    return assigned


def _split(domain: Domain, value: str, option: str) -> tuple[str, str]:
    name, separator, text = value.partition("=")
    if separator and name in domain.attributes:
        return name, text
    if len(domain.attributes) == 1:
        return domain.attributes[0], value
    raise ValueError(
        f"{option} {value} names no attribute, but the attributes are {', '.join(domain.attributes[:20])}: "
        f"write {option} {domain.attributes[0]}=..."
    )
