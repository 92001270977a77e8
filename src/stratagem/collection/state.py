"""The tables of the DuckDB file that holds the state of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from stratagem.collection.reports import ReportFormat

KIND, VERSION = "stratagem reports", 2
TABLES = {
    "about": "kind VARCHAR, version INTEGER, mechanism VARCHAR, outputs BIGINT",
    "files": "number INTEGER, path VARCHAR, sha256 VARCHAR, rows BIGINT, size BIGINT",
    "reports": "file INTEGER, id UUID, output BIGINT, reason VARCHAR",
}
"""Columns of the tables. Files taken are numbered in that order; `size` in bytes is null for files with ids."""
MADE = "; ".join(f"CREATE TABLE {table} ({columns})" for table, columns in TABLES.items())
HELD = {f"{table}.{column}" for table, columns in TABLES.items() for column in columns.split(", ")}
COLUMNS = (
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
    if {column for (column,) in execute(COLUMNS)} != HELD or not isinstance(identifier, str):
        raise ValueError(f"{path} has other tables than a collection: name another file")
    if (identifier, outputs) != (form.identifier, form.outputs):
        raise ValueError(
            f"{path} collects reports of mechanism {identifier[:16]} with {outputs} outputs, but was opened "
            f"for {form.mechanism} with {form.outputs}: name another file"
        )
