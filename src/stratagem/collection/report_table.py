"""Reports in tables: of any Ibis backend, checked row by row and counted by output, and of the file of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import ibis
import numpy as np

from stratagem.collection.reports import REFUSE, AnonymousReportsError, Reason, ReportFormat, check_anonymous
from stratagem.collection.tally import CONFLICT, Tally
from stratagem.io.toml import nearest
from stratagem.math.vector import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr.types import Table

DIGITS = 32
COLUMNS = {"mechanism": ("string",), "id": ("string", "uuid"), "output": ("integer", "string")}
"""The columns that are read, each with the types that it may have."""


def aggregate(table: Table, identifier: str, outputs: int, *, anonymous: str = REFUSE) -> Tally:
    """Count the reports of a table inside its own engine: DuckDB, Spark or any other Ibis backend.

    The column `output` holds whole numbers (as integers or as text); `id` (32 hex digits as text, or UUIDs)
    and `mechanism` (text) may be missing. Without ids no duplicate can be found: `anonymous="count"` says that every
    row counts. Other columns are ignored.

    Raises:
        AnonymousReportsError: for a table without ids, unless they are to be counted.
        ValueError: for a table without the column `output`, or with a column of another type.

    Example:
        >>> import ibis, pyarrow
        >>> table = ibis.memtable(pyarrow.table({"output": [0, 2, 2]}))  # or of Spark, ...
        >>> aggregate(table, "0" * 64, outputs=3, anonymous="count").counts.tolist()
        [1, 0, 2]
    """
    return tally(judge(table, ReportFormat(identifier, outputs), anonymous, "the table"), outputs)


def judge(table: Table, form: ReportFormat, anonymous: str, source: str) -> Table:
    """Return the columns `id`, `output` (int64) and `reason`, the reason for rejection or null for a report.

    Rejected rows have neither id nor output; the order of reasons is that of `Reason`. `source` names the
    table in errors.

    Raises:
        AnonymousReportsError: for a table without ids, unless they are to be counted.
        ValueError: for a table without the column `output`, or with a column of another type.
    """
    check_columns(table)
    if check_anonymous(anonymous) == REFUSE and "id" not in table.columns:
        raise AnonymousReportsError(source)
    whole, number = _number(table["output"])
    reasons = [(~whole, Reason.WHOLE), (~number.between(0, form.outputs - 1).fill_null(False), Reason.RANGE)]
    if "id" in table.columns:
        reasons.insert(0, (~_well_formed(table["id"]), Reason.ID))
    if "mechanism" in table.columns:
        mechanism: Any = table["mechanism"]
        reasons.insert(0, (~(mechanism == form.mechanism).fill_null(False), Reason.MECHANISM))
    reason = ibis.cases(*((wrong, ibis.literal(str(words))) for wrong, words in reasons))
    valid = reason.isnull()
    name = table["id"] if "id" in table.columns else ibis.null("string")
    return table.select(
        id=ibis.ifelse(valid, name, ibis.null(name.type())),
        output=ibis.ifelse(valid, number, ibis.null("int64")),
        reason=reason,
    )


def tally(
    judged: Table, outputs: int, parts: Iterable[Table] | None = None, order: str | None = None
) -> Tally:
    """Count the reports of a table that `judge` returned by output, each id once.

    `parts` are filters of `judged` that share no id and leave out none: counted one after another, they need
    less memory at a time than all ids together. An id with several outputs counts for none, or for the first by the
    column `order`.
    """
    valid, rejected, anonymous = _received(judged)
    named = [_rows(_ids_by_output(part, order).to_pyarrow()) for part in parts or (judged,)]
    outputs_of, several, ids = np.concatenate(named).T
    counts_for = outputs_of != CONFLICT
    every = np.concatenate([outputs_of[counts_for], anonymous[:, 0]])
    times = np.concatenate([ids[counts_for], anonymous[:, 1]])
    return Tally(
        counts=counted(every, outputs, times),
        rejected=dict(rejected.most_common()),
        duplicates=valid - int(ids.sum()),
        conflicting=int(ids[~counts_for].sum()),
        anonymous=int(anonymous[:, 1].sum()),
        overruled=int(ids[counts_for & (several > 0)].sum()),
    )


def check_names(names: Iterable[str]) -> None:
    """Refuse a table without a column `output`."""
    names = tuple(names)
    if "output" not in names:
        found = nearest("output", [name[:50] for name in names[:20]])
        raise ValueError(f"the reports have no column 'output': {found}, or add a header")


def check_columns(table: Table) -> None:
    """Refuse a table without a column `output`, or with a column of reports that has another type than these have."""
    check_names(table.columns)
    for name, allowed in COLUMNS.items():
        if name in table.columns:
            kind = table[name].type()
            if not any(getattr(kind, f"is_{word}")() for word in allowed):
                words = " or ".join(allowed)
                raise ValueError(f"the column {name!r} has type {kind}, but must be {words}: cast it")


def _number(output: Any) -> tuple[Any, Any]:
    """Return two columns: whether each value is a whole number, and the number or null beyond int64."""
    if output.type().is_integer():
        return output.notnull(), output.try_cast("int64")
    number = output.try_cast("int64")
    usual = (number.cast("string") == output).fill_null(False)  # found in a third of the time of the patterns
    # the negated class also finds what $ overlooks in some dialects, a line end at the end
    whole = output.re_search("^-?(0|[1-9][0-9]*)$") & ~output.re_search("[^-0-9]")
    return usual.ifelse(True, whole.fill_null(False)), number


def _well_formed(name: Any) -> Any:
    if name.type().is_uuid():
        return name.notnull()
    return ((name.length() == DIGITS) & ~name.re_search("[^0-9a-f]")).fill_null(False)


def _received(judged: Table) -> tuple[int, Counter[str], np.ndarray]:
    """Return the number of reports with an id, the rejected rows by reason, and the reports without an id.

    The last are an array (k x 2): an output, and the number of its reports without an id.
    """
    named = judged.id.notnull()
    loose = ibis.ifelse(named, ibis.null("int64"), judged.output)
    found = judged.group_by(reason=judged.reason, loose=loose).agg(number=judged.count()).to_pyarrow()
    anonymous = found["loose"].is_valid()
    others = found.filter(found["loose"].is_null())
    rejected = Counter(dict(zip(others["reason"].to_pylist(), others["number"].to_pylist(), strict=True)))
    return rejected.pop(None, 0), rejected, _rows(found.filter(anonymous).select(["loose", "number"]))


def _ids_by_output(judged: Table, order: str | None) -> Table:
    """Return the number of distinct ids for each output, with separate rows for ids that had several outputs.

    The output of such ids is CONFLICT, or with an `order` the first that came.
    """
    named = judged.filter(judged.id.notnull())
    kept = {} if order is None else {"first": named.output.argmin(named[order])}
    once = named.group_by("id").agg(low=named.output.min(), high=named.output.max(), **kept)
    several = once.low != once.high
    output = once["first"] if kept else ibis.ifelse(several, CONFLICT, once.low)
    return once.group_by(output=output, several=several.cast("int64")).agg(ids=once.count())


def _rows(table: pa.Table) -> np.ndarray:
    """Return a table of whole-number columns as an array (rows x columns)."""
    return np.stack([column.to_numpy() for column in table.columns], axis=1).astype(np.int64)


KIND, VERSION = "stratagem reports", 2
TABLES = {
    "about": "kind VARCHAR, version INTEGER, mechanism VARCHAR, outputs BIGINT",
    "files": "number INTEGER, path VARCHAR, sha256 VARCHAR, rows BIGINT, size BIGINT",
    "reports": "file INTEGER, id UUID, output BIGINT, reason VARCHAR",
}
"""Columns of the tables. Files taken are numbered in that order; `size` in bytes is null for files with ids."""
MADE = "; ".join(f"CREATE TABLE {table} ({columns})" for table, columns in TABLES.items())
HELD = {f"{table}.{column}" for table, columns in TABLES.items() for column in columns.split(", ")}
PRESENT = (
    "SELECT concat(table_name, '.', column_name, ' ', data_type) FROM duckdb_columns() WHERE NOT internal"
)
NEITHER = """((output IS NULL) = (reason IS NULL) OR output NOT BETWEEN 0 AND ?
    OR (id IS NOT NULL AND reason IS NOT NULL))"""
"""Condition on a row of reports that is neither a report, which has an output, nor rejected, for a reason."""
UNLIKE = """
    SELECT count(*) FROM files FULL JOIN (
        SELECT file, count(*) AS held, count(id) AS named,
            count(*) FILTER (id IS NULL AND reason IS NULL) AS anonymous
        FROM reports GROUP BY file
    ) ON number = file
    WHERE rows IS DISTINCT FROM coalesce(held, 0) OR (named > 0 AND (anonymous > 0 OR size IS NOT NULL))
