"""One HTML file that says everything about a strategy and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template

from stratagem.io.markup import Markup, island, text
from stratagem.io.target import check_target, written_atomically
from stratagem.mechanism.webpage import shipped
from stratagem.report.answer import answers
from stratagem.report.calculator import calculator, numbers
from stratagem.report.comparison_section import comparison_section
from stratagem.report.content import ReportContent
from stratagem.report.drawing import drawing
from stratagem.report.headline import domain, summary, title
from stratagem.report.plots import check_matplotlib
from stratagem.report.privacy_section import privacy_section, threats
from stratagem.report.reproduction import reproduction

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
