"""Surveys: queries of any kind about any attributes, written down one question after the other."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, cast, final

from stratagem.domain import Attribute, Bins
from stratagem.domain.policy import Reading
from stratagem.io.screen import brief
from stratagem.workloads import (
    Domain,
    DomainLike,
    Workload,
    all_range,
    along,
    histogram,
    prefix,
    weighted,
)
from stratagem.workloads.question import asked_together
from stratagem.workloads.recipe import ALIKE, QueryEntry, mean_of, moments_of


@final
@dataclass(frozen=True)
class Survey:
    """Questions about the attributes of a domain; every method returns the survey with one more.

    The workload is all queries one after the other. `weight` multiplies a question's queries, so that its errors count
    `weight` squared times; those of means and moments are measured by the range of their values (see `asked_together`).

    >>> import stratagem as st
    >>> asked = st.Survey("age=9,region=4,income=5").prefix("age").table("region", "income").mean("income", weight=2)
    >>> asked.workload.queries
    30

    Raises:
        ValueError: for what is no domain; each method for attributes that the domain does not have.
    """

    __repr__ = brief

    domain: Domain
    questions: tuple[Workload, ...] = ()
    """The queries of every question, over the whole domain."""

    def __init__(self, domain: DomainLike, questions: Iterable[Workload] = ()) -> None:
        object.__setattr__(self, "domain", Domain.of(domain))
        object.__setattr__(self, "questions", tuple(questions))

    @property
    def workload(self) -> Workload:
        """All queries, question after question.

        Raises:
            ValueError: for a survey without a question.
        """
        if not self.questions:
            raise ValueError("the survey asks nothing yet: add a question, for example .table('region')")
        return asked_together(self.questions)

    def table(self, *attributes: str, weight: float = 1.0) -> Survey:
        """Count the people in every cell of the table of some attributes: one for its values, several crossed."""
        return self._asked(attributes, histogram, weight)

    def prefix(self, attribute: str, weight: float = 1.0) -> Survey:
        """Count the people at or below every value of an attribute."""
        return self._asked([attribute], prefix, weight)

    def all_range(self, attribute: str, width: int | None = None, weight: float = 1.0) -> Survey:
        """Count the people in every range of at most `width` values, by default in every range."""
        return self._asked([attribute], lambda part: all_range(part, width), weight)

    def mean(self, attribute: str, weight: float = 1.0) -> Survey:
        """Sum the values of an attribute: whole numbers, or the middles of bins."""
        return self._asked([attribute], mean_of, weight)

    def moments(self, attribute: str, order: int = 2, weight: float = 1.0) -> Survey:
        """Sum the first powers of the values of an attribute."""
        return self._asked([attribute], lambda part: moments_of(part, order), weight)

    def ticked(self, *attributes: str, weight: float = 1.0) -> Survey:
        """Ask what may be ticked: each attribute a question of its own, such as k answers of yes or no."""
        found = self
        for one in attributes:
            found = found.table(one, weight=weight)
        return found

    def _asked(self, attributes: Iterable[str], kind: Callable[[Any], Workload], weight: float) -> Survey:
        asked = along(self.domain, [*attributes], kind)
        return replace(self, questions=(*self.questions, asked if weight == 1 else weighted(asked, weight)))


EXAMPLE = "The library asks, to plan its hours, and deletes all after a year. Questions? library@example.org"
"""What a written file says in place of who asks, until somebody fills it in."""
ABOUT = (
    "# about: who asks, why, who reads the results, how long they are kept, whom to contact. People read it first:",
    "# take the # away and fill it in.",
    f'# about = "{EXAMPLE}"',
)
"""What a written file says of those who ask."""
VALUES = (
    "# question: the words that people read. bins: FIRST:LAST:STEP, or all edges; a bin ends below the next edge.",
    "# whole = true: the bins hold whole numbers alone.",
    "# other = true takes answers in none of the values; without it the form refuses them.",
    "# no_answer = true lets people leave the question out. Plan the file again after changing anything but questions.",
    "# missing, map, decimal and date_format say how the column of a file of answers is read; column names it.",
    "",
)
"""What a written file says of the attributes in it."""
WEIGHTS = (
    '# weight = "alike": all questions count alike, whatever they ask. weight = 2 lets every answer of a query count 2',
    "# squared times, without a weight once. A mean is measured by the range of its values.",
    "",
)
"""What a written file says of the weights in it."""
GIVEN = r"(\[[^]]*\]|\{[^}]*\}|'[^']*')"
ADVICE = re.compile(
    rf"\bby_column=\{{(?:'[^']*'|\"[^\"]*\"): \{{'(\w+)': {GIVEN}\}}\}}|\b(missing|mapping|date_format)={GIVEN}"
)
"""Keyword arguments on how a column is read, of one among several or by itself."""


class SurveyFile(NamedTuple):
    """A survey as a .toml file states it."""

    title: str
    domain: Domain
    queries: tuple[QueryEntry, ...]
    epsilon: float | None
    """The privacy budget of one person for all queries."""
    coarser: Mapping[str, str] = MappingProxyType({})
    """Coarser bins of attributes with which so many people would be about enough."""
    data: str = ""
    """The file of answers from which it was planned, seen from its own folder."""
    readings: Mapping[str, tuple[str, Reading]] = MappingProxyType({})
    """The column of every attribute, and how it is read."""

    def text(self) -> str:
        """Return the file: attributes with their values, and queries with the weights that set some apart."""
        epsilon = [] if self.epsilon is None else [f"epsilon = {float(self.epsilon)!r}"]
        data = [f"data = {_quoted(self.data)}"] if self.data else []
        lines = [f"title = {_quoted(self.title)}", *epsilon, *data, "", *ABOUT, "", *VALUES]
        for one in self.domain.attributes:
            head, *rest = _attribute_lines(one)
            bins = self.coarser.get(one.name)
            edges = bins and Bins.parse(bins).own
            hint = [f"# coarser, for so few people: bins = {_quoted(edges)}"] if edges else []
            lines += [
                head,
                *hint,
                *rest,
                *_reading_lines(one.name, *self.readings.get(one.name, (one.name, {}))),
                "",
            ]
        lines += WEIGHTS
        for query in self.queries:
            asked = ", ".join(f"{_key(name)} = {_quoted(kind)}" for name, kind in query.on.items())
            alike = len(self.queries) > 1 and query.weight == query.even(self.domain).weight
            stated = _quoted(ALIKE[1]) if alike else repr(float(query.weight))
            weight = [f"{ALIKE[0]} = {stated}"] if alike or query.weight != 1 else []
            lines += ["[[query]]", f"on = {{ {asked} }}", *weight, ""]
        return "\n".join(lines)


def _quoted(words: str | Sequence[int | str]) -> str:
    """Return texts as TOML writes them."""
    return json.dumps(words, ensure_ascii=False)


def _key(name: str) -> str:
    """Return a name as TOML writes keys, in quotation marks where it must be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _reading_lines(name: str, column: str, reading: Reading) -> Iterator[str]:
    """Yield the lines of `[attributes.NAME]` on its column and how that is read."""
    if column != name:
        yield f"column = {_quoted(column)}"
    if missing := list(reading.get("missing", ())):
        yield f"missing = {_quoted(missing)}"
    if pairs := reading.get("mapping", {}):
        yield f"map = {{ {', '.join(f'{_key(text)} = {_quoted(to)}' for text, to in pairs.items())} }}"
    for key in ("decimal", "date_format"):
        if given := reading.get(key):
            yield f"{key} = {_quoted(str(given))}"


