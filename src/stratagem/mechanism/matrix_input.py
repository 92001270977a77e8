"""Matrices of probabilities in files of other programs: .npy, .npz, .csv, .mat and .parquet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from stratagem.io.literal import check_regular, first_line, literal
from stratagem.io.npz import array_names, read_arrays
from stratagem.mechanism.mat_file import read_mat
from stratagem.workloads.matrix_file import read_matrix

ENTRIES = 1 << 27
"""Numbers of the largest matrix that is read (1 GiB)."""
USUAL = "strategy"
"""The name under which stratagem itself writes a matrix."""


def read_probabilities(path: str | Path, variable: str | None = None) -> np.ndarray:
    """Return the matrix in a file, unchanged.

    An .npz or .mat file may hold several arrays: `variable` names one; without it, it is the one called
    `strategy`, or the only one. A .parquet file is read column by column; a column `output` says the order
    of the rows and is left out.

    Raises:
        ValueError: for another suffix, a file that cannot be read or holds no matrix, or no such variable.
    """
    path = Path(path)
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise ValueError(
            f"{path} was given as a strategy matrix, but only {', '.join(READERS)} are read: convert it to one"
        )
    if variable is not None and read not in (_read_npz, _read_mat):
        raise ValueError(f"a variable {variable!r} was named, but {path} holds a single matrix: leave it out")
    try:
        check_regular(path)
        return read(path, variable)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}): give the path of a readable file"
        ) from None


def _read_plain(path: Path, variable: str | None) -> np.ndarray:
    return read_matrix(path)


def _read_npz(path: Path, variable: str | None) -> np.ndarray:
    try:
        name = _chosen(array_names(path), variable)
        return read_arrays(path, [name])[name]
    except ValueError as error:
        raise _refused(path, error, "write it with numpy.savez(path, strategy=matrix)") from None


def _read_mat(path: Path, variable: str | None) -> np.ndarray:
    if path.stat().st_size > 8 * ENTRIES:
        raise ValueError(
            f"{path} is larger than any matrix that is read ({8 * ENTRIES} bytes): give it alone"
        )
    try:
        variables, order = read_mat(path.read_bytes(), 9 * ENTRIES)
        return variables[_chosen(list(variables), variable)].numbers(order)
    except ValueError as error:
        raise _refused(path, error, "save a matrix of numbers in MATLAB's version 5 to 7") from None


def _read_parquet(path: Path, variable: str | None) -> np.ndarray:
    import duckdb

    try:
        with literal(path) as name, duckdb.connect() as connection:
            scan, source = "read_parquet(?, hive_partitioning = false)", [name]
            described = connection.execute(f"DESCRIBE SELECT * FROM {scan}", source).fetchall()
            rows = connection.execute(f"SELECT count(*) FROM {scan}", source).fetchall()[0][0]
            names = [row[0] for row in described if row[0] != "output"]
            _check_size(float(rows) * len(names))
            order = "ORDER BY output" if len(names) < len(described) else ""
            quoted = (column.replace('"', '""') for column in names)
            chosen = ", ".join(f'CAST("{column}" AS DOUBLE)' for column in quoted)
            columns = connection.execute(f"SELECT {chosen} FROM {scan} {order}", source).fetchnumpy()
    except duckdb.Error as error:
        raise _refused(path, first_line(error, path), "write a column of numbers a user type") from None
    except ValueError as error:
        raise _refused(path, error, "give its matrix alone") from None
    return np.column_stack([np.ma.filled(column, np.nan) for column in columns.values()])


READERS: dict[str, Callable[[Path, str | None], np.ndarray]] = {
    ".npy": _read_plain,
    ".npz": _read_npz,
    ".csv": _read_plain,
    ".mat": _read_mat,
    ".parquet": _read_parquet,
}


def _chosen(names: list[str], variable: str | None) -> str:
    """Return the name of the array to read."""
    wanted = variable or (USUAL if USUAL in names else names[0] if len(names) == 1 else None)
    if wanted not in names:
        listed = ", ".join(names[:20]) or "nothing"
        asked = "no variable was named" if wanted is None else f"the variable {wanted!r} was asked for"
        raise ValueError(f"{asked}, and it holds {listed}")
    return wanted


def _check_size(entries: float) -> None:
    if entries > ENTRIES:
        raise ValueError(f"it holds {entries:.0f} numbers, but at most {ENTRIES} are read")


def _refused(path: Path, reason: object, advice: str) -> ValueError:
    return ValueError(f"{path} cannot be used, {' '.join(str(reason).split())[:200]}: {advice}")
