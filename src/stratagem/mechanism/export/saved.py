"""Saved strategies of every format: bundles and .npz in, these and their neighbours out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stratagem.io.target import check_target
from stratagem.mechanism import mechanism as bundle
from stratagem.mechanism.export import dap
from stratagem.mechanism.export.strategy_file import WRITERS, StoredStrategy, load, save
from stratagem.mechanism.mechanism import Mechanism, load_mechanism
from stratagem.strategies.two_level import two_levels

SUFFIXES = (*WRITERS, bundle.SUFFIX, dap.SUFFIX)


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
    path = check_target(path, SUFFIXES)
    name = path.name.lower()
    if name.endswith(bundle.SUFFIX):
        return (saved if isinstance(saved, Mechanism) else to_mechanism(saved)).save(path, overwrite=True)
    if not name.endswith(dap.SUFFIX):
        return save(path, to_stored(saved) if isinstance(saved, Mechanism) else saved)
    if isinstance(saved, Mechanism):
        return dap.save_dap(path, saved)
    raise ValueError(
        f"{path} would describe how to collect the reports of a bundle, but there is none: write "
        f"*{bundle.SUFFIX} first and describe that"
    )


def to_stored(mechanism: Mechanism) -> StoredStrategy:
    """Return the strategy of a mechanism in double precision, as a matrix.

    Its epsilon is the stated one, or the epsilon measured from the doubles where rounding makes that larger.

    Raises:
        ValueError: if the matrix is too large to be written out.
    """
    matrix = mechanism.strategy.dense()
    epsilon = max(float(mechanism.epsilon), matrix.epsilon)
    return StoredStrategy(
        matrix, epsilon, mechanism.workload, mechanism.name, mechanism.prior, mechanism.interrupted
    )


def to_mechanism(
    stored: StoredStrategy,
    *,
    labels: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
    edges: Mapping[str, Sequence[float | str]] | Sequence[float | str] | None = None,
    units: Mapping[str, str] | str | None = None,
) -> Mechanism:
    """Return the mechanism of a stored strategy, its patterns found again where every row has two levels.

    Raises:
        ValueError: as `Mechanism.of`.
    """
    options = {
        "name": stored.name,
        "labels": labels,
        "edges": edges,
        "units": units,
        "prior": stored.prior,
        "interrupted": stored.interrupted,
    }
    return Mechanism.of(two_levels(stored.strategy), stored.workload, stored.epsilon, **options)
