"""The command `bound`: lower bounds on unbiased strategies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import note, note_incomplete, progress
from stratagem.cli.option import (
    DETAILS,
    DOMAIN,
    FORCE,
    JSON,
    OBJECTIVE,
    ORDER,
    PLOT,
    PRIOR,
    SECONDS,
    WIDTH,
    check_free,
    check_plot,
    read_prior,
    read_workload,
)
from stratagem.cli.output import write, write_files, write_json, write_parts, write_table
from stratagem.cli.request import OVER, read_budgets, read_over
from stratagem.math.deadline import deadline

if TYPE_CHECKING:
    from stratagem.study.bound_table import BoundPoint, BoundSweep

AVERAGE = "average"
SOON = 1e-3
"""Least seconds for bounds that are to be tightened."""
ASKED = Annotated[
    str | None,
    typer.Argument(metavar="WORKLOAD", help="A name of `stratagem list`, or a .toml, .npy or .csv file."),
]
BUDGET = Annotated[float | None, typer.Option(help="Privacy budget of one user, in nats.")]


def bound(
    workload: ASKED = None,
    epsilon: BUDGET = None,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    objective: OBJECTIVE = AVERAGE,
    prior: PRIOR = None,
    tight: Annotated[
        bool,
        typer.Option(
            "--tight",
            help="Also the expensive bounds, nonnegative and semidefinite, which --seconds implies.",
        ),
    ] = False,
    seconds: SECONDS = None,
    over: OVER = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Write arrays that prove the nonnegative bound.")
    ] = None,
    check_file: Annotated[
        Path | None, typer.Option("--check", metavar="FILE", help="Compute the bound of a certificate again.")
    ] = None,
    plot: PLOT = None,
    details: DETAILS = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Compute lower bounds on the objective of every unbiased strategy for a workload, once or along an axis.

    They hold for unbiased estimates from one report per user. Biased estimates may have smaller errors.
    """
    if check_file is not None:
        if workload is not None or epsilon is not None:
            raise ValueError("--check reads workload and epsilon from the certificate: leave out both")
        _check(check_file, json=json)
        return
    if epsilon is None and over is not None and over.startswith("epsilon="):
        epsilon = read_budgets(over)[0]
    if workload is None or epsilon is None:
        raise ValueError("a bound needs a workload and --epsilon, or a certificate to --check: give them")
    if certificate is not None and (over is not None or objective != AVERAGE):
        raise ValueError("--certificate proves one bound on the average: leave out --over and --objective")
    from stratagem.math.privacy import check
    from stratagem.study.bound_table import bound_sweep

    check_plot(plot, force=force)
    check_free(certificate, (".npz",), force=force)
    asked = read_workload(workload, domain, order, width)
    tight, time = tight or seconds is not None, deadline()
    if tight:
        note(f"tightening bounds for at most {time.left:.0f} s; Ctrl-C ends it")
    workloads, budgets = asked, [check(epsilon)]
    if over is not None:
        workloads, budgets = read_over(
            over, asked, epsilon, lambda text: read_workload(workload, text, order, width)
        )
    with progress("computing bounds"):
        options = {"objective": objective, "prior": read_prior(prior, asked)}
        searched = max(time.left, SOON) if tight and certificate is None else None
        line = bound_sweep(workloads, budgets, **options, seconds=searched)
    if plot is not None:
        line.plot(plot)
    proved: dict[str, object] = {}
    if certificate is not None:
        line, proved = _certified(line.points[0], certificate, tight=tight)
    if json:
        write_json((_point_data(line.points[0]) | proved) if over is None else _line_data(line))
        return
    if not all(point.problem.workload.counted for point in line.points):
        note("the domain is beyond 2^53 cells: bounds are per user type, on L/n")
    if over is None:
        _write_bounds(line.points[0], details=details, tight=tight)
    else:
        _write_line(line)
        note_incomplete(line.complete)
    if proved:
        write(f"certificate of {proved['certified']:,.6f} written to {certificate}")
    write_files(drawn=plot)


def _certified(point: BoundPoint, path: Path, *, tight: bool) -> tuple[BoundSweep, dict[str, object]]:
    """Write a certificate of the nonnegative bound, and return the bounds with it, and its value by name."""
    from stratagem.study.bound_table import BoundSweep

    with progress("proving the bound"):
        point, found = point.proved(math.inf if tight else point.bounds.best, deadline().left)
    found.save(path, overwrite=True)
    return BoundSweep("epsilon", (point,)), {"certified": found.value, "certificate": str(path)}


def _check(path: Path, *, json: bool) -> None:
    """Say what a certificate proves.

    Raises:
        ValueError: for a file that proves less than it states.
    """
    from stratagem.mechanism.export.certificate_file import load_certificate

    found = load_certificate(path)
    if json:
        write_json({"certified": found.value, "epsilon": found.proof.epsilon})
        return
    write(f"the arrays prove the lower bound {found.value:,.6f} at ε = {found.proof.epsilon:g} for")
    write(str(found.workload))


def _write_bounds(point: BoundPoint, *, details: bool, tight: bool) -> None:
    """Say what the best bound means, with `details` what each of them is."""
    from stratagem.study.summary import bound_sentences, bound_table

    said = bound_sentences(point.problem, point.bounds)
    write_parts([said, bound_table(point.bounds)] if details else [said])
    more = [] if tight or point.bounds.name == "exact" else ["--seconds 30 (may prove that more are needed)"]
    more += [] if details else ["--details (every lower bound with its meaning)"]
    if more:
        write(f"\nmore:  {', '.join(more)}")


def _write_line(line: BoundSweep) -> None:
    """Say what the best bound is at every place, and write all of them as shares of it."""
    from stratagem.math.number import number_text
    from stratagem.workloads.bibliography import SCOPE

    best = ", ".join(
        f"{number_text(point.bounds.best)} at {line.axis} {place:g} ({point.bounds.name})"
        for place, point in zip(line.places, line.points, strict=True)
    )
    write(f"No ε-LDP strategy with {SCOPE} has an objective below {best}.\n")
    write_table(line.table())


def _point_data(point: BoundPoint) -> dict[str, object]:
    per_type = {} if point.problem.workload.counted else {"per_type": True}
    return {**point.bounds.record(), **per_type}


def _line_data(line: BoundSweep) -> dict[str, object]:
    places = [
        {
            "domain": str(one.problem.workload.domain),
            "epsilon": one.problem.epsilon,
            "bounds": _point_data(one),
        }
        for one in line.points
    ]
    return {"axis": line.axis, "complete": line.complete, "places": places}
