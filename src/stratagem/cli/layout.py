"""The domain that edges, labels and columns describe where `--domain` is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.cli.option import about_numbers, read_workload
from stratagem.cli.source import Values, assigned, read_labels, read_units, read_values, refuse_both

if TYPE_CHECKING:
    from stratagem.collection.binning import Labels, Policy
    from stratagem.collection.edges import Edges
    from stratagem.workloads import Domain, Workload

ALONE = "value"
"""Name of an attribute that nobody names."""


@dataclass(frozen=True)
class Layout:
    """Attributes, and what their values are."""

    domain: Domain
    values: Values
    found: tuple[str, ...] = ()
    """The attributes whose values were read from the data, as nobody stated them."""


def read_described(
    workload: str,
    domain: str | None,
    order: int | None,
    width: int | None,
    edges: list[str] | None,
    labels: list[str] | None,
    unit: list[str] | None,
    found: Layout | None = None,
) -> tuple[Workload, Values]:
    """Return the workload that the command line names and what its values are; edges or labels may give its domain.

    `found` is a layout that a file of values gave.

    Raises:
        ValueError: as `load`, `derive` and `read_values`.
    """
    from stratagem.workloads.given import leaves_domain

    if found is None and domain is None and leaves_domain(workload):
        found = derive(edges, labels, None, None, unit)
    asked = read_workload(workload, found.domain if found else domain, order, width)
    values = found.values if found else read_values(asked.domain, edges, labels, unit)
    return about_numbers(workload, asked, order, values["edges"], values["labels"]), values


def derive(
    edges: list[str] | None,
    labels: list[str] | None,
    data: Path | None,
    columns: list[str] | None,
    units: list[str] | None = None,
    policy: Policy | None = None,
) -> Layout | None:
    """Return the layout that the options describe, None if they name no attribute.

    Attributes come in the order of `--column`, or without columns those with edges before those with labels.

    Raises:
        ValueError: for edges or labels that are none, a repeated attribute, or a column whose values are
            neither stated nor few.
    """
    from stratagem.collection.binning import Labels, Policy
    from stratagem.collection.columns import found_values
    from stratagem.collection.edges import Edges
    from stratagem.workloads import Domain

    sources = assigned((), [_named_column(text) for text in columns or []], "--column")
    by_edges, by_labels = (
        assigned(tuple(sources), given if sources else [_named(text) for text in given], option)
        for given, option in ((edges or [], "--edges"), (labels or [], "--labels"))
    )
    refuse_both(by_edges, by_labels)
    rules: dict[str, Edges | Labels] = {name: Edges.parse(text) for name, text in by_edges.items()}
    rules |= {name: read_labels(text) for name, text in by_labels.items()}
    found = tuple(name for name in sources if name not in rules)
    rules |= {
        name: found_values(data, sources[name], policy or Policy()) for name in found if data is not None
    }
    names = tuple(sources) or tuple(rules)
    if not names:
        return None
    values: Values = {
        "edges": {name: rule.edges for name, rule in rules.items() if isinstance(rule, Edges)},
        "labels": {name: rule.labels for name, rule in rules.items() if isinstance(rule, Labels)},
        "units": read_units(names, units, by_labels),
    }
    return Layout(Domain(names, tuple(rules[name].size for name in names)), values, found)


def named_columns(columns: list[str] | None) -> list[str]:
    """Return the columns as ATTRIBUTE=COLUMN, an attribute that nobody names called like its column."""
    return list(map(_named_column, columns or []))


def stated_options(layout: Layout) -> list[str]:
    """Return the options that state what was found, an option and its value each."""
    from stratagem.collection.binning import Labels
    from stratagem.workloads.domain import OTHER

    edges, labels = layout.values["edges"], layout.values["labels"]

    def ends(found: tuple[float | str, ...]) -> str:
        numbers = [edge for edge in found if isinstance(edge, float | int)]
        return f"{numbers[0]:.10g}:{numbers[-1]:.10g}:1{f',{OTHER}' if found[-1] == OTHER else ''}"

    return [
        f"--edges={name}={ends(edges[name])}"
        if name in edges
        else f"--labels={name}={Labels(labels[name], len(labels[name]))}"
        for name in layout.found
    ]


def _named(text: str) -> str:
    """Return NAME=VALUES, with the common name where there is none."""
    return text if re.match(r"\w[\w .-]*=", text) else f"{ALONE}={text}"


def _named_column(text: str) -> str:
    if "=" in text:
        return text
    usable = text.isprintable() and text == text.strip() and "," not in text
    return f"{text if usable else ALONE}={text}"
