"""The command `report`: one HTML page on a workload's best strategy, or on a saved one."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import note, note_incomplete, progress
from stratagem.cli.optimise import marked
from stratagem.cli.option import FORCE, check_free
from stratagem.cli.output import write
from stratagem.cli.request import Request, Saved, read_budgets, requesting_or_saved
from stratagem.math.deadline import deadline, within

if TYPE_CHECKING:
    from stratagem.report.content import Cover
    from stratagem.solvers import Solver
    from stratagem.study.solution import Solution

FIRST = 0.6
"""Share of the time after which the search for the strategy ends; the rest is for the other budgets."""
NEAR = 0.02
"""Gap within which strategies for the other budgets are sought."""


@requesting_or_saved
def report(
    asked: Request | Saved,
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write, an .html file.")] = Path(
        "report.html"
    ),
    over: Annotated[
        str | None,
        typer.Option(
            help="epsilon=0.5,1,2: the other budgets of the calculator, by default a quarter to four times."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="At other budgets published mechanisms and bounds alone, no search."),
    ] = False,
    title: Annotated[str, typer.Option(help="Title of the page, otherwise the workload and its ε.")] = "",
    question: Annotated[str, typer.Option(help="The question that people are asked.")] = "",
    users: Annotated[
        int | None, typer.Option(help="People who will answer: the page then states the errors to expect.")
    ] = None,
    date: Annotated[str, typer.Option(help="A date to print, such as 2026-11-25.")] = "",
    force: FORCE = False,
) -> None:
    """Write one HTML page that shows a strategy, its accuracy and its privacy, and needs no network.

    Ctrl-C keeps the best so far.
    """
    from stratagem.report.content import Cover
    from stratagem.report.page import check_page

    check_page(out)
    check_free(out, force=force)
    cover = Cover(title=title, question=question, users=users, date=date)
    budgets = _budgets(over)
    if isinstance(asked, Saved):
        _write_saved(out, asked, budgets, cover)
    else:
        _write_found(out, asked, budgets, cover, quick=quick)
    write(f"{out} holds the report: open it in a browser")


def _budgets(over: str | None) -> list[float] | None:
    from stratagem.math.privacy import check

    return None if over is None else [check(budget) for budget in read_budgets(over)]


def _write_saved(out: Path, asked: Saved, budgets: list[float] | None, cover: Cover) -> None:
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.report.page import report_saved

    saved = read_saved(asked.file)
    if asked.judged:
        note(
            f"the mechanism in {asked.file} stays as it was made: --objective {asked.objective} only judges it"
        )
    with progress("rating"):
        report_saved(
            out, saved, objective=asked.objective, file=asked.file.name, budgets=budgets, **asdict(cover)
        )


def _write_found(
    out: Path,
    request: Request,
    budgets: list[float] | None,
    cover: Cover,
    *,
    quick: bool,
) -> None:
    from stratagem.report.content import ReportContent, along, around
    from stratagem.report.page import write_page
    from stratagem.study.optimisation import optimise
    from stratagem.study.preset import limited

    options = {"objective": request.objective, "prior": request.prior}
    with progress("optimising") as on_step, within(deadline().until(FIRST)):
        solution = optimise(request.workload, request.epsilon, request.solver, on_step, **options)
    solution = marked(solution)
    with progress("optimising at other budgets") as on_step:
        others = budgets or around(request.epsilon)
        near = limited(_hurried(request.solver), deadline().left / len(others))

        def solve(epsilon: float) -> Solution:
            return optimise(request.workload, epsilon, near, on_step, **options)

        line = along(solution, budgets, None if quick else solve)
    note_incomplete(line.sweep.complete)
    write_page(out, ReportContent(solution, request.name, line, cover=cover))


def _hurried(solver: Solver) -> Solver:
    """Return the solver content with a gap of 2 %, or with the one that it has where that is larger."""
    own = solver.limits.gap
    return replace(solver, gap=max(own, NEAR))
