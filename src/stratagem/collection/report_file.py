"""Files of reports: found among files and folders, recognised by their content, and read as checked rows."""

from __future__ import annotations

import csv
import hashlib
import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from stratagem.collection.report_table import COLUMNS, DIGITS, check_columns, check_names
from stratagem.collection.reports import (
    MECHANISM,
    NAMED,
    ReportFormat,
    alike,
    blocks,
    is_blank,
    mechanism_named,
    read,
)
from stratagem.io.literal import (
    EndlessFileError,
    check_regular,
    line_end_fault,
    line_ends,
    literal,
    open_regular,
)

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend
    from ibis.expr.types import Table


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The record of one file, as given to callbacks."""

    path: Path
    rows: int
    """Number of rows or lines taken from the file now, valid reports or not."""
    before: bool
    """Whether the same file had been taken before, so that nothing was taken now."""
    copy_of: str | None
    """Path of an earlier file whose reports came again: it has the same content, or this file, without ids, begins
    with its content. None if there is no such file."""
    anonymous: bool
    """Whether there are reports without ids among those taken now."""
    done: int
    """Number of files done, this one included."""
    files: int
    """Number of files given."""


@dataclass(frozen=True)
class Contested:
    """An id that was received with several outputs: somebody copied it, or a client used it twice."""

    id: str
    files: tuple[str, ...]
    """Files that hold reports with the id, in the order in which they were taken; at most 8."""


SUFFIXES = (".csv", ".jsonl", ".parquet")
HIDING = (".", "_")
"""First characters of the names that Spark and Hadoop skip in a folder."""


class Left(StrEnum):
    """Why something in a folder is left out."""

    HIDDEN = "its name begins with . or _"
    LINKED = "it is a symbolic link to a folder"
    BROKEN = "it is a symbolic link that leads nowhere"
    ENDLESS = "it is a device, a pipe or a socket"
    UNREADABLE = "the folder cannot be read"


@dataclass(frozen=True)
class Skipped:
    """Something in a folder of reports that was left out."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """Return a sentence with the path and the reason."""
        return f"{self.path} was left out: {self.reason}"


@dataclass(frozen=True)
class FoundFiles:
    """The files of reports found among given files and folders, and what was left out."""

    files: list[Path]
    """Files of reports, those of a folder in the order of their names."""
    skipped: list[Skipped]
    """Everything else in the folders that could hold reports."""


def find(sources: str | Path | Iterable[str | Path]) -> FoundFiles:
    """Return the files of reports among files and folders, and what was left out of the folders.

    In a folder, names that begin with . or _ are left out, and so are links to folders. Hidden files that are empty
    and the checksums that Hadoop keeps beside its files hold no reports, and are not mentioned.
    """
    found, skipped = list[Path](), list[Skipped]()
    for source in [sources] if isinstance(sources, str | Path) else sources:
        inside, left = _expand(Path(source))
        found += inside
        skipped += left
    if not found:
        raise ValueError(f"no files were given: name {_names()} files or folders of them")
    for path in found:
        if path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"{path} is not a {_names()} file by its name: convert or remove it")
    return FoundFiles(found, skipped)


def _expand(source: Path) -> tuple[list[Path], list[Skipped]]:
    if not source.exists():
        raise ValueError(f"{source} does not exist: name {_names()} files or folders of them")
    if not source.is_dir():
        try:
            check_regular(source)
        except EndlessFileError as error:
            raise ValueError(f"{error}, or write it to the standard input") from None
        return [source], []
    inside, skipped = _entries(source)
    if not inside:
        but = f", and {skipped[0]}" if skipped else ""
        raise ValueError(f"the folder {source} holds no files{but}: name one with {_names()} files")
    return inside, skipped


def _entries(folder: Path) -> tuple[list[Path], list[Skipped]]:
    """Return the files in a folder and in those below it, in the order of their names, and what is left out."""
    waiting, files, skipped = [folder], list[Path](), list[Skipped]()
    while waiting:
        path = waiting.pop()
        try:
            reason = None if path is folder else _reason(path)
            if path.is_dir() and not reason:
                waiting += sorted(path.iterdir(), reverse=True)
            elif not reason:
                files.append(path)
            elif not _empty(path):
                skipped.append(Skipped(path, reason))
        except OSError as error:
            skipped.append(Skipped(path, f"{Left.UNREADABLE} ({error.strerror})"))
    return files, skipped


def _reason(path: Path) -> Left | None:
    """Return the reason why a path in a folder is left out, or None if it is not left out."""
    if path.name.startswith(HIDING):
        return Left.HIDDEN
    path.lstat()  # from Python 3.14 on the questions below hide that a folder allows no look
    if path.is_symlink() and not path.exists():
        return Left.BROKEN
    if path.is_dir():
        return Left.LINKED if path.is_symlink() else None
    return None if stat.S_ISREG(path.stat().st_mode) else Left.ENDLESS


def _empty(path: Path) -> bool:
    """Return whether a file holds no reports for certain: nothing at all, or the checksum of the file beside it."""
    if not path.is_file():
        return False
    name = path.name
    checksum = name.startswith(".") and name.endswith(".crc") and path.with_name(name[1:-4]).is_file()
    return checksum or path.stat().st_size == 0


def _names() -> str:
    return f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


HEADER_LIMIT = 1 << 16
"""Largest number of bytes of the header of a CSV file."""
CHUNK = 1 << 20
NO_DELIMITER = "\x1f"
"""The delimiter of a file that is read line by line: the unit separator, which text has nowhere."""
QUOTED_COMMAS = r'(^|,)"(?:[^"]|"")*,(?:[^"]|"")*"'
"""A value in quotes that holds commas, with what stands before it."""
AHEAD = 2
"""Number of blocks of lines that are read while those before them are stored: each may take 0.2 GB."""
TOGETHER = 1 << 18
"""Least number of reports that are stored by one statement, but for the last ones."""
Arrays = tuple[np.ndarray, np.ndarray]
"""Reports as the bytes of their ids (k, 16) and their outputs (k,)."""


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
        """Return the content of a file, which is read once."""
        try:
            with open_regular(path) as file:
                stamp = _stamp(os.fstat(file.fileno()))
                return cls(path, *_digest(file), stamp)
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror}): name a readable file") from None

    def check_unchanged(self) -> None:
        """Refuse a file that was written to while it was read."""
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


def named(connection: Backend, path: Path) -> Iterator[tuple[str, int]]:
    """Yield pairs of a mechanism that reports of a file name, and a number of such reports.

    A mechanism may come in several pairs. A line that names none gives an empty name; blank lines are skipped.
    """
    if has_lines(path):
        with open_regular(path) as file:
            groups = (group for block in blocks(file) for group in alike(block))
            found = (group for group in groups if not is_blank(group.line))
            yield from ((mechanism_named(group.line), len(group.places)) for group in found)
        return
    with opened(connection, path) as table:
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


def has_lines(path: Path) -> bool:
    """Return whether a file holds JSON lines, and no table."""
    return path.suffix.lower() == ".jsonl"


def lines(content: Content, form: ReportFormat, rejected: Counter[str]) -> Iterator[Arrays]:
    """Yield the reports of JSON lines, which a single transaction must take, and count the lines that are none."""
    if content.lines == 1 and [*line_ends(content.path)] == ["CR"]:  # none ends a line of JSON lines
        raise ValueError(line_end_fault(content.path))
    with open_regular(content.path) as file, ThreadPoolExecutor(AHEAD) as pool:
        tasks = (pool.submit(read, block, form) for block in blocks(file))
        begun = deque(islice(tasks, AHEAD))
        held: list[Arrays] = []
        while begun:
            ids, outputs, others = begun.popleft().result()
            begun.extend(islice(tasks, 1))
            rejected.update(others)
            held.append((ids, outputs))
            if not begun or sum(len(outputs) for _, outputs in held) >= TOGETHER:
                ids, outputs = (np.concatenate(every) for every in zip(*held, strict=True))
                yield ids, outputs
                held = []


@contextmanager
def opened(connection: Backend, path: Path) -> Iterator[Table]:
    """Open a CSV or Parquet file as a table that can be read while it is open."""
    with literal(path) as name:
        if path.suffix.lower() == ".csv":
            yield _with_uuids(_csv(connection, path, name))
        else:
            yield _with_uuids(connection.read_parquet(name, hive_partitioning=False))


def _with_uuids(table: Table) -> Table:
    """Return the columns of reports, with ids of 32 lower-case hex digits as UUIDs and null for other texts.

    The state needs UUIDs in any case, and DuckDB makes them faster than it looks for other characters. Its cast alone
    would also take A to F, hyphens and braces.
    """
    check_columns(table)
    columns: dict[str, Any] = {name: table[name] for name in COLUMNS if name in table.columns}
    name = columns.get("id")
    if name is not None and name.type().is_string():
        plain = (name.length() == DIGITS) & (name == name.lower())
        columns["id"] = plain.ifelse(name.try_cast("uuid"), None)
    return table.select(**columns)


def _csv(connection: Backend, path: Path, opened: str) -> Table:
    """Return the rows of a CSV file as text columns, with every option of DuckDB's reader given.

    The reader ignores quotes, so that a quote that is never closed cannot swallow the rows below it. A pair of
    quotes around a value is removed here. Rows that do not fit are left out, and counted by the caller. Where there are
    other columns, what stands in quotes with commas is one value, and left out if the quote is closed in its line.
    """
    header = _header(path)
    check_names(header)
    others = len(header) > sum(name in COLUMNS for name in header)
    names = [name if name in COLUMNS else f"other{position}" for position, name in enumerate(header)]
    table = connection.read_csv(
        opened,
        columns=dict.fromkeys(["line"] if others else names, "VARCHAR"),
        header=True,
        auto_detect=False,
        delim=NO_DELIMITER if others else ",",
        quote="",
        escape="",
        comment="",
        compression="none",
        hive_partitioning=False,
        ignore_errors=True,
    )
    if others:
        line: Any = table["line"]
        fields = line.re_replace(QUOTED_COMMAS, r"\1").split(",")
        table = table.filter(fields.length() == len(names))
        table = table.select(**{name: fields[place].nullif("") for place, name in enumerate(names)})
    return table.mutate(**{name: _unquoted(table[name]) for name in COLUMNS if name in names})


def _unquoted(text: Any) -> Any:
    quotes = text.startswith('"') & (text.find('"', 1) == text.length() - 1)
    return quotes.ifelse(text.substr(1, text.length() - 2), text)


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
