"""The command `aggregate`, and how tallies and reports are read by the commands that count."""

from __future__ import annotations

import json as text
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

from typer import Argument, Option

from stratagem.cli.command import options
from stratagem.cli.interruption import note, progress
from stratagem.cli.option import BUNDLE, FORCE, JSON, check_free
from stratagem.cli.output import write, write_json

if TYPE_CHECKING:
    from stratagem.collection.collection import Collection
    from stratagem.collection.report_file import Taken
    from stratagem.collection.tally import Tally
    from stratagem.mechanism.mechanism import Mechanism

LISTED = 20
"""Files that are listed where all of them are counted."""


@dataclass(frozen=True, kw_only=True)
class Aggregated:
    """What became of the reports that were given."""

    tally: Tally
    foreign: Mapping[str, int]
    """Reports that name other mechanisms, by the name."""
    before: int = 0
    """Files that had been taken before."""
    left_out: int = 0
    """Things in folders that were left out."""
    sentences: Sequence[str] = ()
    """What there is to say of single files and ids."""

    @property
    def lines(self) -> Iterator[str]:
        """Sentences with what a name may hold for a terminal to obey written out."""
        for sentence in self.sentences:
            yield "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in sentence)


def collected(
    mechanism: Mechanism, reports: list[str], state: Path | None, anonymous: str, *, first: bool
) -> Aggregated:
    """Count the reports of files."""
    fresh = None if state is None or state.exists() else state
    with mechanism.collection(state, anonymous=anonymous) as collection:
        taken = collection.add(reports) if reports else []
        tally = collection.tally(first=first)
        found = Aggregated(
            tally=tally,
            foreign=collection.foreign(reports) if tally.foreign else {},
            before=sum(each.before for each in taken),
            left_out=len(collection.skipped),
            sentences=[
                *map(str, collection.skipped),
                *_copies(taken),
                *_contested(tally, _places(collection, tally), first=first),
            ],
        )
    if fresh and tally.misplaced:
        fresh.unlink()  # it would refuse the bundle that the reports were made with
    return found


def counted_alone(mechanism: Mechanism, reports: str) -> Tally:
    """Return the tally of one file of reports, and say what became of them."""
    found = collected(mechanism, [reports], None, "refuse", first=False)
    _check_origin(mechanism, "its mechanism file", found.tally, found.foreign)
    for line in (summary(found), *found.lines):
        note(line)
    return found.tally


def _copies(taken: Sequence[Taken]) -> Iterator[str]:
    """Say which files hold again what others hold; all their reports are counted, as repeated ids or in full."""
    copies = [each for each in taken if each.copy_of]
    for each in copies[:LISTED]:
        what = "its reports without ids count again" if each.anonymous else "its ids count as repeated"
        begins = "begins with" if each.anonymous else "holds"
        yield f"{each.path} {begins} all that {each.copy_of} holds: {what}"
    if len(copies) > LISTED:
        yield f"{len(copies) - LISTED:,} more files hold again what others hold"


def _places(collection: Collection, tally: Tally) -> list[str]:
    """Return the ids with several outputs, each with the files that hold it."""
    if not tally.conflicting + tally.overruled:
        return []
    return [f"{each.id} in {', '.join(each.files)}" for each in collection.contested()]


def _contested(tally: Tally, ids: Sequence[str], *, first: bool) -> Iterator[str]:
    """Name the ids that came with several outputs, and say what counts of them."""
    rule = "the first one counts" if first else "none of them counts (--first counts the first)"
    for each in ids:
        yield f"several outputs came with the id {each}: {rule}"
    if (more := tally.conflicting + tally.overruled - len(ids)) > 0:
        yield f"several outputs came with {more:,} more ids: {rule}"


def streamed(mechanism: Mechanism, reports: list[str], state: Path | None, *, first: bool) -> Aggregated:
    """Count the reports that arrive on standard input."""
    if len(reports) > 1 or state is not None:
        raise ValueError(
            "- stands for the input alone: leave out the other files and --state, or write a file"
        )
    from stratagem.collection.reports import lines

    aggregator = mechanism.aggregator(first=first)
    aggregator.add_lines(lines(_endless_refused(sys.stdin.buffer)))
    tally = aggregator.tally()
    sentences = list(_contested(tally, aggregator.contested(), first=first))
    return Aggregated(tally=tally, foreign=aggregator.foreign, sentences=sentences)


def _endless_refused(source: BinaryIO) -> BinaryIO:
    """Return the standard input, unless it is a device that never ends."""
    try:
        status = os.fstat(source.fileno())
    except OSError:  # no file of the system
        return source
    if (
        stat.S_ISCHR(status.st_mode)
        and not source.isatty()
        and not os.path.samestat(status, Path(os.devnull).stat())
    ):
        raise ValueError(
            "the standard input is a device, which need not end: give it a file or a pipe of reports"
        )
    return source


