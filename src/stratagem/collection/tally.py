"""The tally of reports: counts by output, what was not counted, the file that holds both, and each id taken once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.collection.reports import Reason, ReportFormat
from stratagem.io.literal import open_regular
from stratagem.math.number import integer
from stratagem.math.vector import DENSE, Counts, SparseCounts

CONFLICT = -1
"""Marker in place of the output of an id that was received with several outputs."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Reports counted by output, with every line or row that was not counted accounted for.

    received = reports + duplicates + conflicting + sum of rejected.
    """

    counts: Counts
    """Reports of each output, each id once: (m,) int64, or sparse where m is above 2^20."""
    rejected: Mapping[str, int]
    """Lines or rows that are no reports of this mechanism, by reason, the most frequent first."""
    duplicates: int
    """Reports whose id had been received before."""
    conflicting: int
    """Ids received with several outputs; they count for none, whatever the order of arrival."""
    anonymous: int
    """Reports among the counts that carry no id, so that no duplicate of them can be found."""
    overruled: int = 0
    """Ids among the counts that were received with several outputs, where the first one counts."""

    @property
    def reports(self) -> int:
        """Number of reports counted."""
        return int(self.counts.sum())

    @property
    def foreign(self) -> int:
        """Number of reports that name another mechanism."""
        return self.rejected.get(Reason.MECHANISM, 0)

    @property
    def misplaced(self) -> bool:
        """Whether reports of other mechanisms came, and none of this one."""
        return self.foreign > 0 and not self.reports + self.duplicates + self.conflicting

    @property
    def received(self) -> int:
        """Number of lines and rows received, whatever became of them."""
        return self.reports + self.duplicates + self.conflicting + sum(self.rejected.values())


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
    """Read the tally of one mechanism."""
    try:
        with open_regular(path) as file:
            text = file.read()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): {ADVICE}") from None
    return parse_tally(text, form, str(path))


def parse_tally(text: bytes, form: ReportFormat, source: str) -> Tally:
    """Read a tally from JSON text; `source` names it in errors."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{source} is not JSON: {ADVICE}, and count reports first") from None
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

    def whole(value: object, name: str) -> int:
        return integer(value, f"{name} in {source}", 0, MOST, ADVICE)

    others = {key: whole(data.get(key, 0), key) for key in (*KEYS[4:], OVERRULED)}
    tally = Tally(counts, {key: whole(value, repr(key)) for key, value in rejected.items()}, **others)
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
    """Return the counts of `size` outputs from the form in which `_counts_data` writes them."""
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


class Receipt(IntEnum):
    """What became of a report that arrived."""

    TAKEN = 0
    """Its id is new: it was stored."""
    REPEATED = 1
    """The same report had been stored before, for example as its sender did not hear so: nothing was stored now."""
    CONTESTED = 2
    """Its id had been stored with another output: it was refused, and the first report counts."""


def receipts(ids: np.ndarray, outputs: np.ndarray, stored: dict[bytes, int]) -> np.ndarray:
    """Return a `Receipt` for each of some reports (k,) in their order, int64.

    ids (k, 16) uint8 and outputs (k,) are the reports; `stored` holds the output of every one of their ids that is in
    the collection, CONFLICT for one that has several there.
    """
    found = np.full(len(ids), Receipt.TAKEN, dtype=np.int64)
    known = dict(stored)
    for place, (name, output) in enumerate(zip(map(bytes, ids), outputs.tolist(), strict=True)):
        if name not in known:
            known[name] = output
        else:
            same = known[name] == output != CONFLICT
            found[place] = Receipt.REPEATED if same else Receipt.CONTESTED
    return found
