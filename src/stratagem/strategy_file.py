"""Strategies in files: arrays only, nothing that runs."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from stratagem.prior import check_prior
from stratagem.privacy import check
from stratagem.strategies import MatrixStrategy
from stratagem.table import naming
from stratagem.target import check_target, written_atomically
from stratagem.workloads import Workload
from stratagem.workloads.serial import from_data, to_data

KEYS = ("strategy", "epsilon", "workload", "specification")
WITH_PRIOR = (".npz", ".mat")
"""Suffixes of the files that hold a prior."""
PRIOR = "prior"
"""The array that only strategies with a prior of their own have."""
LIMIT = 1 << 33
"""Bytes that the arrays of a file may hold together, 8 GiB: a strategy of 2 n outputs at n = 20,000."""
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError, RuntimeError, SyntaxError)
"""What NumPy and zipfile raise at damaged or hostile files (RuntimeError: encryption)."""


@dataclass(frozen=True, eq=False)
class StoredStrategy:
    """A strategy with the budget and the workload that it was made for."""

    strategy: MatrixStrategy
    epsilon: float
    """The budget that was asked for; the matrix measures at most this."""
    workload: Workload
    name: str
    """What its maker called the workload."""
    prior: np.ndarray | None = None
    """The prior (n,) whose reconstruction belongs to the strategy; None for 1/n."""

    def __post_init__(self) -> None:
        """Check that the three parts fit together."""
        check(self.epsilon)
        if self.strategy.epsilon > self.epsilon:
            raise ValueError(
                f"the strategy was declared to hold epsilon {self.epsilon:g}, but measures "
                f"{self.strategy.epsilon:.10g}: do not use it, optimise again"
            )
        if self.strategy.domain_size != self.workload.domain_size:
            raise ValueError(
                f"the strategy has {self.strategy.domain_size} user types, but its workload has "
                f"{self.workload.domain_size}: save a strategy with the workload it was made for"
            )
        if self.prior is not None:
            object.__setattr__(self, "prior", check_prior(self.prior, self.workload.domain_size))


def save(path: str | Path, stored: StoredStrategy) -> Path:
    """Write a strategy: .npz for everything, .mat for the matrix, epsilon and prior, .csv for the matrix.

    The .npz holds `strategy` (m x n float64), `epsilon`, `workload` (its name) and `specification` (the
    workload as JSON text, from which it is rebuilt exactly), and `prior` (n) where there is one. The file
    appears complete or not at all.

    Raises:
        ValueError: for another suffix or a folder that does not exist.
    """
    path = check_target(path, tuple(WRITERS))
    with written_atomically(path) as file:
        WRITERS[path.suffix.lower()](file, stored)
    return path


def load(path: str | Path) -> StoredStrategy:
    """Read a strategy from an .npz file, checked from the ground up; pickles are never loaded.

    Guarantee:
        The columns sum to one and the measured epsilon is at most the declared one.

    Raises:
        ValueError: for a file that is not such a strategy.
    """
    path = Path(path)
    arrays = _read_arrays(path)
    with naming(str(path)):
        return StoredStrategy(
            MatrixStrategy(_numbers(arrays["strategy"], "strategy", 2)),
            float(_numbers(arrays["epsilon"], "epsilon", 0)),
            _workload(_text(arrays["specification"], "specification")),
            _text(arrays["workload"], "workload"),
            _numbers(arrays[PRIOR], PRIOR, 1) if PRIOR in arrays else None,
        )


def _write_npz(file: BinaryIO, stored: StoredStrategy) -> None:
    arrays: dict[str, Any] = {
        "strategy": stored.strategy.matrix,
        "epsilon": np.float64(stored.epsilon),
        "workload": np.str_(stored.name),
        "specification": np.str_(json.dumps(to_data(stored.workload))),
    }
    if stored.prior is not None:
        arrays[PRIOR] = stored.prior
    np.savez(file, **arrays)


def _write_csv(file: BinaryIO, stored: StoredStrategy) -> None:
    np.savetxt(file, stored.strategy.matrix, fmt="%.17g", delimiter=",")


def _write_mat(file: BinaryIO, stored: StoredStrategy) -> None:
    from scipy.io import savemat

    arrays: dict[str, Any] = {"strategy": stored.strategy.matrix, "epsilon": stored.epsilon}
    savemat(file, arrays if stored.prior is None else {**arrays, PRIOR: stored.prior})


WRITERS: dict[str, Callable[[BinaryIO, StoredStrategy], None]] = {
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".mat": _write_mat,
}


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of KEYS and the prior, after a look at the sizes that the archive declares."""
    try:
        with zipfile.ZipFile(path) as archive:
            keys = (*KEYS, PRIOR) if f"{PRIOR}.npy" in archive.namelist() else KEYS
            _check_sizes(archive, path, keys)
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in keys}
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}): give the path of a strategy"
        ) from None
    except KeyError:
        raise ValueError(_refusal(path, f"it lacks one of the arrays {', '.join(KEYS)}")) from None
    except MemoryError:
        raise ValueError(_refusal(path, "it declares more numbers than fit into memory")) from None
    except UNREADABLE:
        raise ValueError(_refusal(path, "it is not a whole .npz archive of plain arrays")) from None


def _check_sizes(archive: zipfile.ZipFile, path: Path, keys: tuple[str, ...]) -> None:
    """Refuse arrays whose headers declare more than the archive holds, before anything is allocated."""
    if sum(member.file_size for member in archive.infolist()) > LIMIT:
        raise MemoryError(f"{path} unpacks to more than {LIMIT} bytes")
    for key in keys:
        member = archive.getinfo(f"{key}.npy")
        with archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read(file)
        if int(np.prod([float(size) for size in shape])) * dtype.itemsize > member.file_size:
            raise ValueError(f"{key} is cut short")


def _refusal(path: Path, reason: str) -> str:
    return f"{path} is not a strategy, {reason}: give an .npz file that stratagem optimise -o wrote"


def _numbers(array: np.ndarray, key: str, dimensions: int) -> np.ndarray:
    if array.dtype != np.float64 or array.ndim != dimensions:
        raise ValueError(
            f"the array {key} has type {array.dtype} and shape {array.shape}, but must be float64 with "
            f"{dimensions} dimensions: give a file that stratagem optimise -o wrote"
        )
    return array


def _text(array: np.ndarray, key: str) -> str:
    if array.dtype.kind != "U" or array.ndim != 0:
        raise ValueError(f"the array {key} is not a text: give a file that stratagem optimise -o wrote")
    return str(array)


def _workload(specification: str) -> Workload:
    try:
        data = json.loads(specification)
    except (ValueError, RecursionError):
        raise ValueError(
            "its specification is not JSON: give a file that stratagem optimise -o wrote"
        ) from None
    return from_data(data)