def written(sentence: str, attribute: str) -> str:
    """Return a sentence with lines of a survey file in place of keyword arguments on how a column is read.

    >>> written("If they are, say so with missing=['-99'].", "age")
    'If they are, say so with missing = ["-99"] below [attributes.age].'
    """

    def line(found: re.Match[str]) -> str:
        key, given = filter(None, found.groups())
        try:
            (own,) = _reading_lines("", "", cast("Reading", {key: ast.literal_eval(given)}))
        except (SyntaxError, ValueError):  # braces in somebody's own text
            return found[0]
        return f"{own} below [attributes.{_key(attribute)}]"

    return ADVICE.sub(line, sentence)


def _attribute_lines(attribute: Attribute) -> Iterator[str]:
    """Yield the lines of `[attributes.NAME]`, as `recipe` reads them."""
    values = attribute.values
    yield f"[attributes.{_key(attribute.name)}]"
    if values.bins:
        yield f"bins = {_quoted(values.own)}"
        if values.zone:
            yield f"zone = {_quoted(values.zone)}"
        if values.whole:
            yield "whole = true"
    else:
        texts = [values.member(k) for k in range(values.size) if k not in values.outside]
        yield f"labels = {_quoted(texts)}"
        if values.texts and values.ordered:
            yield "ordered = true"
    for key, known in (("other", values.other is not None), ("no_answer", values.no_answer)):
        if known:
            yield f"{key} = true"
    if attribute.unit:
        yield f"unit = {_quoted(attribute.unit)}"
    yield f"question = {_quoted(attribute.question)}"
