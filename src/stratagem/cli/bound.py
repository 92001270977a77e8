"""The command `bound`: lower bounds on unbiased strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    FORCE,
    JSON,
    OBJECTIVE,
    ORDER,
    PLOT,
    PRIOR,
    WIDTH,
    WORKLOAD,
    check_plot,
    read_prior,
    read_workload,
)
from stratagem.cli.output import write, write_json, write_table
from stratagem.cli.over import OVER, read_over
from stratagem.cli.progress import note, progress

if TYPE_CHECKING:
    from stratagem.bounds import Bounds
    from stratagem.study.bound_table import BoundPoint, BoundSweep

SECONDS = 60.0
"""How long --tight may take."""


def bound(
    workload: WORKLOAD,
    epsilon: EPSILON,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    objective: OBJECTIVE = "average",
    prior: PRIOR = None,
    tight: Annotated[
        bool,
        typer.Option("--tight", help="Also the expensive bounds: nonnegative, pricing and semidefinite."),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help=f"Time for --tight, which it implies: {SECONDS:g}.", show_default=False),
    ] = None,
    over: OVER = None,
    plot: PLOT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Compute lower bounds on the objective of every unbiased strategy for a workload, once or along an axis.

    They hold for unbiased estimates from one report per user. Biased estimates may have smaller errors.
    """
    from stratagem.privacy import check
    from stratagem.study.bound_table import bound_sweep

    check_plot(plot, force=force)
    asked = read_workload(workload, domain, order, width)
    limit = (SECONDS if seconds is None else seconds) if tight or seconds is not None else 0.0
    if limit > 0:
        note(f"tightening bounds for at most {limit:g} s each; Ctrl-C ends it")
    workloads, budgets = asked, [check(epsilon)]
    if over is not None:
        workloads, budgets = read_over(
            over, asked, epsilon, lambda text: read_workload(workload, text, order, width)
        )
    with progress("computing bounds"):
        options = {"objective": objective, "prior": read_prior(prior, asked)}
        line = bound_sweep(workloads, budgets, **options, seconds=limit)
    if plot is not None:
        line.plot(plot)
    if json:
        write_json(_point_data(line.points[0]) if over is None else _line_data(line))
        return
    if not all(point.workload.counted for point in line.points):
        note("the domain is beyond 2^53 cells: bounds are per user type, on L/n")
    if over is None:
        _write_bounds(line.points[0].bounds)
    else:
        write_table(line.headings(), line.cells())
    if plot is not None:
        write(f"drawn in {plot}")


def bounds_data(bounds: Bounds) -> dict[str, float]:
    """Return the bounds that were computed, by name, and the best of them."""
    return {**bounds.known(), "best": bounds.best}


def _write_bounds(bounds: Bounds) -> None:
    from stratagem.bounds.meaning import SCOPE

    for name, value in bounds.known().items():
        write(f"{name:<9} {value:>16,.6f}{'   best' if name == bounds.name else ''}")
    write(f"\nno ε-LDP strategy with {SCOPE} has a smaller objective than the best of them")


def _point_data(point: BoundPoint) -> dict[str, object]:
    per_type = {} if point.workload.counted else {"per_type": True}
    return {**bounds_data(point.bounds), **per_type}


def _line_data(line: BoundSweep) -> dict[str, object]:
    places = [
        {"domain": str(point.workload.domain), "epsilon": point.epsilon, "bounds": _point_data(point)}
        for point in line.points
    ]
    return {"axis": line.axis, "places": places}
