"""The command `central`: what a trusted curator would reach, to hold the local model's results against."""

from __future__ import annotations

from typing import Annotated

import typer

from stratagem.cli.interruption import progress
from stratagem.cli.option import DOMAIN, EPSILON, JSON, ORDER, WIDTH, WORKLOAD, read_workload
from stratagem.cli.output import write, write_json, write_table


def central(
    workload: WORKLOAD,
    epsilon: EPSILON,
    neighbours: Annotated[
        str, typer.Option(help="add-remove or replace; replace is what the local model protects.")
    ],
    domain: DOMAIN = None,
    delta: Annotated[float | None, typer.Option(help="Adds Gaussian noise of (epsilon, delta).")] = None,
    order: ORDER = None,
    width: WIDTH = None,
    json: JSON = False,
) -> None:
    """Set the mechanisms of a trusted curator side by side, each tuned for a workload."""
    from stratagem.central import compare
    from stratagem.central.measurement import check
    from stratagem.math.number import number_text
    from stratagem.workloads.explicit import counts_users

    relation = check(neighbours)
    asked = read_workload(workload, domain, order, width)
    with progress("comparing"):
        found = compare(asked, epsilon, relation, delta)
    if json:
        write_json(
            {
                "workload": workload,
                "domain": str(asked.domain),
                "epsilon": epsilon,
                "delta": delta,
                "neighbours": neighbours,
                "mechanisms": [row.record() for row in found.rows],
            }
        )
        return
    promise = f"epsilon {epsilon:g}" if delta is None else f"epsilon {epsilon:g}, delta {delta:g}"
    best, unit = found.rows[0], "users" if counts_users(asked) else "in the units of the queries"
    name = f"{best.mechanism} ({best.parameters})" if best.parameters else best.mechanism
    write(
        f"With a trusted curator the best mechanism, {name}, has a standard error of "
        f"{number_text(best.average_variance**0.5)} {unit}, root mean square over the queries, and of "
        f"{number_text(best.worst_variance**0.5)} for the least accurate answer, however many users there are.\n"
    )
    write_table(found.table())
    write("\nvariance: of a query's answer in squared counts, the same for all data; the curator is trusted")
    write(f"asked: {workload} over domain {asked.domain}, {promise}, neighbours {neighbours}")
