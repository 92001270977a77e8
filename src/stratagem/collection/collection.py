"""Reports collected from files into a DuckDB file that survives being killed."""

from __future__ import annotations

import math
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from stratagem.collection import report_file, report_table
from stratagem.collection.report_file import Content
from stratagem.collection.reports import Reason, ReportFormat, count_named
from stratagem.collection.tally import Tally
from stratagem.file.target import check_target
from stratagem.file.toml import naming

if TYPE_CHECKING:
    from ibis.expr.types import Table

KIND, VERSION = "stratagem reports", 1
TABLES = """
    CREATE TABLE about (kind VARCHAR, version INTEGER, mechanism VARCHAR, outputs BIGINT);
    CREATE TABLE files (number INTEGER, path VARCHAR, sha256 VARCHAR UNIQUE, rows BIGINT);
    CREATE TABLE reports (file INTEGER, id UUID, output BIGINT, reason VARCHAR);
"""
PASS = 1 << 24
"""Ids that are told apart at a time: at twice as many their hash table would outgrow MEMORY."""
MEMORY = "1GB"
"""What DuckDB may hold; the process needs about half a GB more."""


@dataclass(frozen=True)
class Taken:
    """The record of one file, as given to callbacks."""

    path: Path
    rows: int
    """Rows or lines taken from it, reports or not."""
    copy_of: str | None
    """The file with the same content that had been taken before, so that nothing was taken from this one."""
    done: int
    """Files done, this one included."""
    files: int
    """Files given."""


Callback = Callable[[Taken], bool | None]
"""Receives every file; a true answer stops before the next."""