def summary(found: Aggregated) -> str:
    """Say what became of everything received."""
    from stratagem.math.number import counted

    tally = found.tally
    parts = [f"{counted(tally.reports, 'report')} counted of {tally.received:,} received"]
    parts += [f"{reason} {count:,}" for reason, count in tally.rejected.items()]
    rest = {
        "repeated ids": tally.duplicates,
        "ids with two outputs": tally.conflicting,
        "ids with later outputs that do not count": tally.overruled,
        "without an id, so repeats cannot be found": tally.anonymous,
        "files taken before": found.before,
        "left out of folders": found.left_out,
    }
    return "; ".join(parts + [f"{what} {count:,}" for what, count in rest.items() if count])


SHOWN = 4
"""Other mechanisms that a sentence names."""
LEFT_OUT = 1
"""Exit status where something given was left out."""
ANONYMOUS_ADVICE = (
    "give every report its id, or count each of them with --anonymous count if no report is in two files"
)


@options
class ReportOptions:
    """Which reports count, and where the counts are kept."""

    state: Annotated[
        Path | None,
        Option(
            help="Keep what was counted in this .duckdb file: more can be added, and a run that was killed goes on."
        ),
    ] = None
    anonymous: Annotated[
        str,
        Option(
            help="Files of reports without ids: refuse, as nobody could tell a copy of a file, or one that grew and "
            "was renamed, from new reports; count says that every file counts in full."
        ),
    ] = "refuse"
    first: Annotated[
        bool,
        Option(
            "--first", help="Of reports with one id and several outputs count the first; else none counts."
        ),
    ] = False

    def check(self, reports: list[str]) -> None:
        """Refuse to count nothing."""
        from stratagem.collection.reports import check_anonymous

        check_anonymous(self.anonymous)
        if not reports and (self.state is None or not self.state.exists()):
            raise ValueError(
                "no reports were given: name files or folders of them, - for the input, or a --state to count"
            )

    def counted(self, mechanism: Mechanism, reports: list[str]) -> Aggregated:
        """Count the reports of files, or of the input."""
        with progress("aggregating"):
            if "-" in reports:
                return streamed(mechanism, reports, self.state, first=self.first)
            return collected(mechanism, reports, self.state, self.anonymous, first=self.first)


def aggregate(
    *,
    file: BUNDLE,
    reports: Annotated[
        list[str] | None,
        Argument(
            metavar="REPORTS...",
            help="Files (JSON lines, CSV, Parquet), folders, or - for the input; none counts what --state holds.",
        ),
    ] = None,
    options: ReportOptions,
    out: Annotated[Path | None, Option("-o", "--out", help="Write the counts there, *.json.")] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Count reports by output, each id once; whatever is no valid report is counted by reason.

    Writes the counts as one JSON object, to -o or to standard output. With --state the counts of an earlier
    run are brought up to date. What is left out of a folder (hidden names, links to folders, pipes) is listed, and
    the exit status is 1, as it is where nothing that was received is a report. Reports of another mechanism are
    named by its identifier; where there are no others, nothing is written.
    """
    from stratagem.io.target import check_target
    from stratagem.mechanism.mechanism import load_mechanism

    options.check(reports or [])
    target = None if out is None else check_target(out, (".json",))
    mechanism = load_mechanism(file)
    check_free(out, force=force or (options.state is not None and _earlier(out, mechanism)))
    found = options.counted(mechanism, reports or [])
    _check_origin(mechanism, file, found.tally, found.foreign)
    _write(found, mechanism, target, json=json)
    if found.left_out or 0 < found.tally.received == sum(found.tally.rejected.values()):
        raise SystemExit(LEFT_OUT)


def _write(found: Aggregated, mechanism: Mechanism, target: Path | None, *, json: bool) -> None:
    """Write the counts to a file or to standard output, and say what became of the reports."""
    from stratagem.collection.tally import tally_data
    from stratagem.io.target import written_atomically

    data = tally_data(found.tally, mechanism.identifier)
    if target is not None:
        with written_atomically(target) as opened:
            opened.write(text.dumps(data).encode())
    if json or target is None:
        write_json(data)
    (note if json or target is None else write)(summary(found))
    for line in found.lines:
        note(line)


def _earlier(out: Path | None, mechanism: Mechanism) -> bool:
    """Return whether a file holds counts of the same mechanism."""
    from stratagem.collection.tally import read_tally

    try:
        return out is not None and bool(read_tally(out, mechanism.form))
    except ValueError:
        return False


def _check_origin(mechanism: Mechanism, file: Path | str, tally: Tally, foreign: Mapping[str, int]) -> None:
    """Say which other mechanisms reports name; refuse reports of which none is of this one."""
    if not tally.foreign:
        return
    from stratagem.math.number import counted

    named = ", ".join(f"{count:,} of {name}" for name, count in Counter(foreign).most_common(SHOWN))
    sentence = (
        f"{counted(tally.foreign, 'report')} {'is' if tally.foreign == 1 else 'are'} of another mechanism than "
        f"{mechanism.form.mechanism} in {file}"
        f"{f' ({named})' if named else ''}"
    )
    if tally.misplaced:
        raise ValueError(f"{sentence}, and none is of this one: give the file of that mechanism")
    note(f"{sentence} and not counted: count them with the mechanism file that they were made with")
