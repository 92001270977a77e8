"""The command `inspect`: what one report, ten reports and shuffled reports of a saved strategy reveal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from stratagem.cli.interruption import keeping, progress
from stratagem.cli.option import FORCE, JSON, STRATEGY_FILE, check_free
from stratagem.cli.output import write, write_files, write_json, write_table

USERS, DELTA, SEVERAL = 10_000, 1e-6, 10
"""People whose reports are shuffled and their delta where none are given, and the reports of one person."""


def inspect(
    file: STRATEGY_FILE,
    users: Annotated[int, typer.Option(help="People whose reports are shuffled together.")] = USERS,
    delta: Annotated[
        float, typer.Option(help="Extra probability that the epsilon of shuffled reports does not cover.")
    ] = DELTA,
    memo: Annotated[
        float | None,
        typer.Option(
            help="As if devices kept their first draw: epsilon of any number of reports of one person about one value."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="With --memo: the same bundle with it, *.ldp.json.")
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Say what one report, ten reports of one person and all shuffled reports reveal about a person.

    With --memo devices keep their first draw: a bundle that is saved gets a memo, which changes neither a single
    report nor its error.
    """
    from stratagem.math.privacy import posterior, surest
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.mechanism.mechanism import SUFFIX, Mechanism
    from stratagem.study.attacks import attack, attack_repeated
    from stratagem.study.repeated import promised

    if out is not None and memo is None:
        raise ValueError("-o was given, but nothing is made: add --memo, or leave -o out")
    check_free(out, (SUFFIX,), force=force)
    with progress("computing"):
        saved = read_saved(file)
        made = saved if isinstance(saved, Mechanism) else None
        if memo is not None:
            if made is None:
                raise ValueError(f"{file} is no bundle, which a memo needs: save the strategy as *{SUFFIX}")
            made = made.memoised(memo)
        kept = None if made is None else made.memo
        one, every = attack(saved.strategy), None if kept is None else attack_repeated(kept)
        total = SEVERAL * one.epsilon if kept is None else kept.epsilon(SEVERAL)
        shuffled = saved.strategy.blanket.shuffled(users, delta)
        told = promised(made) if made is not None and kept is not None else {}
    with keeping():
        if out is not None and made is not None:
            made.save(out, overwrite=True)
        if json:
            ten = {"epsilon": total, "belief_after_one_half": posterior(0.5, total)}
            others = {"all_reports": None if every is None else every.record(), "ten_reports": ten}
            files = {"shuffled": asdict(shuffled), "file": None if out is None else str(out)}
            write_json(one.record() | others | told | files)
            return
        write(str(one))
        if kept is None:
            write(
                f"\nTen reports of one person about one value, each drawn anew, together tell at most what epsilon "
                f"{total:.4g} allows: an answer as likely as not before is {surest(total)} likely after them."
            )
        else:
            write(f"\n{every}\n\n{kept}\n")
            write_promised(told["promised"])
        write(f"\n{shuffled}")
        if kept is not None:
            write(
                "It holds for one report of each person: repeated reports of one person add up and are not covered."
            )
        write_files(saved=out)


def write_promised(promised: Sequence[Mapping[str, Any]]) -> None:
    """Write what several numbers of reports of one person tell, and the error of their mean."""
    from stratagem.io.table import Table
    from stratagem.math.number import upper

    rows = [
        (f"{reports:,}", upper(epsilon), "-" if error is None else f"{100 * error:.3g} %")
        for reports, epsilon, error in (row.values() for row in promised)
    ]
    write_table(Table(("reports per person", "total epsilon", "standard error"), rows))
    write("\nThe standard error is that of their mean, as a share of that of one report.")
    if promised[0]["error"] is None:
        write("It is not computed here: the reports are too many to list.")
