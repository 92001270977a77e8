"""The commands `list`, `inspect` and `simulate`: what has a name, what a saved mechanism reveals, how far off it is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from stratagem.cli.interruption import keeping, progress
from stratagem.cli.layout import read_sources, read_survey_file, read_values
from stratagem.cli.option import (
    EDGES,
    FORCE,
    JSON,
    LABELS,
    PLOT,
    STRATEGY_FILE,
    SURVEY_FILE,
    ReadingOptions,
    ValueOptions,
    check_free,
    check_plot,
)
from stratagem.cli.output import put, write, write_files, write_json, write_lines, write_result, write_table


def listing(
    kind: Annotated[
        str | None,
        Argument(
            metavar="[KIND]", help="Details of workloads, solvers, mechanisms, post-processings or bounds."
        ),
    ] = None,
    bibtex: Annotated[
        bool, Option("--bibtex", help="Write the literature behind them as BibTeX entries.")
    ] = False,
    json: JSON = False,
) -> None:
    """List the names of workloads, solvers, mechanisms, post-processings and bounds, or details of one kind.

    Details are a line each, with its reference.
    """
    from stratagem.io.table import Table
    from stratagem.io.toml import nearest
    from stratagem.study.literature import bibtex as entries
    from stratagem.study.literature import contents

    if bibtex and json:
        raise ValueError("--bibtex and --json were given, but each writes a format of its own: choose one")
    if bibtex:
        put(entries())
        return
    tables = contents()
    if kind is not None and kind not in tables:
        raise ValueError(f"{kind!r} is no kind of name: {nearest(kind, tables)}")
    if json:
        shown = tables if kind is None else {kind: tables[kind]}
        write_json({name: [asdict(item) for item in items] for name, items in shown.items()})
    elif kind is None:
        for name, items in tables.items():
            write(f"{name}: {', '.join(item.name for item in items)}")
        write("\nstratagem list workloads says what each of them is; so do the other kinds.")
    else:
        rows = [(item.name, item.title, item.reference) for item in tables[kind]]
        write_table(Table((kind, "", "reference"), rows, words=3))


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
        Path | None, Option("-o", "--out", help="With --memo: the same mechanism with it, *.ldp.json.")
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Say what one report, ten reports of one person and all shuffled reports reveal about a person.

    With --memo devices keep their first draw: a mechanism file that is saved says so, which changes neither a single
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
            raise ValueError(f"{file} is no mechanism file, which --memo needs: save it as *{SUFFIX}")
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
    reading: ReadingOptions,
    column: Annotated[
        list[str] | None,
        Option(
            help="The column to read; with several attributes ATTRIBUTE=COLUMN, repeated, by default their namesakes."
        ),
    ] = None,
    questions: SURVEY_FILE = None,
    edges: EDGES = None,
    labels: LABELS = None,
    repetitions: Annotated[int, Option(min=2, help="How often all people report.")] = 100,
    seed: Annotated[int, Option(min=0, help="Makes the run repeatable.")] = 0,
    queries: Annotated[int, Option(min=1, help="Answers to show, evenly spread.")] = 10,
    plot: PLOT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Run a saved mechanism on a file: true and estimated answers, observed against predicted error."""
    from stratagem.domain.columns import read
    from stratagem.mechanism.export.saved import read_saved
    from stratagem.report.estimated import simulated

    check_plot(plot, force=force)
    policy = reading.policy(data)
    stored = read_saved(file)
    domain = read_values(stored.workload.domain, ValueOptions(edges=edges, labels=labels))
    column, policy = read_survey_file(questions, domain, column or [], policy)
    with progress("simulating"):
        users = read(data, domain, read_sources(domain, column), policy)
        found = simulated(stored, domain, users, repetitions=repetitions, seed=seed, shown=queries)
    if plot is not None:
        found.result.plot(plot)
    write_result(found, json=json)
    if not json:
        write_files(drawn=plot)