class Collection:
    """Collects the reports of one mechanism from CSV, Parquet and JSON-lines files, each id once.

    The state is a DuckDB file. A file of reports is taken in one transaction, all of it or nothing, and recognised
    by its content, so a collection that was killed is continued by giving the same files again: nothing is lost
    and nothing doubled. Without ids, two files with equal content count as copies of one.

    Raises:
        ValueError: for a path that cannot be written, a file that is no collection, or one of another mechanism.

    Example:
        >>> with Collection("survey.reports.duckdb", identifier, outputs=64) as collection:  # doctest: +SKIP
        ...     collection.add(["inbox/"])
        ...     counts = collection.tally().counts
    """

    def __init__(self, path: str | Path | None, identifier: str, outputs: int, *, memory: str = MEMORY):
        """Open the state at `path` (.duckdb), or make it; None for one that lasts until `close`."""
        import ibis

        self.form = ReportFormat(identifier, outputs)
        if path is None:
            self._folder = tempfile.TemporaryDirectory()
            path = Path(self._folder.name, "state.duckdb")
        else:
            self._folder = None
        self.path = check_target(path, (".duckdb",))
        with _refusing(f"{self.path} cannot be opened as a collection", "name another file"):
            self._ibis = ibis.duckdb.connect(self.path, memory_limit=memory, preserve_insertion_order=False)
            try:
                self._sql("SET enable_progress_bar = false")  # it would be written to standard output
                self._prepare()
            except BaseException:
                self.close()
                raise

    def add(
        self, sources: str | Path | Iterable[str | Path], callback: Callback | None = None
    ) -> list[Taken]:
        """Take files and folders of files, one after the other; return what was taken from each.

        Raises:
            ValueError: for a source that does not exist, or the first file that cannot be read; those before it
                are kept.
        """
        paths = report_file.find([sources] if isinstance(sources, str | Path) else sources)
        done: list[Taken] = []
        for path in paths:
            done.append(Taken(path, *self._take(path.resolve()), len(done) + 1, len(paths)))
            if callback and callback(done[-1]):
                break
        return done

    def foreign(self, sources: str | Path | Iterable[str | Path]) -> Mapping[str, int]:
        """Return which other mechanisms the reports of files name, with their numbers; at most 64 names."""
        found: Counter[str] = Counter()
        for path in report_file.find([sources] if isinstance(sources, str | Path) else sources):
            for name, times in report_file.named(self._ibis, path):
                if name != self.form.mechanism:
                    count_named(found, name, times)
        return found

    def tally(self) -> Tally:
        """Return the counts by output and what became of everything else."""
        reports = self._ibis.table("reports")
        return report_table.tally(reports, self.form.outputs, list(self._parts(reports)))

    def close(self) -> None:
        """Let go of the file; a temporary one is removed."""
        self._ibis.disconnect()
        if self._folder:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _prepare(self) -> None:
        """Make the tables in an empty file, or check that those in it are of this mechanism."""
        for spilled in Path(f"{self.path}.tmp").glob("duckdb_temp_*"):  # of a run that was killed
            spilled.unlink(missing_ok=True)
        known = self._row("SELECT list(table_name) FROM duckdb_tables()")[0]
        if not known:
            with self._transaction():
                self._sql(TABLES)
                self._sql("INSERT INTO about VALUES (?, ?, ?, ?)", KIND, VERSION, *self._mechanism)
        elif "about" not in known or self._row("SELECT kind, version FROM about") != (KIND, VERSION):
            raise ValueError(f"{self.path} is no collection of version {VERSION}: name another file")
        held = self._row("SELECT mechanism, outputs FROM about")
        if held != self._mechanism:
            raise ValueError(
                f"{self.path} collects reports of mechanism {held[0][:16]} with {held[1]} outputs, but was opened "
                f"for {self.form.mechanism} with {self.form.outputs}: name another file"
            )

    @property
    def _mechanism(self) -> tuple[str, int]:
        return self.form.identifier, self.form.outputs

    def _take(self, path: Path) -> tuple[int, str | None]:
        """Take one file, or find the one it is a copy of; return its rows and the path of that one."""
        content = Content.of(path)
        if copy := self._row("SELECT path FROM files WHERE sha256 = ?", content.sha256):
            return 0, copy[0]
        with (
            naming(str(path)),
            _refusing("it cannot be taken", "give a whole file, or more memory"),
            self._transaction(),
        ):
            (number,) = self._row("SELECT count(*) FROM files")
            for rows in report_file.judged(self._ibis, content, self.form):
                self._insert(number, rows)
            content.check_unchanged()
            self._complete(number, content)
            rows = self._count("file = ?", number)
            self._check_new(number, content)
            self._sql("INSERT INTO files VALUES (?, ?, ?, ?)", number, str(path), content.sha256, rows)
        return rows, None

    def _insert(self, number: int, judged: Table) -> None:
        import ibis

        rows = judged.select(
            file=ibis.literal(number, "int32"),
            id=judged.id.try_cast("uuid"),
            output=judged.output,
            reason=judged.reason,
        )
        self._ibis.insert("reports", rows)

    def _complete(self, number: int, content: Content) -> None:
        """Account for the lines of a CSV file that its reader left out."""
        if content.path.suffix.lower() != ".csv":
            return
        missing = content.lines - 1 - self._count("file = ?", number)
        if missing < 0:
            raise ValueError(f"{content.path} has line ends of two kinds: write it with one kind")
        self._sql(
            "INSERT INTO reports SELECT ?, NULL, NULL, ? FROM range(?)", number, str(Reason.ROW), missing
        )

    def _check_new(self, number: int, content: Content) -> None:
        """Refuse a file that has grown since it was taken if its reports cannot be told apart."""
        before = self._row("SELECT 1 FROM files WHERE path = ?", str(content.path))
        if before and self._count("file = ? AND id IS NULL AND reason IS NULL", number):
            raise ValueError(
                f"{content.path} has changed since it was taken, and without ids its new reports cannot be told "
                "from the old: put new reports in a new file"
            )

    def _parts(self, reports: Table) -> Iterator[Table]:
        """Yield the reports by the first bits of their ids, about PASS at a time."""
        import ibis

        bits = max(0, math.ceil(math.log2(max(1, self._count("id IS NOT NULL")) / PASS)))
        size = 1 << (128 - bits)
        for first in range(0, 1 << 128, size):
            low, high = (ibis.literal(uuid.UUID(int=end)) for end in (first, first + size - 1))
            yield reports.filter(reports.id.between(low, high))

    def _count(self, condition: str, *values: object) -> int:
        return self._row(f"SELECT count(*) FROM reports WHERE {condition}", *values)[0]

    def _row(self, query: str, *values: object) -> tuple:
        """Return the first row of a query; empty where there is none."""
        rows = self._sql(query, *values)
        return rows[0] if rows else ()

    def _sql(self, statement: str, *values: object) -> list[tuple]:
        return self._ibis.con.execute(statement, values or None).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all that follows or none of it."""
        import duckdb

        self._sql("BEGIN")
        try:
            yield
            self._sql("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # a failed commit has already been undone
                self._sql("ROLLBACK")
            raise


@contextmanager
def _refusing(what: str, advice: str) -> Iterator[None]:
    """Say in one sentence what DuckDB cannot do."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise ValueError(f"{what} ({str(error).splitlines()[0][:200]}): {advice}") from None
