"""The section that compares the mechanism with the published ones and the bounds."""

from __future__ import annotations

from dataclasses import replace

from stratagem.catalogue.bibliography import MEANINGS, SCOPE
from stratagem.io.table import Table
from stratagem.math.number import number_text, users_text
from stratagem.report.content import ReportContent
from stratagem.report.drawing import WIDTH, Picture
from stratagem.report.wording import BEST, at_most, factor, percent
from stratagem.study.comparison import OPTIMISED, Comparison, Row

HEADINGS = (
    "mechanism",
    "parameters",
    "a report",
    "objective",
    "above the bound",
    "users for 1\u00a0%",
    "for every answer",
)

CAPTION = f"Lower bounds: no ε-LDP mechanism with {SCOPE} has a smaller objective"
SHOWN = 12
"""Largest number of mechanisms in the picture."""


def comparison_section(subject: ReportContent) -> dict[str, object]:
    """Return the comparison as a sentence, a picture and a table, and all bounds."""
    comparison = subject.comparison
    rows = [_cells(row, comparison) for row in comparison.rows]
    ours = next((place for place, row in enumerate(comparison.rows) if row.optimised), None)
    ladder = [
        (name, number_text(value), MEANINGS[name].title)
        for name, value in sorted(comparison.bounds.known().items())
    ]
    return {
        "words": " ".join(filter(None, (_sentence(subject), subject.line.sweep.late_sentence))),
        "figure": _picture(comparison) if comparison.bounds.best > 0 else None,
        "bounds": Table(("bound", "value", "what it is"), ladder, 3, caption=CAPTION),
        "mechanisms": Table(HEADINGS, rows, 3, ours, "Every mechanism at its best for these queries"),
    }


def _picture(comparison: Comparison) -> Picture:
    """Draw the best mechanisms, this one among them, under short names; the table states their parameters."""
    rows = comparison.rows[:SHOWN]
    rows += tuple(row for row in comparison.rows[SHOWN:] if row.optimised)
    label = "; ".join(f"{row.mechanism} {factor(1 + comparison.over(row))} times" for row in rows)
    some = (
        ""
        if len(rows) == len(comparison.rows)
        else f" The {len(rows)} best of {len(comparison.rows)} are drawn."
    )
    return Picture.of(
        replace(comparison, rows=tuple(replace(row, parameters="") for row in rows)).plot(width=WIDTH),
        f"Objectives over the lower bound: {label}",
        f"Objectives at the same ε; no ε-LDP mechanism with {SCOPE} lies left of the dashed line. "
        f"“{OPTIMISED}” is this one.{some}",
    )


def _cells(row: Row, comparison: Comparison) -> tuple[str, ...]:
    return (
        row.mechanism,
        row.parameters,
        row.report,
        number_text(comparison.stated(row)),
        percent(comparison.over(row)),
        *map(users_text, comparison.users_for(row.mechanism)),
    )


def _sentence(subject: ReportContent) -> str:
    """Return the sentence on the gain over the best published mechanism and on the gap to the bound."""
    solution, published = subject.solution, subject.solution.baselines
    name = solution.bounds.name
    left = (
        f"The objective of this one is {at_most(solution.gap)} above that of the best possible unbiased mechanism, "
        f"by the lower bound “{name}” ({MEANINGS[name].title})."
    )
    if not published:
        return f"Published mechanisms were not set up on a domain of this size. {left}"
    best = published[0]
    ahead = best.objective / solution.objective - 1 if solution.objective > 0 else 0.0
    if abs(ahead) <= BEST:
        return f"It is as good as the best published mechanism for these queries, {best}. {left}"
    way = "larger" if ahead > 0 else "smaller"
    apart = f"{percent(abs(ahead))} {way}"
    return f"The best published mechanism for these queries, {best}, has an objective {apart}. {left}"
