"""The command `attack`: what one report tells, and strategies that cap it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import keeping, progress
from stratagem.cli.option import (
    DOMAIN,
    FORCE,
    JSON,
    ORDER,
    PLOT,
    SECONDS,
    SEED,
    WIDTH,
    WORKLOAD_EPSILON,
    WORKLOAD_OR_FILE,
    check_free,
    check_plot,
    read_workload,
)
from stratagem.cli.output import write, write_files, write_json, write_table
from stratagem.cli.request import saved_alone

if TYPE_CHECKING:
    from stratagem.study.attack import Attack, CappedDesign


def attack(
    workload: WORKLOAD_OR_FILE,
    epsilon: WORKLOAD_EPSILON = None,
    guess: Annotated[
        float | None,
        typer.Option(
            help="Find the best strategy whose best guess is right with at most this probability, such as 0.05; "
            "without it several strategies.",
            show_default=False,
        ),
    ] = None,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    seed: SEED = None,
    seconds: SECONDS = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="With --guess: the bundle to write, *.ldp.json.", show_default=False
        ),
    ] = None,
    plot: PLOT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Say what whoever sees one report learns about its sender, or find strategies that cap it.

    A file is a strategy that is attacked. A workload and epsilon ask for the best strategies under caps on the best
    guess.
    """
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.study import attack as study

    options = {
        "epsilon": epsilon,
        "guess": guess,
        "domain": domain,
        "order": order,
        "width": width,
        "seed": seed,
    }
    given = [name for name, value in (options | {"out": out, "plot": plot}).items() if value is not None]
    if (file := saved_alone(workload, given)) is not None:
        with progress("computing"):
            saved = read_saved(file)
            learned = study.attack(saved.strategy)
            memo = saved.memo if isinstance(saved, Mechanism) else None
            every = None if memo is None else study.attack_repeated(memo)
        if json:
            write_json(_learned(learned) | {"all_reports": None if every is None else _learned(every)})
        else:
            write(str(learned) if every is None else f"{learned}\n\n{every}")
        return
    if epsilon is None:
        raise ValueError(f"{workload} was given without a privacy budget: add one, for example --epsilon 1")
    if guess is None and out is not None:
        raise ValueError("-o was given, but several strategies are found: choose one by --guess")
    if guess is not None and plot is not None:
        raise ValueError(
            "--plot was given with --guess, but draws several strategies: leave one of the two out"
        )
    _check_files(out, plot, force=force)
    asked = read_workload(workload, domain, order, width)
    with progress("searching") as on_step:
        if guess is not None:
            designs = (study.optimise_capped(asked, epsilon, guess, on_step, seed=seed or 0),)
        else:
            designs = study.guess_frontier(asked, epsilon, on_step=on_step, seed=seed or 0).designs
    line = study.Frontier(designs)
    with keeping():
        if plot is not None:
            line.plot(plot)
        if out is not None:
            designs[0].mechanism(name=workload).save(out, overwrite=True)
        if json:
            found = [_designed(one) for one in designs]
            write_json(found[0] if guess is not None else {"frontier": found})
        elif guess is not None:
            write(str(designs[0]))
            write_files(saved=out)
        else:
            write("More protection costs accuracy: the best strategies found under caps on the best guess.\n")
            write_table(line.table())
            write_files(drawn=plot)


def _check_files(out: Path | None, plot: Path | None, *, force: bool) -> None:
    from stratagem.io.target import check_target
    from stratagem.mechanism.mechanism import SUFFIX

    if out is not None:
        check_target(out, (SUFFIX,))
        check_free(out, force=force)
    check_plot(plot, force=force)


def _learned(found: Attack) -> dict[str, object]:
    return {
        "best_guess": found.guess,
        "guess_without_report": found.blind,
        "advantage": found.advantage,
        "belief_after_one_half": found.believed,
        "epsilon": found.epsilon,
        "roc": [list(point) for point in found.roc],
    }


def _designed(found: CappedDesign) -> dict[str, object]:
    return {
        "cap": found.cap,
        **_learned(found.attack),
        "objective": found.objective,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "objective_without_cap": found.free.objective,
        "users_for_one_percent": found.users_for()._asdict(),
    }
