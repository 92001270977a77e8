"""Connections to DuckDB: they fetch nothing from elsewhere, and believe no file what it says of its own values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from ibis.backends.duckdb import Backend

CLOSED: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings by which a file that asks for an extension, which DuckDB would download and run, is refused."""
DISTRUSTING = CLOSED | {"disabled_optimizers": "statistics_propagation"}
"""Settings by which the least and largest values that a Parquet file states are not taken for true: DuckDB 2.0.1
leaves out comparisons that they decide, and packs values into as few bits as they need."""
MAGIC = slice(8, 12), b"DUCK"
"""Place and content of the mark in the first bytes of a DuckDB file."""


def connect() -> DuckDBPyConnection:
    """Return a connection to an empty database in memory, to read files that others wrote."""
    import duckdb

    return duckdb.connect(config=DISTRUSTING)


def opened(path: Path, memory: str) -> Backend:
    """Return the DuckDB file at `path`, a new one where there is none or an empty one, with a limit of memory.

    Raises:
        ValueError: for a file of another kind, which DuckDB would load an extension for.
    """
    import ibis

    if path.exists():
        place, mark = MAGIC
        with path.open("rb") as file:
            begin = file.read(place.stop)
        if begin and begin[place] != mark:
            raise ValueError(
                f"{path} cannot be opened as a collection (it is no DuckDB file): name another file"
            )
    # an absolute name, as DuckDB takes s3: and the like at the start for places elsewhere
    return ibis.duckdb.connect(path.absolute(), memory_limit=memory, **CLOSED)
