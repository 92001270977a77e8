"""The format of a report, and the reasons for which lines, one by one or many alike together, are rejected."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from stratagem.math.number import integer

LINE_LIMIT = 512
"""Largest number of bytes of a line; a report as clients write it has about 100."""
CHUNK = 1 << 21
"""Largest number of bytes of which the lines are found at a time."""
ENDLESS = 1 << 30
"""Number of bytes without a line end from which on a file is refused as not being text."""
IDENTIFIER = re.compile("[0-9a-f]{64}")
SHORT = 16
"""Number of hex digits of the mechanism's identifier that a report carries."""
MECHANISM = re.compile(f"[0-9a-f]{{{SHORT}}}")
NAMED = 64
"""Largest number of other mechanisms that are counted by name, and of contested ids that are listed."""
ID = re.compile("[0-9a-f]{32}")
MOST_OUTPUTS = 1 << 62


REFUSE, COUNT = "refuse", "count"
ANONYMOUS = (REFUSE, COUNT)
"""Ways to treat a table of reports without ids: refuse it, or count every row."""


class AnonymousReportsError(ValueError):
    """A table of reports has no ids, and `anonymous="count"` was not given."""

    def __init__(self, source: str) -> None:
        self.fact = f"{source} has no column 'id', so repeated reports cannot be told from others"
        super().__init__(f'{self.fact}: give every report its id, or say anonymous="count"')


def check_anonymous(anonymous: str) -> str:
    """Return `anonymous`, the way to treat reports without ids, after checking it."""
    if anonymous not in ANONYMOUS:
        raise ValueError(
            f"anonymous is {anonymous!r}, but reports without ids have two ways: say {' or '.join(ANONYMOUS)}"
        )
    return anonymous


class Reason(StrEnum):
    """The reason why a line or row is rejected: the first that applies, in this order."""

    LONG = "line too long"
    SYNTAX = "not a JSON object"
    ROW = "row that does not fit the columns"
    KEYS = "wrong keys"
    MECHANISM = "another mechanism"
    ID = "malformed id"
    WHOLE = "output not a whole number"
    RANGE = "output out of range"


class Report(NamedTuple):
    """A valid report."""

    id: str
    """32 lower-case hex digits, drawn at random by the client."""
    output: int
    """Number of the randomiser's output, 0 <= output < m."""


@dataclass(frozen=True)
class ReportFormat:
    """The reports of one mechanism: {"mechanism": first 16 digits of its identifier, "id": ..., "output": y}.

    Raises:
        ValueError: for an identifier that is not 64 lower-case hex digits, or fewer than one output.
    """

    identifier: str
    """SHA-256 of the mechanism's bundle."""
    outputs: int
    """Number m of outputs; a report carries one of 0, ..., m - 1."""

    def __post_init__(self) -> None:
        if not isinstance(self.identifier, str) or not IDENTIFIER.fullmatch(self.identifier):
            raise ValueError(
                f"the mechanism's identifier is {self.identifier!r}, but must be 64 lower-case hex digits: "
                "take it from the mechanism file"
            )
        outputs = integer(self.outputs, "the number of outputs", 1, MOST_OUTPUTS, "take it from its file")
        object.__setattr__(self, "outputs", outputs)

    @property
    def mechanism(self) -> str:
        """First 16 hex digits of the identifier, by which reports name the mechanism."""
        return self.identifier[:SHORT]

    def check(self, report: object) -> Report | Reason:
        """Return the report that a decoded JSON value holds, or the reason why it is rejected."""
        if not isinstance(report, Mapping):
            return Reason.SYNTAX
        if report.keys() != {"mechanism", "id", "output"}:
            return Reason.KEYS
        if report["mechanism"] != self.mechanism:
            return Reason.MECHANISM
        name, output = report["id"], report["output"]
        if not isinstance(name, str) or not ID.fullmatch(name):
            return Reason.ID
        if type(output) is not int:  # True is an int to isinstance
            return Reason.WHOLE
        return Report(name, output) if 0 <= output < self.outputs else Reason.RANGE

    def parse(self, line: bytes | str) -> Report | Reason:
        """Return the report that one line of JSON text holds, or the reason why it is rejected.

        Lines above LINE_LIMIT bytes and objects with repeated keys are rejected, so that the work is bounded.
        """
        if len(line) > LINE_LIMIT:
            return Reason.LONG
        try:
            text = line if isinstance(line, str) else line.decode()
            return self.check(DECODER.decode(text)) if text.lstrip()[:1] == "{" else Reason.SYNTAX
        except _RepeatedKeyError:
            return Reason.KEYS
        except (ValueError, RecursionError):
            return Reason.SYNTAX


