"""The commands `inspect` and `simulate`: what a saved strategy reveals, and how far off it is on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from stratagem.cli.interruption import keeping, progress
from stratagem.cli.layout import read_sources, read_values
from stratagem.cli.option import (
    EDGES,
    FORCE,
    JSON,
    LABELS,
    STRATEGY_FILE,
    ReadingOptions,
    ValueOptions,
    check_free,
)
from stratagem.cli.output import write_files, write_json, write_lines, write_result

USERS, DELTA = 10_000, 1e-6
"""People whose reports are shuffled and their delta where none are given."""


def inspect(
    file: STRATEGY_FILE,
    users: Annotated[int, Option(help="People whose reports are shuffled together.")] = USERS,
    delta: Annotated[
        float, Option(help="Extra probability that the epsilon of shuffled reports does not cover.")
    ] = DELTA,
    memo: Annotated[
        float | None,
        Option(
            help="As if devices kept their first draw: epsilon of any number of reports of one person about one value."
        ),
    ] = None,
    out: Annotated[
        Path | None, Option("-o", "--out", help="With --memo: the same bundle with it, *.ldp.json.")
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Say what one report, ten reports of one person and all shuffled reports reveal about a person.

    With --memo devices keep their first draw: a bundle that is saved gets a memo, which changes neither a single
    report nor its error.
    """
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.study.attacks import Revealed

    if out is not None and memo is None:
        raise ValueError("-o was given, but nothing is made: add --memo, or leave -o out")
    check_free(out, (SUFFIX,), force=force)
    with progress("computing"):
        saved = read_saved(file)
        made = saved.bundled
        if memo is not None and made is None:
            raise ValueError(f"{file} is no bundle, which a memo needs: save the strategy as *{SUFFIX}")
        made = made if made is None or memo is None else made.memoised(memo)
        found = Revealed.of(saved.strategy, made, users, delta)
    with keeping():
        if out is not None and made is not None:
            made.save(out, overwrite=True)
        if json:
            write_json(found.record() | {"file": None if out is None else str(out)})
            return
        write_lines(found.sentences())
        write_files(saved=out)


def simulate(
    file: STRATEGY_FILE,
    data: Annotated[Path, Option(metavar="DATA", help="A CSV (with a header) or Parquet file.")],
    column: Annotated[
        list[str], Option(help="The column to read; with several attributes ATTRIBUTE=COLUMN, repeated.")
    ],
    reading: ReadingOptions,
    edges: EDGES = None,
    labels: LABELS = None,
    repetitions: Annotated[int, Option(min=2, help="How often all users report.")] = 100,
    seed: Annotated[int, Option(min=0, help="Makes the run repeatable.")] = 0,
    queries: Annotated[int, Option(min=1, help="Answers to show, evenly spread.")] = 10,
    json: JSON = False,
) -> None:
    """Run a saved strategy on a file: true and estimated answers, observed against predicted error."""
    from stratagem.domain.columns import read
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.report.estimated import simulated

    policy = reading.policy(data)
    stored = read_saved(file)
    domain = read_values(stored.workload.domain, ValueOptions(edges=edges, labels=labels))
    with progress("simulating"):
        users = read(data, domain, read_sources(domain, column), policy)
        found = simulated(stored, domain, users, repetitions=repetitions, seed=seed, shown=queries)
    write_result(found, json=json)
