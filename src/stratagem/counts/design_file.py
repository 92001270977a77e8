"""Count designs in files: the matrix, the matrix with what it was made for, or the bundle that runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from stratagem.counts import bundle
from stratagem.counts.optimum import CountDesign
from stratagem.counts.property import names
from stratagem.io.target import check_target, written_atomically


def save(path: str | Path, design: CountDesign) -> Path:
    """Write a design: .csv for the matrix, a line for each output; .npz for all that belongs to it.

    The .npz holds `matrix` (n+1 x n+1 float64, columns sum to one), `alpha`, `loss` (its name), `cost`,
    `bound` and `properties` (the short names of those that hold). Both hold doubles; .count.json is the bundle,
    exact, from which `counts.load` makes a mechanism that runs. The file appears complete or not at all.

    Raises:
        ValueError: for another suffix, a folder that does not exist, or a group too large for the file.
    """
    path = check_target(path, tuple(WRITERS))
    writer = next(write for suffix, write in WRITERS.items() if path.name.lower().endswith(suffix))
    with written_atomically(path) as file:
        writer(file, design)
    return path


def _write_npz(file: BinaryIO, design: CountDesign) -> None:
    np.savez(
        file,
        matrix=design.mechanism.matrix,
        alpha=np.float64(design.mechanism.alpha),
        loss=np.str_(design.loss),
        cost=np.float64(design.cost),
        bound=np.float64(design.bound),
        properties=np.array(names(design.mechanism.properties), dtype=np.str_),
    )


def _write_csv(file: BinaryIO, design: CountDesign) -> None:
    np.savetxt(file, design.mechanism.matrix, fmt="%.17g", delimiter=",")


def _write_bundle(file: BinaryIO, design: CountDesign) -> None:
    file.write(bundle.text(design.mechanism).encode("utf-8"))


WRITERS: dict[str, Callable[[BinaryIO, CountDesign], None]] = {
    bundle.SUFFIX: _write_bundle,
    ".npz": _write_npz,
    ".csv": _write_csv,
}
"""Functions that write a design, by the suffix of the file, which may contain several dots."""
