"""Plans of surveys: from several columns of data to questions, one mechanism for all, and the errors to expect."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Unpack

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import Bins
from stratagem.domain.domain import Domain
from stratagem.domain.file import column_names
from stratagem.domain.policy import Reading
from stratagem.domain.proposal import Proposal, cautions, placeholders, sentences
from stratagem.domain.text import said
from stratagem.domain.values import Labels
from stratagem.estimators import Errors, Estimator, errors, mean_variance
from stratagem.io.screen import brief
from stratagem.io.table import Table
from stratagem.math.deadline import granted, within
from stratagem.math.number import integer, users_text
from stratagem.math.privacy import check, surest
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import Usability, usability
from stratagem.solvers import Auto, Callback
from stratagem.study.attacks import percent
from stratagem.study.optimisation import optimise
from stratagem.study.plan import CLOSE, EPSILON, MOST, column_counts, described, proposed
from stratagem.study.solution import Solution
from stratagem.study.summary import minimum_sentence, text
from stratagem.workloads import Workload, along, histogram, prefix, stack, weighted

SECONDS = 60.0
"""Seconds of the search, where none are given."""
LARGEST = 4096
"""Most cells of a table that is planned."""
WAYS = {
    "one question each": "the best published mechanism for one question each",
    "split budget": "all questions with a part of epsilon each",
}
"""Other ways of asking, by the name under which they are ranked, in words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """One column of the data: the values proposed for it, and what its rows become."""

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

    def notes(self) -> Iterator[str]:
        """Yield what is to be done about the values, each in a sentence."""
        yield from cautions(self.name, self.proposal, self.placeholders)
        yield from filter(None, (said(dict(self.proposal.values.spellings)), *self.remarks))


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """One question of a survey: its attributes, its queries, and the errors to expect of their answers."""

    attributes: tuple[str, ...]
    kind: str
    """What is asked: prefix, or identity for the cells of a table."""
    workload: Workload
    """Its queries, over the whole domain, each of weight 1."""
    table: Workload
    """The same queries over its own attributes alone."""
    weight: float
    """Weight of its queries in the survey's objective."""

    @property
    def name(self) -> str:
        """The attributes in words, such as "region x income"."""
        return " x ".join(self.attributes)

    @staticmethod
    def of(domain: Domain, attributes: Sequence[str], kind: str) -> Question:
        """Return the question whose errors count as much as those of any other: its queries weigh 1/p^(1/2) each."""
        make = prefix if kind == "prefix" else histogram
        whole = along(domain, attributes, make)
        own = along(Domain(*(one for one in domain.attributes if one.name in attributes)), attributes, make)
        weight = float(f"{1 / math.sqrt(whole.queries):.2g}")
        return Question(attributes=tuple(attributes), kind=kind, workload=whole, table=own, weight=weight)