def is_blank(line: bytes | str) -> bool:
    """Return whether a line holds no more than blanks, as the last one of many files does; a long one is none."""
    blanks = " \t\r\n"
    return len(line) <= LINE_LIMIT and not line.strip(blanks if isinstance(line, str) else blanks.encode())  # type: ignore[arg-type]


def mechanism_named(line: bytes | str) -> str:
    """Return the mechanism that a line names, or an empty text if it names none of 16 hex digits."""
    try:
        named = json.loads(line)["mechanism"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return ""
    return named if isinstance(named, str) and MECHANISM.fullmatch(named) else ""


def count_named(counts: Counter[str], name: str, times: int = 1) -> None:
    """Count reports by the mechanism that they name, at most NAMED different ones: anybody can make up more."""
    if name and (name in counts or len(counts) < NAMED):
        counts[name] += times


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file without their ends, each cut off shortly behind LINE_LIMIT bytes.

    A byte order mark before the first line is removed.

    Raises:
        ValueError: for a line of more than 1 GiB.
    """
    for block in blocks(file):
        yield from (line[: LINE_LIMIT + 2].rstrip(b"\r") for line in block.split(b"\n"))


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the next lines of a file together, without the end of the last one, as `lines` takes them apart."""
    mark, begun, size = codecs.BOM_UTF8, b"", 0
    while chunk := file.read(CHUNK):
        first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
        if last >= 0:
            yield (begun + chunk[:first])[: LINE_LIMIT + 2].removeprefix(mark) + chunk[first:last]
            mark, begun, size = b"", b"", 0
        begun, size = (begun + chunk[last + 1 :])[: LINE_LIMIT + 2], size + len(chunk) - last - 1
        if size > ENDLESS:
            raise ValueError("a line does not end within 1 GiB: give reports, one JSON object a line")
    if begun:
        yield begun.removeprefix(mark)


class _RepeatedKeyError(ValueError):
    """A JSON object names a key twice, so that its meaning depends on the reader."""


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise _RepeatedKeyError
    return table


DECODER = json.JSONDecoder(object_pairs_hook=_unrepeated)


FIELD = rb'"mechanism"\s*:\s*"[0-9a-f]*"|"id"\s*:\s*"([0-9a-f]{32})"|"output"\s*:\s*(0|[1-9][0-9]{0,17})'
REPORT = re.compile(rb"\s*\{(?:\s*(?:%s)\s*[,}]){3}\s*" % FIELD)
"""Three fields, with an output that fits int64. Where both an id and an output are found, other hex digits in the id
and other digits in the output leave every token of JSON in its place, so that `ReportFormat.parse` comes to the same
result but for these values."""
HEX = bytes(b"0123456789abcdef".find(byte) & 31 for byte in range(256))
"""Value of each byte as a lower-case hex digit, 31 for other bytes."""
ZERO = ord("0")
TENS = 10 ** np.arange(17, -1, -1)
"""Values of the digits of a number, the last of which counts once (18,)."""
TRIES = 8
"""Number of lines of each length in a block with which the others are compared, before the rest come one by one."""


class Alike(NamedTuple):
    """Lines of a block that `ReportFormat.parse` reads alike, but for the values of their ids and outputs."""

    line: bytes
    """The first of the lines; the others are the same where there are no ids and outputs."""
    places: np.ndarray
    """Numbers of the lines in the block (k,), rising."""
    ids: np.ndarray | None = None
    """Bytes of the id of each line (k, 16), uint8, or None for lines of any other form."""
    outputs: np.ndarray | None = None
    """Output of each line (k,), int64, at least 0 and below 10^18, or None as for `ids`."""


def alike(block: bytes) -> Iterator[Alike]:
    """Yield the lines of a block, each in one group of lines alike; `reports.blocks` yields blocks.

    Lines are alike if they have the same bytes, or are objects of a mechanism, an id and an output that have the same
    bytes but for the 32 hex digits of the id and as many digits of the output. Work is that of some passes over the
    block; at worst every line is a group of its own.
    """
    text = np.frombuffer(block, np.uint8)
    starts, lengths = _lines(text)
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        places = np.flatnonzero(lengths == length)
        empty = np.empty((len(places), 0), np.uint8)
        yield from _groups(places, sliding_window_view(text, length)[starts[places]] if length else empty)


def read(block: bytes, form: ReportFormat) -> tuple[np.ndarray, np.ndarray, Counter[Reason]]:
    """Return the reports of a block as `parsed` does, without the other lines."""
    ids, outputs, rejected = parsed(block, form)
    return ids[outputs >= 0], outputs[outputs >= 0], rejected


def parsed(block: bytes, form: ReportFormat) -> tuple[np.ndarray, np.ndarray, Counter[Reason]]:
    """Return the reports of a block as two arrays, and the number of the other lines by reason; blank lines are none.

    The arrays are in the order of the lines: the bytes of ids (k, 16), uint8, and outputs (k,), int64; 0 and -1 for a
    line that is no report.
    """
    size, rejected = block.count(b"\n") + 1, Counter[Reason]()
    ids, outputs = np.zeros((size, 16), np.uint8), np.full(size, -1)
    for line, places, names, numbers in alike(block):
        if is_blank(line):
            continue
        found = form.parse(line)
        if isinstance(found, Report):
            ids[places] = np.frombuffer(bytes.fromhex(found.id), np.uint8) if names is None else names
            outputs[places] = found.output if numbers is None else numbers
        elif found is Reason.RANGE and names is not None:
            ids[places], outputs[places] = names, numbers
        else:
            rejected[found] += len(places)
    rejected[Reason.RANGE] += int((outputs >= form.outputs).sum())
    valid = (outputs >= 0) & (outputs < form.outputs)
    return np.where(valid[:, None], ids, 0), np.where(valid, outputs, -1), rejected


def _lines(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of each line of a block, and its length without carriage returns at its end.

    Lines are cut off as `reports.lines` cuts them.
    """
    ends = np.append(np.flatnonzero(text == ord("\n")), len(text))
    starts = np.append(0, ends[:-1] + 1)
    lengths = np.minimum(ends - starts, LINE_LIMIT + 2)
    last = np.flatnonzero(lengths)
    while len(last := last[text[starts[last] + lengths[last] - 1] == ord("\r")]):
        lengths[last] -= 1
        last = last[lengths[last] > 0]
    return starts, lengths


def _groups(places: np.ndarray, rows: np.ndarray) -> Iterator[Alike]:
    """Yield groups of the lines of one length, which are the rows of an array of bytes."""
    for _ in range(TRIES):
        if not len(places):
            return
        line, same = rows[0].tobytes(), rows == rows[0]
        found = REPORT.fullmatch(line)
        if found and found[1] and found[2]:
            (first, last), (high, low) = found.span(1), found.span(2)
            names = np.frombuffer(rows[:, first:last].tobytes().translate(HEX), np.uint8).reshape(-1, 32)
            digits = rows[:, high:low] - ZERO  # bytes below ZERO wrap around
            same[:, first:last] = names < 16
            same[:, high:low] = digits < 10
            same[:, high] &= (digits[:, 0] > 0) | (low - high == 1)
            same = same.all(axis=1)
            names, digits = names[same], digits[same]
            yield Alike(line, places[same], names[:, ::2] << 4 | names[:, 1::2], digits @ TENS[high - low :])
        else:
            same = same.all(axis=1)
            yield Alike(line, places[same])
        places, rows = places[~same], rows[~same]
    for place, row in zip(places, rows, strict=True):
        yield Alike(row.tobytes(), place[None])
