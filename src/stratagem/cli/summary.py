"""The command `summary`: one HTML page on a workload's best strategy, or on a saved one."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stratagem.cli.command import chosen, options
from stratagem.cli.interruption import note, note_incomplete, progress
from stratagem.cli.optimise import marked
from stratagem.cli.option import FORCE, WORKLOAD_EPSILON, check_free, stated_words
from stratagem.cli.output import write
from stratagem.cli.request import AskedOptions, Request, is_saved, read_budgets, requested
from stratagem.math.deadline import deadline, within

if TYPE_CHECKING:
    from stratagem.report.content import Cover
    from stratagem.study.solution import Solution

FIRST = 0.6
"""Share of the time after which the search for the strategy ends; the rest is for the other budgets."""
NEAR = 0.02
"""Gap within which strategies for the other budgets are sought."""


SUMMARY = Path("summary.html")
OUT = Annotated[
    Path | None,
    Option(
        "-o",
        "--out",
        help="The page to write, by default summary.html; where it exists, FILE.summary.html of a mechanism file.",
    ),
]


@options
class CoverOptions:
    """What the page says about the survey."""

    title: Annotated[str, Option(help="Title of the page, otherwise the workload and its ε.")] = ""
    question: Annotated[str, Option(help="The question that people are asked.")] = ""
    users: Annotated[
        int | None, Option(help="People who will answer: the page then states the errors to expect.")
    ] = None
    date: Annotated[str, Option(help="A date to print, such as 2026-11-25.")] = ""


def summary(
    *,
    workload: Annotated[
        str,
        Argument(
            metavar="WORKLOAD|FILE",
            help="A name of `stratagem list`, a .toml, .npy or .csv file of queries, or a mechanism saved as .ldp.json "
            "or .npz.",
        ),
    ],
    epsilon: WORKLOAD_EPSILON = None,
    asked: AskedOptions,
    survey: CoverOptions,
    out: OUT = None,
    over: Annotated[
        str | None,
        Option(
            help="epsilon=0.5,1,2: the other budgets of the calculator, by default a quarter to four times."
        ),
    ] = None,
    quick: Annotated[
        bool, Option("--quick", help="At other budgets published mechanisms and bounds alone, no search.")
    ] = False,
    force: FORCE = False,
) -> None:
    """Write one HTML page that shows a mechanism, its accuracy and its privacy, and needs no network.

    Ctrl-C keeps the best so far.
    """
    from stratagem.math.privacy import check
    from stratagem.report.content import Cover

    saved = is_saved(workload, epsilon, asked)
    out = _free(out, workload if saved else "", force=force)
    page = out, None if over is None else [*map(check, read_budgets(over))], Cover(**asdict(survey))
    if saved:
        _write_saved(Path(workload), asked, *page)
    else:
        with requested(workload, epsilon, asked) as request:
            title, about = stated_words(workload)
            _write_found(
                request, title or request.name, *page[:2], replace(page[2], about=about), quick=quick
            )
    write(f"{out} holds the summary: open it in a browser")


def _free(out: Path | None, file: str, *, force: bool) -> Path:
    """Return the page to write, that of a mechanism file beside another under its name; refused if it exists."""
    from stratagem.report.page import check_page

    taken = bool(file) and not force and SUMMARY.exists()
    out = out or (Path(f"{Path(file).name.split('.')[0]}.{SUMMARY}") if taken else SUMMARY)
    check_page(out)
    check_free(out, force=force)
    return out


def _write_saved(
    file: Path, asked: AskedOptions, out: Path, budgets: list[float] | None, cover: Cover
) -> None:
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.report.page import report_saved

    saved, objective = read_saved(file), asked.goal.objective
    if "objective" in chosen(asked):
        note(f"the mechanism in {file} stays as it was made: --objective {objective} only judges it")
    with progress("rating"):
        options: dict[str, Any] = {"objective": objective, "file": file.name, "budgets": budgets}
        report_saved(out, saved, **options, **asdict(cover))


def _write_found(
    request: Request,
    title: str,
    out: Path,
    budgets: list[float] | None,
    cover: Cover,
    *,
    quick: bool,
) -> None:
    from stratagem.report.content import ReportContent, along, around
    from stratagem.report.page import write_page
    from stratagem.study.optimisation import optimise
    from stratagem.study.preset import limited

    with progress("optimising") as on_step, within(deadline().until(FIRST)):
        solution = optimise(request.workload, request.epsilon, request.solver, on_step, **request.goal)
    solution = marked(solution)
    with progress("optimising at other budgets") as on_step:
        others = budgets or around(request.epsilon)
        hurried = replace(request.solver, gap=max(request.solver.limits.gap, NEAR))
        near = limited(hurried, deadline().left / len(others))

        def solve(epsilon: float) -> Solution:
            return optimise(request.workload, epsilon, near, on_step, **request.goal)

        line = along(solution, budgets, None if quick else solve)
    note_incomplete(line.sweep.complete)
    write_page(out, ReportContent(solution, title, line, cover=cover))
