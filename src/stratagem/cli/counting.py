"""Reports of files or of the input counted for the command line, and sentences on what became of them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from stratagem.collection.collection import Collection
    from stratagem.collection.inbox import Taken
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
        taken = collection.add(reports)
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
    tally = found.tally
    parts = [f"{tally.reports:,} reports counted of {tally.received:,} received"]
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
