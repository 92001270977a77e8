"""Parquet files, written to the very file that is open, whatever DuckDB takes its name for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from stratagem.io.literal import descriptor, first_line


def write_parquet(file: BinaryIO, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal length, in their order, to the very file that is open.

    Raises:
        ValueError: if they cannot be written, for example to a disk that is full.
    """
    import duckdb

    name = (descriptor(file) or str(Path(file.name).absolute())).replace("'", "''")
    try:
        with duckdb.connect() as connection:
            connection.register("columns_to_write", dict(columns))
            # a file of DuckDB's own beside it would take its place, with the permissions of any new file
            options = "FORMAT parquet, USE_TMP_FILE false"
            connection.execute(f"COPY (SELECT * FROM columns_to_write) TO '{name}' ({options})")
    except duckdb.Error as error:
        raise ValueError(
            f"the Parquet file cannot be written ({first_line(error)}): free some space, or name another folder"
        ) from None
