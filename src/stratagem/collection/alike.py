"""Lines of reports that differ in the id and the output alone, found together instead of one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from stratagem.collection.reports import LINE_LIMIT, Reason, Report, ReportFormat, is_blank

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
