"""The command `bound`: what no strategy can beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    JSON,
    OBJECTIVE,
    ORDER,
    PRIOR,
    WIDTH,
    WORKLOAD,
    read_prior,
    read_workload,
)
from stratagem.cli.output import write, write_json
from stratagem.cli.progress import note, progress

if TYPE_CHECKING:
    from stratagem.bounds import Bounds

SECONDS = 60.0
"""How long --tight may take."""
GAP = 1e-3
"""Distance from the optimum at which --tight is content."""


def bound(
    workload: WORKLOAD,
    epsilon: EPSILON,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    objective: OBJECTIVE = "average",
    prior: PRIOR = None,
    tight: Annotated[
        bool, typer.Option("--tight", help="Also the expensive bounds: pricing and semidefinite.")
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help=f"Time for --tight, which it implies: {SECONDS:g}.", show_default=False),
    ] = None,
    json: JSON = False,
) -> None:
    """Compute lower bounds on the objective of every strategy for a workload."""
    from stratagem.objective import Near, named_objective
    from stratagem.privacy import check

    check(epsilon)
    asked = read_workload(workload, domain, order, width)
    aim = named_objective(objective, asked, read_prior(prior, asked))
    with progress("computing bounds"):
        bounds = aim.bounds(epsilon)
    if (tight or seconds is not None) and bounds.exact is None:
        limit = SECONDS if seconds is None else seconds
        note(f"tightening the {bounds.name} bound for at most {limit:g} s; Ctrl-C ends it")
        with progress("tightening bounds"):
            bounds = aim.tightened(bounds, epsilon, Near(), GAP, limit)
    if json:
        per_type = {} if asked.counted else {"per_type": True}
        write_json({**bounds_data(bounds), **per_type})
        return
    if not asked.counted:
        note("the domain is beyond 2^53 cells: bounds are per user type, on L/n")
    for name, value in bounds.known().items():
        write(f"{name:<9} {value:>16,.6f}{'   best' if name == bounds.name else ''}")


def bounds_data(bounds: Bounds) -> dict[str, float]:
    """Return the bounds that were computed, by name, and the best of them."""
    return {**bounds.known(), "best": bounds.best}
