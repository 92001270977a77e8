"""The options that say what values are and where those of a file stand: --edges, --labels, --unit, --column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stratagem.cli.command import chosen, options
from stratagem.cli.option import AS_IS, DATE_FORMAT, DECIMAL, MAP, MISSING, ValueOptions

if TYPE_CHECKING:
    from stratagem.domain import Attribute, Bins, Domain, Labels
    from stratagem.domain.columns import InvalidValuesError
    from stratagem.domain.policy import Policy, Reading

ALONE = "value"
"""Name of an attribute that nobody names."""


@dataclass(frozen=True)
class Layout:
    """A domain that options describe."""

    domain: Domain
    found: Mapping[str, tuple[str, ...]]
    """Sentences on the values of each attribute that were read from the data, as nobody stated them."""
    policy: Policy | None = None
    """How the file was read."""

    def options(self) -> list[str]:
        """Return the options that state what was found, an option and its value each."""
        values = {one.name: one.values for one in self.domain.attributes}
        kinds = {name: next(iter(values[name].entry())) for name in self.found}  # edges or labels
        return [
            *(f"--{kind}={name}={values[name]}" for name, kind in kinds.items()),
            *(f"--map={text}={label}" for one in values.values() for text, label in one.spellings),
            *(policy_options(self.policy) if self.policy else ()),
        ]


def policy_options(policy: Policy) -> list[str]:
    """Return the options that read a file's texts in the same way again."""
    from stratagem.domain.policy import Policy

    found = list[str]()
    for column, one in (
        ("", policy),
        *((f"{name}=", Policy(**own)) for name, own in policy.by_column.items()),
    ):
        found += [word for text in one.missing for word in ("--missing", f"{column}{text}")]
        pairs = one.mapping.items()
        found += [word for text, label in pairs for word in ("--map", f"{column}{text}={label}")]
        found += ["--decimal", f"{column}{one.decimal}"] if one.decimal else []
        found += ["--date-format", f"{column}{one.date_format}"] if one.date_format else []
    return found


def derive(
    values: ValueOptions,
    data: Path | None = None,
    columns: list[str] | None = None,
    policy: Policy | None = None,
) -> Layout | None:
    """Return the layout that the options describe, None if they name no attribute.

    Attributes come in the order of `--column`, or without columns those with edges before those with labels. Those of
    columns whose values nobody states have the ones that `plan` proposes.

    Raises:
        ValueError: for edges or labels that are none, a repeated attribute, or as `found_values`.
    """
    from stratagem.domain import Attribute, Domain
    from stratagem.domain.bins import as_whole
    from stratagem.domain.columns import distinct
    from stratagem.domain.file import stated_order
    from stratagem.domain.policy import STRICT
    from stratagem.domain.proposal import cautions, found_values, refusing, sentences
    from stratagem.domain.rounding import placeholders

    sources = _assigned((), named_columns(columns), "--column")
    if not sources:
        edges, labels = ([_named(text) for text in given or []] for given in (values.edges, values.labels))
        values = replace(values, edges=edges, labels=labels)
    stated, units = _stated(tuple(sources), values)
    found: dict[str, tuple[str, ...]] = {}
    for name, column in sources.items():
        if name not in stated and data is not None:
            counts = distinct(data, column, policy or STRICT)
            proposal = found_values(counts, column, policy or STRICT, stated_order(data, column))
            stated[name] = proposal.values
            coded = placeholders(counts) if proposal.ordered else {}
            found[name] = (
                *sentences(name, proposal, *proposal.count(counts)),
                *refusing({name: proposal}),
                *cautions(name, proposal, coded),
            )
        elif data is not None:
            stated[name] = as_whole(stated[name], distinct(data, column, policy or STRICT))
    names = tuple(sources) or tuple(stated)
    attributes = (Attribute(name, stated[name], unit=units.get(name, "")) for name in names)
    return Layout(Domain(*attributes), found, policy) if names else None


def read_values(domain: Domain, values: ValueOptions) -> Domain:
    """Return the domain with the values and units that the options give.

    Raises:
        ValueError: for an unknown or repeated attribute, values that do not fit it, or both for one.
    """
    from stratagem.domain import Domain

    stated, units = _stated(domain.names, values)
    fitting = (stated.get(one.name, one.values).fit(one.size) for one in domain.attributes)
    pairs = zip(domain.attributes, fitting, strict=True)
    return Domain(*(replace(one, values=new, unit=units.get(one.name, one.unit)) for one, new in pairs))


def stated_values(
    names: tuple[str, ...], values: ValueOptions
) -> tuple[dict[str, Attribute], dict[str, str]]:
    """Return the attributes whose values the options state, and the units that they give, by name."""
    from stratagem.domain import Attribute

    stated, units = _stated(names, values)
    return {name: Attribute(name, one) for name, one in stated.items()}, units


def _stated(names: tuple[str, ...], values: ValueOptions) -> tuple[dict[str, Bins | Labels], dict[str, str]]:
    """Return the values and the units that the options give by attribute; without names all are welcome."""
    from stratagem.domain import Bins, Labels
    from stratagem.domain.attribute import unit_text

    by_edges = _assigned(names, values.edges or [], "--edges")
    by_labels = _assigned(names, values.labels or [], "--labels")
    if both := [name for name in by_edges if name in by_labels]:
        raise ValueError(
            f"attribute {both[0]!r} was given both --edges and --labels: keep the one that fits its column"
        )
    found: dict[str, Bins | Labels] = {name: Bins.parse(text) for name, text in by_edges.items()}
    found |= {name: Labels.parse(text) for name, text in by_labels.items()}
    by_unit = _assigned(names or tuple(found), values.unit or [], "--unit")
    return found, {name: unit_text(name, unit) for name, unit in by_unit.items()}


