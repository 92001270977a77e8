"""The questions of a survey, and the columns of data from which their values are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.columns import ColumnTexts, column_texts
from stratagem.domain.domain import Domain
from stratagem.domain.file import UnreadableError, column_names, meant
from stratagem.domain.moment import stating
from stratagem.domain.policy import Policy, Reading, said
from stratagem.domain.proposal import STATED, DifferentTextsError, Proposal, cautions, sentences
from stratagem.domain.rounding import placeholders
from stratagem.estimators import mean_variance, users_needed
from stratagem.io.numeral import GROUPED
from stratagem.io.toml import nearest
from stratagem.math.number import number_text
from stratagem.study.attacks import percent
from stratagem.study.plan import described, proposed
from stratagem.study.summary import Found
from stratagem.workloads import Workload
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.recipe import QueryEntry
from stratagem.workloads.survey import SurveyFile, written

LEFT_OUT = " is left out: "
"""What stands between the name of a column and the reason why it is not asked about."""
LARGEST = 4096
"""Most cells of a table that is planned."""
PERHAPS = (
    "The values in {} may have been read from {} and then tell something about its people: if these are the people to "
    "protect, state values that you know without the data."
)


Source = str | Path | Mapping[str, Iterable[object]] | Iterable[object]
"""A CSV or Parquet file, columns by name, such as a data frame, or the values of one question."""


class Sample(NamedTuple):
    """Data with columns."""

    title: str
    names: list[str]
    rows: Callable[[str], Any]
    """Function from the name of a column to its values, or to the file that holds it."""

    def column(self, name: str) -> Any:
        """Return the values of a column, or the file that holds it."""
        if name not in self.names:
            raise ValueError(f"{self.title} has no column {name!r}: {meant(name, self.names)}")
        return self.rows(name)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of columns without their data."""

    values: Mapping[str, Attribute] = field(default_factory=dict)
    """Values by column, such as st.bins("18:80:5")."""
    units: Mapping[str, str] = field(default_factory=dict)
    """What numbers are measured in, by column."""
    only: bool = False
    """Whether the stated values are all there are: no value other, none for no answer."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """One column of the data: the values to ask for, and what its rows become."""

    attribute: Attribute
    name: str
    proposal: Proposal
    x: np.ndarray
    """Rows of each value (n,), integers."""
    others: Mapping[str, int]
    """Rows in none of the values, by reason."""
    placeholders: Mapping[str, int]
    """Rows of each text that looks like a placeholder for no answer."""
    remarks: tuple[str, ...]
    """Sentences on how texts were read that could be meant otherwise."""
    policy: Policy
    """How its texts are read."""

    @staticmethod
    def of(name: str, attribute: Attribute, proposal: Proposal, texts: ColumnTexts) -> Column:
        """Return what the texts of a column become under some values."""
        counts = texts.counts
        x, others = proposal.count(counts)
        return Column(
            attribute=attribute,
            name=name,
            proposal=proposal,
            x=x,
            others=others,
            placeholders=placeholders(counts) if proposal.ordered else {},
            remarks=proposal.remarks(counts, name),
            policy=texts.policy,
        )

    @property
    def reading(self) -> Reading:
        """What reads the column in the same way again."""
        return self.policy.told(self.proposal.values)

    def values(self) -> str:
        """Return which values people choose from, and which rows are in none of the others."""
        first, *rest = sentences(self.name, self.proposal, self.x, self.others)
        return "; ".join(filter(None, (first, " ".join(rest))))

    def notes(self, *, file: bool = False) -> Iterator[str]:
        """Yield what is to be done about the values, each in a sentence, in a survey `file` if that states them."""
        yield from (written(one, self.attribute.name) for one in self._notes()) if file else self._notes()

    def _notes(self) -> Iterator[str]:
        yield from cautions(self.name, self.proposal, self.placeholders)
        read = filter(None, (said(dict(self.proposal.values.spellings)), *self.remarks))
        yield from (f"{self.name}: {sentence}" for sentence in read)


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """One question of a survey: the attributes that it asks about, and its queries."""

    domain: Domain
    """All attributes of the survey."""
    entry: QueryEntry
    """What is asked of which attribute, and the weight of its queries in the survey's objective."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that it is about."""
        return tuple(self.entry.on)

    @property
    def name(self) -> str:
        """The attributes in words, such as "region x income"; a sum names itself."""
        kinds = dict.fromkeys(
            kind for kind in self.entry.on.values() if kind in ("mean", "moments", "parity")
        )
        return " ".join(filter(None, (", ".join(kinds), " x ".join(self.attributes) or "all people")))

    @cached_property
    def workload(self) -> Workload:
        """Its queries, over the whole domain, each of weight 1."""
        return replace(self.entry, weight=1.0).workload(self.domain, "the survey")

    @cached_property
    def table(self) -> Workload:
        """The same queries over its own attributes alone."""
        own = [one for one in self.domain.attributes if one.name in self.entry.on]
        return replace(self.entry, weight=1.0).workload(Domain(*own), "the survey") if own else self.workload

    @cached_property
    def counts(self) -> bool:
        """Whether its answers count people, so that errors are shares of them."""
        return counts_users(self.table)

    def shown(self, error: float) -> str:
        """Return a standard error as a share of the people, or of a mean in its unit."""
        if self.counts:
            return percent(error)
        units = {one.unit for one in self.table.domain.attributes}
        return f"{number_text(error)} {units.pop() if len(units) == 1 else ''}".strip()

    @staticmethod
    def even(domain: Domain, attributes: Sequence[str], kind: str) -> Question:
        """Return the question whose errors count as much as those of any other (see `QueryEntry.even`)."""
        asked = Question(domain=domain, entry=QueryEntry(dict.fromkeys(attributes, kind)))
        return replace(asked, entry=asked.entry.even(domain))

    @staticmethod
    def of_table(domain: Domain, names: Sequence[str]) -> Question:
        """Return the question about the cells of a table of two attributes or more."""
        if len(names) < 2:
            raise ValueError(
                f"a table of {', '.join(names) or 'nothing'} was asked for: name two columns or more"
            )
        cells = math.prod(one.size for one in domain.attributes if one.name in names)
        if cells > LARGEST:
            raise ValueError(
                f"the table of {' x '.join(names)} has {cells:,} cells, but at most {LARGEST:,} are planned: "
                "state coarser values, or leave it out"
            )
        return Question.even(domain, names, "identity")


