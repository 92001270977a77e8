"""The command `compare`: the optimised strategy beside every baseline and bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.bound import bounds_data
from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    GAP,
    JSON,
    ORDER,
    OUTPUTS,
    RESTARTS,
    SECONDS,
    SEED,
    SOLVER,
    WIDTH,
    WORKLOAD,
    read_workload,
)
from stratagem.cli.output import write, write_json, write_table
from stratagem.cli.progress import progress

if TYPE_CHECKING:
    from stratagem.comparison import Comparison


def compare(
    workload: WORKLOAD,
    epsilon: EPSILON,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    solver: SOLVER = "auto",
    outputs: OUTPUTS = None,
    restarts: RESTARTS = None,
    seed: SEED = None,
    gap: GAP = None,
    seconds: SECONDS = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it: an .svg, .png or .pdf file.")] = None,
    json: JSON = False,
) -> None:
    """Set an optimised strategy beside every published mechanism and every lower bound."""
    from stratagem.comparison import compare as run
    from stratagem.preset import load_solver
    from stratagem.privacy import check

    check(epsilon)
    asked = read_workload(workload, domain, order, width)
    chosen = load_solver(solver, outputs=outputs, restarts=restarts, seed=seed, gap=gap, max_seconds=seconds)
    _check_plot(plot)
    with progress("comparing") as on_step:
        comparison = run(asked, epsilon, chosen, on_step)
    if plot is not None:
        comparison.plot(plot)
    if json:
        write_json(_data(comparison))
        return
    write(f"{workload} over domain {asked.domain}, epsilon {epsilon:g}\n")
    write_comparison(comparison)
    if plot is not None:
        write(f"drawn in {plot}")


def write_comparison(comparison: Comparison) -> None:
    """Write the table of mechanisms, the optimised one in bold, and the bounds."""
    from stratagem.comparison import HEADINGS

    ours = next(place for place, row in enumerate(comparison.rows) if row.mechanism == "optimised")
    write_table(HEADINGS, comparison.cells(), words=2, bold=ours)
    write(f"\n{comparison.footer()}")
    write("users needed: for worst-case normalised variance 0.01")


def _check_plot(path: Path | None) -> None:
    """Refuse a plot that could not be drawn, before the work."""
    from stratagem.plots import SUFFIXES, check_matplotlib
    from stratagem.target import check_target

    if path is not None:
        check_target(path, SUFFIXES)
        check_matplotlib()


def _data(comparison: Comparison) -> dict[str, object]:
    mechanisms = [
        {
            "mechanism": row.mechanism,
            "parameters": row.parameters,
            "objective": row.objective,
            "worst_case_variance": row.worst_case_variance,
            "sample_complexity": row.sample_complexity,
            "epsilon": row.epsilon,
            "outputs": row.outputs,
        }
        for row in comparison.rows
    ]
    return {"mechanisms": mechanisms, "bounds": bounds_data(comparison.bounds)}
