"""Arrays in .npz files and tables in Parquet."""

from __future__ import annotations

import errno
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO, cast

import numpy as np

from stratagem.io.database import connect
from stratagem.io.literal import EndlessFileError, descriptor, first_line, open_regular

LIMIT = 1 << 33
"""Largest total size of the arrays of a file in bytes (8 GiB): a strategy of 2 n outputs at n = 20,000."""
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    TypeError,
    OverflowError,
    AttributeError,
    RuntimeError,
    SyntaxError,
    TokenError,
)
"""Exceptions that NumPy and zipfile raise for damaged or hostile files (RuntimeError: encryption, and texts
nested deeply)."""
PLAIN = "biufcU"
"""Kinds of NumPy data types that arrays may have: numbers and texts, but no objects, records or types without
a size."""
LONGEST_HEADER = 10_000
"""Largest header in bytes that NumPy reads."""
NO_ARCHIVE = "it is not a whole .npz archive of plain arrays"


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an archive.

    Raises:
        OSError: for a file that cannot be read.
        ValueError: for a file that is no archive; the reason alone.
    """
    with _opened(path) as (_, archive):
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the named arrays, after a look at the sizes that the archive declares.

    Raises:
        OSError: for a file that cannot be read.
        ValueError: for damaged or hostile contents; the reason alone.
    """
    names = tuple(names)
    with _opened(path) as (file, archive):
        _check_sizes(archive, names)
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, zipfile.ZipFile]]:
    """Open an archive, and say in one way what is wrong with it."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            yield file, archive
    except EndlessFileError:
        raise ValueError("it is a device, a pipe or a socket") from None
    except MemoryError:
        raise ValueError("it declares more numbers than fit into memory") from None
    except (*UNREADABLE, KeyError):
        raise ValueError(NO_ARCHIVE) from None


def _check_sizes(archive: zipfile.ZipFile, names: tuple[str, ...]) -> None:
    """Refuse arrays whose headers declare more than the archive holds."""
    if sum(member.file_size for member in archive.infolist()) > LIMIT:
        raise MemoryError(f"the archive unpacks to more than {LIMIT} bytes")
    for name in names:
        member = archive.getinfo(f"{name}.npy")
        with archive.open(member) as file:
            check_header(cast(BinaryIO, file), member.file_size)


def check_header(file: BinaryIO, size: int) -> None:
    """Refuse an array that is not plain, or whose header declares more than the `size` bytes of its file hold."""
    version = np.lib.format.read_magic(file)
    width = 2 if version == (1, 0) else 4
    if int.from_bytes(file.read(width), "little") > LONGEST_HEADER:
        raise ValueError("its header is longer than any")
    file.seek(-width, 1)
    read = np.lib.format.read_array_header_1_0 if width == 2 else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.kind not in PLAIN or min(shape, default=0) < 0:
        raise ValueError("it is no array of numbers")
    if prod(max(length, 1) for length in shape) * max(dtype.itemsize, 1) > min(size, LIMIT):
        raise ValueError("it declares more numbers than its file holds")


def write_parquet(file: BinaryIO, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal length, in their order, to the very file that is open."""
    import duckdb

    name = (descriptor(file) or str(Path(file.name).absolute())).replace("'", "''")
    try:
        with connect() as connection:
            connection.register("columns_to_write", dict(columns))
            # a file of DuckDB's own beside it would take its place, with the permissions of any new file
            options = "FORMAT parquet, USE_TMP_FILE false"
            connection.execute(f"COPY (SELECT * FROM columns_to_write) TO '{name}' ({options})")
    except duckdb.IOException as error:
        told = re.search(r"errno\W+([0-9]+)", str(error))
        number = int(told[1]) if told else errno.EIO
        raise OSError(number, os.strerror(number)) from None
    except duckdb.Error as error:
        raise ValueError(
            f"the Parquet file cannot be written ({first_line(error)}): free some space, or name another folder"
        ) from None
