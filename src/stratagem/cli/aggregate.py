"""The command `aggregate`: reports in, counts by output out."""

from __future__ import annotations

import json as text
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.option import BUNDLE, JSON
from stratagem.cli.output import write, write_json
from stratagem.cli.progress import note, progress

if TYPE_CHECKING:
    from stratagem.collection.tally import Tally
    from stratagem.mechanism.mechanism import Mechanism


def aggregate(
    file: BUNDLE,
    reports: Annotated[
        list[str],
        typer.Argument(
            metavar="REPORTS...", help="Files (JSON lines, CSV, Parquet), folders, or - for the input."
        ),
    ],
    state: Annotated[
        Path | None,
        typer.Option(
            help="Keep what was counted in this .duckdb file: more can be added, and a run that was killed goes on.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the counts there, *.json.", show_default=False)
    ] = None,
    json: JSON = False,
) -> None:
    """Count reports by output, each id once; whatever is no valid report is counted by reason.

    Writes the counts as one JSON object, to -o or to standard output.
    """
    from stratagem.collection.tally_file import tally_data
    from stratagem.file.target import check_target, written_atomically
    from stratagem.mechanism.mechanism import load_mechanism

    target = None if out is None else check_target(out, (".json",))
    mechanism = load_mechanism(file)
    with progress("aggregating"):
        tally = (
            _streamed(mechanism, reports, state) if "-" in reports else _collected(mechanism, reports, state)
        )
    data = tally_data(tally, mechanism.identifier)
    if target is not None:
        with written_atomically(target) as opened:
            opened.write(text.dumps(data).encode())
    if json or target is None:
        write_json(data)
    (note if json or target is None else write)(_summary(tally))


def _collected(mechanism: Mechanism, reports: list[str], state: Path | None) -> Tally:
    """Count the reports of files."""
    with mechanism.collection(state) as collection:
        collection.add(reports)
        return collection.tally()


def _streamed(mechanism: Mechanism, reports: list[str], state: Path | None) -> Tally:
    """Count the reports that arrive on standard input."""
    if len(reports) > 1 or state is not None:
        raise ValueError(
            "- stands for the input alone: leave out the other files and --state, or write a file"
        )
    from stratagem.collection.reports import lines

    aggregator = mechanism.aggregator()
    aggregator.add_lines(lines(sys.stdin.buffer))
    return aggregator.tally()


def _summary(tally: Tally) -> str:
    """Say what became of everything received."""
    parts = [f"{tally.reports:,} reports counted of {tally.received:,} received"]
    parts += [f"{reason} {count:,}" for reason, count in tally.rejected.items()]
    parts += [f"repeated ids {tally.duplicates:,}"] * bool(tally.duplicates)
    parts += [f"ids with two outputs {tally.conflicting:,}"] * bool(tally.conflicting)
    parts += [f"without an id, so repeats cannot be found {tally.anonymous:,}"] * bool(tally.anonymous)
    return "; ".join(parts)
