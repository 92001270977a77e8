"""The command `bound`: lower bounds on unbiased strategies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import note, note_incomplete, progress
from stratagem.cli.option import (
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
from stratagem.cli.output import write, write_files, write_json, write_table
from stratagem.cli.request import OVER, read_budgets, read_over
from stratagem.math.deadline import deadline, within

if TYPE_CHECKING:
    import numpy as np

    from stratagem.study.bound_table import BoundPoint, BoundSweep

AVERAGE = "average"
BOUNDS, SOON = 0.5, 1e-3
"""Share of the time that is for the bounds where a certificate is asked for too, and the least seconds for them."""
ASKED = Annotated[
    str | None,
    typer.Argument(
        metavar="WORKLOAD",
        help="A name of `stratagem list`, or a .toml, .npy or .csv file.",
        show_default=False,
    ),
]
BUDGET = Annotated[
    float | None, typer.Option(help="Privacy budget of one user, in nats.", show_default=False)
]


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
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="Write arrays that prove the nonnegative bound.", show_default=False
        ),
    ] = None,
    check_file: Annotated[
        Path | None,
        typer.Option(
            "--check", metavar="FILE", help="Compute the bound of a certificate again.", show_default=False
        ),
    ] = None,
    plot: PLOT = None,
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
    from stratagem.io.target import check_target
    from stratagem.math.privacy import check
    from stratagem.study.bound_table import bound_sweep

    check_plot(plot, force=force)
    if certificate is not None:
        check_target(certificate, (".npz",))
        check_free(certificate, force=force)
    asked = read_workload(workload, domain, order, width)
    tight, time = tight or seconds is not None, deadline()
    limit = time.left if certificate is None else time.until(BOUNDS)
    if tight:
        note(f"tightening bounds for at most {limit:.0f} s; Ctrl-C ends it")
    workloads, budgets = asked, [check(epsilon)]
    if over is not None:
        workloads, budgets = read_over(
            over, asked, epsilon, lambda text: read_workload(workload, text, order, width)
        )
    with progress("computing bounds"), within(limit):
        options = {"objective": objective, "prior": read_prior(prior, asked)}
        line = bound_sweep(workloads, budgets, **options, seconds=max(limit, SOON) if tight else None)
    if plot is not None:
        line.plot(plot)
    proved: dict[str, object] = {}
    if certificate is not None:
        proved = _certified(line.points[0], certificate, options["prior"])
    if json:
        write_json((_point_data(line.points[0]) | proved) if over is None else _line_data(line))
        return
    if not all(point.workload.counted for point in line.points):
        note("the domain is beyond 2^53 cells: bounds are per user type, on L/n")
    if over is None:
        _write_bounds(line.points[0], **options)
    else:
        _write_line(line)
        note_incomplete(line.complete)
    if proved:
        write(f"certificate of {proved['certified']:,.6f} written to {certificate}")
    write_files(drawn=plot)


def _certified(point: BoundPoint, path: Path, prior: np.ndarray | None) -> dict[str, object]:
    """Write a certificate of one bound, and return its value by name."""
    from stratagem.mechanism.export.certificate_file import certified

    with progress("proving the bound"):
        found = certified(point.workload, point.epsilon, prior, point.bounds.best, deadline().left)
    found.save(path, overwrite=True)
    return {"certified": found.value, "certificate": str(path)}


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


def _write_bounds(point: BoundPoint, objective: str, prior: np.ndarray | None) -> None:
    """Say what the best bound means, and what each of them is."""
    from stratagem.catalogue.bibliography import MEANINGS, SCOPE
    from stratagem.io.table import Table
    from stratagem.problem import problem_of
    from stratagem.study.headline import bound_sentence

    known, best = point.bounds.known(), point.bounds.name
    problem = problem_of(point.workload, point.epsilon, objective, prior)
    write(f"{bound_sentence(problem, point.bounds)}: the best bound, {best}, is {known[best]:,.6f}.\n")
    rows = [(name, MEANINGS[name].title, f"{value:,.6f}") for name, value in known.items()]
    write_table(Table(("bound", "what it is", "value"), rows, words=2, bold=list(known).index(best)))
    write(f"\nvalue: no ε-LDP strategy with {SCOPE} has a smaller objective")


def _write_line(line: BoundSweep) -> None:
    """Say what the best bound is at every place, and write all of them as shares of it."""
    from stratagem.catalogue.bibliography import SCOPE
    from stratagem.math.number import number_text

    best = ", ".join(
        f"{number_text(point.bounds.best)} at {line.axis} {place:g} ({point.bounds.name})"
        for place, point in zip(line.places, line.points, strict=True)
    )
    write(f"No ε-LDP strategy with {SCOPE} has an objective below {best}.\n")
    write_table(line.table())


def _point_data(point: BoundPoint) -> dict[str, object]:
    per_type = {} if point.workload.counted else {"per_type": True}
    return {**point.bounds.record(), **per_type}


def _line_data(line: BoundSweep) -> dict[str, object]:
    places = [
        {"domain": str(point.workload.domain), "epsilon": point.epsilon, "bounds": _point_data(point)}
        for point in line.points
    ]
    return {"axis": line.axis, "complete": line.complete, "places": places}
