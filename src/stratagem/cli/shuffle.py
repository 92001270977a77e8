"""The command `shuffle`: what shuffled reports tell about one person, and the best strategy behind a shuffler."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagem.cli.interruption import keeping, progress
from stratagem.cli.layout import read_described
from stratagem.cli.option import (
    BUNDLE_OUT,
    DOMAIN,
    EDGES,
    FORCE,
    JSON,
    LABELS,
    ORDER,
    SECONDS,
    SEED,
    UNIT,
    WIDTH,
    WORKLOAD_OR_FILE,
    check_free,
)
from stratagem.cli.output import write, write_facts, write_files, write_json
from stratagem.cli.request import saved_alone

if TYPE_CHECKING:
    from stratagem.study.shuffling import ShuffledDesign


def shuffle(
    workload: WORKLOAD_OR_FILE,
    users: Annotated[int, typer.Option(help="People whose reports are shuffled together.")],
    delta: Annotated[
        float, typer.Option(help="Extra probability that the central epsilon does not cover.")
    ] = 1e-6,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="The central epsilon to reach, in nats: searches for the best strategy behind a shuffler.",
            show_default=False,
        ),
    ] = None,
    local: Annotated[
        float | None,
        typer.Option(help="Largest local epsilon of one report, 10 by default.", show_default=False),
    ] = None,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    edges: EDGES = None,
    labels: LABELS = None,
    unit: UNIT = None,
    seed: SEED = None,
    seconds: SECONDS = None,
    out: BUNDLE_OUT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Compute the central epsilon of shuffled reports, or find the best strategy for one. Ctrl-C keeps the best so far.

    A file is a strategy whose reports are shuffled; a workload and the central epsilon ask for the best strategy.
    """
    searched = {
        "epsilon": epsilon,
        "local": local,
        "domain": domain,
        "order": order,
        "width": width,
        "edges": edges,
        "labels": labels,
        "unit": unit,
        "seed": seed,
        "out": out,
    }
    given = [name for name, value in searched.items() if value is not None]
    if (file := saved_alone(workload, given)) is not None:
        _say_of_saved(file, users, delta, json=json)
        return
    if epsilon is None:
        raise ValueError(
            f"{workload} was given without a central epsilon to reach: add one, for example --epsilon 0.1"
        )
    asked, values = read_described(workload, domain, order, width, edges, labels, unit)
    _design(asked, workload, values, out, (epsilon, users, delta), local, seed or 0, force=force, json=json)


def _say_of_saved(file: Path, users: int, delta: float, *, json: bool) -> None:
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.mechanism.mechanism import Mechanism

    with progress("computing"):
        saved = read_saved(file)
        found = saved.strategy.blanket.shuffled(users, delta)
    if json:
        write_json(asdict(found))
    else:
        write(str(found))
        if isinstance(saved, Mechanism) and saved.memo is not None:
            write(
                "It holds for one report of each person: repeated reports of one person add up and are not covered."
            )


def _design(
    asked: Any,
    name: str,
    values: Any,
    out: Path | None,
    target: tuple[float, int, float],
    local: float | None,
    seed: int,
    *,
    force: bool,
    json: bool,
) -> None:
    from stratagem.io.target import check_target
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.study.shuffling import LOCAL, optimise_shuffled

    if out is not None:
        check_target(out, (SUFFIX,))
        check_free(out, force=force)
    with progress("searching") as on_step:
        limits = {"local": LOCAL if local is None else local, "seed": seed}
        found = optimise_shuffled(asked, *target, on_step, **limits)
    with keeping():
        reports = found.strategy.outputs
        if out is not None:
            made = found.mechanism(name=name, **values)
            made.save(out, overwrite=True)
            reports = made.outputs
        if json:
            write_json(_data(found, name, out))
            return
        write(f"{found}\n")
        write_facts({"found": f"{reports:,} possible reports, local epsilon {found.central.local:.4g}"})
        write_files(saved=out)


def _data(found: ShuffledDesign, name: str, out: Path | None) -> dict[str, object]:
    return {
        "workload": name,
        "domain": str(found.workload.domain),
        **asdict(found.central),
        "objective": found.objective,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "users_for_one_percent": found.users_for()._asdict(),
        "own_pairs": {"epsilon": found.own.epsilon, "objective": found.own.objective},
        "safe_for_all": {"epsilon": found.naive.epsilon, "objective": found.naive.objective},
        "seconds": found.seconds,
        "file": None if out is None else str(out),
    }