"""
"""Number of files of which other rows are there than were taken, or reports both with ids and without."""
FOREIGN = """
    SELECT 1 FROM system.main.duckdb_functions() WHERE NOT internal AND database_name = ?
    UNION ALL SELECT 1 FROM system.main.duckdb_views() WHERE NOT internal AND database_name = ?
"""
"""The macros and views of a database: they could take the place of its tables, and of functions of DuckDB."""


class Execute(Protocol):
    """A function that runs SQL statements and returns the rows of the last one."""

    def __call__(self, statement: str, *values: object) -> list[tuple]:
        """Run the statements with these values, and return the rows of the last one."""
        ...


def prepare(execute: Execute, path: Path, form: ReportFormat) -> None:
    """Make the tables in an empty file, or check those in it."""
    (database,) = execute("SELECT system.main.current_database()")[0]
    if execute(FOREIGN, database, database):
        raise ValueError(
            f"{path} holds macros or views, but a collection has tables alone: name another file"
        )
    known = execute("SELECT list(table_name) FROM duckdb_tables()")[0][0]
    if not known:
        execute(MADE)
        execute("INSERT INTO about VALUES (?, ?, ?, ?)", KIND, VERSION, form.identifier, form.outputs)
        return
    kind, version = (
        next(iter(execute("SELECT kind, version FROM about")), ("", 0)) if "about" in known else ("", 0)
    )
    if kind != KIND or version != VERSION:
        raise ValueError(f"{path} is no collection of version {VERSION}: name another file")
    identifier, outputs = execute("SELECT mechanism, outputs FROM about")[0]
    if {column for (column,) in execute(PRESENT)} != HELD or not isinstance(identifier, str):
        raise ValueError(f"{path} has other tables than a collection: name another file")
    if (identifier, outputs) != (form.identifier, form.outputs):
        raise ValueError(
            f"{path} collects reports of mechanism {identifier[:16]} with {outputs} outputs, but was opened "
            f"for {form.mechanism} with {form.outputs}: name another file"
        )
