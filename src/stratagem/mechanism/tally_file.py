"""Tallies as JSON: what passes from the aggregation to the estimate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.mechanism.reports import ReportFormat
from stratagem.mechanism.tally import Tally
from stratagem.workloads.check import integer

KEYS = ("mechanism", "reports", "counts", "rejected", "duplicates", "conflicting", "anonymous")
ADVICE = "give what stratagem aggregate wrote"
MOST = 1 << 62


def tally_data(tally: Tally, identifier: str) -> dict[str, Any]:
    """Return a tally as a JSON object, with the identifier of its mechanism."""
    return {
        "mechanism": identifier,
        "reports": tally.reports,
        "counts": tally.counts.tolist(),
        "rejected": dict(tally.rejected),
        "duplicates": tally.duplicates,
        "conflicting": tally.conflicting,
        "anonymous": tally.anonymous,
    }


def read_tally(path: str | Path, form: ReportFormat) -> Tally:
    """Read the tally of one mechanism.

    Raises:
        ValueError: for a file that is none, or counts another mechanism's reports.
    """
    try:
        text = Path(path).read_bytes()
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
    if not isinstance(data, dict) or set(data) != set(KEYS):
        raise ValueError(f"{source} is no tally, whose keys are {', '.join(KEYS)}: {ADVICE}")
    if data["mechanism"] != form.identifier:
        raise ValueError(
            f"{source} counts reports of mechanism {str(data['mechanism'])[:16]}, not of {form.mechanism}: "
            "give the bundle that the reports were made with"
        )
    counts, rejected = data["counts"], data["rejected"]
    if not isinstance(counts, list) or len(counts) != form.outputs or not isinstance(rejected, dict):
        raise ValueError(f"{source} needs {form.outputs} counts, one for each output: {ADVICE}")
    numbers = [integer(count, f"a count in {source}", 0, MOST // len(counts), ADVICE) for count in counts]
    others = {key: integer(data[key], f"{key} in {source}", 0, MOST, ADVICE) for key in KEYS[4:]}
    reasons = {
        key: integer(value, f"{key!r} in {source}", 0, MOST, ADVICE) for key, value in rejected.items()
    }
    tally = Tally(np.array(numbers, dtype=np.int64), reasons, **others)
    if tally.reports != data["reports"]:
        raise ValueError(
            f"{source} states {data['reports']} reports, but its counts sum to another: {ADVICE}"
        )
    return tally
