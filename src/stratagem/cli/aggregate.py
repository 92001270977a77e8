"""The command `aggregate`: reports in, counts by output out."""

from __future__ import annotations

import json as text
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.option import BUNDLE, FORCE, JSON, check_free
from stratagem.cli.output import write, write_json
from stratagem.cli.progress import note, progress

SHOWN = 4
"""Other mechanisms that a sentence names."""

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
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Count reports by output, each id once; whatever is no valid report is counted by reason.

    Writes the counts as one JSON object, to -o or to standard output. With --state the counts of an earlier
    run are brought up to date. Reports of another mechanism are named by its identifier; where there are no
    others, nothing is written.
    """
    from stratagem.collection.tally_file import tally_data
    from stratagem.file.target import check_target, written_atomically
    from stratagem.mechanism.mechanism import load_mechanism

    target = None if out is None else check_target(out, (".json",))
    mechanism = load_mechanism(file)
    check_free(out, force=force or (state is not None and _earlier(out, mechanism)))
    with progress("aggregating"):
        tally, foreign = (
            _streamed(mechanism, reports, state) if "-" in reports else _collected(mechanism, reports, state)
        )
    _check_origin(mechanism, file, tally, foreign)
    data = tally_data(tally, mechanism.identifier)
    if target is not None:
        with written_atomically(target) as opened:
            opened.write(text.dumps(data).encode())
    if json or target is None:
        write_json(data)
    (note if json or target is None else write)(_summary(tally))


def _earlier(out: Path | None, mechanism: Mechanism) -> bool:
    """Return whether a file holds counts of the same mechanism."""
    from stratagem.collection.tally_file import read_tally

    try:
        return out is not None and bool(read_tally(out, mechanism.form))
    except ValueError:
        return False


def _collected(
    mechanism: Mechanism, reports: list[str], state: Path | None
) -> tuple[Tally, Mapping[str, int]]:
    """Count the reports of files, and those that name other mechanisms by the name."""
    fresh = None if state is None or state.exists() else state
    with mechanism.collection(state) as collection:
        collection.add(reports)
        tally = collection.tally()
        foreign = collection.foreign(reports) if tally.foreign else {}
    if fresh and tally.misplaced:
        fresh.unlink()  # it would refuse the bundle that the reports were made with
    return tally, foreign


def _streamed(
    mechanism: Mechanism, reports: list[str], state: Path | None
) -> tuple[Tally, Mapping[str, int]]:
    """Count the reports that arrive on standard input, and those that name other mechanisms by the name."""
    if len(reports) > 1 or state is not None:
        raise ValueError(
            "- stands for the input alone: leave out the other files and --state, or write a file"
        )
    from stratagem.collection.reports import lines

    aggregator = mechanism.aggregator()
    aggregator.add_lines(lines(sys.stdin.buffer))
    return aggregator.tally(), aggregator.foreign


def _check_origin(mechanism: Mechanism, file: Path, tally: Tally, foreign: Mapping[str, int]) -> None:
    """Say which other mechanisms reports name; refuse reports of which none is of this one."""
    if not tally.foreign:
        return
    named = ", ".join(f"{count:,} of {name}" for name, count in Counter(foreign).most_common(SHOWN))
    sentence = (
        f"{tally.foreign:,} reports are of another mechanism than {mechanism.form.mechanism} in {file}"
        f"{f' ({named})' if named else ''}"
    )
    if tally.misplaced:
        raise ValueError(f"{sentence}, and none is of this one: give the bundle that they were made with")
    note(f"{sentence} and not counted: count them with the bundle that they were made with")


def _summary(tally: Tally) -> str:
    """Say what became of everything received."""
    parts = [f"{tally.reports:,} reports counted of {tally.received:,} received"]
    parts += [f"{reason} {count:,}" for reason, count in tally.rejected.items()]
    parts += [f"repeated ids {tally.duplicates:,}"] * bool(tally.duplicates)
    parts += [f"ids with two outputs {tally.conflicting:,}"] * bool(tally.conflicting)
    parts += [f"without an id, so repeats cannot be found {tally.anonymous:,}"] * bool(tally.anonymous)
    return "; ".join(parts)
