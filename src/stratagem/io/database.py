"""Files that DuckDB reads: connections that trust none of them, and text tables that it would take for one column."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratagem.io.literal import first_line, open_regular, unpacked
from stratagem.io.target import incomplete, locked, written_atomically

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from ibis.backends.duckdb import Backend

CLOSED: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings by which a file that asks for an extension, which DuckDB would download and run, is refused."""
DISTRUSTING = CLOSED | {"disabled_optimizers": "statistics_propagation"}
"""Settings by which the least and largest values that a Parquet file states are not taken for true: DuckDB 2.0.1
leaves out comparisons that they decide, and packs values into as few bits as they need."""
PARQUET_SCAN = "read_parquet(?, hive_partitioning = false)"
"""Table function for a Parquet file."""
MAGIC = slice(8, 12), b"DUCK"
"""Place and content of the mark in the first bytes of a DuckDB file."""


def connect() -> DuckDBPyConnection:
    """Return a connection to an empty database in memory, to read files that others wrote."""
    import duckdb

    return duckdb.connect(config=DISTRUSTING)


def opened(path: Path, memory: str) -> Backend:
    """Return the DuckDB file at `path`, a new one where there is none or an empty one, with a limit of memory."""
    import ibis

    _begin(path)
    place, mark = MAGIC
    with path.open("rb") as file:
        begin = file.read(place.stop)
        if begin and begin[place] != mark:
            raise ValueError(
                f"{path} cannot be opened as a collection (it is no DuckDB file): name another file"
            )
    # an absolute name, as DuckDB takes s3: and the like at the start for places elsewhere
    return ibis.duckdb.connect(path.absolute(), memory_limit=memory, **DISTRUSTING)


def _begin(path: Path) -> None:
    """Write a new DuckDB file where there is none or an empty one, complete or not at all.

    DuckDB alone would begin it in its place, and what a run that is killed, or a full disk, leaves of it is no
    database for ever. Two runs that begin the same file do not replace each other's.
    """
    if path.exists() and path.stat().st_size:
        return
    try:
        with path.open("ab") as file:  # an empty file is what a run that is killed leaves now
            if not locked(file):
                raise ValueError(f"{path} is begun by another command: wait until that has ended")
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):  # another run may have replaced it
                return
            if os.name == "nt":
                file.close()  # Windows replaces no file that is open
            with written_atomically(path) as target:
                target.write(_fresh(incomplete(path)))
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror}): free some space, or name another file"
        ) from None


def _fresh(path: Path) -> bytes:
    """Return the content of an empty database, which is made at `path` and removed."""
    import duckdb

    try:
        duckdb.connect(path.absolute(), config=CLOSED).close()
        return path.read_bytes()
    except duckdb.IOException as error:
        raise OSError(errno.EIO, first_line(error, path)) from None
    finally:
        path.unlink(missing_ok=True)


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

    None where all lines fit, or where most do not, so that the file is no table. One line that fits is enough below a
    header without a blank behind its marks, which is no phrase.
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
        fitting, phrase = sum(fields == wanted for _, fields in first), f"{mark} " in head
        if wanted < 2 or not fitting or (phrase and 2 * fitting <= len(first)):
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
