"""The command `tune`: a published mechanism at its best on a workload, saved as if it had been found."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from stratagem.cli.interruption import progress
from stratagem.cli.layout import check_values_kept, read_described
from stratagem.cli.optimise import SavedSolution, check_out
from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    FORCE,
    JSON,
    OUT,
    SECONDS,
    WORKLOAD,
    GoalOptions,
    QueryOptions,
    ValueOptions,
)
from stratagem.cli.output import apart, facts_lines, write_json, write_lines


def tune(
    *,
    workload: WORKLOAD,
    mechanism: Annotated[str, Argument(metavar="MECHANISM", help="A name of `stratagem list`.")],
    epsilon: EPSILON,
    domain: DOMAIN = None,
    queries: QueryOptions,
    goal: GoalOptions,
    values: ValueOptions,
    seconds: SECONDS = None,
    out: OUT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Tune a published mechanism for a workload, say how far it is from the best possible unbiased one, and save it."""
    from stratagem.study.summary import summary
    from stratagem.study.tuning import tune as run

    asked = read_described(workload, domain, queries, values)
    options = goal.read(asked)
    check_out(out, plain=goal.plain, force=force)
    check_values_kept(out, values)
    with progress("tuning"):
        solution = run(asked, epsilon, mechanism, **options)
    found = SavedSolution.saved(solution, workload, out, goal)
    if json:
        write_json(found.record())
        return
    said = summary(solution.problem, solution.bounds, solution, None, mechanism)
    write_lines([*apart(said), "", *facts_lines(found.facts())])
