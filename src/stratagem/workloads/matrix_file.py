"""Matrices of numbers in .npy and .csv files."""

import csv
import io
import math
import os
from pathlib import Path

import numpy as np

from stratagem.io.literal import EndlessFileError, open_regular
from stratagem.io.npz import UNREADABLE, check_header
from stratagem.workloads.workload import Array


def read_matrix(path: Path) -> Array:
    """Read a matrix, such as p x n queries with one row a query, from a .npy or a .csv file.

    A .csv file holds comma-separated numbers; empty lines are skipped, and so is a first line in
    which no cell is a number (a header). Pickled objects in a .npy file are never loaded.
    """
    readers = {".npy": _read_npy, ".csv": lambda path: read_csv(path)[1]}
    if path.suffix.lower() not in readers:
        raise ValueError(
            f"{path} was given as a matrix, but only .npy and .csv are read: save the matrix as one of them"
        )
    try:
        return readers[path.suffix.lower()](path)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}): give the path of a readable file"
        ) from None


def _read_npy(path: Path) -> Array:
    try:
        with open_regular(path) as file:
            check_header(file, os.fstat(file.fileno()).st_size)
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
    except EndlessFileError:
        raise
    except UNREADABLE:
        raise ValueError(
            f"{path} is not an array of numbers in NumPy's .npy format: "
            "write it with numpy.save(path, matrix)"
        ) from None


def read_csv(path: Path) -> tuple[list[str], Array]:
    """Return the names in the header of a .csv file, none without one, and its numbers, one row a line.

    Raises:
        OSError: for a file that cannot be read.
        ValueError: as `read_matrix`.
    """
    rows: list[list[float]] = []
    names: list[str] = []
    try:
        with io.TextIOWrapper(open_regular(path), newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            for cells in reader:
                if reader.line_num == 1 and len(cells) > 1 and not cells[0].strip() and any(cells):
                    raise ValueError(
                        f"{path} has a first column without a name, an index: write the file without it (in pandas "
                        "with index=False)"
                    )
                if reader.line_num == 1 and all(_parsed(cell) is None for cell in cells):
                    names = [cell.strip() for cell in cells]
                    continue
                if not any(cell.strip() for cell in cells):
                    continue
                rows.append([_number(cell, path, reader.line_num) for cell in cells])
                _check_length(rows, path, reader.line_num)
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(
            f"{path} is not comma-separated text in UTF-8: write numbers separated by commas, one row a line"
        ) from None
    if not rows:
        raise ValueError(f"{path} holds no numbers, but needs at least one row: write one row a line")
    return names, np.array(rows)


def _parsed(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)  # float reads 1_000 as 1000
    except ValueError:
        return None


def _number(cell: str, path: Path, line: int) -> float:
    number = _parsed(cell)
    if number is None or not math.isfinite(number):
        raise ValueError(
            f"{path}, line {line}: {cell[:40]!r} is not a finite number: correct that cell (only the first "
            "line may be a header, and then no cell of it is a number)"
        )
    return number


def _check_length(rows: list[list[float]], path: Path, line: int) -> None:
    if len(rows[-1]) != len(rows[0]):
        raise ValueError(
            f"{path}, line {line}: {len(rows[-1])} cells where the first row has {len(rows[0])}: "
            "give every row as many numbers"
        )
