"""The sections with a picture: what a user sends, with its reports or patterns, and the error of every answer."""

from __future__ import annotations

import io
import math
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from stratagem.estimators import ERROR, comparable, goal, users_needed
from stratagem.estimators.accuracy import ranges
from stratagem.io.table import Table
from stratagem.math.number import count, odds, percent, spread, users_text
from stratagem.math.vector import WHOLE
from stratagem.report.content import ReportContent
from stratagem.report.plots.figure import DATES, page, styled
from stratagem.report.plots.query_error import NAMES, draw_errors, exact, upright
from stratagem.report.plots.strategy import draw_strategy
from stratagem.report.verdict import standard_error, values_text
from stratagem.strategies import Strategy, SurveyStrategy, TranslationStrategy
from stratagem.study.literature import SCOPE
from stratagem.workloads import Workload
from stratagem.workloads.centring import estimated
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.question import LISTED, is_survey

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
INK = {
    "#000000": "ink",
    "#595959": "quiet",
    "#c8c8c8": "pale",
    "#d55e00": "ours",
    "#0072b2": "best",
    "#ffffff": "card",
}
"""Custom properties of the page that replace the colours of the figures, by colour."""
WIDTH = 2.6
"""Width in inches that a telephone shows at full letter size."""


class Picture(NamedTuple):
    """A figure on the page."""

    svg: str
    label: str
    """What it shows, for those who do not see it."""
    caption: str
    wide: str = ""
    """The same on a wide page; empty where it is the same picture."""

    @staticmethod
    def of(drawn: Figure, label: str, caption: str) -> Picture:
        """Return a matplotlib figure with its text alternative and its caption."""
        return Picture(inlined(drawn), label, caption)


def inlined(drawn: Figure) -> str:
    """Return a matplotlib figure as SVG for a page that forbids style attributes and loads nothing.

    Styles become presentation attributes, the palette becomes custom properties, and names are this figure's
    own. Colours outside the palette stay as they are, the pixels of a heat map among them.
    """
    page = io.StringIO()
    with styled():
        drawn.savefig(page, format="svg", transparent=True, metadata=DATES[".svg"])
    source = page.getvalue()
    root = ElementTree.fromstring(source)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{SVG}style", f"{SVG}metadata"):
                parent.remove(child)
    mark = f"f{zlib.crc32(source.encode()):08x}-"
    for node in root.iter():
        node.tag = node.tag.removeprefix(SVG)
        _restyle(node)
        _rename(node, mark)
    for name in ("width", "height", "version"):
        root.attrib.pop(name)
    root.attrib |= {"aria-hidden": "true", "stroke-linejoin": "round"}
    return ElementTree.tostring(root, encoding="unicode")


def _restyle(node: ElementTree.Element) -> None:
    """Replace the style of an SVG node by attributes and its colours by custom properties; drop its fonts."""
    rules = [rule.partition(":") for rule in node.attrib.pop("style", "").split(";") if rule.strip()]
    node.attrib |= {key.strip(): value.strip() for key, _, value in rules if key.strip() != "font-family"}
    if node.tag == "text":
        node.attrib.setdefault("fill", "#000000")
    for key in ("fill", "stroke"):
        if (colour := node.get(key, "").lower()) in INK:
            node.set(key, f"var(--{INK[colour]}{'-text' if node.tag == 'text' else ''})")


def _rename(node: ElementTree.Element, mark: str) -> None:
    """Prefix every identifier in the SVG and every reference to one; identifiers of groups are removed."""
    if node.tag == "g":
        node.attrib.pop("id", None)
    elif "id" in node.attrib:
        node.set("id", mark + node.attrib["id"])
    if (target := node.attrib.pop(LINK, None)) is not None:
        node.set("href", target if target.startswith("data:") else f"#{mark}{target[1:]}")
    for key, value in node.attrib.items():
        if value.startswith("url(#"):
            node.set(key, f"url(#{mark}{value[5:]}")


HEIGHT = 3.2
"""Height of the picture in inches."""
SHOWN = 20
"""Largest number of reports or patterns in the table."""


