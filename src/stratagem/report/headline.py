"""The top of the page: the workload, the accuracy, and the gap to the best unbiased mechanism."""

from __future__ import annotations

import math

from stratagem.io.markup import Markup, element, joined, table
from stratagem.math.number import number_text
from stratagem.report.content import ReportContent
from stratagem.report.wording import BEST, above, at_most, count, counted, odds
from stratagem.solvers import Status
from stratagem.workloads.attribute import Attribute

SHOWN = 12
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
    rows = [(one.name, count(one.size), _values(one)) for one in attributes[:SHOWN]]
    more = len(attributes) - len(rows)
    if more:
        rows.append((f"and {more:,} more", "", ""))
    return table("What is known about a user: the attributes and their values", HEADINGS, rows, 3)


HEADINGS = ("attribute", "values", "what they are")


def _values(attribute: Attribute) -> str:
    unit = f" {attribute.unit}" if attribute.unit else ""
    shown, words = attribute.edges or attribute.labels, " – " if attribute.edges else ", "
    if not shown:
        return f"0 to {count(attribute.size - 1)}{unit}"
    some = shown if len(shown) <= SHOWN else [*shown[: SHOWN - 1], "…", shown[-1]]
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
