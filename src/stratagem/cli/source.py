"""The options `--column`, `--edges` and `--labels`: where each attribute's values come from, what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from stratagem.collection.binning import Binning, InvalidValuesError, Labels, Policy
    from stratagem.collection.columns import Source
    from stratagem.workloads import Domain


class Values(TypedDict):
    """What the values of attributes are and are measured in, by name, as `Mechanism.of` takes it."""

    edges: dict[str, tuple[float | str, ...]]
    labels: dict[str, tuple[str, ...]]
    units: dict[str, str]


def read_values(
    domain: Domain, edges: list[str] | None, labels: list[str] | None, units: list[str] | None = None
) -> Values:
    """Return the edges, labels and units that the options give.

    Raises:
        ValueError: for an unknown or repeated attribute, values that do not fit it, or both for one.
    """
    from stratagem.collection.edges import Edges

    sizes = dict(zip(domain.attributes, domain.sizes, strict=True))
    by_edges = assigned(domain.attributes, edges or [], "--edges")
    by_labels = assigned(domain.attributes, labels or [], "--labels")
    refuse_both(by_edges, by_labels)
    for name, text in ((name, text) for name, text in by_edges.items() if "=" in text):
        raise ValueError(
            f"--edges {text} names another attribute than {name}, the only one of the domain: leave --domain out, or "
            f"write {name}=..."
        )
    return {
        "edges": {name: Edges.parse(text, sizes[name]).edges for name, text in by_edges.items()},
        "labels": {name: read_labels(text, sizes[name]).labels for name, text in by_labels.items()},
        "units": read_units(domain.attributes, units, by_labels),
    }


def read_labels(text: str, size: int | None = None) -> Labels:
    """Return the labels of a comma list; without a size any number.

    Raises:
        ValueError: for labels that repeat or do not fit, or a text of several lines.
    """
    from stratagem.collection.binning import Labels

    if len(text.splitlines()) > 1:
        raise ValueError(
            f"{text!r:.60} was given as labels, but has several lines: write them in one, with commas"
        )
    return Labels.parse(text, size)


def read_units(
    attributes: Sequence[str], units: list[str] | None, labels: Mapping[str, object]
) -> dict[str, str]:
    """Return the units that the options give by attribute.

    Raises:
        ValueError: for an unknown or repeated attribute, or one that has labels.
    """
    found = assigned(attributes, units or [], "--unit")
    for name in (name for name in found if name in labels):
        raise ValueError(f"attribute {name!r} was given both --unit and --labels: keep --unit for numbers")
    for unit in (unit for unit in found.values() if "=" in unit):
        raise ValueError(
            f"--unit {unit} names no attribute, but the attributes are {', '.join(attributes[:20])}: "
            f"write --unit {attributes[0]}=..."
        )
    return found


def refuse_both(edges: Mapping[str, str], labels: Mapping[str, str]) -> None:
    """Refuse an attribute that has edges and labels.

    Raises:
        ValueError: naming it.
    """
    both = next((name for name in edges if name in labels), None)
    if both is not None:
        raise ValueError(
            f"attribute {both!r} was given both --edges and --labels: keep the one that fits its column"
        )


def check_values_kept(out: Path | None, values: Values) -> None:
    """Refuse edges, labels and units for a file that cannot hold them.

    Raises:
        ValueError: for any but a bundle.
    """
    from stratagem.mechanism.mechanism import SUFFIX

    if any(values.values()) and not (out is not None and out.name.lower().endswith(SUFFIX)):
        raise ValueError(
            f"--edges, --labels or --unit were given, but only *{SUFFIX} holds them: name one with -o"
        )


def read_policy(data: Path | None, invalid: str, missing: list[str] | None, clip: bool) -> Policy:
    """Return what becomes of values outside the domain.

    Raises:
        ValueError: for an unknown word, or a policy without a file.
    """
    from stratagem.collection.binning import Policy

    policy = Policy(invalid=invalid, missing=tuple(missing or ()), clip=clip)
    if data is None and policy != Policy():
        raise ValueError(
            "--invalid, --missing and --clip say how a file is read, but none was given: add --data and --column"
        )
    return policy


def invalid_advice(error: InvalidValuesError) -> str:
    """Return the options that help where a file has rows outside the domain."""
    beyond = any(kind.endswith(("above", "or above")) or " below " in kind for kind in error.counts)
    clip = "--clip counts numbers beyond the edges in the nearest bin, " if beyond else ""
    other = "reports them as the value other"
    if not error.has_other:
        other += ", which --edges ...,other or --labels ...,other adds when a mechanism is made"
    return f"{clip}--invalid drop leaves such rows out, --invalid other {other}"


def read_sources(
    domain: Domain,
    columns: list[str],
    values: Values | None = None,
    stated: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Source]:
    """Return the source of each attribute that `--column` names.

    `stated` are the attributes of a mechanism, whose labels and edges hold where `values` gives none.

    Raises:
        ValueError: for an unknown, repeated or missing attribute.
    """
    from stratagem.collection.binning import Codes, Labels
    from stratagem.collection.columns import Source
    from stratagem.collection.edges import Edges
    from stratagem.mechanism.attribute import binning

    rules: dict[str, Binning] = {
        name: Codes(size) for name, size in zip(domain.attributes, domain.sizes, strict=True)
    }
    rules |= {attribute["name"]: binning(attribute) for attribute in stated}
    if values is not None:
        rules |= {name: Edges(given, len(given) - 1) for name, given in values["edges"].items()}
        rules |= {name: Labels(given, len(given)) for name, given in values["labels"].items()}
    named = (f"{column}={column}" if column in domain.attributes else column for column in columns)
    sources = assigned(domain.attributes, named, "--column")
    for name in (name for name in domain.attributes if name not in sources):
        raise ValueError(f"attribute {name!r} was given no column: add --column {name}=NAME")
    return {name: Source(column, rules[name]) for name, column in sources.items()}


def assigned(attributes: Sequence[str], values: Iterable[str], option: str) -> dict[str, str]:
    """Read ATTRIBUTE=VALUE; with a single attribute the prefix may be left out, without any all are welcome.

    Raises:
        ValueError: for an unknown or repeated attribute.
    """
    found: dict[str, str] = {}
    for value in values:
        name, text = _split(attributes, value, option)
        if name in found:
            raise ValueError(f"attribute {name!r} was given {option} twice, but takes one: keep one of them")
        found[name] = text
    return found


def _split(attributes: Sequence[str], value: str, option: str) -> tuple[str, str]:
    name, separator, text = value.partition("=")
    if separator and (name in attributes or not attributes):
        return name, text
    if len(attributes) == 1:
        return attributes[0], value
    raise ValueError(
        f"{option} {value} names no attribute, but the attributes are {', '.join(attributes[:20])}: "
        f"write {option} {attributes[0]}=..."
    )
