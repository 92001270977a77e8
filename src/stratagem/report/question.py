"""What is said of the answers to one question: how far they are off, a table, and shares; and the files of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.estimation.answer import Answer, rounded
from stratagem.estimation.estimate import LISTED, Estimate
from stratagem.estimation.quantile import Quantile
from stratagem.estimation.question import AVERAGE, OF_ANSWERED, ROWS, QuestionAnswers
from stratagem.estimation.share import WRITTEN_OUT, Share, shares
from stratagem.estimators.accuracy import UnsupportedWorkloadError
from stratagem.io.screen import WIDTH
from stratagem.io.table import Table, write_csv
from stratagem.io.target import check_folder, check_target, written_atomically
from stratagem.math.number import counted, number_text, spread
from stratagem.mechanism.usable import Usability, estimate_usability
from stratagem.workloads import Attribute
from stratagem.workloads.explicit import Explicit, counting, counts_users
from stratagem.workloads.identity import Identity
from stratagem.workloads.product import Product
from stratagem.workloads.question import SurveyQuestion
from stratagem.workloads.table import on_table

MEAN, MEDIAN = ("mean", "mean_low", "mean_high"), ("median", "median_low", "median_high")
"""Columns of the table of all questions."""
ORDERED = ("prefix", "all-range")
"""Kinds of questions whose answers tell the median."""


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionResult:
    """The answers to one question with everything that is said of them."""

    question: SurveyQuestion
    whole: Estimate
    """The answers to all questions."""
    estimate: Estimate
    """Those to this one."""
    epsilon: float | None
    """That of a report; None for people who sent several."""
    of_all: bool = False
    """Whether shares are of all people, not of those who answered."""

    @cached_property
    def verdict(self) -> Usability:
        """Whether the answers can be used; where numbers are added up, these sums."""
        found, asked = self.estimate, self.question.workload
        if not self.people:
            rows = asked.matrix()
            sums = np.flatnonzero(~counting(rows))
            found, asked = found.some(sums), Explicit(rows[sums], asked.domain)
        return estimate_usability(found, self.epsilon, asked)

    @cached_property
    def people(self) -> bool:
        """Whether the answers are numbers of people."""
        return counts_users(self.question.workload)

    @property
    def told(self) -> bool:
        """Whether answers are told to people: some report is about them, and reports are not too few."""
        return self.estimate.reports > 0 and not self.verdict.too_few

    def answers(self, many: int = LISTED) -> QuestionAnswers:
        """Return the answers, of more than so many some that are evenly spread."""
        return QuestionAnswers.of(self.question, self.estimate, self._some(many))

    def _some(self, many: int) -> list[int]:
        return spread(self.question.workload.queries, many)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that are asked about."""
        return tuple(self.estimate.naming.attributes[place] for place in self.question.attributes)

    @property
    def gaps(self) -> bool:
        """Whether shares are of those who answered, as some may not have."""
        return not self.of_all and self._some_without

    @property
    def _some_without(self) -> bool:
        """Whether there are values for other answers or none."""
        return any(one.values.outside for one in self.attributes)

    def shares(self, many: int = LISTED) -> list[Share]:
        """Return the shares, or averages of numbers, of those who answered, of all where nobody is left out."""
        sizes = (own.workload.queries * own.workload.domain_size for own, _ in self.estimate.by_table())
        if self.gaps and max(sizes) > WRITTEN_OUT:
            return []
        return shares(self.estimate, self._some(many), of_all=not self.gaps)

    @cached_property
    def averages(self) -> dict[int, Share]:
        """The averages of numbers by query; none where several attributes are asked about together."""
        if self.people or len(self.attributes) > 1:
            return {}
        sums = ~counting(self.question.workload.matrix())
        return {one.query: one for one in self.shares() if sums[one.query]}

    @cached_property
    def mean(self) -> Share | None:
        """The mean of the attribute's numbers, where its queries add these up; None where that is not known."""
        if not self.averages:
            return None
        rows, values = self.question.workload.matrix(), _numbers(self.attributes[0])
        sums = (one for query, one in self.averages.items() if np.array_equal(rows[query], values))
        return next(sums, None)

    @cached_property
    def median(self) -> Quantile | None:
        """The median of an attribute whose order is asked about; None for others, or where no report tells it."""
        if self.question.kind not in ORDERED:
            return None
        with suppress(UnsupportedWorkloadError):  # short ranges alone need not tell it
            return self.whole.quantile(0.5, self.attributes[0].name, of_all=self.of_all)
        return None

    def facts(self) -> dict[str, str]:
        """Return the mean and the median, where they are known, in words by what they are called."""
        mean = {} if self.mean is None else {"mean": self._mean_words(self.mean)}
        return mean | ({} if self.median is None else {"median": str(self.median)})

    def _mean_words(self, mean: Share) -> str:
        """Return the mean in its unit with its interval, in words."""
        unit = f" {self.attributes[0].unit}" if self.attributes[0].unit else ""
        value, low, high = map(number_text, (mean.share, mean.low, mean.high))
        sure = f"{100 * self.whole.confidence:.10g} % sure: from {low} to {high}{unit}"
        return f"{value}{unit}; {sure}{'' if mean.answered is None else f'; {mean.words}'}"

    def crossed(self) -> list[Table]:
        """Return the table of two attributes, where it fits a screen: of all people, of those who answered, of rows.

        Below them stand the standard errors of the shares of all.
        """
        if len(self.attributes) != 2 or self.question.workload.queries > ROWS * WIDTH:
            return []
        found, tables = self.answers(), dict[str, Table | None]()
        every, nobody = f"of all {found.users:,} people", Answer(-1, "", found.users, 0.0, 0.0, 0.0)
        shown = {every: ({one.query: one.answer / found.users for one in found.answers}, nobody)}
        for who, same in by_people(self.shares()).items() if self.gaps else ():
            shown[who] = ({one.query: one.share for one in same}, same[0].answered or nobody)
        for who, (cells, people) in shown.items() if found.is_table else ():
            tables[f"Per cent {who}"] = found.cross(cells)
            if not self.gaps or who != every:
                rows = found.cross(cells, "of rows", self._errors(found, cells, people))
                among = "" if who == every else f", among {who.removeprefix('of ')}"
                tables[f"Per cent of each row{among}"] = rows
        tables["Standard errors, per cent of all"] = found.crossed("")
        known = ((name, table) for name, table in tables.items() if table is not None)
        return [replace(table, caption=f"{name}, {table.caption}") for name, table in known]

    def _errors(
        self, found: QuestionAnswers, cells: Iterable[int], people: Answer
    ) -> dict[tuple[int, ...], float]:
        """Return the standard errors of cells and of their totals, whose place is -1, as shares of some people."""
        domain = self.question.workload.domain
        places = {cell: found.place(cell) for cell in cells}
        errors = {places[one.query]: one.standard_error for one in found.answers if one.query in places} | {
            (-1, -1): people.standard_error
        }
        kept = np.zeros(domain.sizes, dtype=bool)
        kept[tuple(np.array([*places.values()]).T)] = True
        for side, held in enumerate((np.any(kept, axis=0), np.any(kept, axis=1))):
            own, other = domain.part((side,)), domain.part((1 - side,))
            factors = (Identity(own), Explicit(held[None].astype(float), other))
            totals = Product(factors if side == 0 else factors[::-1])
            every = self.whole.workload.domain
            over = on_table(totals, self.question.attributes, range(len(every.sizes)), every)
            for value, error in enumerate(self.whole.raw().ask(over).standard_errors.tolist()):
                errors[(value, -1) if side == 0 else (-1, value)] = error
        return {place: error / people.answer for place, error in errors.items()}

    def sheet(self, *, parts: int = 2) -> list[dict[str, Any]]:
        """Return a record a query for a spreadsheet, with the shares of those who answered or the average of numbers.

        Raises:
            ValueError: for more than 2^21 answers.
        """
        promise = {"confidence": self.whole.confidence, "simultaneous": self.whole.simultaneous}
        found = QuestionAnswers.of(self.question, self.estimate).sheet(promise, parts=parts)
        shares = self.shares() if self.people and not self.of_all else []
        told = [(one, OF_ANSWERED, 100) for one in shares] + [
            (one, AVERAGE, 1) for one in self.averages.values()
        ]
        for one, names, times in told:
            found[one.query] |= _three(names, one, times)
        return found

    def overview(self) -> dict[str, Any]:
        """Return for a spreadsheet how many reports there are, how far answers are off, the mean and the median."""
        found, names = self.answers(1), [one.unit for one in self.attributes if one.unit]
        mean, median = dict.fromkeys(MEAN, ""), ("",) * 3
        if self.mean is not None:
            mean = _three(MEAN, self.mean, 1)
        if (one := self.median) is not None and (one.answered is None or one.answered.low > 0):
            values, ends = one.attribute.values, enumerate((one.low_bin, one.high_bin))
            limits = (
                str(values.value(cell)) if values.apart(cell, cell) else values.ends(cell, cell)[side]
                for side, cell in ends
            )
            median = one.attribute.words(one.bin, one.bin), *limits
        typical = self.verdict.error * found.users
        return {
            "question": found.topic,
            "asked": found.asked,
            "reports": found.users,
            "reports_about_it": self.estimate.reports,
            "usable": "yes" if self.verdict.usable else "no",
            "typical_error": rounded(typical, typical) if self.people else "",
            "unit": names[0] if len(names) == 1 else "",
            **mean,
            **dict(zip(MEDIAN, median, strict=True)),
            "confidence": self.whole.confidence,
        }

    def record(self) -> dict[str, Any]:
        """Return the question with its answers and what is said of them as named values."""
        known = {"mean": self.mean, "median": self.median}
        told = {name: value.data() for name, value in known.items() if value is not None}
        if self.gaps:
            places = self.question.places
            shares = [one._replace(query=int(places[one.query])) for one in self.shares()]
            told["shares"] = [one.data() for one in shares]
        return self.answers().data() | told | self.verdict.data()

    def sentences(self, many: int, quantiles: Mapping[str, Quantile]) -> Iterator[str | Table]:
        """Yield the title, how far the answers are off, quantiles, and so many answers as a table or a list."""
        found, every = self.answers(many), self.question.workload.queries
        yield found.title
        if not self.verdict.usable:
            yield self.verdict.too_few or str(self.verdict)
            if not self.told:
                return
        elif self.people:
            yield typical_error(self.verdict, found.users)
        asked = {f"quantile {share}": str(value) for share, value in quantiles.items()}
        for name, words in (self.facts() | asked).items():
            yield f"{name}: {words}"
        if tables := self.crossed():
            for table in tables:
                yield from ("", f"{table.caption}:", "", table)
            return
        if not self.averages:
            rows = [(found.labels(one), one) for one in found.answers]
            yield from ("", listed(self.estimate, found.headings, rows, counts=self.people))
            if len(rows) < every:
                yield from ("", f"{len(rows)} of {every:,} answers shown")
        told = [one for one in self.shares(many) if self.people or one.query in self.averages]
        if self.gaps or not self.people:
            others = [one for one in told if one != self.mean]
            yield from share_tables(others, counts=self.people, gaps=self._some_without)


