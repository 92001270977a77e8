"""The answers to one question of a survey: as tidy records, as JSON values, and as a table of rows and columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from stratagem.estimation.answer import Answer, Answering, rounded, standard_errors_each_side
from stratagem.io.screen import brief
from stratagem.io.table import Recorded, Table
from stratagem.workloads import Attribute
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.naming import Naming
from stratagem.workloads.question import SurveyQuestion

ROWS = 48
"""Most rows of a table of two attributes."""
PLAIN = ("identity", "prefix", "queries", "total")
"""Kinds of questions that a title need not name, as the answers say it."""
PERCENT = ("percent", "percent_low", "percent_high")
OF_ANSWERED = tuple(f"answered_{name}" for name in PERCENT)
"""Columns of a spreadsheet for shares of those who answered."""
AVERAGE = ("average", "average_low", "average_high")
"""Columns of a spreadsheet for averages of numbers."""
NUMBERS = ("people", "sum", "standard_error", "low", "high", "percent", "percent_low", "percent_high")
"""Columns of records beside those that say what is asked."""
WIDEST = 0.1
"""Largest half-width of the 95 % interval of a share of a row that is told."""
UNKNOWN = "–"
UNTOLD = f"{UNKNOWN} where the 95 % interval of a share reaches more than 10 points to either side"

Sums = Literal["of all", "of rows", ""]
"""The sums at the ends of a table: none, or those of shares of all people, or of the people in each row."""


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionAnswers(Recorded):
    """The answers to the queries of one question, with the values of its attributes as labels."""

    __repr__ = brief

    question: SurveyQuestion
    attributes: tuple[Attribute, ...]
    """Its attributes as people know them; of a table in the order of its columns."""
    answers: Sequence[Answer]
    """One answer a query, numbered 0..p-1; the cells of a table with the last attribute fastest."""
    naming: Naming
    """Names of the queries by these numbers."""
    users: int
    """Number of all reports."""

    @staticmethod
    def of(
        question: SurveyQuestion, found: Answering, queries: Sequence[int] | None = None
    ) -> QuestionAnswers:
        """Return the answers to some queries of a question, by default to all, from the estimate of its queries.

        Its workload knows what people are asked, its naming what the values are.
        """
        naming = found.naming
        both = zip(naming.attributes, found.workload.domain.attributes, strict=True)
        described = [replace(own, question=own.question or asked.question) for own, asked in both]
        return QuestionAnswers(
            question=question,
            attributes=tuple(described[place] for place in question.about),
            answers=found.table(queries),
            naming=naming,
            users=found.users,
        )

    def ordered(self, names: Sequence[str]) -> QuestionAnswers:
        """Return the cells of a table with its attributes in another order."""
        known = {one.name: one for one in self.attributes}
        turned = replace(self, attributes=tuple(known[name] for name in names))
        return replace(turned, answers=sorted(self.answers, key=lambda one: turned.place(one.query)))

    def place(self, cell: int) -> tuple[int, ...]:
        """Return the value of every attribute that a cell stands for."""
        domain = self.question.workload.domain
        values = dict(zip(domain.names, map(int, np.unravel_index(cell, domain.sizes)), strict=True))
        return tuple(values[one.name] for one in self.attributes)

    @property
    def name(self) -> str:
        """The names of the attributes, such as "region x income"."""
        return " x ".join(one.name for one in self.attributes) or "everybody"

    @property
    def asked(self) -> str:
        """The question that people read about the one attribute; empty where none is known, or for several."""
        return self.attributes[0].question if len(self.attributes) == 1 else ""

    @property
    def topic(self) -> str:
        """The attributes, and what is asked of them unless that is plain."""
        return self.name if self.question.kind in PLAIN else f"{self.name}, {self.question.kind}"

    @property
    def title(self) -> str:
        """The topic, and the question that people read."""
        return f"{self.topic}: {self.asked}" if self.asked else self.topic

    @property
    def people(self) -> bool:
        """Whether the answers are numbers of people."""
        return counts_users(self.question.workload)

    @property
    def is_table(self) -> bool:
        """Whether the answers are those of all cells of a table."""
        return self.question.kind == "identity"

    def labels(self, answer: Answer) -> tuple[str, ...]:
        """Return the values that a cell stands for, one an attribute, or the words of another query."""
        if not self.is_table:
            return (answer.label,)
        both = zip(self.attributes, self.place(answer.query), strict=True)
        return tuple(one.words(value, value) for one, value in both)

    def short(self, answer: Answer) -> str:
        """Return the words of an answer beside a title that names the attributes."""
        words = ", ".join(self.labels(answer))
        return words if self.is_table else words.removeprefix(f"{self.name} ").removeprefix("= ")

    def records(self) -> list[dict[str, Any]]:
        """Return a record a query: the value of every attribute or the label, the answer, and its interval."""
        what = "people" if self.people else "sum"
        names = [_free(one.name) for one in self.attributes] if self.is_table else ["label"]
        return [
            dict(zip(names, self.labels(one), strict=True))
            | {what: one.answer, "standard_error": one.standard_error, "low": one.low, "high": one.high}
            for one in self.answers
        ]

    def sheet(self, promise: Mapping[str, Any], *, parts: int = 2) -> list[dict[str, Any]]:
        """Return a record a query for a spreadsheet, rounded: the answer in people and per cent, each with its limits.

        All have the same keys, whatever the question: this and the answer in words, the values of the attributes, at
        least so many `parts`, and last what the intervals promise. What a question does not have is empty.
        """
        found = []
        for one in self.answers:
            words = self.labels(one) if self.is_table else (self.short(one),)
            head: dict[str, Any] = {"question": self.topic, "answer": self.short(one)}
            head |= {
                f"value_{k + 1}": words[k] if k < len(words) else "" for k in range(max(parts, len(words)))
            }
            ends, error = (one.answer, one.low, one.high), one.standard_error
            middle, low, high = (rounded(number, error) for number in ends)
            head |= {"people": middle if self.people else "", "sum": "" if self.people else middle}
            head |= {"standard_error": rounded(error, error), "low": low, "high": high}
            shares = [rounded(100 * number / self.users, 100 * error / self.users) for number in ends]
            head |= dict(zip(PERCENT, shares if self.people else [""] * 3, strict=True))
            found.append({**head, **dict.fromkeys((*OF_ANSWERED, *AVERAGE), ""), **promise})
        return found

    def grid(self) -> list[list[Any]]:
        """Return the cells of two attributes as rows and columns in people, rounded, with sums at both ends."""
        first, second = self.attributes
        error = math.sqrt(sum(one.standard_error**2 for one in self.answers) / len(self.answers))
        cells = np.array([one.answer for one in self.answers]).reshape(first.size, second.size)
        cells = np.column_stack([cells, cells.sum(axis=1)])
        heads = [*(first.words(row, row) for row in range(first.size)), "total"]
        both = zip(heads, np.vstack([cells, cells.sum(axis=0)]).tolist(), strict=True)
        columns = (second.words(column, column) for column in range(second.size))
        return [
            [first.name, *columns, "total"],
            *([head, *(rounded(x, error) for x in row)] for head, row in both),
        ]

    def tidy(self) -> list[dict[str, Any]]:
        """Return a record a query with the same keys whatever the question."""
        head = {"question": self.name, "kind": self.question.kind}
        return [
            head | {key: value for key, value in one._asdict().items() if key != "query"}
            for one in self.answers
        ]

    def data(self) -> dict[str, Any]:
        """Return the question and its answers as JSON values; queries have their numbers in the survey."""
        return {
            "question": self.asked or self.name,
            "attributes": [one.name for one in self.attributes],
            "kind": self.question.kind,
            "answers": [
                one._asdict()
                | {"query": int(self.question.places[one.query]), "where": self.naming.where(one.query)}
                for one in self.answers
            ],
        }

    def crossed(self, sums: Sums = "of all") -> Table | None:
        """Return all cells of two attributes as rows and columns, in per cent (see `crossed`).

        Without sums they are standard errors, in per cent of all people.
        """
        whole = self.is_table and len(self.answers) == self.question.workload.queries
        known = {one.query: one.answer if sums else one.standard_error for one in self.answers}
        return self.cross({cell: size / self.users for cell, size in known.items()}, sums) if whole else None

    def cross(
        self,
        shares: Mapping[int, float],
        sums: Sums = "of all",
        errors: Mapping[tuple[int, ...], float] | None = None,
    ) -> Table | None:
        """Return shares of people by the numbers of the cells as rows and columns (see `crossed`)."""
        cells = {self.place(cell): share for cell, share in shares.items()}
        return crossed(self.attributes, cells, sums, errors)

    @property
    def headings(self) -> tuple[str, ...]:
        """What `labels` hold: the names of the attributes with their units, or that they are queries."""
        return tuple(one.title() for one in self.attributes) if self.is_table else ("query",)

    def __str__(self) -> str:
        """Return the title, and the answers as a table of rows and columns or one below the other."""
        table = self.crossed()
        if table is not None:
            return f"{self.title}, per cent of all people\n{table}"
        rows = [
            (*self.labels(one), f"{one.answer:,.1f}", f"{one.standard_error:,.1f}") for one in self.answers
        ]
        listed = Table((*self.headings, "answer", "standard error"), rows, words=len(self.headings))
        return f"{self.title}\n{listed}"


def _free(name: str) -> str:
    """Return the name of a column for an attribute, other than those of numbers."""
    return f"{name} (value)" if name in NUMBERS else name


def crossed(
    attributes: Sequence[Attribute],
    cells: Mapping[tuple[int, ...], float],
    sums: Sums = "of all",
    errors: Mapping[tuple[int, ...], float] | None = None,
) -> Table | None:
    """Return shares of people by their values as a table of rows and columns, in per cent with sums at both ends.

    Values without any cell are left out. The first attribute has the rows, or the second where only that fits. None
    for other than two attributes, or a table that is wider than a screen or has more than 48 rows both ways. Shares
    of rows are those among the people of the row; there are dashes where nobody is left in it, and where a share is not
    known to 10 points, by the standard errors of cells and of totals, whose place is -1, in `errors`. None where no row
    has a share.

    >>> from stratagem.domain import Labels
    >>> two = Attribute("region", Labels(("North", "South"))), Attribute("smokes", Labels(("no", "yes")))
    >>> print(crossed(two, {(0, 0): 0.5, (0, 1): 0.125, (1, 0): 0.25, (1, 1): 0.125}))
    region    no   yes  total
    -------------------------
    North   50.0  12.5   62.5
    South   25.0  12.5   37.5
    total   75.0  25.0  100.0
    >>> print(crossed(two, {(0, 0): 0.5, (0, 1): 0.125, (1, 0): 0.25, (1, 1): 0.125}, "of rows"))
    region    no   yes  total
    -------------------------
    North   80.0  20.0  100.0
    South   66.7  33.3  100.0
    total   75.0  25.0  100.0
    """
    if len(attributes) != 2 or not cells:
        return None
    turned = {(column, row): share for (row, column), share in cells.items()}
    first, second = attributes
    across = {(column, row): error for (row, column), error in (errors or {}).items()}
    both = (
        _laid_out(first, second, cells, sums, errors or {}),
        _laid_out(second, first, turned, sums, across),
    )
    found = next((one for one in both if len(one.rows) <= ROWS and one.fits()), None)
    untold = found is not None and all(cell == UNKNOWN for line in found.rows[:-1] for cell in line[1:])
    return None if untold else found


def _laid_out(
    first: Attribute,
    second: Attribute,
    cells: Mapping[tuple[int, ...], float],
    sums: Sums,
    errors: Mapping[tuple[int, ...], float],
) -> Table:
    rows, columns = (sorted({pair[side] for pair in cells}) for side in (0, 1))
    grid = np.array([[cells[row, column] for column in columns] for row in rows])
    heads, total = [first.words(row, row) for row in rows], ["total"] if sums else []
    if sums:
        grid = np.column_stack([grid, grid.sum(axis=1)])
        grid = np.vstack([grid, grid.sum(axis=0)])
    if sums == "of rows":
        people = grid[:, -1:]
        grid = np.divide(grid, people, out=np.full_like(grid, np.nan), where=people > 0)
        wide = _half_widths(
            grid,
            people,
            np.array([[errors.get((row, column), 0.0) for column in (*columns, -1)] for row in (*rows, -1)]),
        )
        grid[:, :-1][wide > WIDEST] = np.nan
        grid[np.isnan(grid[:, :-1]).all(axis=1)] = np.nan
    heads += total
    why = f"; {UNTOLD}" if np.isnan(grid).any() else ""
    return Table(
        (first.title(), *(second.words(column, column) for column in columns), *total),
        [(head, *(_percent(share) for share in line)) for head, line in zip(heads, grid, strict=True)],
        caption=f"{first.name} in rows, {second.title()} in columns{why}",
    )


def _half_widths(shares: np.ndarray, people: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return half of the 95 % intervals of shares r (k, l) of rows, from errors (k, l + 1), the last those of `people`.

    The error of cell - r row is at most that of (1 - r) cell and r row apart, as cells of one table hardly depend on
    each other.
    """
    own = np.hypot((1 - shares) * errors, shares * errors[:, -1:])[:, :-1]
    return standard_errors_each_side(0.95) * np.divide(
        own, people, out=np.full_like(own, np.inf), where=people > 0
    )


def _percent(share: float) -> str:
    return UNKNOWN if math.isnan(share) else f"{round(100 * min(share, 1), 1) + 0.0:.1f}"


@final
@dataclass(frozen=True, eq=False)
class SurveyAnswers(Recorded):
    """The answers to all questions of a survey, a record each."""

    __repr__ = brief

    questions: Sequence[QuestionAnswers]

    def records(self) -> list[dict[str, object]]:
        """Return a record a query: its question, kind and label, the answer, and its interval."""
        return [one for question in self.questions for one in question.tidy()]
