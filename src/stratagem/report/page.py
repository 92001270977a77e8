"""HTML files that load nothing: a summary of a mechanism, and one with results.

Results are every table of answers with its picture and verdict, and how the answers came about.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from stratagem.estimation.estimate import Estimate
from stratagem.estimation.question import QuestionAnswers
from stratagem.io.screen import presents
from stratagem.io.table import Table, render
from stratagem.io.target import check_target, written_atomically
from stratagem.math.deadline import granted, within
from stratagem.math.number import counted, number_text, unbroken, upper
from stratagem.math.privacy import told as revealed
from stratagem.mechanism.export.saved import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import MEANS, reported
from stratagem.mechanism.webpage import shipped
from stratagem.report.calculator import calculator, comparison_section, numbers
from stratagem.report.content import Cover, ReportContent, along, rated
from stratagem.report.drawing import WIDTH, Picture, answers, drawing, inlined
from stratagem.report.plots import check_matplotlib
from stratagem.report.plots.estimate import plot_estimate
from stratagem.report.question import QuestionResult, by_people, by_question, overall
from stratagem.report.reproduction import privacy_section, reproduction, threats
from stratagem.report.verdict import facts, verdict
from stratagem.solvers.problem import Average
from stratagem.study.solution import Solution
from stratagem.workloads.question import called, is_survey
from stratagem.workloads.serial import to_data

SUFFIXES = (".html", ".htm")
RATED = 0.6
"""Share of the time after which the comparison at the strategy's own budget ends; the rest is for the others."""


def check_page(path: str | Path) -> Path:
    """Return the path of a page that can be written and drawn, before the work.

    Raises:
        ValueError: for another suffix, a folder that does not exist, or without matplotlib.
    """
    target = check_target(path, SUFFIXES)
    check_matplotlib()
    return target


def write_page(path: str | Path, subject: ReportContent) -> Path:
    """Write the summary as one HTML file, complete or not at all; the same subject makes the same bytes."""
    target = check_page(path)
    content = page(subject).encode("utf-8")
    with written_atomically(target) as file:
        file.write(content)
    return target


def page(subject: ReportContent) -> str:
    """Return the page; its policy names style and script by their hashes and forbids the network."""
    return render(
        "report/report.html",
        **dressed(_shipped("report.js")),
        verdict=verdict(subject),
        calculator=calculator(subject),
        numbers=numbers(subject),
        answers=answers(subject),
        promise=privacy_section(subject),
        standing=comparison_section(subject),
        drawing=drawing(subject),
        threats=threats(),
        facts=facts(subject),
        reproduction=reproduction(subject),
    )


def dressed(script: str = "", *sheets: str) -> dict[str, object]:
    """Return the style of a page and its script, and the hashes by which the page's policy names them.

    `sheets` are files with what the page has beyond the style of all.
    """
    style = shipped("page.css").decode() + "".join(map(_shipped, ("report.css", *sheets)))
    return {"style": style, "script": script, "hashes": {"style": _hash(style), "script": _hash(script)}}


