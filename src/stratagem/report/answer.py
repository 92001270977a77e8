"""The section on the error of every answer: a picture, and a table of evenly spaced queries."""

from __future__ import annotations

import math

import numpy as np

from stratagem.accuracy import largest_variances, users_needed
from stratagem.catalogue.bibliography import SCOPE
from stratagem.io.markup import Markup, element, joined, table
from stratagem.math.number import number_text, spread, users_text
from stratagem.report.content import ReportContent
from stratagem.report.drawing import WIDTH, figure
from stratagem.report.plots.figure import page
from stratagem.report.plots.query_error import NAMES, draw_errors, upright
from stratagem.report.wording import BEST, above, at_most, count, counted, odds
from stratagem.solvers import Status
from stratagem.workloads.domain import Attribute

LISTED_VALUES = 12
"""Largest number of attributes, and of values of one attribute, that are written out."""


def title(subject: ReportContent) -> str:
    """Return the page's title: what is asked and how close to the best possible unbiased mechanism it is."""
    gap = subject.solution.gap
    if not math.isfinite(gap):
        return f"{subject.name} at ε = {subject.solution.epsilon:g}"
    close = "" if gap < BEST else f"within {above(gap)} of "
    return f"{subject.name} at ε = {subject.solution.epsilon:g}: {close}the best possible unbiased mechanism"


def summary(subject: ReportContent) -> Markup:
    """Return the first paragraphs of the page, which summarise the result."""
    solution = subject.solution
    types = counted(solution.workload.domain_size, "user type")
    asked = (
        f"{counted(solution.workload.queries, 'query')} over {types}. "
        "Every user sends one randomised report, and no report is more than "
        f"{odds(solution.epsilon)} times as likely for one user type as for another."
    )
    found = f"{solution.users_sentence()}."
    return joined(element("p", asked, class_="lede"), element("p", found, class_="lede"), _facts(subject))


def domain(subject: ReportContent) -> Markup:
    """Return the table of attributes."""
    attributes = subject.attributes
    rows = [(one.name, count(one.size), _values(one)) for one in attributes[:LISTED_VALUES]]
    more = len(attributes) - len(rows)
    if more:
        rows.append((f"and {more:,} more", "", ""))
    return table("What is known about a user: the attributes and their values", ATTRIBUTE_HEADINGS, rows, 3)


ATTRIBUTE_HEADINGS = ("attribute", "values", "what they are")


def _values(attribute: Attribute) -> str:
    unit = f" {attribute.unit}" if attribute.unit else ""
    shown, words = attribute.edges or attribute.labels, " – " if attribute.edges else ", "
    if not shown:
        return f"0 to {count(attribute.size - 1)}{unit}"
    some = shown if len(shown) <= LISTED_VALUES else [*shown[: LISTED_VALUES - 1], "…", shown[-1]]
    return words.join(some) + unit


def _facts(subject: ReportContent) -> Markup:
    solution = subject.solution
    per_type = " per user type" if solution.per_type else ""
    facts = {
        "Budget ε": f"{solution.epsilon:g} asked for, {solution.strategy.epsilon:.10g} measured",
        "Reports": f"{count(solution.strategy.outputs)} possible, one a user",
        f"Objective ({solution.objective_kind})": f"{number_text(solution.objective)}{per_type}",
        "Lower bound": f"{number_text(solution.lower_bound)}{per_type} ({solution.bounds.name})",
        "Above the bound": at_most(solution.gap),
    }
    if solution.interrupted:
        facts["Search"] = "interrupted: the promise and the numbers hold, a longer search may find better"
    if solution.status in (Status.SAVED, Status.SAVED_INTERRUPTED):
        facts["Read from"] = subject.origin.file or "a bundle"
    else:
        facts["Found by"] = f"{solution.solver}: {solution.reason}"
    cells = [
        element("div", element("dt", name), element("dd", value), class_="fact")
        for name, value in facts.items()
    ]
    return element("dl", *cells, class_="facts")


HEIGHT = 3.0
"""Height of the picture in inches."""
LISTED_QUERIES = 12
"""Largest number of queries in the table."""
QUERY_HEADINGS = ("query", "largest deviation per user", "users for 1\u00a0%")


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
        for i in spread(len(variances), LISTED_QUERIES)
    ]
    worst = int(np.argmax(variances))
    caption = (
        f"{len(rows)} of {count(len(variances))} queries, evenly spread, for users of the type that is worst for each; "
        f"the least accurate, {subject.naming.label(worst)}, needs {users_text(users_needed(variances[worst]))} users"
    )
    return table(caption, QUERY_HEADINGS, rows)