def by_question(found: Estimate, epsilon: float | None, *, of_all: bool = False) -> list[QuestionResult]:
    """Return the questions of an estimate with what is said of them; `epsilon` is that of the only report, or None."""
    about = {"whole": found, "epsilon": epsilon, "of_all": of_all}
    return [QuestionResult(question=one, estimate=own, **about) for one, own in found.by_question()]


def overall(found: Sequence[QuestionResult], users: int) -> str:
    """Return in a sentence how many questions and reports there are, and which answers cannot be used."""
    useless = [one.answers(1).topic for one in found if not one.verdict.usable]
    words = f"not usable: {'; '.join(useless)}" if useless else "the answers can be used"
    return f"{counted(len(found), 'question')}, {counted(users, 'report')}: {words}."


def _three(names: Sequence[str], share: Share, times: float) -> dict[str, Any]:
    """Return a share and its ends so many times, rounded, by their names."""
    ends = [times * number for number in share[2:5]]
    return dict(zip(names, (rounded(number, (ends[2] - ends[1]) / 4) for number in ends), strict=True))


def _numbers(attribute: Attribute) -> np.ndarray:
    """Return what every value adds to a sum (size,): nothing for other and no answer, NaN for what is no number."""
    values = attribute.values
    numbers = (0.0 if cell in values.outside else values.middle(cell) for cell in range(values.size))
    return np.array([np.nan if one is None else one for one in numbers])


