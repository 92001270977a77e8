"""Files of reports: recognised by their content, and read as checked rows."""

from __future__ import annotations

import csv
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from stratagem.collection.report_table import COLUMNS, check_columns, check_names, judge
from stratagem.collection.reports import (
    MECHANISM,
    NAMED,
    Reason,
    Report,
    ReportFormat,
    batches,
    lines,
    mechanism_named,
)
from stratagem.io.literal import line_end_fault, line_ends, literal, open_regular

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend
    from ibis.expr.types import Table

HEADER_LIMIT = 1 << 16
"""Largest number of bytes of the header of a CSV file."""
CHUNK = 1 << 20


@dataclass(frozen=True)
class Content:
    """The digest, number of lines, size and time of change of a file when it was read."""

    path: Path
    sha256: str
    lines: int
    """Number of lines, the last one counted even without a line end."""
    stamp: tuple[int, int]
    """Size in bytes and time of change in nanoseconds."""

    @classmethod
    def of(cls, path: Path) -> Content:
        """Return the content of a file, which is read once.

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
        """The path as text.

        Where a path is not valid UTF-8, the wrong bytes are written as hexadecimal escapes and backslashes doubled.
        """
        raw = os.fsencode(self.path)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.replace(b"\\", b"\\\\").decode(errors="backslashreplace")

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self.stamp[0]

    def beginnings(self, sizes: Iterable[int]) -> list[str]:
        """Return the SHA-256 of the first `size` bytes of the file for each of the distinct sizes, rising."""
        found, digest, read = [], hashlib.sha256(), 0
        with open_regular(self.path) as file:
            for size in sorted(set(sizes)):
                while read < size and (chunk := file.read(min(CHUNK, size - read))):
                    digest.update(chunk)
                    read += len(chunk)
                found.append(digest.copy().hexdigest())
        return found


def judged(
    connection: Backend, content: Content, form: ReportFormat, anonymous: str
) -> Iterator[Table | Counter[str]]:
    """Yield the rows of a file as judged tables (`judge`), or as numbers of rejected rows by reason.

    A single transaction must take all of them. Use each table before asking for the next: the file is open until then.

    Raises:
        ValueError: for columns that cannot hold reports.
    """
    if content.path.suffix.lower() == ".jsonl":
        if content.lines == 1 and [*line_ends(content.path)] == ["CR"]:  # none ends a line of JSON lines
            raise ValueError(line_end_fault(content.path))
        yield from _json_lines(content.path, form)
        return
    with _table(connection, content.path) as table:
        yield judge(table, form, anonymous, str(content.path))


def named(connection: Backend, path: Path) -> Iterator[tuple[str, int]]:
    """Yield pairs of a mechanism that reports of a file name, and a number of such reports.

    A mechanism may come in several pairs. A line that names none gives an empty name.
    """
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


def _json_lines(path: Path, form: ReportFormat) -> Iterator[Table | Counter[str]]:
    import ibis
    import pyarrow as pa

    with open_regular(path) as file:
        for batch in batches(file):
            found = [form.parse(line) for line in batch if line]
            rejected = Counter(str(one) for one in found if isinstance(one, Reason))
            yield rejected + Counter({str(Reason.SYNTAX): batch.count(b"")})
            reports = [one for one in found if isinstance(one, Report)]
            columns = {
                "id": pa.array([one.id for one in reports], pa.string()),
                "output": pa.array([one.output for one in reports], pa.int64()),
                "reason": pa.nulls(len(reports), pa.string()),
            }
            if reports:
                yield ibis.memtable(pa.table(columns))


@contextmanager
def _table(connection: Backend, path: Path) -> Iterator[Table]:
    """Open a CSV or Parquet file as a table that can be read while it is open."""
    with literal(path) as name:
        if path.suffix.lower() == ".csv":
            yield _csv(connection, path, name)
        else:
            held = _held(connection, connection.read_parquet(name, hive_partitioning=False))
            yield held
            connection.con.execute(f"DROP TABLE {held.get_name()}")  # drop_table of Ibis 12 writes no name


def _held(connection: Backend, table: Table) -> Table:
    """Return the columns of reports as a temporary table.

    A Parquet file states the least and largest value of each column, and DuckDB leaves out a comparison that these
    decide, whatever the values are; of its own tables it knows them.
    """
    from ibis.util import gen_name

    check_columns(table)
    columns = table.select(*(name for name in COLUMNS if name in table.columns))
    return connection.create_table(gen_name("held"), columns, temp=True)


def _csv(connection: Backend, path: Path, opened: str) -> Table:
    """Return the rows of a CSV file as text columns, with every option of DuckDB's reader given.

    The reader ignores quotes, so that a quote that is never closed cannot swallow the rows below it. A pair of
    quotes around a value is removed here. Rows that do not fit are left out, and counted by the caller.
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
    if not names and (fault := line_end_fault(path)):
        raise ValueError(fault)
    if not names or (not line.endswith(b"\n") and len(line) == HEADER_LIMIT):
        raise ValueError(f"{path} has no header: begin it with the names of the columns, such as id,output")
    if repeated := [name for name in COLUMNS if names.count(name) > 1]:
        raise ValueError(f"{path} has two columns {repeated[0]!r}: keep one")
    return names