@dataclass(frozen=True, eq=False, kw_only=True)
class SurveyPlan:
    """A mechanism for several questions: what they ask, the strategy, and the errors to expect of every answer."""

    __repr__ = brief

    title: str
    columns: tuple[Column, ...]
    questions: tuple[Question, ...]
    solution: Solution
    """The strategy for all questions together, with its accuracy and its bounds."""
    users: int
    """People who will take part."""

    @property
    def epsilon(self) -> float:
        """The privacy budget of one person for the whole survey."""
        return self.solution.epsilon

    @property
    def domain(self) -> Domain:
        """The attributes with their values."""
        return self.solution.workload.domain

    def errors(self, question: Question, through: Estimator | None = None) -> Errors:
        """Return the standard errors of a question's answers, as shares of the users, by the plan's own estimator."""
        found = self.solution.estimator if through is None else through
        each = mean_variance(question.workload, found, found.accuracy(question.workload))
        return errors(each, found.worst(question.workload), self.users)

    @cached_property
    def verdicts(self) -> tuple[Usability, ...]:
        """Whether the answers of every question can be used, and what would make them so."""
        return tuple(map(self._verdict, self.questions))

    def _verdict(self, question: Question) -> Usability:
        variance = self.errors(question).root_mean_square ** 2 * self.users
        gaps = max(len(one.values.outside) for one in question.table.domain.attributes)
        return usability(question.table, self.epsilon, self.users, variance, other=gaps)

    @property
    def usable(self) -> bool:
        """Whether the answers of all questions can be used."""
        return all(one.usable for one in self.verdicts)

    def table(self) -> Table:
        """Return the errors of every question, beside those of the best published mechanism for each."""
        rival = self.solution.baselines.named.get("one question each")
        head = ("question", "typical error", *(("one question each",) if rival else ()), "usable")
        rows = []
        for one, verdict in zip(self.questions, self.verdicts, strict=True):
            both = [None, *([rival.estimator] if rival else [])]
            shown = [percent(self.errors(one, through).root_mean_square) for through in both]
            rows.append((one.name, *shown, "yes" if verdict.usable else "no"))
        return Table(head, rows)

    def answer(self) -> list[str | Table]:
        """Return what to expect of every question, and what other ways would cost."""
        people, many = users_text(self.users), len(self.questions)
        said = f"{people} people, {many} questions, epsilon {self.epsilon:g} for the whole survey."
        useless = [
            f"{one.name}: {verdict}"
            for one, verdict in zip(self.questions, self.verdicts, strict=True)
            if not verdict.usable
        ]
        others = list(self._others())
        proven = minimum_sentence(self.solution, self.solution.bounds)
        return [said, self.table(), "\n".join([*useless, *others, proven])]

    def _others(self) -> Iterator[str]:
        """Yield how many fewer people are enough than by other ways of asking, a sentence each."""
        named = self.solution.baselines.named
        for name, words in WAYS.items():
            other = named.get(name)
            if other is not None and other.mean_variance > self.solution.mean_variance:
                share = percent(1 - self.solution.mean_variance / other.mean_variance)
                yield f"That takes {share} fewer people than {words}."

    def meaning(self) -> tuple[str, ...]:
        """Return what the budget means for one person, in two sentences."""
        believed = (
            f"Epsilon {self.epsilon:g} means: whoever thinks a person's answers as likely as not before the report is "
            f"{surest(self.epsilon)} sure of them after it, all questions together."
        )
        return believed, "A device answers one part of the questions, drawn at random; its report says which."

    def values(self) -> tuple[str, ...]:
        """Return which values people choose from, and which rows of the data are in none of the others."""
        each = (sentences(one.name, one.proposal, one.x, one.others) for one in self.columns)
        return tuple(sentence for sentences_of in each for sentence in sentences_of)

    def notes(self) -> tuple[str, ...]:
        """Return what is to be done about values, and what did not fit into the time, each in a sentence."""
        found = [note for one in self.columns for note in one.notes()]
        return tuple(filter(None, (*found, self.solution.baselines.late_sentence)))

    def __str__(self) -> str:
        """Return the whole plan in sentences."""
        return text([*self.answer(), *map("\n".join, (self.meaning(), (*self.values(), *self.notes())))])

    def survey_file(self) -> str:
        """Return the survey as a workload file, TOML: attributes with their values, and queries with their weights."""
        lines = [
            f"title = {_quoted(self.title)}",
            'reference = "planned by stratagem"',
            "",
        ]
        for one in self.domain.attributes:
            lines += [*_attribute_lines(one), ""]
        for question in self.questions:
            asked = ", ".join(
                f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(question.kind)}"
                for name in question.attributes
            )
            lines += ["[[query]]", f"on = {{ {asked} }}", f"weight = {question.weight}", ""]
        return "\n".join(lines)

    def mechanism(self) -> Mechanism:
        """Return the mechanism in whole numbers; refused unless epsilon holds exactly.

        Raises:
            ValueError: if the strategy does not fit into whole numbers.
        """
        return self.solution.mechanism(name="survey")


def _quoted(words: str | Sequence[int | str]) -> str:
    """Return texts as TOML writes them."""
    return json.dumps(words, ensure_ascii=False)


