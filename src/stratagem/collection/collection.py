"""Reports collected from files into a DuckDB file that survives being killed."""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Self

import duckdb
import ibis
import numpy as np
import pyarrow as pa

from stratagem.collection import report_file, report_table
from stratagem.collection.report_file import Content, Contested, Skipped, Taken, find
from stratagem.collection.report_table import NEITHER, UNLIKE, prepare
from stratagem.collection.reports import NAMED, REFUSE, Reason, ReportFormat, check_anonymous, count_named
from stratagem.collection.tally import CONFLICT, Receipt, Tally, receipts
from stratagem.io.database import opened
from stratagem.io.literal import first_line, line_end_fault
from stratagem.io.target import ScratchFolder, check_target, resolved
from stratagem.io.toml import naming

if TYPE_CHECKING:
    from ibis.expr.types import Table

ANEW = "collect its files anew, in another state"
PASS = 1 << 24
"""Number of ids that are compared at a time: with twice as many the hash table would outgrow MEMORY."""
MEMORY = "1GB"
"""Memory limit of DuckDB; the process needs about half a GB more."""
PLACED = "CREATE TEMP VIEW placed AS SELECT *, rowid AS place FROM reports"
RECEIVED = "received one by one"
"""What stands in place of a path for the reports that came to `Collection.receive`."""
Callback = Callable[[Taken], bool | None]
"""A function that is called with the record of every file; a true return value stops before the next file."""


