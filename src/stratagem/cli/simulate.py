"""The command `simulate`: real data in, error against the truth out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from stratagem.cli.interruption import progress
from stratagem.cli.layout import read_sources, read_values
from stratagem.cli.option import EDGES, JSON, LABELS, STRATEGY_FILE, ReadingOptions, ValueOptions
from stratagem.cli.output import write_result


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
