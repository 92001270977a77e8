"""Tallies as JSON files, which are passed from the aggregation to the estimate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.collection.reports import ReportFormat
from stratagem.collection.tally import DENSE, Counts, SparseCounts, Tally
from stratagem.io.literal import open_regular
from stratagem.math.number import integer

KEYS = ("mechanism", "reports", "counts", "rejected", "duplicates", "conflicting", "anonymous")
OVERRULED = "overruled"
"""Key of a tally file for `Tally.overruled`, present where this is not zero."""
ADVICE = "give a tally as it was written"
MOST = 1 << 62


def tally_data(tally: Tally, identifier: str) -> dict[str, Any]:
    """Return a tally as a JSON object, with the identifier of its mechanism."""
    data = {
        "mechanism": identifier,
        "reports": tally.reports,
        "counts": _counts_data(tally.counts),
        "rejected": dict(tally.rejected),
        "duplicates": tally.duplicates,
        "conflicting": tally.conflicting,
        "anonymous": tally.anonymous,
    }
    return data | ({OVERRULED: tally.overruled} if tally.overruled else {})


def read_tally(path: str | Path, form: ReportFormat) -> Tally:
    """Read the tally of one mechanism.

    Raises:
        ValueError: for a file that is none, or counts another mechanism's reports.
    """
    try:
        with open_regular(path) as file:
            text = file.read()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): {ADVICE}") from None
    return parse_tally(text, form, str(path))


def parse_tally(text: bytes, form: ReportFormat, source: str) -> Tally:
    """Read a tally from JSON text; `source` names it in errors.

    Raises:
        ValueError: as `read_tally`.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{source} is not JSON: {ADVICE}") from None
    if not isinstance(data, dict) or set(data) - {OVERRULED} != set(KEYS):
        raise ValueError(f"{source} is no tally, whose keys are {', '.join(KEYS)}: {ADVICE}")
    if data["mechanism"] != form.identifier:
        raise ValueError(
            f"{source} counts reports of mechanism {str(data['mechanism'])[:16]}, not of {form.mechanism}: "
            "give the bundle that the reports were made with"
        )
    rejected = data["rejected"]
    if not isinstance(rejected, dict):
        raise ValueError(f"{source} names no reasons of what was rejected: {ADVICE}")
    counts = _counts(data["counts"], form.outputs, source)
    others = {
        key: integer(data.get(key, 0), f"{key} in {source}", 0, MOST, ADVICE)
        for key in (*KEYS[4:], OVERRULED)
    }
    reasons = {
        key: integer(value, f"{key!r} in {source}", 0, MOST, ADVICE) for key, value in rejected.items()
    }
    tally = Tally(counts, reasons, **others)
    if tally.reports != data["reports"]:
        raise ValueError(
            f"{source} states {data['reports']} reports, but its counts sum to another: {ADVICE}"
        )
    return tally


def _counts_data(counts: Counts) -> list[int] | dict[str, list[int]]:
    """Return counts as one list, or sparse counts as two lists: the outputs that came, and their counts."""
    if isinstance(counts, SparseCounts):
        return {"outputs": counts.outputs.tolist(), "counts": counts.counts.tolist()}
    return counts.tolist()


def _counts(data: Any, size: int, source: str) -> Counts:
    """Return the counts of `size` outputs from the form in which `_counts_data` writes them.

    Raises:
        ValueError: for data of another form, or numbers out of range.
    """
    if size > DENSE:
        if not isinstance(data, dict) or set(data) != {"outputs", "counts"}:
            raise ValueError(f"{source} needs the outputs that came, and their counts: {ADVICE}")
        outputs = _numbers(data["outputs"], f"an output in {source}", 0, size - 1)
        times = _numbers(data["counts"], f"a count in {source}", 1, MOST // max(1, len(outputs)))
        return SparseCounts(outputs, times, size)
    if not isinstance(data, list) or len(data) != size:
        raise ValueError(f"{source} needs {size} counts, one for each output: {ADVICE}")
    return _numbers(data, f"a count in {source}", 0, MOST // size)


def _numbers(data: Any, what: str, low: int, high: int) -> np.ndarray:
    if not isinstance(data, list):
        raise ValueError(f"{what} stands in no list: {ADVICE}")
    return np.array([integer(number, what, low, high, ADVICE) for number in data], dtype=np.int64)
