"""The section on the error of every answer: a picture, and a table of evenly spaced queries."""

from __future__ import annotations

import math

import numpy as np

from stratagem.accuracy import ERROR, comparable, goal, largest_variances, users_needed
from stratagem.catalogue.bibliography import SCOPE
from stratagem.io.table import Table
from stratagem.math.number import spread, users_text
from stratagem.math.on_demand import WHOLE
from stratagem.report.content import ReportContent
from stratagem.report.drawing import WIDTH, Picture
from stratagem.report.plots.figure import page
from stratagem.report.plots.query_error import NAMES, draw_errors, exact, upright
from stratagem.report.verdict import standard_error
from stratagem.report.wording import count, counted
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
    solution = subject.solution
    workload, strategy, prior = solution.workload, solution.strategy, solution.prior
    least = math.sqrt(solution.least_variance / workload.queries)
    with page(None, HEIGHT + NAMES * upright(subject.naming), WIDTH) as drawn:
        left_out = draw_errors(drawn, subject.naming, strategy, prior, least)
    mean = math.sqrt(solution.accuracy.average_variance / workload.queries)
    words = (
        f"One user of random type adds {mean:.3g} to the standard deviation of an answer (root mean square over "
        "the queries), N users √N times as much."
    )
    if least > 0:
        words += f" No ε-LDP mechanism with {SCOPE} gets below {least:.3g}."
    if left_out:
        words += " Answers without any error, such as the number of all users, are not drawn."
    return Picture.of(drawn, f"Standard deviation of every answer. {words}", words)


def _table(subject: ReportContent) -> Table:
    solution, users = subject.solution, subject.cover.users
    workload = solution.workload
    counts = comparable(workload) is workload and counts_users(workload)
    shown = places = spread(workload.queries, LISTED)
    variances = largest_variances(workload, solution.strategy, solution.prior)
    if len(variances) > WHOLE:
        variances, places = variances[shown], list(range(len(shown)))
    variances = np.where(exact(variances), 0.0, variances)

    def error(variance: float) -> str:
        if variance == 0:
            return "0 (exact)"
        return f"{math.sqrt(variance):.4g}" if users is None else standard_error(subject, variance, counts)

    rows = [
        (subject.naming.label(query), error(variance), users_text(users_needed(variance)))
        for query, variance in zip(shown, variances[places].tolist(), strict=True)
    ]
    caption = (
        f"{len(rows)} of {count(workload.queries)} queries, evenly spread, for users of the type that is worst for "
        f"each; the least accurate, {_least_accurate(subject, variances)}"
    )
    second = "largest deviation per user" if users is None else f"error with {users_text(users)} users"
    error_text = f"{100 * ERROR:g}\u00a0%" if counts else f"{ERROR:g} a user"
    return Table(("query", second, f"users for {error_text}"), rows, caption=caption)


def _least_accurate(subject: ReportContent, variances: np.ndarray) -> str:
    """Return which of the comparable queries is the least accurate, by name where it is one of all, and its users."""
    workload = subject.solution.workload
    if comparable(workload) is workload and len(variances) == workload.queries:
        worst = int(np.argmax(variances))
        return f"{subject.naming.label(worst)}, needs {counted(users_needed(variances[worst]), 'user')}"
    single = subject.solution.largest_comparable
    above = "at most " if comparable(workload) is workload else ""  # as `largest_by_length`
    users = "not known" if single is None else f"{above}{counted(users_needed(single), 'user')}"
    return f"for {goal(workload)}, needs {users}"
