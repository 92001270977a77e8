"""The page on results: every table of answers with its picture and verdict, and how the answers came about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stratagem.estimation.estimate import Estimate
from stratagem.estimation.question import QuestionAnswers
from stratagem.io.table import Table, render
from stratagem.io.target import written_atomically
from stratagem.math.number import counted, number_text, unbroken, upper
from stratagem.math.privacy import surest
from stratagem.mechanism.usable import reported
from stratagem.report.drawing import WIDTH, Picture
from stratagem.report.page import check_page, dressed
from stratagem.report.plots.estimate import plot_estimate
from stratagem.report.question import QuestionResult, by_people, by_question
from stratagem.workloads.question import is_survey

TABLES, ROWS = 12, 48
"""Most tables on the page, and most answers of one; of more, some that are evenly spread."""
QUESTIONS = 32
"""Most questions of a survey on the page."""


def write_results(
    path: str | Path,
    found: Estimate,
    epsilon: float,
    *,
    name: str,
    question: str = "",
    rounds: int = 1,
    quantiles: Mapping[str, str] | None = None,
) -> Path:
    """Write the page on the answers of an estimate; it loads nothing, and the same estimate makes the same bytes.

    Every table of the workload has a section, as has every question of a survey; `quantiles`, in words by their names,
    stand before them. `epsilon` is what all reports of one person reveal at most, `rounds` their number.
    """
    target = check_page(path)
    own = epsilon if rounds == 1 else None
    survey = is_survey(found.workload)
    groups = by_question(found, own)
    shown = groups[: QUESTIONS if survey else TABLES]
    content = render(
        "report/results.html",
        **dressed("", "results.css"),
        title=question or name,
        about={
            "What is estimated": question and name,
            **_senders(found.users, rounds),
            "Epsilon": f"{upper(epsilon)} a {'report' if rounds == 1 else 'person'}",
        },
        quantiles=quantiles or {},
        sections=[_section(one, survey=survey) for one in shown],
        left=len(groups) - len(shown),
        impossible=f"{found.impossible}." if found.impossible.fact else "",
        method=_method(found, epsilon, rounds),
    ).encode("utf-8")
    with written_atomically(target) as file:
        file.write(content)
    return target


def _section(one: QuestionResult, *, survey: bool) -> dict[str, object]:
    """Return what a section on one table of answers shows; of a survey also the mean or median, rows and columns."""
    found, answers, many = one.estimate, one.answers(ROWS), one.question.workload.queries
    head = {
        "title": answers.title if survey else " × ".join(attribute.name for attribute in one.attributes),
        "usable": one.verdict.usable,
        "verdict": unbroken(str(one.verdict)),
        "reported": f"{reported(found)}." if 0 < found.reports < found.users else "",
        "facts": {},
        "figure": None,
        "tables": [],
    }
    if not found.reports:
        return head
    some = [answer.query for answer in answers.answers]
    named = {answer.query: answers.short(answer) for answer in answers.answers} if survey else {}
    words = f"Estimates with {found.intervals}; the numbers are in the table."
    left = f" {len(some)} of {many:,} are in the table." if len(some) < many else ""
    picture = {"shares": answers.people, "names": tuple(named.values())}
    drawn = not (survey and one.averages)
    return head | {
        "facts": one.facts() if survey else {},
        "figure": Picture.of(
            plot_estimate(found.some(some), width=WIDTH, **picture),
            words,
            f"Answers, {found.intervals}.{left}",
        )
        if drawn
        else None,
        "tables": [
            *(one.crossed() if survey else []),
            *([_table(found, answers, named)] if drawn else _averages(one)),
            *_of_those_who_answered(one, named),
        ],
    }


def _averages(one: QuestionResult) -> list[Table]:
    """Return the averages of numbers but the mean, which is a sentence."""
    groups = by_people([share for share in one.averages.values() if share != one.mean])
    headings = ("answer", "average", f"{100 * one.whole.confidence:g}\u00a0% from", "to")
    return [
        Table(
            headings,
            [(share.label, *map(number_text, share[2:5])) for share in same],
            caption=f"Averages {who}",
        )
        for who, same in groups.items()
    ]


def _table(found: Estimate, answers: QuestionAnswers, named: Mapping[int, str]) -> Table:
    """Return answers as shares of the people with their number, or as sums where queries do not count people."""
    people, what = found.users, ", ".join(answers.headings) if named and answers.is_table else "answer"
    ends = (f"{100 * found.confidence:g}\u00a0% from", "to")
    told = [(named.get(one.query, one.label), one) for one in answers.answers]
    if not answers.people:
        rows = [(words, *map(number_text, (one.answer, one.low, one.high))) for words, one in told]
        return Table((what, "sum over the people", *ends), rows, caption="Sums over all people")
    rows = [
        (
            words,
            *(_percent(number / people) for number in (one.answer, one.low, one.high)),
            f"{one.answer:,.0f}",
        )
        for words, one in told
    ]
    return Table((what, "share", *ends, "people"), rows, caption="Shares of all people")


def _of_those_who_answered(one: QuestionResult, named: Mapping[int, str]) -> list[Table]:
    """Return the shares of the people who answered, where some did not, a table for the same people."""
    groups = by_people(one.shares(ROWS) if one.people and one.gaps else [])
    headings = ("answer", "share", f"{100 * one.whole.confidence:g}\u00a0% from", "to")
    return [
        Table(
            headings,
            [(named.get(share.query, share.label), *map(_percent, share[2:5])) for share in same],
            caption=f"Shares {who}",
        )
        for who, same in groups.items()
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _senders(users: int, rounds: int) -> dict[str, str]:
    """Return how many reports came and of how many people, which nobody who collects them can know."""
    if rounds == 1:
        return {"Reports": f"{users:,}, of as many people if each sent one"}
    return {"People": f"{users:,}, if each sent {rounds:,} reports"}


def _method(found: Estimate, epsilon: float, rounds: int) -> list[str]:
    """Return how the answers came about in three sentences."""
    told, seen, more = "Each report reveals", "one report", "Whoever sent several revealed more."
    if rounds > 1:
        told, seen = "All reports about one answer together reveal", "them"
        more = "Another answer reveals as much again."
    sure = f"whoever thought it as likely as not is {unbroken(surest(epsilon))} sure of it after {seen}"
    return [
        f"{told} at most epsilon {upper(epsilon)} about its sender's answer: {sure}. {more}",
        f"The answers are estimated from {counted(found.users, 'report')}; they are {found.bias.rstrip('.')}.",
        f"They come with {found.intervals}: as often as that they hold the true answers of these people.",
    ]
