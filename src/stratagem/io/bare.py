"""Files that hold only a matrix, given where a bundle or a saved strategy is needed."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIXES = (".npy", ".npz", ".csv", ".mat", ".parquet")
"""Suffixes of files of numbers."""


class BareMatrixError(ValueError):
    """A file of numbers was given where a bundle or a saved strategy is asked for."""

    def __init__(self, path: str | os.PathLike[str], wanted: str) -> None:
        self.path = Path(path)
        self.fact = f"{path} is a {self.path.suffix} file, but {wanted} is asked for"
        super().__init__(
            f"{self.fact}: make one with st.import_matrix(matrix, workload, epsilon).mechanism.save(path)"
        )


def refuse_bare(path: str | os.PathLike[str], wanted: str) -> None:
    """Refuse a file that its name calls a file of numbers; one that is not there is left to its reader.

    Raises:
        BareMatrixError: for such a file.
    """
    if Path(path).suffix.lower() in SUFFIXES and Path(path).is_file():
        raise BareMatrixError(path, wanted)
