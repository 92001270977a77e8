"""Files of answers: .csv, .parquet and .json."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from stratagem.estimation.answer import Answer
from stratagem.io.npz import write_parquet
from stratagem.io.table import write_csv, write_json
from stratagem.io.target import check_target, written_atomically
from stratagem.workloads.naming import Naming

Details = Mapping[str, Any]
"""Users, method, bias and confidence of an estimate (see `Estimate.details`)."""


def save(
    path: str | Path, answers: Sequence[Answer], details: Details, naming: Naming, *, overwrite: bool = False
) -> Path:
    """Write answers of an estimate; the file appears complete or not at all.

    The .csv and the .parquet have the columns of `Answer`, then `confidence` and `simultaneous`; the .json holds
    `answers_data`.

    Raises:
        ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
    """
    target = check_target(path, SUFFIXES, overwrite=overwrite)
    with written_atomically(target) as file:
        WRITERS[target.suffix.lower()](file, answers, details, naming)
    return target


def answers_data(answers: Sequence[Answer], details: Details, naming: Naming) -> dict[str, Any]:
    """Return answers of an estimate as JSON values, together with `Estimate.details`.

    Each answer has a key `where`: the condition of its query on each attribute, in the units of the attribute.
    """
    return {**details, "answers": [one._asdict() | {"where": naming.where(one.query)} for one in answers]}


def _columns(answers: Sequence[Answer], details: Details) -> dict[str, Sequence[Any]]:
    """Return the columns of a table by name."""
    columns: dict[str, Sequence[Any]] = dict(zip(Answer._fields, zip(*answers, strict=True), strict=True))
    return columns | {
        "confidence": [details["confidence"]] * len(answers),
        "simultaneous": [details["simultaneous"]] * len(answers),
    }


def _write_csv(file: BinaryIO, answers: Sequence[Answer], details: Details, naming: Naming) -> None:
    columns = _columns(answers, details)
    write_csv(file, columns, zip(*columns.values(), strict=True))


def _write_json(file: BinaryIO, answers: Sequence[Answer], details: Details, naming: Naming) -> None:
    write_json(file, answers_data(answers, details, naming))


def _write_parquet(file: BinaryIO, answers: Sequence[Answer], details: Details, naming: Naming) -> None:
    columns = {name: np.array(values) for name, values in _columns(answers, details).items()}
    columns["label"] = columns["label"].astype(object)
    write_parquet(file, columns)


WRITERS: dict[str, Callable[[BinaryIO, Sequence[Answer], Details, Naming], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}
SUFFIXES = tuple(WRITERS)
