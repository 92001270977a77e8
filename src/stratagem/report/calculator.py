"""The calculator of a report: from two of budget, users and error it computes the third."""

from __future__ import annotations

from stratagem.accuracy import ERROR, comparable, goal
from stratagem.io.table import Table
from stratagem.report.content import ReportContent
from stratagem.study.comparison import OPTIMISED
from stratagem.study.comparison_sweep import BOUND, SILENCE, SILENT, needed_texts
from stratagem.workloads.explicit import counts_users

OURS = "this mechanism"
MODES = {"users": "the users needed", "error": "the error reached", "budget": "the ε needed"}
READING = (
    "Markers are computed, lines between them only guide the eye. The error drawn is the root mean square over \
%s for the least favourable user type; errors half as large need four times the users. "
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
        "modes": MODES,
        "mode": "users" if users is None else "error",
        "epsilon": f"{epsilon:g}",
        "place": stops.index(subject.line.sweep.places.index(epsilon)),
        "last": len(stops) - 1,
        "users": 100_000 if users is None else users,
        "error": f"{_scale(subject) * ERROR:g}",
        "unit": "% of all users" if _scale(subject) > 1 else "a user, in the units of the queries",
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
        return "the queries"
    return f"the {chosen.queries:,} of {asked.queries:,} queries that count users"


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
    return names | {OPTIMISED: (OURS, "ours"), BOUND: (BOUND, "bound")}


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
    note = f" ({SILENCE})" if not least_accurate and SILENT in rows[-1] else ""
    caption = f"Users needed for {goal(subject.solution.workload)}, {which}{note}"
    return Table(headings, rows, caption=caption)
