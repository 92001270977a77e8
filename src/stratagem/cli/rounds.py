"""The command `rounds`: from the counts of a first round to the bundle of a second one, in merged bins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from stratagem.cli.estimate import read_counts
from stratagem.cli.interruption import keeping, progress
from stratagem.cli.option import BUNDLE, COUNTS, FORCE, JSON, SECONDS, check_free
from stratagem.cli.output import write, write_files, write_json


def rounds(
    file: BUNDLE,
    counts: COUNTS,
    out: Annotated[Path, Option("-o", "--out", help="The bundle of the second round, *.ldp.json.")],
    users: Annotated[
        int | None, Option(help="People of the second round, by default four for each report of the first.")
    ] = None,
    cells: Annotated[
        int | None,
        Option(help="Merged bins, by default as many as the people leave room for, at most 64."),
    ] = None,
    seconds: SECONDS = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find the mechanism of a second round: bins merged to equal shares by what a first round of a few people told.

    The first bundle asks for prefixes or ranges of numbers, dates or times. Deal people at random: each takes part in
    one round only. Then `stratagem estimate SECOND COUNTS` answers from the second round, without a bias.
    """
    from stratagem.mechanism.mechanism import SUFFIX, load_mechanism
    from stratagem.report.wording import counted
    from stratagem.study.two_rounds import second_round

    check_free(out, (SUFFIX,), force=force)
    first = load_mechanism(file)
    tally = read_counts(first, counts)
    with progress("searching") as on_step:
        second = second_round(first, tally.counts, users=users, cells=cells, on_step=on_step)
    with keeping():
        second.save(out, overwrite=True)
        attribute = second.attributes[0]
        edges = attribute.values.entry()["edges"]
        if json:
            write_json({"mechanism": second.identifier, "edges": edges, "file": str(out)})
            return
        merged = f"{attribute.name}: {first.attributes[0].size} values merged into {attribute.size}"
        write(f"{merged}, edges {','.join(edges)}")
        write(
            f"{counted(tally.reports, 'report')} chose them. Whoever sent one of these takes no part in the second "
            f"round, so that epsilon {float(second.epsilon):g} holds for everybody."
        )
        write_files(saved=out)
