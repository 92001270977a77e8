"""Strategies in files, arrays only, and saved strategies of every format in and out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

import numpy as np

from stratagem.io.literal import BareMatrixError, refuse_bare
from stratagem.io.npz import array_names, read_arrays, write_parquet
from stratagem.io.target import check_target, written_atomically
from stratagem.io.toml import naming
from stratagem.math.privacy import check, check_prior
from stratagem.mechanism.mechanism import SUFFIX, Mechanism, load_mechanism
from stratagem.strategies import MatrixStrategy
from stratagem.strategies.two_level import two_levels
from stratagem.workloads import Workload
from stratagem.workloads.serial import from_data, to_data

KEYS = ("strategy", "epsilon", "workload", "specification")
WANTED = "a saved mechanism, .ldp.json or .npz,"
STATUS, INTERRUPTED = "status", "interrupted"
"""Name of the text that is stored only if the search was interrupted."""
OUTPUT = "output"
"""The column of a table that says the order of the rows."""
PRIOR = "prior"
"""Name of the array that is stored only if the strategy has a prior other than 1/n."""
WITHOUT_PRIOR = (".csv", ".parquet")
"""Formats that hold a matrix and nothing else."""


@dataclass(frozen=True, eq=False)
class StoredStrategy:
    """A strategy with the budget and the workload that it was made for."""

    strategy: MatrixStrategy
    epsilon: float
    """The privacy budget asked for; the epsilon measured from the matrix is at most this."""
    workload: Workload
    name: str
    """Name that the maker of the strategy gave the workload."""
    prior: np.ndarray | None = None
    """The prior (n,) whose reconstruction belongs to the strategy; None for 1/n."""
    interrupted: bool = False
    """Whether Ctrl-C ended the search that found it."""
    bundled: ClassVar[None] = None
    """The mechanism where it is in whole numbers: none, as these are doubles."""

    def __post_init__(self) -> None:
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

    def write_checked(self, path: Path) -> Path:
        """Write it in the format of the suffix to a path that `check_target` returned."""
        if self.prior is not None:
            check_prior_kept(path)
        with written_atomically(path) as file:
            WRITERS[path.suffix.lower()](file, self)
        return path


def save(path: str | Path, stored: StoredStrategy) -> Path:
    """Write a strategy: .npz for everything, .csv, .mat and .parquet for the matrix (.mat with epsilon too).

    The .npz holds `strategy` (m x n float64), `epsilon`, `workload` (its name) and `specification` (the workload as
    JSON text, from which it is rebuilt exactly), and `prior` (n) where there is one; the .mat holds `strategy`,
    `epsilon` and `prior`. Both hold the text `status`, "interrupted", where Ctrl-C ended the search. The .csv, under a
    header, and the .parquet hold a column `output` and the columns `u0`, `u1`, ... of the user types. All of them hold
    doubles: the whole numbers that clients draw from are in the bundle alone. The file appears complete or not at all.

    Raises:
        ValueError: for another suffix, a folder that does not exist, or a prior in a format without one.
    """
    return stored.write_checked(check_target(path, tuple(WRITERS)))


def check_prior_kept(path: Path) -> None:
    """Refuse a format that would lose the prior of a strategy."""
    if path.suffix.lower() in WITHOUT_PRIOR:
        raise ValueError(
            f"{path} was given to write, but the strategy has a prior that {path.suffix} cannot hold and its "
            "estimates need: write .npz or .mat"
        )


def holds_interruption(path: Path) -> bool:
    """Return whether a file of this name can say that its search was interrupted."""
    return path.suffix.lower() not in WITHOUT_PRIOR


def load(path: str | Path) -> StoredStrategy:
    """Read a strategy from an .npz file, checked from the ground up; pickles are never loaded.

    Guarantee:
        The columns sum to one and the measured epsilon is at most the declared one.

    Raises:
        BareMatrixError: for a file of numbers, saying how it becomes a bundle.
        ValueError: for a file that is not such a strategy.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        refuse_bare(path, WANTED)
    arrays = _read_arrays(path)
    with naming(str(path)):
        return StoredStrategy(
            MatrixStrategy(_numbers(arrays["strategy"], "strategy", 2)),
            float(_numbers(arrays["epsilon"], "epsilon", 0)),
            specified(_text(arrays["specification"], "specification")),
            _text(arrays["workload"], "workload"),
            _numbers(arrays[PRIOR], PRIOR, 1) if PRIOR in arrays else None,
            STATUS in arrays and _text(arrays[STATUS], STATUS) == INTERRUPTED,
        )


def _write_npz(file: BinaryIO, stored: StoredStrategy) -> None:
    arrays: dict[str, Any] = _further(stored) | {
        "strategy": stored.strategy.matrix,
        "epsilon": np.float64(stored.epsilon),
        "workload": np.str_(stored.name),
        "specification": np.str_(json.dumps(to_data(stored.workload))),
    }
    np.savez(file, **arrays)


def _write_csv(file: BinaryIO, stored: StoredStrategy) -> None:
    columns = _columns(stored)
    kinds = ["%d", *["%.17g"] * (len(columns) - 1)]
    np.savetxt(file, np.column_stack([*columns.values()]), kinds, ",", header=",".join(columns), comments="")


