"""The command `tune`: a published mechanism at its best on a workload, saved as if it had been found."""

from __future__ import annotations

from typing import Annotated

import typer

from stratagem.cli.interruption import progress
from stratagem.cli.layout import check_values_kept, read_described
from stratagem.cli.optimise import OUT, check_out, data, described, save
from stratagem.cli.option import (
    DOMAIN,
    EDGES,
    EPSILON,
    FORCE,
    JSON,
    LABELS,
    OBJECTIVE,
    ORDER,
    PRIOR,
    SECONDS,
    UNIT,
    WIDTH,
    WORKLOAD,
    read_prior,
)
from stratagem.cli.output import write, write_facts, write_json, write_parts


def tune(
    workload: WORKLOAD,
    mechanism: Annotated[str, typer.Argument(metavar="MECHANISM", help="A name of `stratagem list`.")],
    epsilon: EPSILON,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    objective: OBJECTIVE = "average",
    prior: PRIOR = None,
    seconds: SECONDS = None,
    out: OUT = None,
    edges: EDGES = None,
    labels: LABELS = None,
    unit: UNIT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Tune a published mechanism for a workload, say how far it is from the best possible unbiased one, and save it."""
    from stratagem.study.summary import summary
    from stratagem.study.tuning import tune as run

    asked = read_described(workload, domain, order, width, edges, labels, unit)
    belief = read_prior(prior, asked)
    check_out(out, plain=belief is None and objective == "average", force=force)
    check_values_kept(out, asked.domain)
    with progress("tuning"):
        solution = run(asked, epsilon, mechanism, objective=objective, prior=belief)
    reports = save(solution, workload, out)
    if json:
        write_json(data(solution, workload, prior, out, reports))
        return
    write_parts(summary(solution.problem, solution.bounds, solution, None, mechanism))
    write()
    write_facts(described(solution, workload, out, reports))
