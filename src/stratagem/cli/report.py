"""The command `report`: one HTML page on a workload's best strategy, or on a saved one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagem.cli.interruption import keeping, note, note_incomplete, progress
from stratagem.cli.optimise import marked
from stratagem.cli.option import FORCE, check_free
from stratagem.cli.output import write
from stratagem.cli.request import Request, Saved, read_budgets, requesting_or_saved
from stratagem.math.deadline import deadline, within

if TYPE_CHECKING:
    from stratagem.report.content import Cover, Provenance
    from stratagem.solvers import Auto, Solver
    from stratagem.study.solution import Solution

PAGE = repr("report.html")
"""The page in the Python code that a page shows."""
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
            help="epsilon=0.5,1,2: the other budgets of the calculator, by default a quarter to four times.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="At other budgets published mechanisms and bounds alone, no search."),
    ] = False,
    title: Annotated[
        str, typer.Option(help="Title of the page, otherwise the workload and its ε.", show_default=False)
    ] = "",
    question: Annotated[
        str, typer.Option(help="The question that people are asked.", show_default=False)
    ] = "",
    users: Annotated[
        int | None,
        typer.Option(
            help="People who will answer: the page then states the errors to expect.", show_default=False
        ),
    ] = None,
    date: Annotated[str, typer.Option(help="A date to print, such as 2026-11-25.", show_default=False)] = "",
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
    own = ({} if over is None else {"over": over}) | ({"quick": True} if quick else {}) | _given(cover)
    if isinstance(asked, Saved):
        _write_saved(out, asked, budgets, own, cover)
    else:
        _write_found(out, asked, budgets, own, cover, quick=quick)
    write(f"{out} holds the report: open it in a browser")


def _given(cover: Cover) -> dict[str, Any]:
    return {name: value for name, value in asdict(cover).items() if value}


def _budgets(over: str | None) -> list[float] | None:
    from stratagem.math.privacy import check

    return None if over is None else [check(budget) for budget in read_budgets(over)]


def _write_saved(
    out: Path, asked: Saved, budgets: list[float] | None, own: Mapping[str, Any], cover: Cover
) -> None:
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.report.content import Provenance
    from stratagem.report.page import report_saved

    saved = read_saved(asked.file)
    python = ""
    if isinstance(saved, Mechanism):
        load = f"st.load_mechanism({str(asked.file)!r})"
        objective = {"objective": asked.objective} if "objective" in asked.options else {}
        python = f"import stratagem as st\n\n{_call(f'{load}.report', PAGE, **objective, **_given(cover))}"
    origin = Provenance(_command(str(asked.file), {**asked.options, **own}), python, asked.file.name)
    if "objective" in asked.options:
        note(
            f"the mechanism in {asked.file} stays as it was made: --objective {asked.objective} only judges it"
        )
    with progress("rating"):
        report_saved(out, saved, objective=asked.objective, origin=origin, budgets=budgets, **asdict(cover))


def _write_found(
    out: Path,
    request: Request,
    budgets: list[float] | None,
    own: Mapping[str, Any],
    cover: Cover,
    *,
    quick: bool,
) -> None:
    from stratagem.mechanism.attribute import described_attributes
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
    with keeping():
        stated = described_attributes(request.workload.domain, **request.values)
    origin = _origin(request, own, cover)
    write_page(out, ReportContent(solution, request.name, line, origin, stated=stated, cover=cover))


def _hurried(solver: Solver | Auto) -> Solver | Auto:
    """Return the solver content with a gap of 2 %, or with the one that it has where that is larger."""
    from stratagem.solvers import Auto

    own = solver.gap if isinstance(solver, Auto) else solver.limits.gap
    return replace(solver, gap=max(own, NEAR))


def _origin(request: Request, own: Mapping[str, Any], cover: Cover) -> Provenance:
    from stratagem.report.content import Provenance

    return Provenance(_command(request.name, {**request.options, **own}), _python(request, cover))


def _command(name: str, options: Mapping[str, Any]) -> str:
    """Return the command line that says the same again."""
    words = ["stratagem", "report", name]
    for option, given in options.items():
        for value in given if isinstance(given, list) else [given]:
            words += [f"--{option}"] if value is True else [f"--{option}", _plain(value)]
    return shlex.join(words)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _python(request: Request, cover: Cover) -> str:
    """Return the same in Python; nothing where a prior comes from a file."""
    if request.prior is not None:
        return ""
    asked = {"domain": request.options.get("domain"), "order": request.order, "width": request.width}
    load = _call("st.load", repr(request.name), **asked)
    objective = request.options.get("objective")
    solver = _solver(request.solver)
    return (
        f"import stratagem as st\n\nworkload = {load}\n"
        f"solution = {_call('st.optimise', 'workload', epsilon=request.epsilon, objective=objective, **solver)}\n"
        f"{_call('solution.report', PAGE, name=request.name, **_given(cover))}"
    )


class _Code(str):
    """Code that is its own representation."""

    __slots__ = ()
    __repr__ = str.__str__


def _solver(solver: Solver | Auto) -> dict[str, _Code]:
    from stratagem.solvers import Auto

    given = {one.name: getattr(solver, one.name) for one in fields(solver)}
    changed = {one.name: given[one.name] for one in fields(solver) if given[one.name] != one.default}
    if isinstance(solver, Auto) and not changed:
        return {}
    return {"solver": _Code(_call(f"st.{type(solver).__name__}", **changed))}


def _call(function: str, *positional: str, **named: Any) -> str:
    given = [f"{name}={value!r}" for name, value in named.items() if value is not None]
    return f"{function}({', '.join([*positional, *given])})"
