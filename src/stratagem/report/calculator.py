"""The calculator of a report, which computes the third of budget, people and error, and the comparison below it."""

from __future__ import annotations

import math
from dataclasses import replace

from stratagem.estimators import ERROR, comparable, goal
from stratagem.io.table import Table
from stratagem.math.number import number_text, unbroken, upper_percent, users_text
from stratagem.report.content import ReportContent
from stratagem.report.drawing import WIDTH, Picture
from stratagem.report.plots.comparison import Measured
from stratagem.report.verdict import gain_sentence, nearness
from stratagem.study.comparison import OPTIMISED, Comparison
from stratagem.study.comparison_sweep import BOUND, needed_texts
from stratagem.study.literature import SCOPE
from stratagem.study.row import Row
from stratagem.study.summary import MINIMUM, OURS, variance_gap
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.question import is_survey

HERE = "this mechanism"
MODES = {"users": "the people needed", "error": "the error reached", "budget": "the ε needed"}
READING = (
    "Markers are computed, lines between them only guide the eye. The error drawn is the root mean square over \
%s if everybody had the hardest value; errors half as large need four times the people. "
)


def numbers(subject: ReportContent) -> dict[str, object]:
    """Return the numbers of the calculator: the variance of an answer per user, by mechanism and budget.

    In the mean over the queries and for the least accurate answer, for the least favourable user type. A standard
    error of s a user, in the units of the queries, takes variance/s^2 users; `scale` times s is what the page shows,
    in per cent of all users for counts.
    """
    line = subject.line.sweep
    mean, single = line.variances(), line.variances(least_accurate=True)
    return {
        "budgets": line.places,
        "asked": line.places.index(subject.solution.epsilon),
        "stops": _stops(subject),
        "error": ERROR,
        "scale": _scale(subject),
        "over": _over(subject),
        "lines": [
            {"name": name, "kind": kind, "mean": mean[key], "single": single[key]}
            for key, (name, kind) in _names(subject).items()
        ],
    }


def calculator(subject: ReportContent) -> dict[str, object]:
    """Return the first values of the controls, the caption of the chart, and everything it shows as tables."""
    epsilon, users = subject.solution.epsilon, subject.cover.users
    stops = _stops(subject)
    return {
        "modes": {mode: words for mode, words in MODES.items() if mode != "budget" or len(stops) > 1},
        "mode": "users" if users is None else "error",
        "epsilon": f"{epsilon:g}",
        "place": stops.index(subject.line.sweep.places.index(epsilon)),
        "last": len(stops) - 1,
        "users": 100_000 if users is None else users,
        "error": f"{_scale(subject) * ERROR:g}",
        "unit": "% of all people" if _scale(subject) > 1 else "a person, in the units of the queries",
        "range": ("0.0001", "1000") if _scale(subject) > 1 else ("1e-9", "1e15"),
        "caption": "".join(_caption(subject)),
        "tables": [_table(subject), _table(subject, least_accurate=True)],
    }


def _scale(subject: ReportContent) -> int:
    """Return 100 where the comparable queries count users, whose errors are in per cent of all users, else 1."""
    return 100 if counts_users(comparable(subject.solution.workload)) else 1


def _over(subject: ReportContent) -> str:
    """Return which queries a mean is over, in words."""
    asked = subject.solution.workload
    chosen = comparable(asked)
    if chosen.queries == asked.queries:
        return "all answers of the survey" if is_survey(asked) else "the queries"
    return f"the {chosen.queries:,} of {asked.queries:,} queries that count people"


def _stops(subject: ReportContent) -> list[int]:
    """Return the places of the budgets at which this mechanism was computed: those that a reader can choose."""
    ours = subject.line.sweep.variances()[OPTIMISED]
    return [k for k, variance in enumerate(ours) if variance is not None]


def _names(subject: ReportContent) -> dict[str, tuple[str, str]]:
    """Return the name and the kind of every line of the sweep, as the page shows them."""
    deltas = {row.mechanism: row for one in subject.line.sweep.comparisons for row in one.rows if row.delta}
    names = {
        key: (f"{key} (δ = {deltas[key].delta:g})" if key in deltas else key, "published")
        for key in subject.line.sweep.variances()
    }
    return names | {OPTIMISED: (HERE, "ours"), BOUND: (MINIMUM, "bound")}


