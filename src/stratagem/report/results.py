"""The page on results: every table of answers with its picture and verdict, and how the answers came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from stratagem.estimation.estimate import Estimate
from stratagem.io.table import Table, render
from stratagem.io.target import written_atomically
from stratagem.math.number import number_text, spread, upper
from stratagem.mechanism.usable import estimate_usability
from stratagem.report.drawing import WIDTH, Picture
from stratagem.report.page import check_page, dressed
from stratagem.report.plots.estimate import plot_estimate
from stratagem.report.question import by_people, shares_of_people
from stratagem.report.wording import counted, unbroken
from stratagem.workloads import Workload
from stratagem.workloads.explicit import counts_users

TABLES, ROWS = 12, 48
"""Most tables on the page, and most answers of one; of more, some that are evenly spread."""


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

    Every table of the workload has a section, and `quantiles`, in words by their names, stand before them. `epsilon`
    is what all reports of one person reveal at most, `rounds` their number.
    """
    target = check_page(path)
    groups = list(_groups(found))
    shown = groups[:TABLES]
    own = epsilon if rounds == 1 else None
    content = render(
        "report/results.html",
        **dressed(),
        title=question or name,
        about={
            "What is estimated": question and name,
            "People": f"{found.users:,}, {counted(rounds, 'report')} each",
            "Epsilon": f"{upper(epsilon)} a person",
        },
        quantiles=quantiles or {},
        sections=[_section(own, *one) for one in shown],
        left=len(groups) - len(shown),
        impossible=f"{found.impossible}." if found.impossible.fact else "",
        method=_method(found, epsilon, rounds),
    ).encode("utf-8")
    with written_atomically(target) as file:
        file.write(content)
    return target


def _groups(found: Estimate) -> Iterator[tuple[str, Estimate, Workload]]:
    """Yield the answers about every table, with the names of its attributes."""
    names, every = found.workload.domain.names, np.arange(found.workload.queries)
    margins = list(found.workload.margins())
    for margin in margins:
        part = found.some(every[margin.places]) if len(margins) > 1 else found
        yield " × ".join(names[place] for place in margin.attributes), part, margin.workload


def _section(epsilon: float | None, title: str, found: Estimate, asked: Workload) -> dict[str, object]:
    """Return what a section on one table of answers shows."""
    some = spread(found.workload.queries, ROWS)
    verdict = estimate_usability(found, epsilon, asked)
    words = f"Estimates with {found.intervals}; the numbers are in the table."
    left = (
        f" {len(some)} of {found.workload.queries:,} are in the table."
        if len(some) < found.workload.queries
        else ""
    )
    return {
        "title": title,
        "usable": verdict.usable,
        "verdict": unbroken(str(verdict)),
        "figure": Picture.of(
            plot_estimate(found.some(some), width=WIDTH, shares=counts_users(found.workload)),
            words,
            f"Answers, {found.intervals}.{left}",
        ),
        "tables": [_table(found, some), *_of_those_who_answered(found, some)],
    }


def _table(found: Estimate, some: list[int]) -> Table:
    """Return answers as shares of the people with their number, or as sums where queries do not count people."""
    counts, people = counts_users(found.workload), found.users
    ends = (f"{100 * found.confidence:g}\u00a0% from", "to")
    answers = found.table(some)
    if not counts:
        rows = [(one.label, *map(number_text, (one.answer, one.low, one.high))) for one in answers]
        return Table(("answer", "sum over the people", *ends), rows, caption="Sums over all people")
    rows = [
        (
            one.label,
            *(_percent(number / people) for number in (one.answer, one.low, one.high)),
            f"{one.answer:,.0f}",
        )
        for one in answers
    ]
    return Table(("answer", "share", *ends, "people"), rows, caption="Shares of all people")


def _of_those_who_answered(found: Estimate, some: list[int]) -> list[Table]:
    """Return the shares of the people who answered, where some did not, a table for the same people."""
    groups = by_people(shares_of_people(found, some) or [] if counts_users(found.workload) else [])
    headings = ("answer", "share", f"{100 * found.confidence:g}\u00a0% from", "to")
    return [
        Table(headings, [(one.label, *map(_percent, one[2:5])) for one in same], caption=f"Shares {who}")
        for who, same in groups.items()
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _method(found: Estimate, epsilon: float, rounds: int) -> list[str]:
    """Return how the answers came about in three sentences."""
    sent = "one random report, which reveals" if rounds == 1 else f"{rounds:,} random reports, which reveal"
    return [
        f"Every person sent {sent} at most epsilon {upper(epsilon)} about the answer.",
        f"The answers are estimated from {counted(found.users, 'report')}; they are {found.bias.rstrip('.')}.",
        f"They come with {found.intervals}: as often as that they hold the true answers of these people.",
    ]
