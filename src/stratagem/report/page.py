"""One HTML file that says everything about a strategy and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from stratagem.io.screen import presents
from stratagem.io.table import render
from stratagem.io.target import check_target, written_atomically
from stratagem.math.deadline import granted, within
from stratagem.mechanism.export.saved import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.webpage import shipped
from stratagem.report.calculator import calculator, comparison_section, numbers
from stratagem.report.content import Cover, ReportContent, along, rated
from stratagem.report.drawing import answers, drawing
from stratagem.report.plots import check_matplotlib
from stratagem.report.reproduction import privacy_section, reproduction, threats
from stratagem.report.verdict import facts, verdict
from stratagem.solvers.problem import Average
from stratagem.study.solution import Solution
from stratagem.workloads.serial import to_data

SUFFIXES = (".html", ".htm")
RATED = 0.6
"""Share of the time after which the comparison at the strategy's own budget ends; the rest is for the others."""


def check_page(path: str | Path) -> Path:
    """Return the path of a page that can be written and drawn, before the work.

    Raises:
        ValueError: for another suffix, a folder that does not exist, or without matplotlib.
    """
    target = check_target(path, SUFFIXES)
    check_matplotlib()
    return target


def write_page(path: str | Path, subject: ReportContent) -> Path:
    """Write the report as one HTML file, complete or not at all; the same subject makes the same bytes."""
    target = check_page(path)
    content = page(subject).encode("utf-8")
    with written_atomically(target) as file:
        file.write(content)
    return target


def page(subject: ReportContent) -> str:
    """Return the page; its policy names style and script by their hashes and forbids the network."""
    return render(
        "report/report.html",
        **dressed(_shipped("report.js")),
        verdict=verdict(subject),
        calculator=calculator(subject),
        numbers=numbers(subject),
        answers=answers(subject),
        promise=privacy_section(subject),
        standing=comparison_section(subject),
        drawing=drawing(subject),
        threats=threats(),
        facts=facts(subject),
        reproduction=reproduction(subject),
    )


def dressed(script: str = "", *sheets: str) -> dict[str, object]:
    """Return the style of a page and its script, and the hashes by which the page's policy names them.

    `sheets` are files with what the page has beyond the style of all.
    """
    style = shipped("page.css").decode() + "".join(map(_shipped, ("report.css", *sheets)))
    return {"style": style, "script": script, "hashes": {"style": _hash(style), "script": _hash(script)}}


def _shipped(name: str) -> str:
    return files("stratagem.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the hash of an inline style or script as a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode()


@presents
def report_solution(
    path: str | Path,
    solution: Solution,
    *,
    name: str = "workload",
    others: Iterable[Solution] = (),
    seconds: float | None = None,
    **about: Any,
) -> Path:
    """Write the report of a solution; `others` are solutions of the same problem at other budgets.

    `about` are the fields of `Cover`.

    Raises:
        ValueError: as `check_page` and `Cover`, or for another solution of another problem.
    """
    target, cover = check_page(path), Cover(**about)
    found = {one.epsilon: one for one in others}
    for one in found.values():
        _check_alike(solution, one)
    with within(granted(seconds)):
        line = along(solution, list(found), found.__getitem__) if found else along(solution)
    return write_page(target, ReportContent(solution, name, line, cover=cover))


@presents
def report_saved(
    path: str | Path,
    saved: Mechanism | StoredStrategy,
    *,
    objective: str = Average.kind,
    file: str = "",
    budgets: Iterable[float] | None = None,
    seconds: float | None = None,
    **about: Any,
) -> Path:
    """Write the report of a saved strategy, with the published mechanisms and bounds at its budget and at others.

    `file` is the name of the file that holds it, `about` are the fields of `Cover`.

    Raises:
        ValueError: as `check_page`, `Cover` and `rated`, or for a budget out of range.
    """
    target, cover = check_page(path), Cover(**about)
    with within(granted(seconds)) as time:
        with within(time.until(RATED)):
            solution = rated(saved, objective)
        line = along(solution, budgets)
    content = ReportContent(solution, saved.name, line, saved.bundled, cover, file)
    return write_page(target, content)


def _check_alike(solution: Solution, other: Solution) -> None:
    same = to_data(solution.workload) == to_data(other.workload)
    if not same or solution.objective_kind != other.objective_kind:
        raise ValueError(
            "another solution was given that answers other queries or another objective: give solutions of the "
            "same problem, as st.study.path returns them"
        )