def _caption(subject: ReportContent) -> list[str]:
    missing = sorted(subject.line.left_out.items())
    sentences = [READING % _over(subject)]
    if not subject.line.sweep.complete:
        sentences.append(
            "The computation was ended by hand or by its limit of time: further budgets are not here. "
        )
    if None in subject.line.sweep.variances()[OPTIMISED]:
        sentences.append(
            "This mechanism was computed at one ε; at others there are published mechanisms and bounds. "
        )
    return sentences + [f"ε = {epsilon:g} is left out: {why}. " for epsilon, why in missing]


def _table(subject: ReportContent, *, least_accurate: bool = False) -> Table:
    line = subject.line.sweep
    needed = line.users_needed(least_accurate=least_accurate)
    rows = [(name, *needed_texts(key, needed[key])) for key, (name, _) in _names(subject).items()]
    headings = ("ε =", *(f"{place:g}" for place in line.places))
    which = "on every single answer" if least_accurate else "root mean square over the queries"
    caption = f"People needed for {goal(subject.solution.workload)}, {which}"
    return Table(headings, rows, caption=caption)


HEADINGS = (
    "mechanism",
    "parameters",
    "a report",
    "objective",
    "variance above the proven minimum",
    "people for 1\u00a0%",
    "for every answer",
)

CAPTION = f"Lower bounds: no ε-LDP mechanism with {SCOPE} has a smaller objective"
SHOWN = 8
"""Largest number of mechanisms in the picture."""


def comparison_section(subject: ReportContent) -> dict[str, object]:
    """Return the comparison as a sentence, a picture and a table, and all bounds."""
    comparison = subject.comparison
    rows = [_cells(row, comparison) for row in comparison.rows]
    ours = next((place for place, row in enumerate(comparison.rows) if row.optimised), None)
    ladder = [
        (one.name, number_text(one.value + comparison.bounds.offset), one.meaning)
        for one in sorted(comparison.bounds, key=lambda one: one.name)
    ]
    late = subject.line.sweep.late_sentence
    others = f"At other budgets: {late[0].lower()}{late[1:]}" if late else ""
    return {
        "words": " ".join(filter(None, (_sentence(subject), others))),
        "figure": _picture(comparison) if comparison.bounds.best > 0 else None,
        "bounds": Table(("bound", "value", "what it is"), ladder, 3, caption=CAPTION),
        "mechanisms": Table(HEADINGS, rows, 3, ours, "Every mechanism at its best for these queries"),
    }


def _picture(comparison: Comparison) -> Picture:
    """Draw the best mechanisms, this one among them, under short names; the table states their parameters."""
    measured = Measured.of(comparison)
    quantity, ranked = measured.quantity, [row for _, row in measured.rows]
    rows = ranked[:SHOWN] + [row for row in ranked[SHOWN:] if row.optimised]
    drawn = replace(comparison, rows=tuple(replace(row, parameters="") for row in rows))
    label = "; ".join(f"{row.mechanism} {users_text(comparison.users_for(row.mechanism)[0])}" for row in rows)
    some = f" The {len(rows)} best of {len(comparison.rows)} are drawn." * (len(rows) < len(comparison.rows))
    return Picture.of(
        drawn.plot(width=WIDTH),
        f"People needed: {label}",
        f"{quantity[0].upper()}{quantity[1:]} at the same ε; no ε-LDP mechanism with {SCOPE} lies left of the dashed "
        f"line. “{OURS}” is this one.{some}",
    )


def _cells(row: Row, comparison: Comparison) -> tuple[str, ...]:
    found = comparison.compared[row.mechanism]
    gap = variance_gap(comparison.problem, comparison.bounds, found.objective, found.accuracy)
    return (
        row.mechanism,
        row.parameters,
        row.report,
        number_text(comparison.stated(row)),
        unbroken(upper_percent(gap)) if math.isfinite(gap) else "\N{EN DASH}",
        *map(users_text, comparison.users_for(row.mechanism)),
    )


def _sentence(subject: ReportContent) -> str:
    """Return the sentences on the gain over the best published mechanism and on the gap, and which bound it is."""
    solution = subject.solution
    gain = gain_sentence(solution, None)
    name = solution.bounds.name
    near = nearness(solution)
    which = f"That minimum is the lower bound “{name}” ({solution.bounds[name].meaning})." if near else ""
    return unbroken(" ".join(filter(None, (gain, near, which))))
