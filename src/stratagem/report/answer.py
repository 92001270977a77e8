"""The section on the error of every answer: a picture, and a table of evenly spaced queries."""

from __future__ import annotations

import math

import numpy as np

from stratagem.accuracy import largest_variances, users_needed
from stratagem.catalogue.meaning import SCOPE
from stratagem.io.markup import Markup, element, joined, table
from stratagem.math.number import spread, users_text
from stratagem.report.content import ReportContent
from stratagem.report.picture import WIDTH, figure
from stratagem.report.plots.figure import page
from stratagem.report.plots.query_axis import NAMES
from stratagem.report.plots.query_error import draw_errors, upright
from stratagem.report.wording import count

HEIGHT = 3.0
"""Height of the picture in inches."""
SHOWN = 12
"""Largest number of queries in the table."""
HEADINGS = ("query", "largest deviation per user", "users for 1\u00a0%")


def answers(subject: ReportContent) -> Markup:
    """Return the error of every query, as a picture and, where it can be told by query, as a table."""
    solution = subject.solution
    workload, strategy, prior = solution.workload, solution.strategy, solution.prior
    least = math.sqrt(solution.least_variance / workload.queries)
    with page(None, HEIGHT + NAMES * upright(subject.naming), WIDTH) as drawn:
        draw_errors(drawn, subject.naming, strategy, prior, least)
    mean = math.sqrt(solution.accuracy.average_variance / workload.queries)
    words = (
        f"One user of random type adds {mean:.3g} to the standard deviation of an answer (root mean square over "
        f"the queries), N users √N times as much. No ε-LDP mechanism with {SCOPE} gets below {least:.3g}."
    )
    shown = figure(drawn, f"Standard deviation of every answer. {words}", words)
    return joined(element("div", shown), element("div", _numbers(subject)))


def _numbers(subject: ReportContent) -> Markup:
    solution = subject.solution
    try:
        variances = largest_variances(solution.workload, solution.strategy, solution.prior)
    except ValueError as error:
        return element("p", f"Query by query they are not told: {error}.")
    rows = [
        (subject.naming.label(i), f"{math.sqrt(variances[i]):.4g}", users_text(users_needed(variances[i])))
        for i in spread(len(variances), SHOWN)
    ]
    worst = int(np.argmax(variances))
    caption = (
        f"{len(rows)} of {count(len(variances))} queries, evenly spread, for users of the type that is worst for each; "
        f"the least accurate, {subject.naming.label(worst)}, needs {users_text(users_needed(variances[worst]))} users"
    )
    return table(caption, HEADINGS, rows)