def _shipped(name: str) -> str:
    return files("stratagem.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the hash of an inline style or script as a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode()


@presents
def report_solution(
    path: str | Path,
    solution: Solution,
    *,
    name: str = "workload",
    others: Iterable[Solution] = (),
    seconds: float | None = None,
    **about: Any,
) -> Path:
    """Write the summary of a solution; `others` are solutions of the same problem at other budgets.

    `about` are the fields of `Cover`.

    Raises:
        ValueError: as `check_page` and `Cover`, or for another solution of another problem.
    """
    target, cover = check_page(path), Cover(**about)
    found = {one.epsilon: one for one in others}
    for one in found.values():
        _check_alike(solution, one)
    with within(granted(seconds)):
        line = along(solution, list(found), found.__getitem__) if found else along(solution)
    return write_page(target, ReportContent(solution, name, line, cover=cover))


@presents
def report_saved(
    path: str | Path,
    saved: Mechanism | StoredStrategy,
    *,
    objective: str = Average.kind,
    file: str = "",
    budgets: Iterable[float] | None = None,
    seconds: float | None = None,
    bounds: Any = None,
    **about: Any,
) -> Path:
    """Write the summary of a saved mechanism, with the published mechanisms and bounds at its budget and at others.

    `file` is the name of the file that holds it, `bounds` are those that are known, `about` are the fields of `Cover`.

    Raises:
        ValueError: as `check_page`, `Cover` and `rated`, or for a budget out of range.
    """
    target, cover = check_page(path), Cover(**about)
    with within(granted(seconds)) as time:
        with within(time.until(RATED)):
            solution = rated(saved, objective)
        if bounds is not None and bounds.best > solution.bounds.best:
            solution = replace(solution, bounds=bounds)
        line = along(solution, budgets)
    content = ReportContent(solution, saved.name, line, saved.bundled, cover, file)
    return write_page(target, content)


def _check_alike(solution: Solution, other: Solution) -> None:
    same = to_data(solution.workload) == to_data(other.workload)
    if not same or solution.objective_kind != other.objective_kind:
        raise ValueError(
            "another solution was given that answers other queries or another objective: give solutions of the "
            "same problem, as st.study.path returns them"
        )


TABLES, ROWS = 12, 48
"""Most tables on the page, and most answers of one; of more, some that are evenly spread."""
BELOW = " These are estimates: they and their intervals may be below 0, true answers are not."
"""What is said of a picture of people that goes below zero."""
WIDE = 6.0
"""Width in inches of a picture of answers on a wide screen and on paper."""
QUESTIONS = 32
"""Most questions of a survey on the page."""


def write_results(
    path: str | Path,
    found: Estimate,
    epsilon: float,
    *,
    name: str,
    question: str = "",
    why: str = "",
    rounds: int = 1,
    quantiles: Mapping[str, str] | None = None,
    of_all: bool = False,
) -> Path:
    """Write the page on the answers of an estimate; it loads nothing, and the same estimate makes the same bytes.

    Every table of the workload has a section, as has every question of a survey; `quantiles`, in words by their names,
    stand before them. `why` is who asks and why, the first line. Shares are of those who answered, or `of_all`.
    `epsilon` is what all reports of one person reveal at most, `rounds` their number.
    """
    target = check_page(path)
    own = epsilon if rounds == 1 else None
    survey, name = is_survey(found.workload), called(name, found.workload.domain.names)
    groups = by_question(found, own, of_all=of_all)
    shown = groups[: QUESTIONS if survey else TABLES]
    content = render(
        "report/results.html",
        **dressed("", "results.css"),
        title=question or name,
        why=why,
        about={
            "What is estimated": question and name,
            **_senders(found.users, rounds),
            "Epsilon": f"{upper(epsilon)} a {'report' if rounds == 1 else 'person'}",
        },
        quantiles=quantiles or {},
        overall=overall(groups, found.users) if survey else "",
        means=MEANS,
        wrong=not all(one.verdict.usable for one in groups),
        sections=[_section(one, survey=survey) for one in shown],
        left=len(groups) - len(shown),
        impossible=f"{found.impossible}." if found.impossible.fact and any(one.told for one in shown) else "",
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
        "verdict": unbroken(one.verdict.too_few or str(one.verdict)),
        "reported": f"{reported(found)}." if 0 < found.reports < found.users else "",
        "facts": {},
        "figure": None,
        "tables": [],
    }
    if not one.told:
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
            f"Answers, {found.intervals}.{left}{BELOW * bool(one.people and min(found.low[some]) < 0)}",
        )._replace(wide=inlined(plot_estimate(found.some(some), width=WIDE, **picture)))
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
            *(_percent(min(number / people, 1)) for number in (one.answer, one.low, one.high)),
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
        return {"Reports": f"{users:,}; if each person sent one, of {counted(users, 'person')}"}
    return {"People": f"{users:,}, if each sent {rounds:,} reports"}


def _method(found: Estimate, epsilon: float, rounds: int) -> list[str]:
    """Return how the answers came about in three sentences."""
    told, seen, more = "Each report reveals", "one report", "Whoever sent several revealed more."
    if rounds > 1:
        told, seen = "All reports about one answer together reveal", "them"
        more = "Another answer reveals as much again."
    sure = unbroken(revealed(epsilon, "that answer", seen))
    often = f"{100 * found.confidence:.10g} of 100"
    held = "all of them hold the true answers" if found.simultaneous else "an interval holds the true answer"
    return [
        f"{told} at most epsilon {upper(epsilon)} about its sender's answer: {sure} {more}",
        f"The answers are estimated from {counted(found.users, 'report')}; they are {found.bias.rstrip('.')}.",
        f"They come with {found.intervals}. In {often} such surveys {held} of these people.",
    ]
