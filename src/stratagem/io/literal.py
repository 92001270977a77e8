"""Files opened by their literal names, whatever DuckDB takes them for; a bare matrix is refused by its suffix."""

from __future__ import annotations

import errno
import glob
import gzip
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

DESCRIPTORS = Path("/proc/self/fd")
"""Folder in which Linux names every open file by its descriptor, without special characters."""


class EndlessFileError(ValueError):
    """A device, pipe or socket was given where a file is asked for: it may never end, or never begin."""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read; what is no regular file is refused without waiting for it.

    Raises:
        OSError: for a file that cannot be read, or a folder.
        EndlessFileError: for a device, a pipe or a socket.
    """
    check_regular(path)
    waiting = getattr(os, "O_NONBLOCK", 0)  # should a pipe have taken the place of the file meanwhile
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | waiting))  # noqa: SIM115
    try:
        _check_kind(path, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse what is no regular file, without opening it.

    Raises:
        OSError: for a path that leads nowhere, or to a folder.
        EndlessFileError: for a device, a pipe or a socket.
    """
    _check_kind(path, Path(path).stat().st_mode)


@contextmanager
def literal(path: str | os.PathLike[str]) -> Iterator[str]:
    """Open a file and yield the name under which DuckDB reads it and no other, for as long as it is open.

    DuckDB takes `*`, `?` and `[` in a name for a pattern, `s3:` and `~` for places elsewhere, and cannot take bytes
    that are no UTF-8. On Linux the name is that of the descriptor, which has none of these; elsewhere the
    pattern's characters are escaped.

    Raises:
        OSError: for a file that cannot be read, or a folder.
        EndlessFileError: for a device, a pipe or a socket.
    """
    with open_regular(path) as file:
        yield descriptor(file) or glob.escape(str(Path(path).absolute()))


def descriptor(file: BinaryIO) -> str | None:
    """Return the name that Linux gives an open file; None where there is none."""
    name = DESCRIPTORS / str(file.fileno())
    return str(name) if name.exists() else None


def compression(path: str | os.PathLike[str]) -> str:
    """Return how DuckDB is to read text: `gzip` for names that end in .gz, else `none`."""
    return "gzip" if Path(path).name.lower().endswith(".gz") else "none"


def unpacked(path: str | os.PathLike[str], file: BinaryIO) -> BinaryIO | gzip.GzipFile:
    """Return the text of an open file, which `compression` may say is packed."""
    return gzip.GzipFile(fileobj=file) if compression(path) == "gzip" else file


def line_ends(path: str | os.PathLike[str]) -> Counter[str]:
    """Return how many line ends of each kind a text file has, those that it has not left out."""
    with open_regular(path) as file:
        found: Counter[str] = Counter()
        while block := file.read(1 << 20):
            while block.endswith(b"\r") and (more := file.read(1)):
                block += more
            both = block.count(b"\r\n")
            found.update({"CR LF": both, "LF": block.count(b"\n") - both, "CR": block.count(b"\r") - both})
    return +found


def line_end_fault(path: str | os.PathLike[str]) -> str | None:
    """Return the sentence about a text file that has line ends of several kinds, or CR alone; None for others."""
    ends = line_ends(path)
    if len(ends) > 1:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in ends.most_common())
        return f"{path} has line ends of several kinds ({kinds}): write it with one kind"
    return f"{path} has line ends of CR alone: write it with LF, or CR LF" if "CR" in ends else None


def first_line(error: Exception, path: str | os.PathLike[str] = "the file") -> str:
    """Return the first line of what DuckDB says of a file, with the name that its owner gave it."""
    said = " ".join(str(error).splitlines()[:1])
    return re.sub(f"{DESCRIPTORS}/[0-9]+", lambda _: str(path), said)[:200]


def _check_kind(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise EndlessFileError(
            f"{path} is a device, a pipe or a socket, which need not end: save what it gives to a file, and name that"
        )


SUFFIXES = (".npy", ".npz", ".csv", ".mat", ".parquet")
"""Suffixes of files of numbers."""


class BareMatrixError(ValueError):
    """A file of numbers was given where a bundle or a saved strategy is asked for."""

    def __init__(self, path: str | os.PathLike[str], wanted: str) -> None:
        self.path = Path(path)
        self.fact = f"{path} is a {self.path.suffix} file, but {wanted} is asked for"
        super().__init__(
            f"{self.fact}: make one with st.mechanism.import_matrix(matrix, workload, epsilon).mechanism.save(path)"
        )


def refuse_bare(path: str | os.PathLike[str], wanted: str) -> None:
    """Refuse a file that its name calls a file of numbers; one that is not there is left to its reader."""
    if Path(path).suffix.lower() in SUFFIXES and Path(path).is_file():
        raise BareMatrixError(path, wanted)
