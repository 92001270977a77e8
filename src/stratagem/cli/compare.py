"""The command `compare`: the optimised strategy beside every baseline and bound, once or along an axis."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stratagem.cli.interruption import keeping, note_incomplete, progress
from stratagem.cli.option import ALL, DETAILS, EPSILON, FORCE, JSON, PLOT, WORKLOAD, check_free, check_plot
from stratagem.cli.output import (
    translated,
    write,
    write_command,
    write_files,
    write_json,
    write_parts,
    write_table,
)
from stratagem.cli.request import OVER, AskedOptions, Request, SampleOptions, read_over, requested

if TYPE_CHECKING:
    from stratagem.solvers import Callback
    from stratagem.study.comparison import Comparison
    from stratagem.study.comparison_sweep import Sweep

SHOWN = 5
"""Published mechanisms of a table that does not show all."""


def compare(
    *,
    workload: WORKLOAD,
    epsilon: EPSILON,
    asked: AskedOptions,
    sample: SampleOptions,
    over: OVER = None,
    out: Annotated[
        Path | None,
        Option("-o", "--out", help="Write every number to a .csv or .json file."),
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

    if over is not None and over.startswith("domain=") and asked.domain is None:
        asked = replace(asked, domain=over.removeprefix("domain=").split(",")[0])  # any: each takes its place
    with requested(workload, epsilon, asked, sample) as request:
        check_plot(plot, force=force)
        if any(one.unit for one in request.workload.domain.attributes):
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
                write_json(_record(request, line, single=not over) | found_data(request))
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
    write(f"\nasked: {request.name} over {domain}, {where}, objective {request.goal['objective']}")
    if request.users is not None:
        made = "the prior" if request.asked.goal.prior else "all user types alike"
        write_found(request)
        values = " but the values" if request.layout is not None and request.layout.found else ""
        write(f"mechanisms made for {made}: nothing of the data goes into them{values}")
        write("error: expected for an answer on these data, root mean square, in users; exact, by formula")
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
        table = line.table(least_accurate=least_accurate)
        left = 0 if show_all else max(0, len(table.rows) - SHOWN - 1)
        write_table(table.best(SHOWN + 1) if left else table)
        if left:
            write(f"{left} more: --all shows them")
        write()
    write(translated(line.notes()))


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
    comparison = run(request.workload, request.epsilon, request.solver, on_step, **request.goal)
    return Sweep("epsilon", (comparison if x is None else comparison.on(x),))


def _sweep(request: Request, over: str, on_step: Callback) -> Sweep:
    from stratagem.study.comparison_sweep import sweep

    if request.asked.goal.prior is not None:
        raise ValueError("a prior was given with --over, which compares without one: leave one of them out")
    if request.users is not None:
        raise ValueError("--data was given with --over, which compares without data: leave one of them out")
    workloads, budgets = read_over(over, request.workload, request.epsilon, request.elsewhere)
    return sweep(workloads, budgets, request.solver, on_step, objective=request.goal["objective"])


def _record(request: Request, line: Sweep, *, single: bool) -> dict[str, object]:
    """Return what was asked and compared as named values."""
    prior, comparisons = request.asked.goal.prior, [_values(one) for one in line.comparisons]
    head = {
        "workload": request.name,
        "objective_kind": request.goal["objective"],
        "prior": None if prior is None else str(prior),
    }
    if not single:
        return head | {"axis": line.axis, "complete": line.complete, "comparisons": comparisons}
    one, users = line.comparisons[0], request.users
    told = {} if users is None else {"outside": users.outside, "others": users.others}
    return (
        head
        | comparisons[0]
        | ({"users": one.users, **told, "least_error": one.least_error} if users else {})
    )


def _values(comparison: Comparison) -> dict[str, object]:
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
