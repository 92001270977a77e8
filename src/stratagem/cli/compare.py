"""The command `compare`: the optimised strategy beside every baseline and bound, once or along an axis."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import keeping, note_incomplete, progress
from stratagem.cli.layout import stated_options
from stratagem.cli.option import ALL, FORCE, JSON, PLOT, check_free, check_plot
from stratagem.cli.output import translated, write, write_command, write_files, write_json, write_table
from stratagem.cli.request import OVER, Request, read_over, requesting

if TYPE_CHECKING:
    from stratagem.io.table import Table
    from stratagem.solvers import Callback
    from stratagem.study.comparison import Comparison
    from stratagem.study.comparison_sweep import Sweep

SHOWN = 5
"""Mechanisms of a table that does not show all."""


@partial(requesting, data=True)
def compare(
    request: Request,
    over: OVER = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write every number to a .csv or .json file.", show_default=False),
    ] = None,
    plot: PLOT = None,
    show_all: ALL = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Set an optimised strategy beside every published mechanism and every lower bound.

    With --data also the error that each is expected to make on that file: exact, and nothing of it goes into
    the strategies. Without --domain the domain follows from --edges, --labels or the values of the column.
    """
    from stratagem.io.table import SUFFIXES
    from stratagem.io.target import check_target

    check_plot(plot, force=force)
    if request.values["units"]:
        raise ValueError("--unit was given, but a comparison shows no values that have one: leave it out")
    if out is not None:
        check_target(out, SUFFIXES)
        check_free(out, force=force)
    with progress("comparing") as on_step:
        line = _run(request, on_step) if over is None else _sweep(request, over, on_step)
    with keeping():
        if plot is not None:
            (line if over else line.comparisons[0]).plot(plot)
        if out is not None:
            line.save(out, overwrite=True)
        if json:
            found = (
                _line_data(line)
                if over
                else _data(line.comparisons[0]) | _users(request, line.comparisons[0])
            )
            write_json(_described(request) | found)
        else:
            _describe(request, line, single=over is None, show_all=show_all)
            write_files(drawn=plot, written=out)


def _describe(request: Request, line: Sweep, *, single: bool, show_all: bool) -> None:
    """Say what was found, and what was asked."""
    from stratagem.study.comparison import ENDED

    if single:
        write_comparison(line.comparisons[0], show_all=show_all)
        if line.comparisons[0].interrupted:
            write(f"\n{ENDED}")
    else:
        _write_sweep(line, show_all=show_all)
    where = f"epsilon {request.epsilon:g}" if single or line.axis != "epsilon" else "several epsilon"
    domain = f"domain {request.workload.domain}" if single or line.axis == "epsilon" else "several domains"
    write(f"\nasked: {request.name} over {domain}, {where}, objective {request.objective}")
    if request.users is not None:
        _write_users(request)
    note_incomplete(line.complete)


def write_comparison(comparison: Comparison, *, show_all: bool) -> None:
    """Write the result in sentences, the best mechanisms as a table, the optimised one in bold, and the bounds."""
    from stratagem.study.comparison import OPTIMISED
    from stratagem.study.headline import data_headline, headline
    from stratagem.study.solution import Solution

    found = comparison.compared[OPTIMISED]
    assert isinstance(found, Solution)
    for sentence in headline(found) if comparison.users is None else data_headline(comparison):
        write(translated(sentence))
    write()
    shown = comparison if show_all else comparison.best(SHOWN)
    write_table(shown.narrow_table())
    _write_more(len(comparison.rows) - len(shown.rows))
    if comparison.users is None:
        write(f"\n{comparison.footer()}")


def _write_sweep(line: Sweep, *, show_all: bool) -> None:
    """Write the users needed, for the root mean square and for the least accurate answer."""
    from stratagem.study.headline import sweep_headline

    write(f"{sweep_headline(line)}\n")
    for least_accurate in (False, True):
        _write_best(line.table(least_accurate=least_accurate), SHOWN + 1, show_all=show_all)
        write()
    write(translated(line.notes()))


def _write_best(table: Table, most: int, *, show_all: bool) -> None:
    """Write a table of mechanisms, or its first rows and how many more there are."""
    more = len(table.rows) - most
    if show_all or more <= 0:
        write_table(table)
    else:
        write_table(table.best(most))
        _write_more(more)


def _write_more(rows: int) -> None:
    """Say how many rows are not shown."""
    if rows:
        write(f"{rows} more: --all shows them")


def _write_users(request: Request) -> None:
    """Say whose data they are and what was done with them."""
    made = "the prior" if request.prior_file else "all user types alike"
    write(f"{request.users}")
    if request.layout is not None and request.layout.found:
        shown = " ".join(map(shlex.quote, stated_options(request.layout)))
        write("values read from the data; where the mechanism is to be run, state them:")
        write_command(shown)
    write(f"mechanisms made for {made}: nothing of the data goes into them")
    write("error: expected for an answer on these data, root mean square, in users; exact, by formula")


def _run(request: Request, on_step: Callback) -> Sweep:
    from stratagem.study.comparison import check_data
    from stratagem.study.comparison import compare as run
    from stratagem.study.comparison_sweep import Sweep

    x = None if request.users is None else check_data(request.users.x, request.workload)
    options = {"objective": request.objective, "prior": request.prior}
    comparison = run(request.workload, request.epsilon, request.solver, on_step, **options)
    return Sweep("epsilon", (comparison if x is None else comparison.on(x),))


def _sweep(request: Request, over: str, on_step: Callback) -> Sweep:
    from stratagem.study.comparison_sweep import sweep

    if request.prior is not None:
        raise ValueError("a prior was given with --over, which compares without one: leave one of them out")
    if request.users is not None:
        raise ValueError("--data was given with --over, which compares without data: leave one of them out")
    workloads, budgets = read_over(over, request.workload, request.epsilon, request.elsewhere)
    return sweep(workloads, budgets, request.solver, on_step, objective=request.objective)


def _described(request: Request) -> dict[str, object]:
    return {
        "workload": request.name,
        "objective_kind": request.objective,
        "prior": None if request.prior_file is None else str(request.prior_file),
    }


def _data(comparison: Comparison) -> dict[str, object]:
    per_type: dict[str, object] = {} if comparison.workload.counted else {"per_type": True}
    return per_type | {
        "domain": str(comparison.workload.domain),
        "epsilon": comparison.epsilon,
        "mechanisms": comparison.records(),
        "bounds": comparison.bounds.record(),
        "interrupted": comparison.interrupted,
        "not_evaluated": list(comparison.late),
        "not_tuned_to_the_end": list(comparison.partial),
    }


def _users(request: Request, single: Comparison | None) -> dict[str, object]:
    if request.users is None or single is None:
        return {}
    left = {"outside": request.users.outside, "others": request.users.others}
    return {"users": single.users, **left, "least_error": single.least_error}


def _line_data(line: Sweep) -> dict[str, object]:
    comparisons = [_data(one) for one in line.comparisons]
    return {"axis": line.axis, "complete": line.complete, "comparisons": comparisons}
