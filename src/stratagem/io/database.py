"""Connections to DuckDB: they fetch nothing from elsewhere, and believe no file what it says of its own values."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratagem.io.literal import first_line
from stratagem.io.target import incomplete, locked, written_atomically

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from ibis.backends.duckdb import Backend

CLOSED: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings by which a file that asks for an extension, which DuckDB would download and run, is refused."""
DISTRUSTING = CLOSED | {"disabled_optimizers": "statistics_propagation"}
"""Settings by which the least and largest values that a Parquet file states are not taken for true: DuckDB 2.0.1
leaves out comparisons that they decide, and packs values into as few bits as they need."""
PARQUET_SCAN = "read_parquet(?, hive_partitioning = false)"
"""Table function for a Parquet file."""
MAGIC = slice(8, 12), b"DUCK"
"""Place and content of the mark in the first bytes of a DuckDB file."""


def connect() -> DuckDBPyConnection:
    """Return a connection to an empty database in memory, to read files that others wrote."""
    import duckdb

    return duckdb.connect(config=DISTRUSTING)


def opened(path: Path, memory: str) -> Backend:
    """Return the DuckDB file at `path`, a new one where there is none or an empty one, with a limit of memory."""
    import ibis

    _begin(path)
    place, mark = MAGIC
    with path.open("rb") as file:
        begin = file.read(place.stop)
        if begin and begin[place] != mark:
            raise ValueError(
                f"{path} cannot be opened as a collection (it is no DuckDB file): name another file"
            )
    # an absolute name, as DuckDB takes s3: and the like at the start for places elsewhere
    return ibis.duckdb.connect(path.absolute(), memory_limit=memory, **DISTRUSTING)


def _begin(path: Path) -> None:
    """Write a new DuckDB file where there is none or an empty one, complete or not at all.

    DuckDB alone would begin it in its place, and what a run that is killed, or a full disk, leaves of it is no
    database for ever. Two runs that begin the same file do not replace each other's.
    """
    if path.exists() and path.stat().st_size:
        return
    try:
        with path.open("ab") as file:  # an empty file is what a run that is killed leaves now
            if not locked(file):
                raise ValueError(f"{path} is begun by another command: wait until that has ended")
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):  # another run may have replaced it
                return
            if os.name == "nt":
                file.close()  # Windows replaces no file that is open
            with written_atomically(path) as target:
                target.write(_fresh(incomplete(path)))
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written ({error.strerror}): free some space, or name another file"
        ) from None


def _fresh(path: Path) -> bytes:
    """Return the content of an empty database, which is made at `path` and removed."""
    import duckdb

    try:
        duckdb.connect(path.absolute(), config=CLOSED).close()
        return path.read_bytes()
    except duckdb.IOException as error:
        raise OSError(errno.EIO, first_line(error, path)) from None
    finally:
        path.unlink(missing_ok=True)
