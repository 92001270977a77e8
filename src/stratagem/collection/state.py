"""The tables of a collection, and the upgrade of those of earlier versions."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from stratagem.collection.reports import ReportFormat

KIND, VERSION = "stratagem reports", 2
FILES = "CREATE TABLE files (number INTEGER, path VARCHAR, sha256 VARCHAR, rows BIGINT, size BIGINT)"
"""Table of the files taken, numbered in that order; `size` in bytes is null for files with ids."""
TABLES = f"""
    CREATE TABLE about (kind VARCHAR, version INTEGER, mechanism VARCHAR, outputs BIGINT);
    {FILES};
    CREATE TABLE reports (file INTEGER, id UUID, output BIGINT, reason VARCHAR);
"""
UPGRADES = {
    1: f"""
        ALTER TABLE files RENAME TO files_of_version_1;
        {FILES};
        INSERT INTO files SELECT number, path, sha256, rows, NULL FROM files_of_version_1;
        DROP TABLE files_of_version_1;
        UPDATE about SET version = {VERSION};
    """,
}
"""Statements that upgrade the tables of an earlier version; version 1 took each content only once."""


class Execute(Protocol):
    """A function that runs SQL statements and returns the rows of the last one."""

    def __call__(self, statement: str, *values: object) -> list[tuple]:
        """Run the statements with these values, and return the rows of the last one."""
        ...


def prepare(execute: Execute, path: Path, form: ReportFormat) -> None:
    """Make the tables in an empty file, or check those in it and bring them up to date.

    Raises:
        ValueError: for a file with other tables, of a later version, or of another mechanism.
    """
    known = execute("SELECT list(table_name) FROM duckdb_tables()")[0][0]
    if not known:
        execute(TABLES)
        execute("INSERT INTO about VALUES (?, ?, ?, ?)", KIND, VERSION, form.identifier, form.outputs)
        return
    kind, version = (
        next(iter(execute("SELECT kind, version FROM about")), ("", 0)) if "about" in known else ("", 0)
    )
    if kind != KIND or version not in {*UPGRADES, VERSION}:
        raise ValueError(f"{path} is no collection of version {VERSION} or before: name another file")
    identifier, outputs = execute("SELECT mechanism, outputs FROM about")[0]
    if (identifier, outputs) != (form.identifier, form.outputs):
        raise ValueError(
            f"{path} collects reports of mechanism {identifier[:16]} with {outputs} outputs, but was opened "
            f"for {form.mechanism} with {form.outputs}: name another file"
        )
    if version in UPGRADES:
        execute(UPGRADES[version])
