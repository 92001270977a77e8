"""Connections to DuckDB are made in one place, and none of them fetches or loads an extension."""

import re
from pathlib import Path

import duckdb
import pytest

import stratagem
from stratagem.io.database import connect, opened

SOURCE = Path(stratagem.__file__).parent
MADE = re.compile(r"duckdb\s*\.\s*connect\(")
PLACE = "io/database.py"


@pytest.mark.parametrize("kind", ["of files", "of a state"])
def test_no_extension_is_installed_or_loaded_unasked(kind, tmp_path):
    connection = connect() if kind == "of files" else opened(tmp_path / "s.duckdb", "1GB").con
    asked = "SELECT DISTINCT value FROM duckdb_settings() WHERE name LIKE 'auto%known_extensions'"
    assert connection.execute(asked).fetchall() == [("false",)]
    connection.close()


def test_duckdb_by_itself_would_load_them():
    """The control."""
    asked = "SELECT DISTINCT value FROM duckdb_settings() WHERE name LIKE 'auto%known_extensions'"
    with duckdb.connect() as connection:
        assert ("true",) in connection.execute(asked).fetchall()


def test_connections_are_made_in_one_place():
    found = [path for path in SOURCE.rglob("*.py") if MADE.search(path.read_text("utf-8"))]
    assert [path.relative_to(SOURCE).as_posix() for path in found] == [PLACE]
