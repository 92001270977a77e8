"""The command `compare`: the optimised strategy beside every baseline and bound, once or along an axis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.bound import bounds_data
from stratagem.cli.option import JSON, PLOT, check_plot
from stratagem.cli.output import write, write_json, write_table
from stratagem.cli.progress import note, progress
from stratagem.cli.request import Request, requesting

if TYPE_CHECKING:
    from stratagem.comparison import Comparison
    from stratagem.comparison_sweep import Sweep
    from stratagem.solvers import Callback

AXES = ("epsilon", "domain")


@requesting
def compare(
    request: Request,
    over: Annotated[
        str | None,
        typer.Option(
            help="epsilon=0.5,1,2 or domain=16,32,64: one comparison for each, in place of the one given.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", "-o", help="Write every number to a .csv or .json file.", show_default=False),
    ] = None,
    plot: PLOT = None,
    json: JSON = False,
) -> None:
    """Set an optimised strategy beside every published mechanism and every lower bound."""
    from stratagem.comparison_sweep import SUFFIXES
    from stratagem.target import check_target

    check_plot(plot)
    if data is not None:
        check_target(data, SUFFIXES)
    with progress("comparing") as on_step:
        line = _run(request, on_step) if over is None else _sweep(request, over, on_step)
    single = line.comparisons[0] if over is None else None
    if plot is not None:
        (single or line).plot(plot)
    if data is not None:
        line.save(data)
    if json:
        write_json(_described(request) | (_data(single) if single else _line_data(line)))
        return
    where = f"epsilon {request.epsilon:g}" if single or line.axis != "epsilon" else "several epsilon"
    domain = f"domain {request.workload.domain}" if single or line.axis == "epsilon" else "several domains"
    write(f"{request.name} over {domain}, {where}, objective {request.objective}\n")
    if single:
        write_comparison(single)
    else:
        write_table(line.headings(), line.cells(), bold=0)
        write("\nusers needed: for worst-case normalised variance 0.01")
    for path, what in ((plot, "drawn"), (data, "written")):
        if path is not None:
            write(f"{what} in {path}")
    if not line.complete:
        note("ended by hand: the places that were reached are here, the others are not")


def write_comparison(comparison: Comparison) -> None:
    """Write the table of mechanisms, the optimised one in bold, and the bounds."""
    from stratagem.comparison import HEADINGS

    ours = next(place for place, row in enumerate(comparison.rows) if row.optimised)
    write_table(HEADINGS, comparison.cells(), words=2, bold=ours)
    write(f"\n{comparison.footer()}")
    write("users needed: for worst-case normalised variance 0.01")


def _run(request: Request, on_step: Callback) -> Sweep:
    from stratagem.comparison import compare as run
    from stratagem.comparison_sweep import Sweep

    options = {"objective": request.objective, "prior": request.prior}
    comparison = run(request.workload, request.epsilon, request.solver, on_step, **options)
    return Sweep("epsilon", (comparison,))


def _sweep(request: Request, over: str, on_step: Callback) -> Sweep:
    from stratagem.comparison_sweep import sweep

    if request.prior is not None:
        raise ValueError("a prior was given with --over, which compares without one: leave one of them out")
    axis, _, places = over.partition("=")
    if axis not in AXES or not places or "=" in places:
        raise ValueError(
            f"--over {over} was given, but it is epsilon=0.5,1,2 or domain=16,32,64 (or 2^4,2^5,2^6, no names): "
            "write one of these"
        )
    options = {"objective": request.objective}
    if axis == "epsilon":
        return sweep(request.workload, read_budgets(places), request.solver, on_step, **options)
    workloads = [request.elsewhere(text) for text in places.split(",")]
    return sweep(workloads, request.epsilon, request.solver, on_step, **options)


def read_budgets(places: str) -> list[float]:
    """Return the budgets of --over epsilon=0.5,1,2.

    Raises:
        ValueError: for a text that is no number.
    """
    return [_number(text) for text in places.split(",")]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--over names the epsilon {text!r}, which is no number: write 0.5") from None


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


def _line_data(line: Sweep) -> dict[str, object]:
    comparisons = [_data(one) for one in line.comparisons]
    return {"axis": line.axis, "complete": line.complete, "comparisons": comparisons}