def drawing(subject: ReportContent) -> dict[str, object]:
    """Return the picture of the mechanism with how to read it, the attributes, and its likeliest parts."""
    strategy, times = subject.solution.strategy, odds(subject.solution.epsilon)
    with page(None, HEIGHT, WIDTH) as drawn:
        draw_strategy(drawn, strategy, subject.attributes)
    label, reading = _reading(strategy, times)
    shown = Picture.of(drawn, f"The mechanism: {label}. The likeliest of them are in a table.", reading)
    return {"figure": shown, "attributes": _attributes(subject), "parts": _parts(strategy, subject)}


def _reading(strategy: Any, times: str) -> tuple[str, str]:
    """Return what the picture shows, and how to read it."""
    if (moved := strategy.translated) is not None:
        return (
            f"{len(moved.patterns):,} patterns, which make {count(moved.outputs)} reports",
            (
                "Every pattern stands for many reports: it can be moved to any place, and to any attributes of its "
                f"kind. A report is {times} times as likely for a person whose values lie in its dark cells as for "
                "another."
            ),
        )
    if strategy.parted:
        return (
            f"{len(strategy.parts):,} parts, which make {count(strategy.outputs)} reports",
            (
                "Every device draws one part of the questions, whatever the answers are, and its report is about that "
                f"part alone: at most {times} times as likely for one answer to it as for another."
            ),
        )
    return (
        f"{count(strategy.outputs)} reports down, {count(strategy.domain_size)} values across",
        (
            "A row is a report, and its height how likely it is. It is most likely for the values that are dark, at "
            f"most {times} times as likely as for those that are white. One report says no more than that."
        ),
    )


def _attributes(subject: ReportContent) -> Table:
    rows = [(one.name, count(one.size), values_text(one)) for one in subject.attributes[:LISTED]]
    more = len(subject.attributes) - len(rows)
    if more:
        rows.append((f"and {more:,} more", "", ""))
    headings = ("attribute", "values", "what they are")
    return Table(headings, rows, 3, caption="What is known about a person: the attributes and their values")


def _parts(strategy: Any, subject: ReportContent) -> Table:
    """Return the likeliest reports, patterns, or parts of the questions, as a table."""
    if strategy.translated is not None:
        return _patterns_table(strategy.translated)
    return _questions_table(strategy, subject) if strategy.parted else _reports_table(strategy.listed())


def _reports_table(table: Strategy) -> Table:
    likely = table.row_sums / table.domain_size
    chosen = np.argsort(-likely, kind="stable")[:SHOWN]
    picked = np.zeros((len(chosen), table.outputs))
    picked[np.arange(len(chosen)), chosen] = 1.0
    Q = table.backward(picked.T).T
    headings = (
        "report",
        "probability",
        "for the likeliest value",
        "for the least likely",
        "values above the middle",
    )
    rows = [
        (
            f"{y}",
            percent(float(likely[y])),
            percent(float(row.max())),
            percent(float(row.min())),
            count(int((row > (row.max() + row.min()) / 2).sum())),
        )
        for y, row in zip(chosen, Q, strict=True)
    ]
    return Table(headings, rows, caption=f"Reports, {_some(len(rows), table.outputs)}")


def _patterns_table(strategy: TranslationStrategy) -> Table:
    headings = ("pattern", "probability", "cells", "of them dark", "placements")
    rows = [
        (f"{b + 1}", percent(float(strategy.weights[b])), *_cells(strategy, int(b)))
        for b in np.argsort(-strategy.weights, kind="stable")[:SHOWN]
    ]
    return Table(headings, rows, caption=f"Patterns, {_some(len(rows), len(strategy.patterns))}")


def _questions_table(strategy: SurveyStrategy, subject: ReportContent) -> Table:
    headings = ("part", "probability", "values", "reports")
    rows = [
        (
            ", ".join(subject.attributes[i].name for i in one.attributes),
            percent(one.share),
            count(one.strategy.domain_size),
            count(one.strategy.outputs) if one.strategy.outputs else "too many to count",
        )
        for one in sorted(strategy.parts, key=lambda one: -one.share)[:SHOWN]
    ]
    return Table(headings, rows, caption=f"Parts, {_some(len(rows), len(strategy.parts))}")


