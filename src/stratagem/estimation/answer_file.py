"""Answers in files: one line or record an answer, with its label and its interval."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from stratagem.estimation.answer import Answer
from stratagem.file.parquet import write_parquet
from stratagem.file.target import check_target, written_atomically

if TYPE_CHECKING:
    from stratagem.estimation.estimate import Estimate


def save(path: str | Path, estimate: Estimate, answers: Sequence[Answer], *, overwrite: bool = False) -> Path:
    """Write answers of an estimate; the file appears complete or not at all.

    The .csv and the .parquet have the columns of `Answer`, then `confidence` and `simultaneous`; the .json holds
    `answers_data`.

    Raises:
        ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
    """
    target = check_target(path, SUFFIXES, overwrite=overwrite)
    with written_atomically(target) as file:
        WRITERS[target.suffix.lower()](file, estimate, answers)
    return target


def answers_data(estimate: Estimate, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return answers of an estimate as JSON values, with what they and their intervals mean.

    Each answer says `where` it applies: the condition on each attribute, in the units of its owner.
    """
    wrong, naming = estimate.impossible, estimate.naming
    return {
        "users": estimate.users,
        "queries": estimate.workload.queries,
        "method": estimate.method.name,
        "unbiased": estimate.unbiased,
        "bias": estimate.bias,
        "confidence": estimate.confidence,
        "simultaneous": estimate.simultaneous,
        "intervals": estimate.intervals,
        "impossible": asdict(wrong),
        "answers": [one._asdict() | {"where": naming.where(one.query)} for one in answers],
    }


def _columns(estimate: Estimate, answers: Sequence[Answer]) -> dict[str, Sequence[Any]]:
    """Return the columns of a table by name."""
    columns: dict[str, Sequence[Any]] = dict(zip(Answer._fields, zip(*answers, strict=True), strict=True))
    return columns | {
        "confidence": [estimate.confidence] * len(answers),
        "simultaneous": [estimate.simultaneous] * len(answers),
    }


def _write_csv(file: BinaryIO, estimate: Estimate, answers: Sequence[Answer]) -> None:
    columns = _columns(estimate, answers)
    with io.TextIOWrapper(file, "utf-8", newline="", write_through=True) as page:
        writer = csv.writer(page, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_json(file: BinaryIO, estimate: Estimate, answers: Sequence[Answer]) -> None:
    file.write((json.dumps(answers_data(estimate, answers), indent=1, allow_nan=False) + "\n").encode())


def _write_parquet(file: BinaryIO, estimate: Estimate, answers: Sequence[Answer]) -> None:
    columns = {name: np.array(values) for name, values in _columns(estimate, answers).items()}
    columns["label"] = columns["label"].astype(object)
    write_parquet(file, columns)


WRITERS: dict[str, Callable[[BinaryIO, Estimate, Sequence[Answer]], None]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}
SUFFIXES = tuple(WRITERS)
