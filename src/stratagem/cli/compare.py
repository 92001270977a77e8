"""The command `compare`: the optimised strategy beside every baseline and bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stratagem.cli.bound import bounds_data
from stratagem.cli.option import JSON, PLOT, check_plot
from stratagem.cli.output import write, write_json, write_table
from stratagem.cli.progress import progress
from stratagem.cli.request import Request, requesting

if TYPE_CHECKING:
    from stratagem.comparison import Comparison


@requesting
def compare(
    request: Request,
    plot: PLOT = None,
    json: JSON = False,
) -> None:
    """Set an optimised strategy beside every published mechanism and every lower bound."""
    from stratagem.comparison import compare as run

    check_plot(plot)
    with progress("comparing") as on_step:
        options = {"objective": request.objective, "prior": request.prior}
        comparison = run(request.workload, request.epsilon, request.solver, on_step, **options)
    if plot is not None:
        comparison.plot(plot)
    if json:
        write_json(_data(comparison, request))
        return
    write(
        f"{request.name} over domain {request.workload.domain}, epsilon {request.epsilon:g}, "
        f"objective {request.objective}\n"
    )
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


def _data(comparison: Comparison, request: Request) -> dict[str, object]:
    mechanisms = [
        {
            "mechanism": row.mechanism,
            "parameters": row.parameters,
            "objective": row.objective,
            "worst_case_variance": row.worst_case_variance,
            "sample_complexity": row.sample_complexity,
            "epsilon": row.epsilon,
            "delta": row.delta,
            "outputs": row.outputs,
            "report": row.report,
        }
        for row in comparison.rows
    ]
    return {
        "objective_kind": request.objective,
        "prior": None if request.prior_file is None else str(request.prior_file),
        "mechanisms": mechanisms,
        "bounds": bounds_data(comparison.bounds),
    }