def weights_said(asked: Sequence[Question]) -> str:
    """Return which questions count more or less than the others, in a sentence; empty where all count alike."""
    both = [(one, one.entry.even(one.domain).weight) for one in asked]
    if len({one.entry.weight / even for one, even in both}) == 1:
        return ""
    stated = (
        f"{one.name} {one.entry.weight:g} ({even:g} counts like any other)"
        for one, even in both
        if one.entry.weight != even
    )
    return f'Questions do not count alike, unless they state weight = "alike": {", ".join(stated)}.'


def read_columns(
    sample: Sample, names: Sequence[str], known: Known, reading: Reading
) -> tuple[list[Column], list[str]]:
    """Return the columns to ask about, and a sentence on each that is left out as there is nothing to ask.

    Without names all columns are read; of named ones none is left out.

    Raises:
        ValueError: for a column that is not there or holds no answers, or values stated for one that is not asked.
    """
    wanted = list(names or dict.fromkeys(sample.names))
    for name in (*known.values, *known.units):
        if name not in wanted:
            raise ValueError(
                f"values or a unit were stated for {name!r}, but the columns are {', '.join(wanted[:20])}: name one"
            )
    found, left = list[Column](), list[str]()
    for name in wanted:
        chosen = bool(names) or name in {**known.values, **known.units}
        try:
            found.append(_column(sample, name, known, reading, chosen=chosen))
        except UnreadableError:
            raise
        except ValueError as error:
            if chosen:
                raise
            own = str(error)
            for mark in GROUPED:
                own = own.replace(f"decimal={mark!r}", stating(name, "decimal", mark))
            left.append(f"{name}{LEFT_OUT}{own}.")
    return found, left


def _column(sample: Sample, name: str, known: Known, reading: Reading, *, chosen: bool) -> Column:
    given, unit = known.values.get(name), known.units.get(name, "")
    texts = column_texts(sample.column(name), name, reading, given)
    if not chosen and texts.tells_rows_apart:
        raise ValueError("every row has a number of its own, so name the column if that is to be asked")
    try:
        proposal = proposed(texts, name, given, only=known.only and given is not None)
    except DifferentTextsError:
        if chosen:
            raise
        raise ValueError("nearly every row has another value, as identifiers do") from None
    attribute = described(name, proposal.values, "", "") if given is None else replace(given, name=name)
    attribute = replace(attribute, values=proposal.values, unit=unit or attribute.unit)
    return Column.of(name, attribute, proposal, texts)


def stated_columns(file: SurveyFile, path: Path, source: str) -> list[Column]:
    """Return what the rows of a file of answers become under the values that a survey file states."""
    found = []
    for one in file.domain.attributes:
        column, reading = file.readings.get(one.name, (one.name, {}))
        if column not in (known := column_names(path)):
            raise ValueError(
                f"{source}: {path} has no column {column!r}: write column = below [attributes.{one.name}], or take the "
                f"line data = away; {nearest(column, known)}"
            )
        texts = column_texts(path, column, reading, one)
        values: Any = one.values
        found.append(Column.of(column, one, Proposal(values=values, rule=STATED), texts))
    return found


def sample_of(data: Source) -> Sample | None:
    """Return the columns of a file or of a data frame; None of the values of one question."""
    if isinstance(data, str | Path):
        return Sample(Path(data).name, column_names(Path(data)), lambda _: data)
    frame: Any = data
    listed = data if isinstance(data, Mapping) else getattr(frame, "columns", None)
    listed = getattr(frame, "column_names", listed)  # those of Arrow; columns are its arrays
    return None if listed is None else Sample("A survey", [*map(str, listed)], partial(_rows, frame))


def _rows(data: Mapping[str, Any], name: str) -> Iterable[object]:
    rows = data[name]
    return rows.to_pylist() if hasattr(rows, "to_pylist") else rows  # Arrow's scalars write None as a text


def people_enough(solution: Found, questions: Iterable[Question], error: float) -> int:
    """Return the people with whom the answers of every question that counts people have the error, typically."""
    through = solution.estimator
    known = (one.workload for one in questions if one.counts)
    return max(users_needed(mean_variance(one, through, through.accuracy(one)), error) for one in known)
