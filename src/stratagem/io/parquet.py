"""Columns written to an open Parquet file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from stratagem.io.literal import first_line, literal_target


def write_parquet(file: BinaryIO, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal length, in their order, to the very file that is open.

    Raises:
        ValueError: if they cannot be written, for example to a disk that is full.
    """
    import duckdb

    name = literal_target(file)
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
