"""The command `compare`: the optimised strategy beside every baseline and bound, once or along an axis."""

from __future__ import annotations

import shlex
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import keeping, note_incomplete, progress
from stratagem.cli.option import ALL, DETAILS, FORCE, JSON, PLOT, check_free, check_plot
from stratagem.cli.output import (
    translated,
    write,
    write_command,
    write_files,
    write_json,
    write_parts,
    write_table,
)
from stratagem.cli.request import OVER, Request, read_over, requesting

if TYPE_CHECKING:
    from stratagem.io.table import Table
    from stratagem.solvers import Callback
    from stratagem.study.comparison import Comparison
    from stratagem.study.comparison_sweep import Sweep

SHOWN = 5
"""Published mechanisms of a table that does not show all."""


@partial(requesting, data=True)
def compare(
    request: Request,
    over: OVER = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write every number to a .csv or .json file."),
    ] = None,
    plot: PLOT = None,
    show_all: ALL = False,
    details: DETAILS = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Set an optimised strategy beside every published mechanism and every lower bound.

    With --data also the error that each is expected to make on that file: exact, and nothing of it goes into
    the strategies. Without --domain the domain follows from --edges, --labels or the values of the column.
    """
    from stratagem.io.table import SUFFIXES
    from stratagem.workloads.given import leaves_domain

    check_plot(plot, force=force)
    if leaves_domain(request.name) and any(one.unit for one in request.workload.domain.attributes):
        raise ValueError("--unit was given, but a comparison shows no values that have one: leave it out")
    check_free(out, SUFFIXES, force=force)
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
            write_json(_described(request) | found | found_data(request))
        else:
            _describe(request, line, single=over is None, show_all=show_all, details=details)
            write_files(drawn=plot, written=out)


def _describe(request: Request, line: Sweep, *, single: bool, show_all: bool, details: bool) -> None:
    """Say what was found, and what was asked."""
    if single:
        write_comparison(line.comparisons[0], SHOWN, show_all=show_all, details=details)
    else:
        _write_sweep(line, show_all=show_all)
    where = f"epsilon {request.epsilon:g}" if single or line.axis == "epsilon" else "several epsilon"
    domain = f"domain {request.workload.domain}" if single or line.axis == "epsilon" else "several domains"
    write(f"\nasked: {request.name} over {domain}, {where}, objective {request.objective}")
    if request.users is not None:
        _write_users(request)
    if single and (options := more(line.comparisons[0], SHOWN, show_all=show_all, details=details)):
        write(f"more:  {options}")
    note_incomplete(line.complete)


def write_comparison(comparison: Comparison, most: int, *, show_all: bool, details: bool) -> None:
    """Write the people to ask, the best mechanisms as a table, and with `details` the objectives and the bounds."""
    shown = comparison.parts(len(comparison.rows) if show_all else most)
    write_parts([*shown, *(comparison.details() if details else [])])


def more(comparison: Comparison, most: int, *, show_all: bool, details: bool) -> str:
    """Return the options that show more."""
    left = len(comparison.rows) - 1 - most
    every = f"--all ({left} more mechanisms)" if left > 0 and not show_all else ""
    return ", ".join(filter(None, [every, "" if details else "--details"]))


def _write_sweep(line: Sweep, *, show_all: bool) -> None:
    """Write the users needed, for the root mean square and for the least accurate answer."""
    write(f"{line.headline()}\n")
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
    write_found(request)
    values = " but the values" if request.layout is not None and request.layout.found else ""
    write(f"mechanisms made for {made}: nothing of the data goes into them{values}")
    write("error: expected for an answer on these data, root mean square, in users; exact, by formula")


def write_found(request: Request) -> None:
    """Write how the rows of the file were read, and which values were read from them."""
    if request.users is None:
        return
    found = {} if request.layout is None else request.layout.found
    for sentence in (str(request.users), *request.users.notes, *chain(*found.values())):
        write(translated(sentence))
    if request.layout is not None and found:
        write("Where the mechanism is to be run, state the values:")
        write_command(" ".join(map(shlex.quote, request.layout.options())))


def found_data(request: Request) -> dict[str, object]:
    """Return the values that were read from the data, by attribute, in words that state them."""
    if request.layout is None or not request.layout.found:
        return {}
    values = {one.name: one.values for one in request.layout.domain.attributes}
    return {"values": {name: str(values[name]) for name in request.layout.found}}


def _run(request: Request, on_step: Callback) -> Sweep:
    from stratagem.study.comparison import compare as run
    from stratagem.study.comparison_sweep import Sweep
    from stratagem.study.row import check_data

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
