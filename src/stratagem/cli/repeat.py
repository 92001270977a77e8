"""The command `repeat`: what reports of one person tell together, and the best mechanism for several of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import keeping, progress
from stratagem.cli.option import (
    BUNDLE_OUT,
    DOMAIN,
    FORCE,
    JSON,
    ORDER,
    SECONDS,
    WIDTH,
    WORKLOAD_EPSILON,
    WORKLOAD_OR_FILE,
    check_free,
    read_workload,
)
from stratagem.cli.output import write, write_files, write_json, write_table
from stratagem.cli.request import saved_alone

if TYPE_CHECKING:
    from stratagem.mechanism.mechanism import Mechanism

SHOWN = (1, 2, 5, 10, 30, 100, 1000)
"""Numbers of reports of one person that a table shows."""


def repeat(
    workload: WORKLOAD_OR_FILE,
    epsilon: WORKLOAD_EPSILON = None,
    permanent: Annotated[
        float | None,
        typer.Option(
            help="The epsilon of any number of reports of one person about one value; above that of one report.",
            show_default=False,
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Reports of each person that are averaged, 1 by default: the sets are chosen for their mean.",
            show_default=False,
        ),
    ] = None,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    seconds: SECONDS = None,
    out: BUNDLE_OUT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find a mechanism for people who report again and again, or say what a bundle promises about them.

    A device keeps the first draw, its memo, so that any number of reports has the permanent epsilon. A bundle that is
    saved and --permanent give the same bundle with a memo.
    """
    from stratagem.io.target import check_target
    from stratagem.mechanism.mechanism import SUFFIX, load_mechanism

    if out is not None:
        check_target(out, (SUFFIX,))
        check_free(out, force=force)
    options = {"epsilon": epsilon, "rounds": rounds, "domain": domain, "order": order, "width": width}
    given = [name for name, value in options.items() if value is not None]
    if (file := saved_alone(workload, given)) is not None:
        found = load_mechanism(file)
        if permanent is not None:
            found = found.memoised(permanent)
        elif found.memo is None:
            raise ValueError(f"{file} is made for one report of each person: add a memo with --permanent 2")
        elif out is not None:
            raise ValueError("-o was given, but nothing is made: add --permanent, or leave -o out")
        text = str(found.memo)
    else:
        for name, value in (("--epsilon 0.5", epsilon), ("--permanent 2", permanent)):
            if value is None:
                raise ValueError(
                    f"{workload} was given without an epsilon that is needed: add for example {name}"
                )
        from stratagem.study.repeated import optimise_repeated

        asked = read_workload(workload, domain, order, width)
        with progress("searching") as on_step:
            design = optimise_repeated(
                asked, epsilon or 0, permanent or 0, 1 if rounds is None else rounds, on_step
            )
        found, text = design.mechanism, str(design)
    promised = _promised(found)
    with keeping():
        if out is not None:
            found.save(out, overwrite=True)
        if json:
            write_json(_data(found, workload, promised, out))
            return
        write(f"{text}\n")
        _show(promised)
        write_files(saved=out)


def _show(promised: Sequence[Mapping[str, float | None]]) -> None:
    from stratagem.io.table import Table
    from stratagem.math.number import upper

    rows = [
        (f"{reports:,}", upper(epsilon or 0), "-" if error is None else f"{100 * error:.3g} %")
        for reports, epsilon, error in (row.values() for row in promised)
    ]
    write_table(Table(("reports of each person", "epsilon of all together", "error of their mean"), rows))
    write("\nThe error is a share of the standard error of one report of each person.")
    if promised[0]["error"] is None:
        write("It is not computed here: the reports are too many to list.")


def _promised(found: Mechanism) -> list[dict[str, float | None]]:
    """Return epsilon and the error of the mean for numbers of reports, None where reports are too many to list."""
    from stratagem.study.repeated import variances_of_means

    memo, errors = found.memo, [None] * len(SHOWN)
    assert memo is not None
    with suppress(ValueError):
        variances = variances_of_means(found, SHOWN)
        errors = [math.sqrt(one / variances[0]) for one in variances]
    return [
        {"reports": k, "epsilon": memo.epsilon(k), "error": error}
        for k, error in zip(SHOWN, errors, strict=True)
    ]


def _data(
    found: Mechanism, name: str, promised: Sequence[Mapping[str, float | None]], out: Path | None
) -> dict[str, object]:
    memo = found.memo
    assert memo is not None
    return {
        "workload": name,
        "domain": str(found.domain),
        "epsilon": float(found.epsilon),
        "permanent_epsilon": float(memo.permanent),
        "kept": memo.kept,
        "promised": promised,
        "file": None if out is None else str(out),
    }