def typical_error(verdict: Usability, users: int) -> str:
    """Return how far answers that count people are typically off, in a sentence."""
    size = f"{number_text(verdict.error * users)} people, {100 * verdict.error:.3g} % of all people"
    return f"Answers are typically off by {size} (estimated standard error)."


def listed(
    found: Estimate,
    headings: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Answer]],
    *,
    counts: bool,
) -> Table:
    """Return answers one below the other behind their words, with shares of all where they count people."""
    shown = []
    for words, answer in rows:
        value, *others = (f"{number:,.1f}" for number in answer[2:])
        share = [f"{100 * min(answer.answer / found.users, 1):.1f} %"] if counts else []
        shown.append((*words, value, *share, *others))
    ends = "standard error", f"{100 * found.confidence:g} % from", "to"
    return Table((*headings, "answer", *(["share"] if counts else []), *ends), shown, words=len(headings))


def share_tables(found: Sequence[Share], *, counts: bool, gaps: bool = True) -> Iterator[str | Table]:
    """Yield shares, or averages where queries count nobody, those of the same people in one table.

    `gaps` says whether some people may have no value.
    """
    for who, same in by_people(found).items():
        zeros = "" if counts or same[0].answered or not gaps else ", where no answer and other count 0"
        yield from ("", f"{'shares' if counts else 'averages'} {who}{zeros}:", "")
        rows = [
            (one.label, *(f"{100 * end:.1f} %" if counts else number_text(end) for end in one[2:5]))
            for one in same
        ]
        yield Table(("query", "share" if counts else "average", "from", "to"), rows)


