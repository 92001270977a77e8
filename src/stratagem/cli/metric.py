"""The command `metric`: strategies for values on a line, private by distance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import keeping, progress
from stratagem.cli.layout import read_described
from stratagem.cli.option import (
    DOMAIN,
    EDGES,
    FORCE,
    JSON,
    LABELS,
    SECONDS,
    SEED,
    UNIT,
    WIDTH,
    WORKLOAD,
    check_free,
)
from stratagem.cli.output import write, write_facts, write_files, write_json
from stratagem.io.numeral import parse_number

if TYPE_CHECKING:
    from stratagem.study.metric import MetricDesign


def metric(
    workload: WORKLOAD,
    step: Annotated[
        str,
        typer.Option(
            help="Privacy budget between a value and the next, in nats: one number such as 0.1, or one for each pair "
            "of neighbours, 0.1,0.1,0.5."
        ),
    ],
    domain: DOMAIN = None,
    width: WIDTH = None,
    edges: EDGES = None,
    labels: LABELS = None,
    unit: UNIT = None,
    seed: SEED = None,
    seconds: SECONDS = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="The bundle, *.ldp.json, or the matrix, .npz, .csv, .mat or .parquet.",
            show_default=False,
        ),
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find a strategy that protects near values more than far ones. Ctrl-C keeps the best so far.

    Values stand in order on a line; the budgets of the steps between two values add up.
    """
    from stratagem.io.target import check_target
    from stratagem.mechanism.export.strategy_file import WRITERS
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.study.metric import optimise_metric
    from stratagem.workloads.domain import OTHER

    if out is not None:
        check_target(out, (SUFFIX, *WRITERS))
        check_free(out, force=force)
    steps = _numbers(step)
    asked, values = read_described(workload, domain, None, width, edges, labels, unit)
    last = (texts[-1] for texts in (*values["edges"].values(), *values["labels"].values()))
    if OTHER in last:
        raise ValueError(
            "the value other has no place on a line, whose values are private by distance: leave it out"
        )
    with progress("searching") as on_step:
        found = optimise_metric(asked, steps, on_step, seed=seed or 0)
    with keeping():
        reports = found.strategy.outputs
        if out is not None and out.name.lower().endswith(SUFFIX):
            made = found.mechanism(name=workload, **values)
            made.save(out, overwrite=True)
            reports = made.outputs
        elif out is not None:
            found.save(out, name=workload, overwrite=True)
        if json:
            write_json(_data(found, workload, out, reports))
            return
        write(f"{found}\n")
        write_facts({"found": f"{reports:,} possible reports"})
        write_files(saved=out)


def _numbers(text: str) -> float | list[float]:
    """Return one number, or those between commas.

    Raises:
        ValueError: for anything else.
    """
    try:
        steps = [parse_number(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--step is {text!r}: give one number such as 0.1, or several, 0.1,0.1,0.5"
        ) from None
    return steps[0] if len(steps) == 1 else steps


def _data(found: MetricDesign, name: str, out: Path | None, reports: int) -> dict[str, object]:
    return {
        "workload": name,
        "domain": str(found.workload.domain),
        "steps": found.steps.tolist(),
        "epsilon": found.epsilon,
        "objective": found.objective,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "geometric_objective": found.published,
        "published_objective": found.published,
        "users_for_one_percent": found.users_for()._asdict(),
        "reports": reports,
        "file": None if out is None else str(out),
    }