def check_values_kept(out: Path | None, values: ValueOptions) -> None:
    """Refuse edges, labels and units for a file that cannot hold them."""
    from stratagem.mechanism.mechanism import SUFFIX

    if values and not (out is not None and out.name.lower().endswith(SUFFIX)):
        raise ValueError(
            f"--edges, --labels or --unit were given, but only *{SUFFIX} holds them: name one with -o"
        )


def invalid_advice(error: InvalidValuesError) -> str:
    """Return the options that help where a file has rows outside the domain."""
    from stratagem.domain.values import ABSENT, NO_ANSWER

    beyond = any(kind.endswith(("above", "or above")) or " below " in kind for kind in error.counts)
    clip = "--clip counts numbers beyond the edges in the nearest bin, " if beyond else ""
    other = "reports them as the value other"
    if not error.has_other:
        silent = any(kind.endswith(f" {ABSENT}") for kind in error.counts)
        other += ", which --edges ...,other or --labels ...,other adds when a mechanism is made"
        other += f"; a last ,{NO_ANSWER} adds one for missing answers" if silent else ""
    return f"{clip}--invalid drop leaves such rows out, --invalid other {other}"


def read_sources(domain: Domain, columns: list[str]) -> dict[str, str]:
    """Return the column of each attribute: that of `--column`, of several attributes by default its namesake."""
    named = (f"{column}={column}" if column in domain.names else column for column in columns)
    sources = _assigned(domain.names, named, "--column")
    if len(domain.names) == 1 and not sources:
        raise ValueError(
            f"attribute {domain.names[0]!r} was given no column: add --column {domain.names[0]}=NAME"
        )
    return {name: sources.get(name, name) for name in domain.names}


def read_survey_file(
    path: Path | None, domain: Domain, columns: list[str], policy: Policy
) -> tuple[list[str], Policy]:
    """Return the columns of attributes, and how they are read, with what a survey file says beside the options."""
    from stratagem.workloads.given import read_survey

    if path is None:
        return columns, policy
    known = {name: one for name, one in read_survey(path).readings.items() if name in domain.names}
    columns = columns or [f"{name}={column}" for name, (column, _) in known.items()]
    found: dict[str, Reading] = {}
    for name, column in read_sources(domain, columns).items():
        own = policy.by_column.get(column, {})
        stated = known[name][1] if name in known else {}
        texts = (*stated.get("missing", ()), *own.get("missing", ()))
        pairs = {**stated.get("mapping", {}), **own.get("mapping", {})}
        both: Any = {**stated, **own, "missing": texts, "mapping": pairs}
        found[column] = both
    return columns, replace(policy, by_column=found)


def named_columns(columns: list[str] | None) -> list[str]:
    """Return the columns as ATTRIBUTE=COLUMN, an attribute that nobody names called like its column."""
    usable = {text: text.isprintable() and text == text.strip() and "," not in text for text in columns or []}
    return [text if "=" in text else f"{text if usable[text] else ALONE}={text}" for text in columns or []]


def _assigned(attributes: Sequence[str], values: Iterable[str], option: str) -> dict[str, str]:
    """Read ATTRIBUTE=VALUE; with a single attribute the prefix may be left out, without any all are welcome."""
    found: dict[str, str] = {}
    for value in values:
        name, separator, text = value.partition("=")
        if not separator or not (name in attributes or not attributes):
            if len(attributes) != 1 or (separator and option in ("--edges", "--unit")):
                known = f", but the attributes are {', '.join(attributes[:20])}" if attributes else ""
                raise ValueError(
                    f"{option} {value} names no attribute{known}: write {option} {[*attributes, 'NAME'][0]}=..."
                )
            name, text = attributes[0], value
        if name in found:
            raise ValueError(f"attribute {name!r} was given {option} twice, but takes one: keep one of them")
        found[name] = text
    return found


def _named(text: str) -> str:
    """Return NAME=VALUES, with the common name where there is none."""
    return text if re.match(r"\w[\w .-]*=", text) else f"{ALONE}={text}"


@options
class ColumnOptions:
    """What the values of the columns are, and how they are read."""

    values: ValueOptions
    only: Annotated[
        bool,
        Option("--only", help="The stated values are all there are: no value other, none for no answer."),
    ] = False
    missing: MISSING = None
    mapping: MAP = None
    as_is: AS_IS = False
    decimal: DECIMAL = None
    date_format: DATE_FORMAT = None

    def read(self, data: Path, column: str | None) -> tuple[dict[str, Any], Reading]:
        """Return the values, of the one column or of several by name, and how texts are read, for `planned`."""
        if not any(chosen(self)):
            return {}, {}
        from stratagem.domain.file import read_texts

        names = tuple(text.partition("=")[0] for text in named_columns(None if column is None else [column]))
        stated, units = stated_values(names, self.values)
        about = {
            "values": stated.get(*names) if names else stated,
            "only": self.only,
            "unit": units.get(*names) if names else units,
        }
        texts = {name: getattr(self, name) for name in ("missing", "mapping", "decimal", "date_format")}
        return about, {**read_texts(data, texts), "as_is": self.as_is}