class Collection:
    """Collects the reports of one mechanism from CSV, Parquet and JSON-lines files, each id once.

    The state is a DuckDB file. A file of reports is taken in one transaction, all of it or nothing, and recognised
    by its path and content, so a collection that was killed is continued by giving the same files again: nothing
    is lost and nothing doubled. A copy of a file is taken as well; its ids are repeats. Files without ids are
    refused, as a copy of such a file could not be recognised: `anonymous="count"` says that every file counts.

    Raises:
        ValueError: for a path that cannot be written, a file that is no collection, or one of another mechanism.

    Example:
        >>> with Collection("survey.reports.duckdb", identifier, outputs=64) as collection:  # doctest: +SKIP
        ...     collection.add(["inbox/"])
        ...     counts = collection.tally().counts
    """

    def __init__(
        self,
        path: str | Path | None,
        identifier: str,
        outputs: int,
        *,
        anonymous: str = REFUSE,
        memory: str = MEMORY,
    ):
        """Open the state at `path` (.duckdb), or create it; None makes a temporary state that `close` removes."""
        self.form = ReportFormat(identifier, outputs)
        self.anonymous = check_anonymous(anonymous)
        self.skipped: list[Skipped] = []
        """What was left out of the folders that were given, with the reason."""
        self._folder = None
        if path is None:
            self._folder = ScratchFolder()
            self.path = self._folder.path / "state.duckdb"
        else:
            self.path = check_target(resolved(Path(path)) if Path(path).is_symlink() else path, (".duckdb",))
        try:
            self._open(memory)
        except BaseException:
            self._remove()
            raise

    def add(
        self, sources: str | Path | Iterable[str | Path], callback: Callback | None = None
    ) -> list[Taken]:
        """Take files and folders of files, one after the other; return what was taken from each.

        What is left out of a folder is added to `skipped`.

        Raises:
            AnonymousReportsError: for a file without ids, unless they are to be counted.
            ValueError: for a source that does not exist, or the first file that cannot be read; those before it
                are kept.
        """
        found = find(sources)
        self.skipped += [one for one in found.skipped if one not in self.skipped]
        done: list[Taken] = []
        for path in found.files:
            done.append(self._take(path, len(done) + 1, len(found.files)))
            if callback and callback(done[-1]):
                break
        return done

    def receive(self, ids: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Take checked reports that come in no file, each id once; return the `Receipt` of each (k,).

        ids (k, 16) uint8 and outputs (k,) are what `ReportFormat` accepted. One transaction takes them: once this
        returns, they are on the disk.

        Raises:
            ValueError: if they cannot be stored; none of them is then.
        """
        with self._whole(), self._transaction():
            found = receipts(ids, outputs, self._outputs_of(ids))
            fresh = found == Receipt.TAKEN
            if fresh.any():
                number = self._arrivals()
                self._append(number, ids[fresh], outputs[fresh])
                self._sql("UPDATE files SET rows = rows + ? WHERE number = ?", int(fresh.sum()), number)
        return found

    def foreign(self, sources: str | Path | Iterable[str | Path]) -> Mapping[str, int]:
        """Return the other mechanisms that reports in files name, with their numbers of reports; at most 64."""
        found: Counter[str] = Counter()
        for path in find(sources).files:
            for name, times in report_file.named(self._ibis, path):
                if name != self.form.mechanism:
                    count_named(found, name, times)
        return found

    def tally(self, *, first: bool = False) -> Tally:
        """Return the counts by output, and the number of rows that were not counted, by reason.

        An id that came with several outputs counts for none, or with `first` for the one that was taken first.
        """
        with self._whole(), self._transaction():
            self._check_rows()
            reports = self._ibis.table("placed")
            order = "place" if first else None
            return report_table.tally(reports, self.form.outputs, list(self._parts(reports)), order)

    def contested(self) -> list[Contested]:
        """Return the ids that came with several outputs, at most 64 of them, and the files that hold them."""
        found: list[str] = []
        with self._whole():
            for part in self._parts(self._ibis.table("reports")):
                once = part.group_by("id").agg(low=part.output.min(), high=part.output.max())
                several = once.filter(once.low != once.high).order_by("id").limit(NAMED - len(found))
                found += several.select(id=several.id.cast("string")).to_pyarrow()["id"].to_pylist()
            return [Contested(uuid.UUID(name).hex, self._holders(name)) for name in found]

    def another(self) -> Collection:
        """Return the same collection for another thread, with a connection of its own that sees what was committed.

        The process must not open the file a second time: closing it would give up the lock that keeps others out.
        """
        found = copy(self)
        found._folder = None
        found._ibis = ibis.duckdb.from_connection(self._ibis.con.cursor())
        found._sql(PLACED)
        return found

    def close(self) -> None:
        """Close the DuckDB file, and remove it if it is temporary."""
        self._ibis.disconnect()
        self._remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _remove(self) -> None:
        if self._folder is not None:
            self._folder.remove()

    def _open(self, memory: str) -> None:
        """Connect to the state and make its tables, or check that those in it are of this mechanism."""
        with _refusing(f"{self.path} cannot be opened as a collection", "name another file"):
            self._ibis = opened(self.path, memory)
            try:
                self._sql("SET enable_progress_bar = false")  # it would be written to standard output
                if self._folder is not None:  # what is removed at once need not be tidied up before
                    self._sql("PRAGMA disable_checkpoint_on_shutdown")
                for spilled in Path(f"{self.path}.tmp").glob("duckdb_temp_*"):  # of a run that was killed
                    spilled.unlink(missing_ok=True)
                with self._transaction():
                    prepare(self._sql, self.path, self.form)
                    self._sql(PLACED)
            except BaseException:
                self._ibis.disconnect()
                raise

    def _take(self, path: Path, done: int, files: int) -> Taken:
        """Take one file, unless the same one had been taken."""
        content, record = Content.of(path.resolve()), {"path": path, "done": done, "files": files}
        known = "SELECT 1 FROM files WHERE path = ? AND sha256 = ?"
        with self._whole():
            if self._row(known, content.name, content.sha256):
                return Taken(rows=0, before=True, copy_of=None, anonymous=False, **record)
        with (
            naming(str(content.path)),
            _refusing("it cannot be taken", "give a whole file", content.path),
            self._transaction(),
        ):
            (number,) = self._row("SELECT count(*) FROM files")
            if report_file.has_lines(content.path):
                rejected: Counter[str] = Counter()
                for ids, outputs in report_file.lines(content, self.form, rejected):
                    self._append(number, ids, outputs)
                self._reject(number, rejected)
            else:
                with report_file.opened(self._ibis, content.path) as table:
                    rows = report_table.judge(table, self.form, self.anonymous, str(content.path))
                    self._ibis.insert("reports", rows.mutate(file=ibis.literal(number, "int32")))
            content.check_unchanged()
            self._check_rows(number)
            self._complete(number, content)
            rows = self._count("file = ?", number)
            size = content.size if self._count("file = ? AND id IS NULL AND reason IS NULL", number) else None
            self._check_new(content, size)
            copy = self._copied(content, size)
            values = (number, content.name, content.sha256, rows, size)
            self._sql("INSERT INTO files VALUES (?, ?, ?, ?, ?)", *values)
        return Taken(rows=rows, before=False, copy_of=copy, anonymous=size is not None, **record)

    def _append(self, number: int, ids: np.ndarray, outputs: np.ndarray) -> None:
        """Insert reports; no name is given to them, which the transaction would keep them for."""
        arrived = self._ibis.con.from_arrow(_table(ids, outputs))
        arrived.project(f"{number:d}, id::UUID, output, NULL").insert_into("reports")

    @contextmanager
    def _arrived(self, ids: np.ndarray, outputs: np.ndarray) -> Iterator[None]:
        """Let statements in the body read reports as the table `arrived`."""
        self._ibis.con.register("arrived", _table(ids, outputs))
        try:
            yield
        finally:
            self._ibis.con.unregister("arrived")

    def _outputs_of(self, ids: np.ndarray) -> dict[bytes, int]:
        """Return the outputs that are stored with those of some ids that are, CONFLICT for several outputs."""
        query = """
            SELECT id, min(output), max(output) FROM reports
            WHERE id IN (SELECT id::UUID FROM arrived) GROUP BY id
        """
        with self._arrived(ids, np.zeros(len(ids), np.int64)):
            rows = self._sql(query)
        return {name.bytes: low if low == high else CONFLICT for name, low, high in rows}

    def _arrivals(self) -> int:
        """Return the number under which reports that came in no file stand among the files."""
        if held := self._row("SELECT number FROM files WHERE path = ?", RECEIVED):
            return held[0]
        (number,) = self._row("SELECT count(*) FROM files")
        self._sql("INSERT INTO files VALUES (?, ?, '', 0, NULL)", number, RECEIVED)
        return number

    def _complete(self, number: int, content: Content) -> None:
        """Record the lines of a CSV file that its reader left out as rejected rows."""
        if content.path.suffix.lower() != ".csv":
            return
        missing = content.lines - 1 - self._count("file = ?", number)
        if missing < 0:
            raise ValueError(line_end_fault(content.path))
        self._reject(number, {str(Reason.ROW): missing})

    def _reject(self, number: int, rejected: Mapping[str, int]) -> None:
        """Record rows that are no reports, by reason."""
        for reason, rows in rejected.items():
            statement = "INSERT INTO reports SELECT ?, NULL, NULL, ? FROM range(?)"
            self._sql(statement, number, reason, rows)

    def _check_rows(self, number: int | None = None) -> None:
        """Refuse rows, of one file or of all, that are neither rejected nor reports of an output that there is.

        Of all, also refuse others than were taken.
        """
        of_file = "" if number is None else f"file = {number} AND "
        if wrong := self._count(f"{of_file}{NEITHER}", self.form.outputs - 1):
            raise ValueError(
                f"{self.path} holds {wrong:,} rows that are neither reports nor rejected: {ANEW}"
            )
        if number is None and (files := self._row(UNLIKE)[0]):
            raise ValueError(
                f"{self.path} holds other rows than were taken of {files:,} of its files: {ANEW}"
            )

    def _whole(self) -> AbstractContextManager[None]:
        return _refusing(f"{self.path} cannot be read as a collection", ANEW)

    def _check_new(self, content: Content, size: int | None) -> None:
        """Refuse a file without ids that has changed since it was taken: new reports cannot be recognised."""
        if size is not None and self._row("SELECT 1 FROM files WHERE path = ?", content.name):
            raise ValueError(
                f"{content.path} has changed since it was taken, and without ids its new reports cannot be told "
                "from the old: put new reports in a new file"
            )

    def _copied(self, content: Content, size: int | None) -> str | None:
        """Return the path of an earlier file whose reports came again, or None (see `Taken.copy_of`)."""
        begins = [content.sha256]
        if size is not None:
            smaller = self._sql("SELECT DISTINCT size FROM files WHERE size < ?", size)
            begins += content.beginnings(end for (end,) in smaller)
        marks = ", ".join("?" * len(begins))
        found = self._row(
            f"SELECT path FROM files WHERE sha256 IN ({marks}) ORDER BY rows DESC, number", *begins
        )
        return found[0] if found else None

    def _holders(self, name: str) -> tuple[str, ...]:
        """Return up to 8 files that hold reports with an id, in the order in which they were taken."""
        held = "SELECT file FROM reports WHERE id = ?"
        rows = self._sql(f"SELECT path FROM files WHERE number IN ({held}) ORDER BY number LIMIT 8", name)
        return tuple(path for (path,) in rows)

    def _parts(self, reports: Table) -> Iterator[Table]:
        """Yield the reports with ids in parts of about PASS, split by the first bits of their ids."""
        bits = max(0, math.ceil(math.log2(max(1, self._count("id IS NOT NULL")) / PASS)))
        size = 1 << (128 - bits)
        for first in range(0, 1 << 128, size):
            low, high = (ibis.literal(uuid.UUID(int=end)) for end in (first, first + size - 1))
            yield reports.filter(reports.id.between(low, high))

    def _count(self, condition: str, *values: object) -> int:
        return self._row(f"SELECT count(*) FROM reports WHERE {condition}", *values)[0]

    def _row(self, query: str, *values: object) -> tuple:
        """Return the first row of the result of a query, or an empty tuple if the result is empty."""
        rows = self._sql(query, *values)
        return rows[0] if rows else ()

    def _sql(self, statement: str, *values: object) -> list[tuple]:
        return self._ibis.con.execute(statement, values or None).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the body in one transaction, which is rolled back on any exception."""
        self._sql("BEGIN")
        try:
            yield
            self._sql("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # a failed commit has already been undone
                self._sql("ROLLBACK")
            raise


def _table(ids: np.ndarray, outputs: np.ndarray) -> pa.Table:
    names = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(ids)])
    return pa.table({"id": names, "output": outputs})


@contextmanager
def _refusing(what: str, advice: str, source: Path | None = None) -> Iterator[None]:
    """Raise an error of DuckDB in the body, which may read a file, as a ValueError of one sentence."""
    try:
        yield
    except (duckdb.Error, UnicodeError) as error:
        text = source if isinstance(error, duckdb.InvalidInputException) else None
        if text and text.suffix.lower() == ".csv" and (fault := line_end_fault(text)):
            raise ValueError(fault) from None
        if isinstance(error, duckdb.OutOfMemoryException):
            advice = "give more memory"
        elif "No space left" in str(error):
            advice = "free some space"
        why = first_line(error)
        if "set lock on" in str(error):  # DuckDB lets one process at a time write a file
            why, advice = "another command uses it", "wait until that has ended, or end it with Ctrl-C"
        raise ValueError(f"{what} ({why}): {advice}") from None
