"""Plans of surveys: from several columns of data to questions, one mechanism for all, and the errors to expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Unpack, final

from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import such_as
from stratagem.domain.domain import Domain
from stratagem.domain.policy import Reading
from stratagem.domain.proposal import refusing
from stratagem.estimators import Errors, Estimator, comparable, errors, mean_variance
from stratagem.io.screen import brief
from stratagem.io.table import Table
from stratagem.math.deadline import granted, within
from stratagem.math.number import counted, users_text
from stratagem.math.privacy import told
from stratagem.mechanism.usable import (
    ERRORS,
    LEAST,
    OUT,
    TOTALS,
    WAYS_OUT,
    Usability,
    usability,
    verdicts_data,
)
from stratagem.solvers import Auto, Callback
from stratagem.study.attacks import percent
from stratagem.study.needed import least_budget
from stratagem.study.optimisation import optimise
from stratagem.study.plan import CLOSE, Aim, Plan, PlannedMechanism, plan_question
from stratagem.study.question import (
    PERHAPS,
    Column,
    Known,
    Question,
    Sample,
    Source,
    people_enough,
    read_columns,
    sample_of,
    stated_columns,
    weights_said,
)
from stratagem.study.ranking import Contender, Ranking, rank_questions
from stratagem.study.solution import Solution
from stratagem.study.summary import minimum_sentence, openly_asked
from stratagem.study.two_rounds import advice
from stratagem.workloads import weighted
from stratagem.workloads.centring import estimated
from stratagem.workloads.given import read_survey
from stratagem.workloads.question import asked_together
from stratagem.workloads.survey import SurveyFile

SECONDS = 60.0
"""Seconds of the search, where none are given."""
WAYS = {
    "one question each": "the best published mechanism for one question each",
    "split budget": "all questions with a part of epsilon each",
}
"""Other ways of asking, by the name under which they are ranked, in words."""


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class SurveyPlan(PlannedMechanism):
    """A mechanism for several questions: what they ask, the strategy, and the errors to expect of every answer."""

    __repr__ = brief

    title: str
    columns: tuple[Column, ...]
    questions: tuple[Question, ...]
    ranked: Ranking
    """Other ways of asking the same questions, and mechanisms for all attributes together."""
    left_out: tuple[str, ...] = ()
    """Sentences on columns of the data that ask nothing."""
    data: str = ""
    """The file of answers that it was planned from; empty where none is known."""
    readings: Mapping[str, tuple[str, Reading]] = field(default_factory=dict)
    """The column of every attribute, and how it is read."""
    stated_in: str = ""
    """The survey file that states the values; empty where a call states or reads them."""

    @property
    def perhaps_read(self) -> bool:
        """Whether values may be from the data, as nobody says where a survey file that names data has them from."""
        return bool(self.stated_in and self.data)

    @property
    def domain(self) -> Domain:
        """The attributes with their values."""
        return self.solution.workload.domain

    def errors(self, question: Question, through: Estimator | None = None) -> Errors:
        """Return the standard errors of a question's answers, as shares of the users, by the plan's own estimator."""
        found = self.solution.estimator if through is None else through
        each = mean_variance(question.workload, found, found.accuracy(question.workload))
        return errors(each, found.worst(question.workload), self.users)

    @property
    def users_needed(self) -> int | None:
        return None if self.error is None else people_enough(self.solution, self.questions, self.error)

    @property
    def others(self) -> dict[str, Contender]:
        """Other ways of asking the same questions, by name, for which time sufficed."""
        named = self.ranked.named
        return {name: named[name] for name in WAYS if name in named and named[name].complete}

    @cached_property
    def verdicts(self) -> tuple[Usability, ...]:
        """Whether the answers of every question can be used, and what would make them so."""
        return tuple(map(self._verdict, self.questions))

    @cached_property
    def coarser(self) -> dict[str, str]:
        """Coarser bins of attributes with which the answers of so many people could about be used."""
        proposed = {one.attribute.name: one.proposal for one in self.columns}
        both = zip(self.questions, self.verdicts, strict=True)
        ways = {one.name: verdict.ways.values for one, verdict in both if verdict.ways is not None}
        found = {name: one.coarser(ways.get(name)) for name, one in proposed.items()}
        return {name: bins for name, bins in found.items() if bins}

    @property
    def enough(self) -> str:
        """How many people are enough for every question, in a sentence."""
        if not (needed := (verdicts_data(self.verdicts)["ways"] or {}).get("people")):
            return "So many people in all are enough: every question is usable."
        return f"Ask {users_text(needed)} people in all and every question is usable: {TOTALS}"

    def _verdict(self, question: Question) -> Usability:
        variance = self.errors(question).root_mean_square ** 2 * self.users
        gaps = max(len(one.values.outside) for one in question.table.domain.attributes)
        single = partial(self.solution.estimator.largest, comparable(question.workload))
        return usability(question.table, self.epsilon, self.users, variance, other=gaps, single=single)

    def table(self) -> Table:
        """Return the errors of every question, beside those of the best published mechanism for each, and ways out."""
        rivals = [one.estimator for name, one in self.others.items() if name == "one question each"]
        ways = WAYS_OUT if any(one.ways for one in self.verdicts) else ()
        head = ("question", "typical error", *["one question each"] * len(rivals), "usable", *ways)
        rows = []
        for one, verdict in zip(self.questions, self.verdicts, strict=True):
            shown = [one.shown(self.errors(one, through).root_mean_square) for through in (None, *rivals)]
            known = astuple(verdict.ways) if verdict.ways else (None,) * len(ways)
            out = ["" if way is None else f"{way:,}" for way in known[: len(ways)]]
            rows.append((one.name, *shown, "yes" if verdict.usable else "no", *out))
        return Table(head, rows)

    def answer(self) -> list[str | Table]:
        people, many = users_text(self.users), counted(len(self.questions), "question")
        said = f"{people} people, {many}, epsilon {self.epsilon:g} for the whole survey.\n{self.enough}"
        judged = {one.name: verdict for one, verdict in zip(self.questions, self.verdicts, strict=True)}
        useless = [one for one in judged.values() if not one.usable]
        about = [ERRORS, *[LEAST] * (len(useless) < len(judged)), *[OUT] * any(one.ways for one in useless)]
        limits = dict.fromkeys(one.limit for one in useless if one.limit)
        about += [f"Usable is {'; '.join(limits)}."] if limits else []
        wide = [f"{name}: {one.widest}." for name, one in judged.items() if one.widest]
        names = {one.attribute.name: one.name for one in self.columns}
        about += [such_as({names[name]: bins for name, bins in self.coarser.items()}).strip()]
        return [
            "\n".join([said, *self.first()]),
            self.table(),
            "\n".join([" ".join(filter(None, about)), *wide]),
        ]

    def parts(self, notes: Iterable[str]) -> list[str | Table]:
        notes = *refusing({one.name: one.proposal for one in self.columns}), *notes
        below = *self.values(), " ".join(notes), " ".join(self.proofs())
        return [*self.answer(), " ".join(self.meaning()), "\n".join(filter(None, below))]

    def proofs(self) -> tuple[str, ...]:
        proven = minimum_sentence(self.solution, self.solution.bounds)
        return (*self._cost(), proven)

    def _cost(self) -> Iterator[str]:
        """Yield how many fewer people are enough than by other ways of asking, and than in the open."""
        ours = self.solution.mean_variance
        for name, other in self.others.items():
            if other.mean_variance > ours:
                fewer = percent(1 - ours / other.mean_variance)
                yield f"That takes {fewer} fewer people than {WAYS[name]}."
        counted = (self.errors(one).root_mean_square for one in self.questions if one.counts)
        if least := min(filter(None, counted), default=0.0):
            yield openly_asked(least, "has standard errors as small for every question")

    def meaning(self) -> tuple[str, ...]:
        held = told(self.epsilon, "a person's answers to all questions")
        believed = f"Epsilon {self.epsilon:g} means: {held}"
        return believed, "A report says which part of the questions it is about."

    def values(self) -> tuple[str, ...]:
        return tuple(one.values() for one in self.columns)

    def notes(self) -> tuple[str, ...]:
        found = [PERHAPS.format(self.stated_in, self.data)] * self.perhaps_read
        found += [note for one in self.columns for note in one.notes(file=bool(self.stated_in))]
        rounds, late = (
            advice(self.solution, self.users, [one.x for one in self.columns]),
            self.ranked.late_sentence,
        )
        return tuple(
            filter(None, (*dict.fromkeys(found), *self.left_out, weights_said(self.questions), rounds, late))
        )

    def survey_file(self) -> str:
        """Return the survey as a file of queries, TOML, which `plan` and `optimise` read."""
        queries = tuple(one.entry for one in self.questions)
        about = self.epsilon, self.coarser, self.data, self.readings
        return SurveyFile(self.title, self.domain, queries, *about).text()


def plan(
    data: Source,
    column: str | Iterable[str | Sequence[str]] | None = None,
    *,
    workload: str | None = None,
    epsilon: float | None = None,
    users: int | None = None,
    error: float | None = None,
    values: Attribute | Mapping[str, Attribute] | None = None,
    only: bool = False,
    unit: str | Mapping[str, str] | None = None,
    on_step: Callback | None = None,
    seconds: float | None = None,
    **reading: Unpack[Reading],
) -> Plan | SurveyPlan:
    """Plan a survey of one question or of several, from data like those that it will collect.

    `data` is a CSV or Parquet file, columns by name, such as a data frame, or the values of one question; or a survey
    file, .toml, which states attributes and queries itself. `column` names the one to ask about, or several questions:
    names of columns, and tuples of names for the cells of their table. Without it all columns are asked about, but
    those that hold nothing to ask. `reading` says how texts are read, the fields of `Policy`: None, NaN and the texts
    in `missing` stand for no answer, those in `mapping` for others, spellings are told apart `as_is`, and `decimal`
    separates the decimals of numbers with commas.
    Bins or labels are proposed as `propose` says, unless `values` state them, such as `st.bins("18:80:5")`, of several
    columns by name. Where answers are missing a value "no answer" follows, where some are in none of the values
    "other" does; with `only` the stated values are all there are, and rows with anything else are left out. The
    queries of one question are those of `workload`, a name of the catalogue: by default, and in a survey, `prefix` for
    numbers and dates (the share below every edge) and `histogram` for labels. All questions of a survey count alike.
    Of `epsilon`, `users` (by default the rows of the data) and `error` (a standard error as a share of the users, root
    mean square over the queries of each question) at most two are given. An error without epsilon asks for the
    smallest epsilon, up to 1 %, that reaches it with so many users; otherwise epsilon is that of a survey file, or 1.
    The call takes at most `seconds`; without them each search for a strategy takes at most 10, of a survey all of them
    take 60.

    Raises:
        ValueError: for data that cannot be read or hold no answers, all three of epsilon, users and error, numbers out
            of range, a table of unknown columns or of more than 4,096 cells, or an error that epsilon 10 does not
            reach with so many users.

    Example:
        >>> import stratagem as st
        >>> found = st.plan([20, 30, 30, 40, None], users=10_000)
        >>> found.proposal.option, found.name, found.epsilon
        ('20:41:1,whole,no answer', 'prefix', 1.0)
        >>> people = {"age": [20, 30, 40, 50] * 5, "smokes": ["yes", "no", "no", "no"] * 5}
        >>> [question.name for question in st.plan(people, users=10_000).questions]
        ['age', 'smokes']
    """
    aim = Aim(epsilon=epsilon, users=users, error=error, on_step=on_step, seconds=seconds)
    about: dict[str, Any] = {"workload": workload, "values": values, "only": only, "unit": unit}
    return planned(data, column, aim, about, reading)


def planned(
    data: Source,
    column: str | Iterable[str | Sequence[str]] | None,
    aim: Aim,
    about: Mapping[str, Any],
    reading: Reading,
) -> Plan | SurveyPlan:
    """Return what `plan` returns; `about` are its arguments on what is asked and on values."""
    workload, values, only, unit = (about.get(name) for name in ("workload", "values", "only", "unit"))
    stored = isinstance(data, str | Path)
    if stored and Path(data).suffix.lower() == ".toml":
        if column or reading or any(about.values()):
            raise ValueError(
                f"{data} states attributes and queries: leave out what is said of values and columns, and write "
                "missing, map, decimal and date_format below [attributes.NAME]"
            )
        return _of_file(data, aim)
    alone = column if isinstance(column, str) else None
    sample = None if stored and alone is not None else sample_of(data)
    stated = values if isinstance(values, Mapping) else {}
    units = unit if isinstance(unit, Mapping) else {}
    if sample is None or alone is not None:
        if stated or units:
            raise ValueError(
                "values or units were given by column for one question: give those of its column"
            )
        asked = data if sample is None or alone is None else sample.column(alone)
        return plan_question(asked, alone, aim, **about, **reading)
    if workload or (values and not stated) or (unit and not units):
        raise ValueError(
            "a workload, values or a unit were given for all questions of a survey, but belong to one: name its "
            "column alone, or give values={'age': st.bins('18:80:5')}"
        )
    known = Known(values=stated, units=units, only=bool(only))
    return _of_columns(sample, list(column or ()), known, aim, reading, str(data) if stored else "")


def _of_file(path: str | Path, aim: Aim) -> SurveyPlan:
    file = read_survey(path)
    data = Path(path).parent / file.data
    columns = stated_columns(file, data, str(path)) if file.data and data.is_file() else []
    if aim.users is None and not columns:
        raise ValueError(f"{path} does not say how many people take part: give users, for example 5000")
    questions = [Question(domain=file.domain, entry=one) for one in file.queries]
    if aim.epsilon is None and aim.error is None:
        aim = replace(aim, epsilon=file.epsilon)
    title = file.title or Path(path).name
    rows = max((int(one.x.sum()) for one in columns), default=0)
    found = _planned(title, columns, questions, aim, aim.people(rows))
    return replace(found, data=file.data, readings=file.readings, stated_in=Path(path).name)


def _of_columns(
    sample: Sample,
    wanted: Sequence[str | Sequence[str]],
    known: Known,
    aim: Aim,
    reading: Reading,
    source: str,
) -> Plan | SurveyPlan:
    alone = [one for one in wanted if isinstance(one, str)]
    tables = [one for one in wanted if one not in alone]
    columns, left = read_columns(sample, [*dict.fromkeys([*alone, *chain(*tables)])], known, reading)
    if aim.on_left_out is not None:
        aim.on_left_out(left)
    if not columns:
        raise ValueError(f"no column holds anything to ask: {' '.join(left)}")
    asked = [one for one in columns if not wanted or one.name in alone]
    if len(asked) == 1 and not tables:
        name, values = asked[0].name, known.values.get(asked[0].name)
        about = {"values": values, "only": known.only and values is not None, "unit": known.units.get(name)}
        return plan_question(sample.rows(name), name, aim, **about, **reading)
    domain = Domain(*(one.attribute for one in columns))
    names = {one.name: one.attribute.name for one in columns}
    kinds = {one.attribute.name: "prefix" if one.proposal.ordered else "identity" for one in asked}
    questions = [
        *(Question.even(domain, [name], kind) for name, kind in kinds.items()),
        *(Question.of_table(domain, [names[one] for one in table]) for table in tables),
    ]
    rows = int(max(one.x.sum() for one in columns))
    found = _planned(Path(sample.title).stem, columns, questions, aim, aim.people(rows))
    readings = {one.attribute.name: (one.name, one.reading) for one in columns}
    return replace(found, left_out=tuple(left), readings=readings, data=source)


def _planned(
    title: str, columns: Iterable[Column], questions: Sequence[Question], aim: Aim, people: int
) -> SurveyPlan:
    """Return the plan of these questions."""
    if len(questions) == 1:  # a weight would change nothing but the names of its answers
        questions = [replace(one, entry=replace(one.entry, weight=1.0)) for one in questions]
    error = aim.share
    asked = asked_together([weighted(one.workload, one.entry.weight) for one in questions])
    counting = [one for one in questions if one.counts]
    limit = granted(aim.seconds, SECONDS)
    solver, complete = Auto(gap=CLOSE, max_seconds=limit), True

    def solve(epsilon: float) -> Solution:
        return optimise(asked, epsilon, solver, aim.on_step)

    with within(limit):
        if (epsilon := aim.fixed) is not None:
            solution = solve(epsilon)
        elif not counting or error is None:
            raise ValueError(
                "an error was given as a share of the people, but no question counts people: give epsilon"
            )
        else:
            counts = asked_together([weighted(one.workload, one.entry.weight) for one in counting])
            size = sum(one.entry.weight**2 * estimated(one.workload) for one in counting)
            solution, complete = least_budget(
                counts, people, error, solve, lambda found: people_enough(found, counting, error), size
            )
        known = solution.baselines
        ranked = known if WAYS.keys() & known.named.keys() else rank_questions(solution.problem)
    return SurveyPlan(
        ranked=ranked,
        title=title,
        columns=tuple(columns),
        questions=tuple(questions),
        solution=solution,
        users=people,
        error=error,
        complete=complete,
    )
