"""The options `--column`, `--edges` and `--labels`: where each attribute's values come from, what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from stratagem.binning import Binning
    from stratagem.data import Source
    from stratagem.workloads import Domain


class Values(TypedDict):
    """What the values of attributes are, by name, as `Mechanism.of` takes it."""

    edges: dict[str, tuple[float, ...]]
    labels: dict[str, tuple[str, ...]]


def read_values(domain: Domain, edges: list[str] | None, labels: list[str] | None) -> Values:
    """Return the edges and labels that the options give.

    Raises:
        ValueError: for an unknown or repeated attribute, values that do not fit it, or both for one.
    """
    from stratagem.binning import Edges, Labels

    sizes = dict(zip(domain.attributes, domain.sizes, strict=True))
    by_edges = _assigned(domain, edges or [], "--edges")
    by_labels = _assigned(domain, labels or [], "--labels")
    both = next((name for name in by_edges if name in by_labels), None)
    if both is not None:
        raise ValueError(
            f"attribute {both!r} was given both --edges and --labels: keep the one that fits its column"
        )
    return {
        "edges": {name: Edges.parse(text, sizes[name]).edges for name, text in by_edges.items()},
        "labels": {name: Labels.parse(text, sizes[name]).labels for name, text in by_labels.items()},
    }


def check_values_kept(out: Path | None, edges: list[str] | None, labels: list[str] | None) -> None:
    """Refuse edges and labels for a file that cannot hold them.

    Raises:
        ValueError: for any but a bundle.
    """
    from stratagem.mechanism.mechanism import SUFFIX

    if (edges or labels) and not (out is not None and out.name.lower().endswith(SUFFIX)):
        raise ValueError(f"--edges or --labels were given, but only *{SUFFIX} holds them: name one with -o")


def read_sources(
    domain: Domain,
    columns: list[str],
    edges: list[str] | None = None,
    labels: list[str] | None = None,
    stated: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Source]:
    """Return the source of each attribute that `--column` names.

    `stated` are the attributes of a mechanism, whose labels and edges hold where the options give none.

    Raises:
        ValueError: for an unknown or repeated attribute, or edges and labels for the same one.
    """
    from stratagem.binning import Codes, Edges, Labels
    from stratagem.data import Source
    from stratagem.mechanism.attribute import binning

    values = read_values(domain, edges, labels)
    rules: dict[str, Binning] = {
        name: Codes(size) for name, size in zip(domain.attributes, domain.sizes, strict=True)
    }
    rules |= {attribute["name"]: binning(attribute) for attribute in stated}
    rules |= {name: Edges(given, len(given) - 1) for name, given in values["edges"].items()}
    rules |= {name: Labels(given, len(given)) for name, given in values["labels"].items()}
    assigned = _assigned(domain, columns, "--column")
    return {name: Source(column, rules[name]) for name, column in assigned.items()}


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
