"""Matrices of probabilities in files of other programs: .npy, .npz, .csv, .mat and .parquet."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

from stratagem.io.database import connect
from stratagem.io.literal import check_regular, first_line, literal
from stratagem.io.npz import array_names, read_arrays
from stratagem.mechanism.export.saved import OUTPUT
from stratagem.workloads.given import read_csv, read_matrix

NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""NumPy data types of the number types in a file."""
MATRIX, COMPRESSED = 14, 15
NUMERIC_CLASSES = range(6, 16)
"""Classes of arrays of numbers: double, single and the integers."""
IMAGINARY = 0x0800
HEADER = 128


class Variable(NamedTuple):
    """An array of a file, whose numbers are not parsed yet."""

    numeric: bool
    """Whether it is a real matrix of numbers; `numbers` reads no other kind."""
    shape: tuple[int, ...]
    kind: int
    data: bytes

    def numbers(self, order: str) -> np.ndarray:
        """Return the matrix of doubles."""
        if not self.numeric or self.kind not in NUMBERS or len(self.shape) != 2:
            raise ValueError("it is no real matrix of numbers")
        flat = np.frombuffer(self.data, dtype=order + NUMBERS[self.kind])
        return flat.reshape(self.shape, order="F").astype(float)


def read_mat(raw: bytes, limit: int) -> tuple[dict[str, Variable], str]:
    """Return the variables of a file by name and its byte order, < or >; at most `limit` bytes unpacked."""
    order = {b"IM": "<", b"MI": ">"}.get(raw[126:HEADER])
    if order is None or struct.unpack(order + "H", raw[124:126]) != (0x0100,):
        raise ValueError("it is no MATLAB file of version 5 to 7")
    try:
        found = dict(_variables(raw[HEADER:], order, limit))
    except (struct.error, zlib.error, IndexError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is damaged") from None
    return found, order


def _variables(raw: bytes, order: str, limit: int) -> Iterator[tuple[str, Variable]]:
    for kind, data in _elements(raw, order):
        if kind == COMPRESSED:
            unpacked = zlib.decompressobj().decompress(data, limit)
            limit -= len(unpacked)
            if limit <= 0:
                raise ValueError("it unpacks to more than fits into memory")
            yield from _variables(unpacked, order, limit)
        elif kind == MATRIX:
            parts = list(_elements(data, order))
            flags = struct.unpack(order + "I", parts[0][1][:4])[0]
            shape = struct.unpack(f"{order}{len(parts[1][1]) // 4}i", parts[1][1])
            numeric = flags & 0xFF in NUMERIC_CLASSES and not flags & IMAGINARY and min(shape, default=0) > 0
            name = parts[2][1].decode("ascii")
            yield name, Variable(numeric and len(parts) == 4, shape, *parts[3 if numeric else 2])


def _elements(raw: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield type and data of the elements that follow one another; all but compressed ones fill 8 bytes."""
    place = 0
    while place < len(raw):
        kind, size = struct.unpack_from(order + "II", raw, place)
        begin = place + 8
        if kind >> 16:  # a small element: its size in the upper half, its data where the size would be
            kind, size, begin = kind & 0xFFFF, kind >> 16, place + 4
            place += 8
        else:
            place = begin + size + (-size % 8 if kind != COMPRESSED else 0)
        if begin + size > len(raw):
            raise ValueError("it is cut short")
        yield kind, raw[begin : begin + size]


ENTRIES = 1 << 27
"""Numbers of the largest matrix that is read (1 GiB)."""
USUAL = "strategy"
"""The name under which stratagem itself writes a matrix."""
SPARSE = {"format", "shape", "data"}
"""Names of arrays in an .npz file of `scipy.sparse.save_npz`."""


def read_probabilities(path: str | Path, variable: str | None = None) -> np.ndarray:
    """Return the matrix in a file, unchanged.

    An .npz or .mat file may hold several arrays: `variable` names one; without it, it is the one called
    `strategy`, or the only one. In a .csv file with a header and in a .parquet file a column `output` says the
    order of the rows and is left out.
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
        found = read(path, variable)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}): give the path of a readable file"
        ) from None
    if found.ndim != 2:
        raise ValueError(
            f"{path} holds an array of shape {found.shape}, but a strategy is a matrix, reports x user types: give one"
        )
    return found


def _read_plain(path: Path, variable: str | None) -> np.ndarray:
    return read_matrix(path)


def _read_csv(path: Path, variable: str | None) -> np.ndarray:
    names, matrix = read_csv(path)
    if OUTPUT not in names[: matrix.shape[1]]:
        return matrix
    place = names.index(OUTPUT)
    return np.delete(matrix[np.argsort(matrix[:, place], kind="stable")], place, axis=1)


def _read_npz(path: Path, variable: str | None) -> np.ndarray:
    try:
        names = array_names(path)
        if variable is None and SPARSE <= set(names):
            raise ValueError("it holds a sparse matrix of SciPy")
        name = _chosen(names, variable)
        return read_arrays(path, [name])[name]
    except UnnamedError as error:
        raise ValueError(f"{path} {error}") from None
    except ValueError as error:
        raise _refused(
            path, error, "write it with numpy.savez(path, strategy=matrix), of a sparse one matrix.toarray()"
        ) from None


def _read_mat(path: Path, variable: str | None) -> np.ndarray:
    if path.stat().st_size > 8 * ENTRIES:
        raise ValueError(
            f"{path} is larger than any matrix that is read ({8 * ENTRIES} bytes): give it alone"
        )
    try:
        variables, order = read_mat(path.read_bytes(), 9 * ENTRIES)
        return variables[_chosen(list(variables), variable)].numbers(order)
    except UnnamedError as error:
        raise ValueError(f"{path} {error}") from None
    except ValueError as error:
        raise _refused(path, error, "save a matrix of numbers in MATLAB's version 5 to 7") from None


def _read_parquet(path: Path, variable: str | None) -> np.ndarray:
    try:
        with literal(path) as name, connect() as connection:
            scan, source = "read_parquet(?, hive_partitioning = false)", [name]
            described = connection.execute(f"DESCRIBE SELECT * FROM {scan}", source).fetchall()
            rows = connection.execute(f"SELECT count(*) FROM {scan}", source).fetchall()[0][0]
            names = [row[0] for row in described if row[0] != OUTPUT]
            if (entries := float(rows) * len(names)) > ENTRIES:
                raise ValueError(f"it holds {entries:.0f} numbers, but at most {ENTRIES} are read")
            order = f"ORDER BY {OUTPUT}" if len(names) < len(described) else ""
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
    ".csv": _read_csv,
    ".mat": _read_mat,
    ".parquet": _read_parquet,
}


class UnnamedError(ValueError):
    """A file holds several arrays, and none of them was named."""


def _chosen(names: list[str], variable: str | None) -> str:
    """Return the name of the array to read."""
    wanted = variable or (USUAL if USUAL in names else names[0] if len(names) == 1 else None)
    if wanted not in names:
        listed = ", ".join(names[:20]) or "nothing"
        if wanted is None and names:
            raise UnnamedError(f"holds the variables {listed}: name the one to read, variable={names[0]!r}")
        asked = "no variable was named" if wanted is None else f"the variable {wanted!r} was asked for"
        raise ValueError(f"{asked}, and it holds {listed}")
    return wanted


def _refused(path: Path, reason: object, advice: str) -> ValueError:
    return ValueError(f"{path} cannot be used, {' '.join(str(reason).split())[:200]}: {advice}")