def _attribute_lines(attribute: Attribute) -> Iterator[str]:
    """Yield the lines of `[attributes.NAME]`, as `workloads.recipe` reads them."""
    values = attribute.values
    yield f"[attributes.{_quoted(attribute.name)}]"
    if isinstance(values, Bins):
        edges = str(values).removesuffix(",no answer").removesuffix(",other")
        yield f"bins = {_quoted(edges)}"
        if values.zone:
            yield f"zone = {_quoted(values.zone)}"
    else:
        texts = [values.value(k) for k in range(values.size) if k not in values.outside]
        yield f"labels = {_quoted(texts)}"
        if isinstance(values, Labels) and values.ordered:
            yield "ordered = true"
    for key, known in (("other", values.other is not None), ("no_answer", values.no_answer)):
        if known:
            yield f"{key} = true"
    for key, words in (("unit", attribute.unit), ("question", attribute.question)):
        if words:
            yield f"{key} = {_quoted(words)}"


def plan_survey(
    data: str | Path | Mapping[str, Iterable[object]],
    columns: Iterable[str] | None = None,
    tables: Iterable[Sequence[str]] = (),
    *,
    epsilon: float = EPSILON,
    users: int | None = None,
    title: str = "",
    on_step: Callback | None = None,
    seconds: float | None = None,
    **reading: Unpack[Reading],
) -> SurveyPlan:
    """Plan a survey of several questions from data like those that it will collect.

    `data` is a CSV or Parquet file, or columns by name, such as a data frame; `columns` names those to ask about, by
    default all. Values are proposed for each as `plan` does. Every column is a question: the share below every edge
    for numbers and dates, that of every value for labels. Every table, two or more of the columns, is one about its
    cells. All questions count alike. The search takes at most `seconds`, by default 60.

    Raises:
        ValueError: for data that cannot be read or hold no answers, a table of unknown columns or of more than 4,096
            cells, numbers out of range, or fewer than two questions.

    Example:
        >>> people = {"age": [20, 30, 40, 50] * 5, "smokes": ["yes", "no", "no", "no"] * 5}
        >>> found = plan_survey(people, users=10_000)
        >>> [question.name for question in found.questions], found.epsilon
        (['age', 'smokes'], 1.0)
    """
    named = list(columns or (column_names(Path(data)) if isinstance(data, str | Path) else list(data)))
    found = [_column(data, name, reading) for name in named]
    domain = Domain(*(described(one.name, one.proposal.values, "", "") for one in found))
    questions = [
        Question.of(domain, [one.name], "prefix" if one.proposal.ordered else "identity") for one in found
    ]
    for table in tables:
        questions.append(_table(domain, table))
    if len(questions) < 2:
        raise ValueError(
            "one question was given, but a survey has two or more: name more columns, or use plan"
        )
    rows = int(max(one.x.sum() for one in found))
    advice = "give the people who will take part, for example 5000"
    people = integer(rows if users is None else users, "users", 1, MOST, advice)
    asked = stack([weighted(one.workload, one.weight) for one in questions])
    limit = granted(seconds, SECONDS)
    with within(limit):
        solution = optimise(asked, check(epsilon), Auto(gap=CLOSE, max_seconds=limit), on_step)
    return SurveyPlan(
        title=title or (Path(data).name if isinstance(data, str | Path) else "A survey"),
        columns=tuple(found),
        questions=tuple(questions),
        solution=solution,
        users=people,
    )


def _column(data: str | Path | Mapping[str, Iterable[object]], name: str, reading: Reading) -> Column:
    if isinstance(data, str | Path):
        counts, _, order, policy = column_counts(data, name, reading)
    else:
        counts, _, order, policy = column_counts(data[name], name, reading)
    proposal = proposed(counts, name, None, policy, order, only=False)
    x, others = proposal.count(counts)
    coded = placeholders(counts) if proposal.ordered else {}
    return Column(
        name=name,
        proposal=proposal,
        x=x,
        others=others,
        placeholders=coded,
        remarks=proposal.remarks(counts),
    )


def _table(domain: Domain, names: Sequence[str]) -> Question:
    if len(names) < 2:
        raise ValueError(
            f"a table of {', '.join(names) or 'nothing'} was asked for: name two columns or more"
        )
    found = Question.of(domain, names, "identity")
    if found.table.domain_size > LARGEST:
        raise ValueError(
            f"the table of {found.name} has {found.table.domain_size:,} cells, but at most {LARGEST:,} are planned: "
            "state coarser values, or leave it out"
        )
    return found
