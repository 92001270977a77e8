"""What a report is, and the words for why a line is none."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO, NamedTuple

from stratagem.number import integer

LINE_LIMIT = 512
"""Bytes that a line may have; a report as clients write it has about 100."""
ENDLESS = 1 << 30
"""Bytes without a line end after which a file counts as no text at all."""
IDENTIFIER = re.compile("[0-9a-f]{64}")
SHORT = 16
"""Hex digits of the identifier that a report carries."""
MECHANISM = re.compile(f"[0-9a-f]{{{SHORT}}}")
NAMED = 64
"""Other mechanisms that are told apart."""
ID = re.compile("[0-9a-f]{32}")
MOST_OUTPUTS = 1 << 62


class Reason(StrEnum):
    """Why something is not a report of this mechanism; the first that applies, in this order."""

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
    """0 <= output < m."""


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
        """Check both, so that every report is held against something real."""
        if not isinstance(self.identifier, str) or not IDENTIFIER.fullmatch(self.identifier):
            raise ValueError(
                f"the mechanism's identifier is {self.identifier!r}, but must be 64 lower-case hex digits: "
                "take it from the bundle"
            )
        advice = "take it from the bundle"
        object.__setattr__(
            self, "outputs", integer(self.outputs, "the number of outputs", 1, MOST_OUTPUTS, advice)
        )

    @property
    def mechanism(self) -> str:
        """What reports carry to name the mechanism."""
        return self.identifier[:SHORT]

    def check(self, report: object) -> Report | Reason:
        """Return the report that a decoded JSON value is, or why it is none."""
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
        """Return the report that one line of JSON text is, or why it is none; strict, and bounded in work."""
        if len(line) > LINE_LIMIT:
            return Reason.LONG
        try:
            text = line if isinstance(line, str) else line.decode()
            return self.check(DECODER.decode(text))
        except _RepeatedKeyError:
            return Reason.KEYS
        except (ValueError, RecursionError):
            return Reason.SYNTAX


def mechanism_named(line: bytes | str) -> str:
    """Return the mechanism that a line names, empty where that is none that a bundle can have."""
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

    A mark of the byte order before the first of them is taken off.

    Raises:
        ValueError: for a line of more than 1 GiB.
    """
    mark = codecs.BOM_UTF8
    while line := file.readline(LINE_LIMIT + 2):
        rest, size = line, len(line)
        while not rest.endswith(b"\n") and (rest := file.readline(1 << 16)):
            size += len(rest)
            if size > ENDLESS:
                raise ValueError("a line does not end within 1 GiB: give reports, one JSON object a line")
        yield line.removeprefix(mark).rstrip(b"\r\n")
        mark = b""


class _RepeatedKeyError(ValueError):
    """A JSON object that names a key twice means something else to every reader."""


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise _RepeatedKeyError
    return table


DECODER = json.JSONDecoder(object_pairs_hook=_unrepeated)
