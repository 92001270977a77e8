"""Text tables whose lines do not have as many fields as their header, which DuckDB reads as one column or refuses."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from stratagem.io.literal import open_regular, unpacked

HEAD = 4096
"""Bytes of a file that say what it is, and how many lines stand above its header."""
ABOVE = re.compile(rb"(?:\xef\xbb\xbf)?(?:sep=.|[\s,;|\"]*)")
"""A line above the header that names no column: an empty one, or the one that tells Excel the delimiter."""
DELIMITERS = ",;\t|"
"""Delimiters that DuckDB looks for."""
FIRST = 1000
"""Lines of which more than half must have as many fields as the header: texts with commas have that by chance."""


def divided(name: str) -> bool:
    """Return whether the only name in a header looks like several."""
    return any(mark in name for mark in DELIMITERS)


def lines_above(head: bytes) -> int:
    r"""Return how many lines stand above the header.

    >>> lines_above(b"\n,\nage,sex\n"), lines_above(b"age\n\n17\n")
    (2, 0)
    """
    return next((k for k, line in enumerate(head.splitlines()) if not ABOVE.fullmatch(line)), 0)


def ragged_fault(path: str | os.PathLike[str]) -> str | None:
    """Return the sentence about the first line of a text file that does not fit its header.

    None where all lines fit, or where most do not, so that the file is no table.
    """
    with open_regular(path) as file, io.TextIOWrapper(unpacked(path, file), "utf-8", "replace", "") as text:
        above = lines_above(text.buffer.read(HEAD))
        text.seek(0)
        for _ in islice(text, above):
            pass
        head = text.readline()
        mark = max(DELIMITERS, key=head.count)
        lines = _lines(chain([head], text), mark, above)
        wanted = next((fields for _, fields in lines), 0) or 0
        first = list(islice(lines, FIRST))
        if wanted < 2 or 2 * sum(fields == wanted for _, fields in first) <= len(first):
            return None
        wrong = next((line for line in chain(first, lines) if line[1] != wanted), None)
    if wrong is None:
        return None
    number, fields = wrong
    if fields is None:
        said = "has a double quote that does not enclose a field"
        advice = "put the whole field in double quotes, and write each quote in it twice"
    else:
        said = f"has {fields} field{'s' * (fields != 1)}, but the header has {wanted}"
        advice = f"give every line as many, in double quotes where a field holds {mark!r}"
    return f"{path} cannot be read as CSV (line {number:,} {said}): {advice}"


def _lines(text: Iterable[str], mark: str, above: int) -> Iterator[tuple[int, int | None]]:
    """Yield the number of each line that is not empty, and of its fields: None, and no more, where a quote strays."""
    rows, number = csv.reader(text, delimiter=mark, strict=True), above + 1
    try:
        for row in rows:
            if row:
                yield number, len(row)
            number = above + 1 + rows.line_num
    except csv.Error:
        yield number, None