def _write_mat(file: BinaryIO, stored: StoredStrategy) -> None:
    from scipy.io import savemat

    savemat(file, {"strategy": stored.strategy.matrix, "epsilon": stored.epsilon} | _further(stored))


def _further(stored: StoredStrategy) -> dict[str, Any]:
    """Return the parts that not every strategy has: a prior, and whether its search was interrupted."""
    prior = {} if stored.prior is None else {PRIOR: stored.prior}
    return prior | ({STATUS: np.str_(INTERRUPTED)} if stored.interrupted else {})


def _write_parquet(file: BinaryIO, stored: StoredStrategy) -> None:
    Q = stored.strategy.matrix
    if Q.shape[1] > WIDEST:
        raise ValueError(
            f"a strategy of {Q.shape[1]} user types is too wide for the columns of Parquet ({WIDEST} at "
            "most): write .npz"
        )
    write_parquet(file, _columns(stored))


def _columns(stored: StoredStrategy) -> dict[str, np.ndarray]:
    """Return the columns of a table by name: the number of the output, and its probability by user type."""
    Q = stored.strategy.matrix
    return {OUTPUT: np.arange(len(Q))} | {f"u{u}": np.ascontiguousarray(Q[:, u]) for u in range(Q.shape[1])}


WIDEST = 1 << 13
"""Columns of the widest Parquet file: each of them costs time, whatever its length."""
WRITERS: dict[str, Callable[[BinaryIO, StoredStrategy], None]] = {
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".mat": _write_mat,
    ".parquet": _write_parquet,
}


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of KEYS, and prior and status where there are any."""
    try:
        found = array_names(path)
        if not set(KEYS) <= set(found):
            raise BareMatrixError(path, f"{WANTED} (it lacks one of the arrays {', '.join(KEYS)})")
        return read_arrays(path, (*KEYS, *(name for name in (PRIOR, STATUS) if name in found)))
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}): give the path of a mechanism"
        ) from None
    except BareMatrixError:
        raise
    except ValueError as error:
        raise ValueError(
            f"{path} is not a saved mechanism, {error}: give an .npz file that stratagem wrote"
        ) from None


def _numbers(array: np.ndarray, key: str, dimensions: int) -> np.ndarray:
    if array.dtype != np.float64 or array.ndim != dimensions:
        raise ValueError(
            f"the array {key} has type {array.dtype} and shape {array.shape}, but must be float64 with "
            f"{dimensions} dimensions: give a file that stratagem wrote"
        )
    return array


def _text(array: np.ndarray, key: str) -> str:
    if array.dtype.kind != "U" or array.ndim != 0:
        raise ValueError(f"the array {key} is not a text: give a file that stratagem wrote")
    return str(array)


def specified(specification: str) -> Workload:
    """Return the workload that the specification in a file describes."""
    try:
        data = json.loads(specification)
    except (ValueError, RecursionError):
        raise ValueError("its specification is not JSON: give a file that stratagem wrote") from None
    return from_data(data)


def read_saved(path: str | Path) -> Mechanism | StoredStrategy:
    """Return what a .ldp.json or .npz file holds; both have a strategy, workload, epsilon, name and prior.

    Raises:
        ValueError: for a file that is neither.
    """
    return load_mechanism(path) if str(path).lower().endswith(".json") else load(path)


def write_saved(path: str | Path, saved: Mechanism | StoredStrategy) -> Path:
    """Write a mechanism or a stored strategy in the format that the suffix names, over a file that exists.

    A mechanism becomes doubles in .npz, .csv, .mat and .parquet; a stored strategy becomes the whole numbers
    of a mechanism in .ldp.json.

    Raises:
        ValueError: for another suffix, a folder that does not exist, or a format that cannot hold it.
    """
    path = check_target(path, (*WRITERS, SUFFIX))
    kept = to_mechanism(saved) if path.name.lower().endswith(SUFFIX) else to_stored(saved)
    return kept.write_checked(path)


def to_stored(saved: Mechanism | StoredStrategy) -> StoredStrategy:
    """Return a stored strategy, or that of a mechanism in double precision, as a matrix.

    Its epsilon is the stated one, or the epsilon measured from the doubles where rounding makes that larger.

    Raises:
        ValueError: if the matrix is too large to be written out.
    """
    if (mechanism := saved.bundled) is None:
        return cast("StoredStrategy", saved)
    matrix = mechanism.strategy.dense()
    about = mechanism.workload, mechanism.name, mechanism.prior, mechanism.interrupted
    return StoredStrategy(matrix, max(float(mechanism.epsilon), matrix.epsilon), *about)


def to_mechanism(saved: Mechanism | StoredStrategy) -> Mechanism:
    """Return a mechanism, or that of a stored strategy, its patterns found again where every row has two levels."""
    if saved.bundled is not None:
        return saved.bundled
    stored = cast("StoredStrategy", saved)
    options = {"name": stored.name, "prior": stored.prior, "interrupted": stored.interrupted}
    return Mechanism.of(two_levels(stored.strategy), stored.workload, stored.epsilon, **options)
