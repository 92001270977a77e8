"""The command `central`: what a trusted curator would reach, to hold the local model's results against."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from typer import Option

from stratagem.cli.interruption import progress
from stratagem.cli.option import DOMAIN, EPSILON, JSON, WORKLOAD, QueryOptions
from stratagem.cli.output import write_result


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

    relation = check(neighbours)
    asked = queries.read(workload, domain)
    with progress("comparing"):
        found = compare(asked, epsilon, relation, delta)
    write_result(replace(found, name=workload), json=json)
