"""Files of reports: recognised by their content, and read as judged rows."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from stratagem.collection.report_table import COLUMNS, check_names, judge
from stratagem.collection.reports import (
    MECHANISM,
    NAMED,
    Reason,
    Report,
    ReportFormat,
    lines,
    mechanism_named,
)
from stratagem.file.literal import literal, open_regular

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend
    from ibis.expr.types import Table

HEADER_LIMIT = 1 << 16
"""Bytes that the header of a CSV file may have."""
BATCH = 1 << 17
"""Lines of JSON text that are judged at a time."""
CHUNK = 1 << 20


@dataclass(frozen=True)
class Content:
    """What a file held when it was looked at."""

    path: Path
    sha256: str
    lines: int
    """Line ends, and one more where the last line has none."""
    stamp: tuple[int, int]
    """Size in bytes and time of change in nanoseconds."""

    @classmethod
    def of(cls, path: Path) -> Content:
        """Read a file once.

        Raises:
            ValueError: for a file that cannot be read.
        """
        try:
            with open_regular(path) as file:
                stamp = _stamp(os.fstat(file.fileno()))
                return cls(path, *_digest(file), stamp)
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror}): name a readable file") from None

    def check_unchanged(self) -> None:
        """Refuse a file that was written to while it was read.

        Raises:
            ValueError: naming it.
        """
        if _stamp(self.path.stat()) != self.stamp:
            raise ValueError(f"{self.path} changed while it was read: give it again when it is complete")

    @property
    def name(self) -> str:
        """The path as text; one that is no UTF-8 has such bytes in hexadecimal digits, and its backslashes doubled."""
        raw = os.fsencode(self.path)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.replace(b"\\", b"\\\\").decode(errors="backslashreplace")

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.stamp[0]

    def beginnings(self, sizes: Iterable[int]) -> list[str]:
        """Return the SHA-256 of the first bytes of the file, for each of some numbers of bytes that it has."""
        found, digest, read = [], hashlib.sha256(), 0
        with open_regular(self.path) as file:
            for size in sorted(set(sizes)):
                while read < size and (chunk := file.read(min(CHUNK, size - read))):
                    digest.update(chunk)
                    read += len(chunk)
                found.append(digest.copy().hexdigest())
        return found


def judged(connection: Backend, content: Content, form: ReportFormat, anonymous: str) -> Iterator[Table]:
    """Yield the rows of a file as judged tables (`judge`), which a single transaction must take together.

    Each is to be used before the next is asked for: the file is open until then.

    Raises:
        ValueError: for columns that cannot hold reports.
    """
    if content.path.suffix.lower() == ".jsonl":
        yield from _json_lines(content.path, form)
        return
    with _table(connection, content.path) as table:
        yield judge(table, form, anonymous, str(content.path))


def named(connection: Backend, path: Path) -> Iterator[tuple[str, int]]:
    """Yield the mechanisms that the reports of a file name, each with a number of reports."""
    if path.suffix.lower() == ".jsonl":
        with open_regular(path) as file:
            yield from ((mechanism_named(line), 1) for line in lines(file))
        return
    with _table(connection, path) as table:
        if "mechanism" in table.columns:
            mechanism: Any = table["mechanism"]
            known = table.filter(mechanism.re_search(f"^{MECHANISM.pattern}$"))
            counted = known.group_by("mechanism").agg(times=known.count())
            for row in counted.order_by(counted.times.desc()).limit(NAMED).to_pyarrow().to_pylist():
                yield row["mechanism"], row["times"]


def _digest(file: BinaryIO) -> tuple[str, int]:
    digest, ends, last = hashlib.sha256(), 0, b""
    while chunk := file.read(CHUNK):
        digest.update(chunk)
        ends += chunk.count(b"\n")
        last = chunk[-1:]
    return digest.hexdigest(), ends + (last not in (b"", b"\n"))


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _json_lines(path: Path, form: ReportFormat) -> Iterator[Table]:
    import ibis
    import pyarrow as pa

    schema = pa.schema({"id": pa.string(), "output": pa.int64(), "reason": pa.string()})
    with open_regular(path) as file:
        rows = (_row(form.parse(line)) for line in lines(file))
        while batch := list(islice(rows, BATCH)):
            columns = [
                pa.array(column, kind)
                for column, kind in zip(zip(*batch, strict=True), schema.types, strict=True)
            ]
            yield ibis.memtable(pa.table(columns, schema=schema))


def _row(found: Report | Reason) -> tuple[str | None, int | None, str | None]:
    return (None, None, str(found)) if isinstance(found, Reason) else (found.id, found.output, None)


@contextmanager
def _table(connection: Backend, path: Path) -> Iterator[Table]:
    """Open a CSV or Parquet file as a table that can be read while it is open."""
    with literal(path) as name:
        if path.suffix.lower() == ".csv":
            yield _csv(connection, path, name)
        else:
            yield connection.read_parquet(name, hive_partitioning=False)


def _csv(connection: Backend, path: Path, opened: str) -> Table:
    """Return the rows of a CSV file as text; DuckDB is left nothing to guess.

    Quotes mean nothing to the reader, so that one that is never closed cannot swallow the rows below it; a pair
    around a value is taken off here. Rows that do not fit are left out, and counted by the caller.
    """
    header = _header(path)
    check_names(header)
    names = [name if name in COLUMNS else f"other{position}" for position, name in enumerate(header)]
    table = connection.read_csv(
        opened,
        columns=dict.fromkeys(names, "VARCHAR"),
        header=True,
        auto_detect=False,
        delim=",",
        quote="",
        escape="",
        comment="",
        compression="none",
        hive_partitioning=False,
        ignore_errors=True,
    )
    return table.mutate(**{name: _unquoted(table[name]) for name in COLUMNS if name in names})


def _unquoted(text: Any) -> Any:
    return text.re_replace('^"([^"]*)"$', r"\1")


def _header(path: Path) -> list[str]:
    with open_regular(path) as file:
        line = file.readline(HEADER_LIMIT)
    try:
        names = next(csv.reader([line.decode("utf-8-sig").rstrip("\r\n")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        names = []
    if not names or (not line.endswith(b"\n") and len(line) == HEADER_LIMIT):
        raise ValueError(f"{path} has no header: begin it with the names of the columns, such as id,output")
    if repeated := [name for name in COLUMNS if names.count(name) > 1]:
        raise ValueError(f"{path} has two columns {repeated[0]!r}: keep one")
    return names