def _cells(strategy: TranslationStrategy, b: int) -> tuple[str, str, str]:
    pattern = strategy.patterns[b]
    sizes = " × ".join(map(str, pattern.sizes))
    return f"{count(pattern.cells)} ({sizes})", count(pattern.size), count(strategy.placements[b])


def _some(shown: int, many: int) -> str:
    return f"the {shown} likeliest of {count(many)}" if shown < many else "the likeliest first"


ERRORS_HEIGHT = 3.0
"""Height of the picture in inches."""
QUERIES = 12
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
    sizes = _sizes(workload)
    bound = solution.least_variance if plain and sizes is None else 0.0  # it is on weighted queries
    least = math.sqrt(bound / estimated(workload))
    people, counts = _people(subject), counts_users(comparable(workload))
    scale = (100 if counts else 1) / math.sqrt(people)
    label = "standard error, % of the people" if counts else "standard error a person"
    label += RANGES * (sizes is not None)
    each = scale if sizes is None else np.divide(scale, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    with page(None, ERRORS_HEIGHT + NAMES * upright(subject.told), WIDTH) as drawn:
        left_out = draw_errors(
            drawn, subject.told, solution.estimator, least or None, scale=each, label=label
        )
    accuracy = solution.accuracy if plain else solution.estimator.accuracy(workload)
    mean = math.sqrt(accuracy.average_variance / estimated(workload))
    if sizes is not None:
        mean = float(
            np.sqrt(np.square(each / scale) @ solution.estimator.variances(workload) / estimated(workload))
        )
    some = "under the prior" if solution.prior is not None else "if all values are equally frequent"
    typical = _text(mean, scale, counts) + RANGES * (sizes is not None)
    survey = is_survey(solution.workload)
    words = f"With {_who(people)} the root mean square of these standard errors is {typical}, {some}."
    if survey:
        words += " The verdict states the error of each question by itself, whatever the values are."
    elif least > 0:
        words += f" No ε-LDP mechanism with {SCOPE} gets below {_text(least, scale, counts)}."
    if left_out:
        words += " Answers without any error, such as the number of all people, are not drawn."
    return Picture.of(drawn, f"Standard error of every answer. {words}", words)


RANGES = ", of sums and means % of their range"
"""What the errors of answers in other units than people are shares of."""


def _sizes(workload: Workload) -> np.ndarray | None:
    """Return the ranges of the answers (p,) where some count people and others do not, else None."""
    mixed = comparable(workload) is not workload and counts_users(comparable(workload))
    return ranges(workload) if mixed and not counts_users(workload) and workload.queries <= WHOLE else None


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
    shown = places = spread(workload.queries, QUERIES)
    variances, sizes = solution.estimator.largest(workload), _sizes(workload)
    if len(variances) > WHOLE:
        variances, places = variances[shown], list(range(len(shown)))
    variances = np.where(exact(variances), 0.0, variances)
    counts |= sizes is not None
    sizes = np.ones(len(variances)) if sizes is None else np.where(sizes > 0, sizes, 1.0)

    def error(variance: float, size: float) -> str:
        own = standard_error(variance, users, counts=False) if size != 1 else ""
        share = standard_error(variance / size**2, users, counts)
        return f"{own}, {share} of its range" if own else share

    rows = [
        (subject.told.label(query), error(variance, size), users_text(users_needed(variance / size**2)))
        for query, variance, size in zip(
            shown, variances[places].tolist(), sizes[places].tolist(), strict=True
        )
        if variance > 0 or not variances.any()  # what is exact counts everybody
    ]
    caption = (
        f"{len(rows)} of {count(workload.queries)} answers, evenly spread, if everybody had the hardest value "
        f"of each; the least accurate, {_least_accurate(subject, variances)}"
    )
    if is_survey(solution.workload):
        caption += (
            ". The typical error of a question, in the verdict, is the root mean square over its answers if everybody "
            "had one value, so that it is smaller"
        )
    error_text = f"{100 * ERROR:g}\u00a0%" if counts else f"{ERROR:g} a person"
    headings = ("answer", f"error with {_who(users)}", f"people for {error_text}")
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
