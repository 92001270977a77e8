"""Answers in words: estimated from reports, with shares and quantiles, or simulated, with the errors observed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stratagem.estimation.answer import answers_data
from stratagem.estimation.estimate import LISTED, Estimate
from stratagem.estimation.quantile import Quantile
from stratagem.estimation.released import SyntheticPeople
from stratagem.estimation.simulation import Simulation, simulate_users
from stratagem.io.screen import visible
from stratagem.io.table import Table
from stratagem.math.number import counted, number_text, spread
from stratagem.mechanism.export.saved import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import LEAST, Usability, estimate_usability, verdicts_data
from stratagem.report.question import (
    QuestionResult,
    by_question,
    listed,
    overall,
    share_tables,
    shares_of_people,
    typical_error,
)
from stratagem.workloads.centring import estimated
from stratagem.workloads.explicit import counting, counts_users
from stratagem.workloads.question import are_few, as_asked, is_survey, questions
from stratagem.workloads.serial import over

if TYPE_CHECKING:
    from stratagem.domain import Domain
    from stratagem.domain.columns import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimated:
    """An estimate with everything that is said of it."""

    mechanism: Mechanism
    estimate: Estimate
    name: str
    """What the queries are called."""
    rounds: int = 1
    """Reports of every person."""
    single: bool = True
    """Whether every person sent one report, in one round."""
    chosen: Sequence[int] | None = None
    """The answers that were asked for; None for some, evenly spread."""
    many: int = 10
    """How many are shown of these."""
    of_all: bool = False
    """Whether shares are of all people, not of those who answered."""
    quantiles: Mapping[str, Quantile]
    people: SyntheticPeople | None = None

    @property
    def epsilon(self) -> float:
        """The epsilon of all reports of one person: the permanent one for several."""
        memo, first = self.mechanism.memo, self.mechanism.epsilon
        return float(first if self.rounds == 1 or memo is None else memo.permanent)

    @cached_property
    def verdict(self) -> Usability:
        """Whether the answers can be used."""
        return estimate_usability(self.estimate, self._epsilon_of_report)

    @cached_property
    def questions(self) -> list[QuestionResult]:
        """The questions of a survey; none where something else was asked, or the largest answers alone."""
        return self.by_question() if self._survey and self.chosen is None else []

    @property
    def _survey(self) -> bool:
        asked = self.estimate.workload
        return is_survey(asked) or (is_survey(self.mechanism.workload) and are_few(asked))

    @property
    def few(self) -> bool:
        """Whether there are no more questions than can be told one by one."""
        return are_few(self.estimate.workload)

    def by_question(self) -> list[QuestionResult]:
        """Return the answers by question, whatever was asked."""
        return by_question(self.estimate, self._epsilon_of_report, of_all=self.of_all)

    @property
    def _epsilon_of_report(self) -> float | None:
        return float(self.mechanism.epsilon) if self.single else None

    def _quantiles(self, question: QuestionResult) -> dict[str, Quantile]:
        """Return the quantiles that were asked of the one attribute of a question, the first that is about it."""
        about = {one.attributes[0].name: one for one in reversed(self.questions) if len(one.attributes) == 1}
        own = {name for name, one in about.items() if one is question}
        return {text: one for text, one in self.further.items() if one.attribute.name in own}

    @cached_property
    def further(self) -> Mapping[str, Quantile]:
        """The quantiles that were asked for but those that a question tells as its median."""
        medians = [one.median for one in self.questions if one.told]
        return {text: one for text, one in self.quantiles.items() if one not in medians}

    @property
    def _shown(self) -> Sequence[int]:
        return self.chosen or spread(self.estimate.workload.queries, self.many)

    def record(self) -> dict[str, Any]:
        """Return the answers and what is said of them as named values."""
        found, mechanism = self.estimate, self.mechanism
        head = {
            "workload": self.name,
            "domain": str(mechanism.domain),
            "epsilon": self.epsilon,
            "mechanism": mechanism.identifier,
        }
        answers = found.table(self._shown if found.workload.queries > LISTED else self.chosen)
        tail = {
            "quantiles": {text: value.data() for text, value in self.quantiles.items()},
            "rounds": self.rounds,
        }
        if self.people is not None:
            tail["synthetic"] = self.people.data()
        asked = [one.record() for one in self.questions]
        if asked:
            shares = [share for one in asked for share in one.get("shares", ())]
        else:
            shares = [one.data() for one in shares_of_people(found, self.chosen, of_all=self.of_all) or ()]
        judged = [one.verdict for one in self.by_question()] if self._survey else [self.verdict]
        return (
            head
            | answers_data(answers, found.details, found.naming)
            | tail
            | verdicts_data(judged)
            | {"shares": shares}
            | ({"questions": asked} if asked else {})
        )

    def sentences(self) -> Iterator[str | Table]:
        """Yield a warning where answers are of no use, how far they are off, and some of them with shares."""
        yield from self._by_question() if self.questions else self._together()
        if self.rounds > 1:
            yield "These are means: they are right for people whose values stayed the same in all rounds."
        by_question = {text for one in self.questions for text in self._quantiles(one)}
        for text, value in self.further.items():
            if text not in by_question:
                yield f"quantile {text}: {value}"
        if self.people is not None:
            yield from ("", str(self.people))

    def _together(self) -> Iterator[str | Table]:
        """Yield the answers to one question."""
        found, counts = self.estimate, counts_users(self.estimate.workload)
        if self.verdict.too_few:
            yield from (self.verdict.too_few, self._head())
            return
        if not self.verdict.usable:
            yield str(self.verdict)
        if counts:
            yield typical_error(self.verdict, found.users)
        yield self._head()
        rows = (((one.label,), one) for one in found.table(self._shown))
        yield from ("", listed(found, ("query",), rows, counts=counts), "")
        yield f"{len(self._shown)} of {found.workload.queries:,} answers shown; {found.intervals};"
        yield found.bias
        if advice := self._advice():
            yield advice
        yield from self._shares(counts)

    def _by_question(self) -> Iterator[str | Table]:
        """Yield the answers to the questions of a survey one after the other."""
        found = self.estimate
        yield overall(self.questions, found.users)
        if any(one.verdict.usable for one in self.questions):
            yield LEAST
        yield self._head()
        for one in self.questions:
            yield from ("", *one.sentences(self.many, self._quantiles(one)))
        if not any(one.told for one in self.questions):
            return
        yield from ("", f"{found.intervals};", found.bias)
        if advice := self._advice():
            yield advice

    def _head(self) -> str:
        """Return what was asked, epsilon, and of whom."""
        who = counted(self.estimate.users, "report")
        if self.rounds > 1:
            who = f"{self.estimate.users:,} people with {self.rounds:,} reports each"
        return f"{visible(self.name)} over domain {self.mechanism.domain}, epsilon {self.epsilon:g}, {who}"

    def _advice(self) -> str:
        """Say what is impossible, and name the post-processing that mends it, or that helps where none was chosen."""
        fact, method = self.estimate.impossible.fact, self.estimate.impossible.method
        if fact:
            return f"{fact}: `method={method!r}` mends them" if method else fact
        if method and self.estimate.unbiased:
            return f"`method={method!r}` gives answers that fit together, usually with smaller errors"
        return ""

    def _shares(self, counts: bool) -> Iterator[str | Table]:
        """Yield the shares of people, those of the same people in one table; nothing where there are no gaps.

        Queries that count nobody have averages instead.
        """
        found = shares_of_people(self.estimate, self._shown, of_all=self.of_all)
        if found is not None and not found:
            yield from (
                "",
                "shares: none, as these queries count no answer or other, or too few gave another answer",
            )
        yield from share_tables(found or (), counts=counts)


class QuestionErrors(NamedTuple):
    """The errors of the answers to a question as shares of the people, or where numbers are added up of these sums."""

    question: str
    kind: str
    people: bool
    """Whether the answers count people."""
    predicted: float | None
    """Root mean square of the exact standard errors; None where queries are very many."""
    observed: float

    def row(self) -> tuple[str, ...]:
        """Return the question and its errors in words, those of a mean in its unit."""
        shown = (
            "" if error is None else f"{100 * error:.3g} %" if self.people else number_text(error)
            for error in (self.predicted, self.observed)
        )
        return (self.question, *shown)


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulated:
    """The simulation of a saved strategy on the users of a file."""

    stored: Mechanism | StoredStrategy
    users: Data
    result: Simulation
    shown: list[int]
    """Numbers of the queries that are shown."""

    def record(self) -> dict[str, Any]:
        """Return the simulation as named values."""
        stored, users, result = self.stored, self.users, self.result
        errors = result.standard_errors
        answers = [
            {
                "query": int(i),
                "label": result.naming.label(i),
                "true": float(result.truth[i]),
                "estimate": float(result.estimates[i]),
                "standard_error": None if errors is None else float(errors[i]),
            }
            for i in self.shown
        ]
        return {
            "workload": stored.name,
            "domain": str(stored.workload.domain),
            "epsilon": float(stored.epsilon),
            "users": result.users,
            "outside": users.outside,
            "others": users.others,
            "queries": len(result.truth),
            "repetitions": len(result.observed),
            "observed": float(result.observed.mean()),
            "predicted": result.predicted,
            "ratio": None if result.exact else result.ratio,
            "ratio_standard_error": None if result.exact else result.ratio_error,
            "normalised_variance": result.normalised,
            "answers": answers,
        } | ({"questions": [one._asdict() for one in self.questions]} if self.questions else {})

    @cached_property
    def questions(self) -> list[QuestionErrors]:
        """The errors of every question of a survey; none of what is no survey."""
        asked, found, N = self.result.naming.workload, [], self.result.users
        for one in questions(asked) if is_survey(asked) else ():
            people = counts_users(one.workload)
            places = one.places if people else one.places[~counting(one.workload.matrix())]
            many = estimated(one.workload) if people else len(places)
            known = self.result.standard_errors
            predicted = None if known is None else _typical(known[places], many) / N
            observed = _typical(self.result.errors[places], many) / N
            name = " x ".join(asked.domain.names[i] for i in one.about) or "everybody"
            found.append(QuestionErrors(name, one.kind, people, predicted, observed))
        return found

    def sentences(self) -> Iterator[str | Table]:
        """Yield whose reports were simulated, some answers as a table, and the errors."""
        stored, result = self.stored, self.result
        yield f"{visible(stored.name)} over domain {stored.workload.domain}, epsilon {float(stored.epsilon):g}"
        for sentence in (str(self.users), *self.users.notes):
            yield from (sentence, "")
        yield self._table()
        some = f"{len(self.shown)} of {len(result.truth):,} queries shown"
        yield from ("", f"{some}, from repetition 1 of {len(result.observed)}")
        if result.exact:
            yield "these answers carry no error that double precision can show, so there is none to compare"
            return
        if self.questions:
            head = ("question", "predicted error", "observed")
            yield from ("", Table(head, [one.row() for one in self.questions]), "")
            yield "errors are root mean squares over the answers, as shares of all people, or of a mean in its unit"
        else:
            root = (result.predicted / estimated(result.naming.workload)) ** 0.5
            yield f"predicted error of an answer (root mean square): {self._error(root)}"
        if result.standard_errors is not None and not self.questions:
            worst = int(result.standard_errors.argmax())
            error = self._error(float(result.standard_errors[worst]))
            yield f"predicted error of the least accurate one, {result.naming.label(worst)}: {error}"
        yield f"observed / predicted squared error: {result.ratio:.3f} ± {result.ratio_error:.3f} (1 expected)"

    def _error(self, error: float) -> str:
        """Return a standard error as people and a share of them, or where answers count none as it is."""
        if counts_users(self.result.naming.workload):
            return f"{error:,.1f} people, {100 * error / self.result.users:.2f} % of all people"
        return f"{error:,.1f} in the units of the query, {error / self.result.users:.3g} a person"

    def _table(self) -> Table:
        result, errors = self.result, self.result.standard_errors
        rows = [
            (
                result.naming.label(i),
                f"{result.truth[i]:,.6g}",
                f"{result.estimates[i]:,.1f}",
                f"{result.estimates[i] - result.truth[i]:+,.1f}",
                "" if errors is None else f"{errors[i]:,.1f}",
            )
            for i in self.shown
        ]
        return Table(("query", "true", "estimate", "off by", "predicted standard error"), rows)


def _typical(errors: np.ndarray, many: int) -> float:
    """Return the root mean square of so many errors, besides which there may be some of zero."""
    return math.sqrt(float(np.square(errors).sum()) / many)


def simulated(
    stored: Mechanism | StoredStrategy,
    domain: Domain,
    users: Data,
    *,
    repetitions: int,
    seed: int,
    shown: int,
) -> Simulated:
    """Return the simulation of a strategy, whose values are those of `domain`, on the users of a file."""
    runs = {"repetitions": repetitions, "seed": seed}
    about = (
        as_asked(over(stored.workload, domain.attributes)),
        stored.strategy,
        users.coordinates,
        users.counts,
    )
    result = simulate_users(*about, **runs, prior=stored.prior)
    return Simulated(stored=stored, users=users, result=result, shown=spread(len(result.truth), shown))
