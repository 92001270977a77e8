"""The commands of the central model: `central` for a curator's answers to queries, `count` for a released count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stratagem.cli.command import options
from stratagem.cli.interruption import progress
from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    FORCE,
    JSON,
    PLOT,
    WORKLOAD,
    QueryOptions,
    check_free,
    check_plot,
    read_row,
)
from stratagem.cli.output import fail, write_files, write_json, write_lines, write_result

if TYPE_CHECKING:
    from stratagem.counts import CountDesign


def central(
    *,
    workload: WORKLOAD,
    epsilon: EPSILON,
    neighbours: Annotated[
        str, Option(help="add-remove or replace; replace is what the local model protects.")
    ],
    domain: DOMAIN = None,
    queries: QueryOptions,
    delta: Annotated[float | None, Option(help="Adds Gaussian noise of (epsilon, delta).")] = None,
    json: JSON = False,
) -> None:
    """Set the mechanisms of a trusted curator side by side, each tuned for a workload."""
    from stratagem.central import compare
    from stratagem.central.measurement import check
    from stratagem.workloads.given import load

    relation = check(neighbours)
    asked = load(workload, domain=domain, **queries.read())
    with progress("comparing"):
        found = compare(asked, epsilon, relation, delta)
    write_result(replace(found, name=workload), json=json)


LOSS_SUFFIXES = (".npy", ".csv")


@options
class CountOptions:
    """The mechanism that is asked for."""

    size: Annotated[int, Option(help="People in a group, n: the counts are 0 to n.")]
    alpha: Annotated[str | None, Option(help="exp(-epsilon): 0.9 or 10/11, taken exactly.")] = None
    epsilon: Annotated[float | None, Option(help="Privacy budget in nats, instead of alpha.")] = None
    loss: Annotated[
        str,
        Option(
            help="L0, L1 or L2; L0,2 for errors above 2; or a .npy or .csv file of losses, outputs x counts."
        ),
    ] = "L0"
    properties: Annotated[str, Option(help="Any of RH,RM,CH,CM,F,WH,S or all.")] = ""
    prior: Annotated[Path | None, Option(help="How common each count is: n + 1 weights, .npy or .csv.")] = (
        None
    )
    worst: Annotated[bool, Option("--max", help="Least loss at the worst count, not on average.")] = False
    reach: Annotated[int, Option(help="How far apart counts may be that alpha hides.")] = 1
    column_ratio: Annotated[
        str | None, Option(help="Least ratio between neighbouring outputs of a count.")
    ] = None
    solver: Annotated[str, Option(help="Of the linear program: highs or clarabel.")] = "highs"

    def designed(self) -> CountDesign:
        """Return the mechanism of least cost."""
        from stratagem.counts import design
        from stratagem.workloads.given import read_matrix

        return design(
            self.size,
            self.alpha,
            read_matrix(Path(self.loss)) if self.loss.lower().endswith(LOSS_SUFFIXES) else self.loss,
            self.properties,
            epsilon=self.epsilon,
            prior=None if self.prior is None else read_row(self.prior),
            aggregate="max" if self.worst else "sum",
            reach=self.reach,
            column_ratio=self.column_ratio,
            solver=self.solver.upper(),  # type: ignore[arg-type]
        )


def count(
    wanted: CountOptions,
    plot: PLOT = None,
    out: Annotated[
        Path | None,
        Option(
            "-o",
            "--out",
            help="Save as .count.json (the mechanism file), .npz (doubles) or .csv (the matrix).",
        ),
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find the cheapest mechanism that releases a count of n people and has the properties asked for."""
    from stratagem.counts.optimum import WRITERS, save

    check_plot(plot, force=force)
    check_free(out, tuple(WRITERS), force=force)
    with progress("solving the linear program"):
        try:
            found = wanted.designed()
        except RuntimeError as error:
            fail(str(error))
    if plot is not None:
        found.plot(plot)
    if out is not None:
        save(out, found)
    if json:
        stated = {} if wanted.epsilon is None else {"epsilon": wanted.epsilon}
        write_json(found.record() | stated | {"file": None if out is None else str(out)})
    else:
        write_lines(found.sentences())
        write_files(drawn=plot, saved=out)
