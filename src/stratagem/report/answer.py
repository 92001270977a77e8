"""The section on the error of every answer: a picture, and a table of evenly spaced queries."""

from __future__ import annotations

import math

import numpy as np

from stratagem.estimators import ERROR, comparable, goal, users_needed
from stratagem.io.table import Table
from stratagem.math.number import spread, users_text
from stratagem.math.on_demand import WHOLE
from stratagem.report.content import ReportContent
from stratagem.report.drawing import WIDTH, Picture
from stratagem.report.plots.figure import page
from stratagem.report.plots.query_error import NAMES, draw_errors, exact, upright
from stratagem.report.verdict import standard_error
from stratagem.report.wording import count
from stratagem.workloads.bibliography import SCOPE
from stratagem.workloads.explicit import counts_users

HEIGHT = 3.0
"""Height of the picture in inches."""
LISTED = 12
"""Largest number of queries in the table."""


def answers(subject: ReportContent) -> dict[str, object]:
    """Return the error of every query, as a picture and, where it can be told by query, as a table."""
    try:
        table, refused = _table(subject), ""
    except ValueError as error:
        table, refused = None, str(error)
    return {"figure": _picture(subject), "table": table, "refused": refused}


def _picture(subject: ReportContent) -> Picture:
    solution, workload, plain = subject.solution, subject.told.workload, subject.told is subject.naming
    bound = solution.least_variance if plain else 0.0  # it is on weighted queries
    least = math.sqrt(bound / workload.queries)
    people, counts = _people(subject), counts_users(comparable(workload))
    scale = (100 if counts else 1) / math.sqrt(people)
    label = "standard error, % of the people" if counts else "standard error a person"
    with page(None, HEIGHT + NAMES * upright(subject.told), WIDTH) as drawn:
        left_out = draw_errors(
            drawn, subject.told, solution.estimator, least or None, scale=scale, label=label
        )
    accuracy = solution.accuracy if plain else solution.estimator.accuracy(workload)
    mean = math.sqrt(accuracy.average_variance / workload.queries)
    some = "under the prior" if solution.prior is not None else "if all values are equally frequent"
    typical = _text(mean, scale, counts)
    words = f"With {_who(people)} the root mean square of these standard errors is {typical}, {some}."
    if least > 0:
        words += f" No ε-LDP mechanism with {SCOPE} gets below {_text(least, scale, counts)}."
    if left_out:
        words += " Answers without any error, such as the number of all people, are not drawn."
    return Picture.of(drawn, f"Standard error of every answer. {words}", words)


def _people(subject: ReportContent) -> int:
    """Return how many people will answer; where that is not known, how many are to be asked."""
    return subject.cover.users or subject.solution.users_for().root_mean_square


def _who(people: int) -> str:
    return "1 person" if people == 1 else f"{users_text(people)} people"


def _text(error: float, scale: float, counts: bool) -> str:
    return f"{scale * error:.3g}{chr(160)}% of the people" if counts else f"{scale * error:.3g} a person"


def _table(subject: ReportContent) -> Table:
    solution, users = subject.solution, _people(subject)
    workload = subject.told.workload
    counts = comparable(workload) is workload and counts_users(workload)
    shown = places = spread(workload.queries, LISTED)
    variances = solution.estimator.largest(workload)
    if len(variances) > WHOLE:
        variances, places = variances[shown], list(range(len(shown)))
    variances = np.where(exact(variances), 0.0, variances)

    def error(variance: float) -> str:
        if variance == 0:
            return "0 (exact)"
        return standard_error(variance, users, counts)

    rows = [
        (subject.told.label(query), error(variance), users_text(users_needed(variance)))
        for query, variance in zip(shown, variances[places].tolist(), strict=True)
    ]
    caption = (
        f"{len(rows)} of {count(workload.queries)} queries, evenly spread, if everybody had the hardest value "
        f"of each; the least accurate, {_least_accurate(subject, variances)}"
    )
    error_text = f"{100 * ERROR:g}\u00a0%" if counts else f"{ERROR:g} a person"
    headings = ("query", f"error with {_who(users)}", f"people for {error_text}")
    return Table(headings, rows, caption=caption)


def _least_accurate(subject: ReportContent, variances: np.ndarray) -> str:
    """Return which of the comparable queries is the least accurate, by name where it is one of all, and its people."""
    workload = subject.told.workload
    if comparable(workload) is workload and len(variances) == workload.queries:
        worst = int(np.argmax(variances))
        return f"{subject.told.label(worst)}, needs {_who(users_needed(variances[worst]))}"
    single = subject.solution.largest_comparable
    above = "at most " if comparable(workload) is workload else ""  # as `largest_by_length`
    users = "not known" if single is None else f"{above}{_who(users_needed(single))}"
    return f"for {goal(workload)}, needs {users}"
