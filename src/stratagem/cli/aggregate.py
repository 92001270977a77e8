"""The command `aggregate`: reports in, counts by output out."""

from __future__ import annotations

import json as text
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.counting import collected, streamed, summary
from stratagem.cli.interruption import note, progress
from stratagem.cli.option import BUNDLE, FORCE, JSON, check_free
from stratagem.cli.output import write, write_json

if TYPE_CHECKING:
    from stratagem.collection.tally import Tally
    from stratagem.mechanism.mechanism import Mechanism

SHOWN = 4
"""Other mechanisms that a sentence names."""
LEFT_OUT = 1
"""Exit status where something given was left out."""
ANONYMOUS_ADVICE = (
    "give every report its id, or count each of them with --anonymous count if no report is in two files"
)


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
    anonymous: Annotated[
        str,
        typer.Option(
            help="Files of reports without ids: refuse, as nobody could tell a copy of a file, or one that grew and "
            "was renamed, from new reports; count says that every file counts in full."
        ),
    ] = "refuse",
    first: Annotated[
        bool,
        typer.Option(
            "--first", help="Of reports with one id and several outputs count the first; else none counts."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the counts there, *.json.", show_default=False)
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Count reports by output, each id once; whatever is no valid report is counted by reason.

    Writes the counts as one JSON object, to -o or to standard output. With --state the counts of an earlier
    run are brought up to date. What is left out of a folder (hidden names, links to folders, pipes) is listed, and
    the exit status is 1, as it is where nothing that was received is a report. Reports of another mechanism are
    named by its identifier; where there are no others, nothing is written.
    """
    from stratagem.collection.report_table import check_anonymous
    from stratagem.collection.tally import tally_data
    from stratagem.io.target import check_target, written_atomically
    from stratagem.mechanism.mechanism import load_mechanism

    check_anonymous(anonymous)
    target = None if out is None else check_target(out, (".json",))
    mechanism = load_mechanism(file)
    check_free(out, force=force or (state is not None and _earlier(out, mechanism)))
    with progress("aggregating"):
        if "-" in reports:
            found = streamed(mechanism, reports, state, first=first)
        else:
            found = collected(mechanism, reports, state, anonymous, first=first)
    _check_origin(mechanism, file, found.tally, found.foreign)
    data = tally_data(found.tally, mechanism.identifier)
    if target is not None:
        with written_atomically(target) as opened:
            opened.write(text.dumps(data).encode())
    if json or target is None:
        write_json(data)
    (note if json or target is None else write)(summary(found))
    for line in found.lines:
        note(line)
    if found.left_out or 0 < found.tally.received == sum(found.tally.rejected.values()):
        raise SystemExit(LEFT_OUT)


def _earlier(out: Path | None, mechanism: Mechanism) -> bool:
    """Return whether a file holds counts of the same mechanism."""
    from stratagem.collection.tally import read_tally

    try:
        return out is not None and bool(read_tally(out, mechanism.form))
    except ValueError:
        return False


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
