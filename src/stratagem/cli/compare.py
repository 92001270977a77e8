"""The command `compare`: the optimised strategy beside every baseline and bound, once or along an axis."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.bound import bounds_data
from stratagem.cli.interruption import keeping, note, progress
from stratagem.cli.layout import stated_options
from stratagem.cli.option import FORCE, JSON, PLOT, check_free, check_plot
from stratagem.cli.output import write, write_json, write_table
from stratagem.cli.request import OVER, Request, read_over, requesting

if TYPE_CHECKING:
    from stratagem.solvers import Callback
    from stratagem.study.comparison import Comparison
    from stratagem.study.comparison_sweep import Sweep


@partial(requesting, data=True)
def compare(
    request: Request,
    over: OVER = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write every number to a .csv or .json file.", show_default=False),
    ] = None,
    plot: PLOT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Set an optimised strategy beside every published mechanism and every lower bound.

    With --data also the error that each is expected to make on that file: exact, and nothing of it goes into
    the strategies. Without --domain the domain follows from --edges, --labels or the values of the column.
    """
    from stratagem.io.target import check_target
    from stratagem.study.comparison_sweep import SUFFIXES

    check_plot(plot, force=force)
    if out is not None:
        check_target(out, SUFFIXES)
        check_free(out, force=force)
    with progress("comparing") as on_step:
        line = _run(request, on_step) if over is None else _sweep(request, over, on_step)
    with keeping():
        _keep(request, line, over, out, plot, json=json)


def _keep(
    request: Request, line: Sweep, over: str | None, out: Path | None, plot: Path | None, *, json: bool
) -> None:
    """Write what was found to the files asked for, and say it."""
    single = line.comparisons[0] if over is None else None
    if plot is not None:
        (single or line).plot(plot)
    if out is not None:
        line.save(out, overwrite=True)
    if json:
        write_json(
            _described(request) | (_data(single) if single else _line_data(line)) | _users(request, single)
        )
        return
    where = f"epsilon {request.epsilon:g}" if single or line.axis != "epsilon" else "several epsilon"
    domain = f"domain {request.workload.domain}" if single or line.axis == "epsilon" else "several domains"
    write(f"{request.name} over {domain}, {where}, objective {request.objective}\n")
    if request.users is not None:
        _write_users(request)
    if single:
        write_comparison(single)
    else:
        _write_sweep(line)
    for path, what in ((plot, "drawn"), (out, "written")):
        if path is not None:
            write(f"{what} in {path}")
    if not line.complete:
        note("ended by hand: the places that were reached are here, the others are not")


def write_comparison(comparison: Comparison) -> None:
    """Write the table of mechanisms, the optimised one in bold, and the bounds."""
    from stratagem.study.comparison import NEEDED

    ours = next(place for place, row in enumerate(comparison.rows) if row.optimised)
    write_table(comparison.headings, comparison.cells(), words=2, bold=ours)
    write(f"\n{comparison.footer()}")
    if comparison.users is not None:
        write("error: expected for an answer on these data, root mean square, in users; exact, by formula")
    write(NEEDED)


def _write_sweep(line: Sweep) -> None:
    """Write the users needed, for the root mean square and for the least accurate answer."""
    from stratagem.study.comparison import NEEDED

    for least_accurate in (False, True):
        headings = line.headings(least_accurate=least_accurate)
        write_table(headings, line.cells(least_accurate=least_accurate), bold=0)
        write()
    write(NEEDED)


def _write_users(request: Request) -> None:
    """Say whose data they are and what was done with them."""
    made = "the prior" if request.prior_file else "all user types alike"
    write(f"{request.users}")
    if request.layout is not None and request.layout.found:
        shown = " ".join(map(shlex.quote, stated_options(request.layout)))
        write(f"values read from the data; where the mechanism is to be run, state them: {shown}")
    write(f"mechanisms made for {made}: nothing of the data goes into them\n")


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
        "bounds": bounds_data(comparison.bounds),
    }


def _users(request: Request, single: Comparison | None) -> dict[str, object]:
    if request.users is None or single is None:
        return {}
    left = {"outside": request.users.outside, "others": request.users.others}
    return {"users": single.users, **left, "least_error": single.least_error}


def _line_data(line: Sweep) -> dict[str, object]:
    comparisons = [_data(one) for one in line.comparisons]
    return {"axis": line.axis, "complete": line.complete, "comparisons": comparisons}
