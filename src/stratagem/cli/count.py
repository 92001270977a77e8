"""The command `count`: a group size, a budget and properties in, the optimal count mechanism out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import progress
from stratagem.cli.option import FORCE, JSON, PLOT, check_free, check_plot, read_row
from stratagem.cli.output import fail, write, write_files, write_json, write_table

if TYPE_CHECKING:
    import numpy as np

    from stratagem.counts import CountDesign

SHOWN = 10
"""Group size up to which the matrix is printed."""
LOSS_SUFFIXES = (".npy", ".csv")


def count(
    size: Annotated[int, typer.Option(help="People in a group, n: the counts are 0 to n.")],
    alpha: Annotated[str | None, typer.Option(help="exp(-epsilon): 0.9 or 10/11, taken exactly.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget in nats, instead of alpha.")] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="L0, L1 or L2; L0,2 for errors above 2; or a .npy or .csv file of losses, outputs x counts."
        ),
    ] = "L0",
    properties: Annotated[str, typer.Option(help="Any of RH,RM,CH,CM,F,WH,S or all.")] = "",
    prior: Annotated[
        Path | None,
        typer.Option(help="How common each count is: n + 1 weights, .npy or .csv."),
    ] = None,
    worst: Annotated[
        bool, typer.Option("--max", help="Least loss at the worst count, not on average.")
    ] = False,
    reach: Annotated[int, typer.Option(help="How far apart counts may be that alpha hides.")] = 1,
    column_ratio: Annotated[
        str | None,
        typer.Option(help="Least ratio between neighbouring outputs of a count."),
    ] = None,
    solver: Annotated[str, typer.Option(help="Of the linear program: highs or clarabel.")] = "highs",
    plot: PLOT = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Save as .count.json (the bundle that runs), .npz (doubles) or .csv (the matrix).",
        ),
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find the cheapest mechanism that releases a count of n people and has the properties asked for."""
    from stratagem.counts import design
    from stratagem.counts.optimum import WRITERS, save

    check_plot(plot, force=force)
    check_free(out, tuple(WRITERS), force=force)
    with progress("solving the linear program"):
        try:
            found = design(
                size,
                alpha,
                _read_loss(loss),
                properties,
                epsilon=epsilon,
                prior=None if prior is None else read_row(prior),
                aggregate="max" if worst else "sum",
                reach=reach,
                column_ratio=column_ratio,
                solver=solver.upper(),  # type: ignore[arg-type]
            )
        except RuntimeError as error:
            fail(str(error))
    if plot is not None:
        found.plot(plot)
    if out is not None:
        save(out, found)
    if json:
        write_json(_data(found, epsilon, out))
    else:
        _describe(found, plot, out)


def _read_loss(loss: str) -> str | np.ndarray:
    """Return the name of a loss, or the matrix in the file of that name."""
    from stratagem.workloads.given import read_matrix

    return read_matrix(Path(loss)) if loss.lower().endswith(LOSS_SUFFIXES) else loss


def _data(found: CountDesign, epsilon: float | None, out: Path | None) -> dict[str, object]:
    from stratagem.counts.exact import log_decay
    from stratagem.counts.mechanism import MATRIX
    from stratagem.counts.property import names

    mechanism = found.mechanism
    return {
        "name": mechanism.name,
        "size": mechanism.size,
        "alpha": float(mechanism.alpha),
        "epsilon": -log_decay(mechanism.alpha) if epsilon is None else epsilon,
        "epsilon_realised": abs(log_decay(1 / mechanism.ratio())),
        "loss": found.loss,
        "cost": found.cost,
        "bound": found.bound,
        "gap": found.gap,
        "requested": names(found.requested),
        "properties": names(mechanism.properties),
        "route": found.route,
        "status": str(found.status),
        "matrix": mechanism.matrix.tolist() if mechanism.size <= MATRIX else None,
        "file": None if out is None else str(out),
    }


def _describe(found: CountDesign, plot: Path | None, out: Path | None) -> None:
    """Say what was found, with the matrix where it is small."""
    from stratagem.io.table import Table

    write(str(found))
    if found.mechanism.size <= SHOWN:
        counts = range(found.mechanism.size + 1)
        write("\nprobability of an output (row) at a count (column):")
        rows = zip(counts, found.mechanism.matrix, strict=True)
        cells = [(str(output), *(f"{p:.4f}" for p in row)) for output, row in rows]
        write_table(Table(("", *map(str, counts)), cells))
    write_files(drawn=plot, saved=out)
