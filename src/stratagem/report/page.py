"""One HTML file that says everything about a strategy and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from string import Template

from stratagem.io.markup import Markup, island, text
from stratagem.io.presentation import presents
from stratagem.io.target import check_target, written_atomically
from stratagem.mechanism.export.strategy_file import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.webpage import shipped
from stratagem.problem import Average
from stratagem.report.answer import answers, domain, summary, title
from stratagem.report.calculator import calculator, numbers
from stratagem.report.comparison_section import comparison_section
from stratagem.report.content import Provenance, ReportContent, along, rated
from stratagem.report.drawing import drawing
from stratagem.report.plots import check_matplotlib
from stratagem.report.reproduction import privacy_section, reproduction, threats
from stratagem.study.solution import Solution
from stratagem.workloads.serial import to_data

SUFFIXES = (".html", ".htm")


def check_page(path: str | Path) -> Path:
    """Return the path of a page that can be written and drawn, before the work.

    Raises:
        ValueError: for another suffix, a folder that does not exist, or without matplotlib.
    """
    target = check_target(path, SUFFIXES)
    check_matplotlib()
    return target


def write_page(path: str | Path, subject: ReportContent) -> Path:
    """Write the report as one HTML file, complete or not at all; the same subject makes the same bytes.

    Raises:
        ValueError: as `check_page`.
    """
    target = check_page(path)
    content = page(subject).encode("utf-8")
    with written_atomically(target) as file:
        file.write(content)
    return target


def page(subject: ReportContent) -> str:
    """Return the page; its policy names style and script by their hashes and forbids the network."""
    style, script = Markup(shipped("page.css").decode() + _shipped("report.css")), _shipped("report.js")
    return Template(_shipped("report.html")).substitute(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        title=text(title(subject)),
        summary=summary(subject),
        domain=domain(subject),
        calculator=calculator(subject),
        numbers=island(numbers(subject)),
        drawing=drawing(subject),
        answers=answers(subject),
        standing=comparison_section(subject),
        promise=privacy_section(subject),
        threats=threats(),
        reproduction=reproduction(subject),
    )


def _shipped(name: str) -> Markup:
    return Markup(files("stratagem.report").joinpath(name).read_text(encoding="utf-8"))


def _hash(content: str) -> str:
    """Return the hash of an inline style or script as a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode()


@presents
def report_solution(
    path: str | Path, solution: Solution, *, name: str = "workload", others: Iterable[Solution] = ()
) -> Path:
    """Write the report of a solution; `others` are solutions of the same problem at other budgets.

    Raises:
        ValueError: as `check_page`, or for another solution of another problem.
    """
    target = check_page(path)
    found = {one.epsilon: one for one in others}
    for one in found.values():
        _check_alike(solution, one)
    line = along(solution, list(found), found.__getitem__) if found else along(solution)
    return write_page(target, ReportContent(solution, name, line, Provenance()))


@presents
def report_saved(
    path: str | Path,
    saved: Mechanism | StoredStrategy,
    *,
    objective: str = Average.kind,
    origin: Provenance | None = None,
    budgets: Iterable[float] | None = None,
) -> Path:
    """Write the report of a saved strategy, with the published mechanisms and bounds at its budget and at others.

    Raises:
        ValueError: as `check_page` and `rated`, or for a budget out of range.
    """
    target, solution = check_page(path), rated(saved, objective)
    mechanism = saved if isinstance(saved, Mechanism) else None
    line = along(solution, budgets)
    return write_page(target, ReportContent(solution, saved.name, line, origin or Provenance(), mechanism))


def _check_alike(solution: Solution, other: Solution) -> None:
    same = to_data(solution.workload) == to_data(other.workload)
    if not same or solution.objective_kind != other.objective_kind:
        raise ValueError(
            "another solution was given that answers other queries or another objective: give solutions of the "
            "same problem, as st.path returns them"
        )