def shares_of_people(
    found: Estimate, chosen: Sequence[int] | None, *, of_all: bool = False
) -> list[Share] | None:
    """Return the shares of those who answered, where some did not and their queries can be written out."""
    gaps = any(one.values.outside for one in found.naming.attributes)
    small = found.workload.queries * found.workload.domain_size <= WRITTEN_OUT
    return shares(found, chosen, of_all=of_all) if gaps and small else None


def by_people(found: Sequence[Share]) -> dict[str, list[Share]]:
    """Return shares by the people whom they are of, in words."""
    groups: dict[str, list[Share]] = {}
    for one in found:
        groups.setdefault(one.words, []).append(one)
    return groups


def write_answers(paths: Sequence[Path], results: Sequence[QuestionResult]) -> None:
    """Write the answers to every question into a file of its own, tables as rows and columns, and all questions.

    `paths` are those of `answer_files`, of `cross_files` and of `overview_file`; existing files are replaced.

    Raises:
        ValueError: for a file that cannot be written, or more than 2^21 answers to one question.
    """
    every = [_lines(one.sheet(parts=_parts(results))) for one in results]
    found = (QuestionAnswers.of(one.question, one.estimate) for one in results if one.question.crosses)
    crossed, overview = [one.grid() for one in found], _lines([one.overview() for one in results])
    for path, lines in zip(paths, [*every, *crossed, overview], strict=True):
        _write_lines(path, lines)


def write_sheet(
    paths: Sequence[Path], results: Sequence[QuestionResult], chosen: Sequence[int] | None = None
) -> None:
    """Write the answers to all questions into one .csv file, or some by their numbers, and all questions into another.

    Existing files are replaced.
    """
    every = {
        int(place): row
        for one in results
        for place, row in zip(one.question.places, one.sheet(parts=_parts(results)), strict=True)
    }
    rows = [every[query] for query in (sorted(every) if chosen is None else chosen)]
    for path, lines in zip(paths, [_lines(rows), _lines([one.overview() for one in results])], strict=True):
        _write_lines(path, lines)


def _parts(results: Sequence[QuestionResult]) -> int:
    """Return how many values an answer has in files, at least two."""
    return max([2, *(len(one.attributes) for one in results if one.question.kind == "identity")])


def _lines(records: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Return the names in records and a line a record, empty where it has no such name."""
    names = [*dict.fromkeys(chain.from_iterable(records))]
    return [names, *([record.get(name, "") for name in names] for record in records)]


def _write_lines(path: Path, lines: Sequence[Sequence[Any]]) -> None:
    check_folder(path.parent).mkdir(exist_ok=True)
    with written_atomically(check_target(path, (".csv",), overwrite=True)) as file:
        write_csv(file, lines[0], lines[1:])
