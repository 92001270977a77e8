"""The calculator of a report: from two of budget, users and error it computes the third."""

from __future__ import annotations

from stratagem.accuracy import ERROR
from stratagem.io.markup import Markup, details, element, joined, table
from stratagem.math.number import users_text
from stratagem.report.content import ReportContent
from stratagem.study.comparison import OPTIMISED
from stratagem.study.comparison_sweep import BOUND

OURS = "this mechanism"
MODES = {"users": "the users needed", "error": "the error reached", "budget": "the ε needed"}
READING = (
    "Markers are computed, lines between them only guide the eye. The error drawn is the root mean square over \
all queries for the least favourable user type; errors half as large need four times the users. "
)


def numbers(subject: ReportContent) -> dict[str, object]:
    """Return the numbers of the calculator: the variance of an answer per user, by mechanism and budget.

    In the mean over the queries and for the least accurate answer, for the least favourable user type. A standard
    error of s, as a share of all users, takes variance/s^2 users.
    """
    line = subject.line.sweep
    mean, single = line.variances(), line.variances(least_accurate=True)
    return {
        "budgets": line.places,
        "asked": line.places.index(subject.solution.epsilon),
        "error": ERROR,
        "lines": [
            {"name": name, "kind": kind, "mean": mean[key], "single": single[key]}
            for key, (name, kind) in _names(subject).items()
        ],
    }


def calculator(subject: ReportContent) -> Markup:
    """Return the controls, the place of the chart, and everything it shows as a table."""
    many = len(subject.line.sweep.places)
    return joined(
        element("noscript", element("p", "The calculator needs JavaScript; the table below does not.")),
        element("form", _modes(), _slider(many, subject), *_fields(), id="choice", hidden=True),
        element("output", id="answer", for_="budget users error", aria_live="polite", hidden=True),
        element(
            "figure", _chart(), element("figcaption", *_caption(subject)), hidden=True, id="over-budgets"
        ),
        element("div", id="found", hidden=True),
        details("All computed numbers", _table(subject), _table(subject, least_accurate=True)),
    )


def _names(subject: ReportContent) -> dict[str, tuple[str, str]]:
    """Return the name and the kind of every line of the sweep, as the page shows them."""
    deltas = {row.mechanism: row for one in subject.line.sweep.comparisons for row in one.rows if row.delta}
    names = {
        key: (f"{key} (δ = {deltas[key].delta:g})" if key in deltas else key, "published")
        for key in subject.line.sweep.variances()
    }
    return names | {OPTIMISED: (OURS, "ours"), BOUND: (BOUND, "bound")}


def _modes() -> Markup:
    options = [
        element(
            "label",
            element("input", type="radio", name="find", value=mode, checked=mode == "users"),
            f" {words}",
        )
        for mode, words in MODES.items()
    ]
    return element("fieldset", element("legend", "Find"), *options)


def _slider(many: int, subject: ReportContent) -> Markup:
    epsilon = subject.solution.epsilon
    place = subject.line.sweep.places.index(epsilon)
    label = element(
        "label", "Privacy budget ε = ", element("span", f"{epsilon:g}", id="budget-shown"), for_="budget"
    )
    limits = {"min": "0", "max": str(many - 1), "step": "1", "value": str(place)}
    slider = element("input", id="budget", type="range", aria_valuetext=f"{epsilon:g}", **limits)
    return element("div", label, slider, class_="field", data_mode="budget")


def _fields() -> list[Markup]:
    return [
        element(
            "div",
            element("label", words, for_=name),
            element("input", id=name, type="number", min=least, max=most, step="any", value=value),
            class_="field",
            data_mode=name,
        )
        for name, words, least, most, value in (
            ("users", "Users", "1", "1e15", "100000"),
            ("error", "Standard error of an answer, % of all users", "0.0001", "1000", f"{100 * ERROR:g}"),
        )
    ]


def _chart() -> Markup:
    return element("div", id="chart", role="img", aria_label="Users needed over ε")


def _caption(subject: ReportContent) -> list[str]:
    missing = sorted(subject.line.left_out.items())
    sentences = [READING]
    if not subject.line.sweep.complete:
        sentences.append("The computation was ended by hand: further budgets are not here. ")
    if None in subject.line.sweep.variances()[OPTIMISED]:
        sentences.append(
            "This mechanism was computed at one ε; at others there are published mechanisms and bounds. "
        )
    return sentences + [f"ε = {epsilon:g} is left out: {why}. " for epsilon, why in missing]


def _table(subject: ReportContent, *, least_accurate: bool = False) -> Markup:
    line = subject.line.sweep
    needed = line.users_needed(least_accurate=least_accurate)
    rows = [
        (name, *("" if value is None else users_text(value) for value in needed[key]))
        for key, (name, _) in _names(subject).items()
    ]
    headings = ("ε =", *(f"{place:g}" for place in line.places))
    which = "on every single answer" if least_accurate else "root mean square over the queries"
    return table(f"Users needed for a standard error of 1 % of all users, {which}", headings, rows)
