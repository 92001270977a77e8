"""Archives of NumPy arrays from anywhere: looked at before anything is allocated, never unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from tokenize import TokenError

import numpy as np

LIMIT = 1 << 33
"""Bytes that the arrays of a file may hold together, 8 GiB: a strategy of 2 n outputs at n = 20,000."""
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    TypeError,
    RuntimeError,
    SyntaxError,
    TokenError,
)
"""What NumPy and zipfile raise at damaged or hostile files (RuntimeError: encryption)."""
NO_ARCHIVE = "it is not a whole .npz archive of plain arrays"


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an archive.

    Raises:
        OSError: for a file that cannot be read.
        ValueError: for a file that is no archive; the reason alone.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except UNREADABLE:
        raise ValueError(NO_ARCHIVE) from None


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the named arrays, after a look at the sizes that the archive declares.

    Raises:
        OSError: for a file that cannot be read.
        ValueError: for damaged or hostile contents; the reason alone.
    """
    names = tuple(names)
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive, names)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
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
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read(file)
        if int(np.prod([float(size) for size in shape])) * dtype.itemsize > member.file_size:
            raise ValueError(f"{name} is cut short")
