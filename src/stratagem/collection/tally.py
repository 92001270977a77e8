"""The tally of reports: counts by output, what was not counted, and the file that holds both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.collection.reports import Reason, ReportFormat
from stratagem.io.literal import open_regular
from stratagem.math.number import integer

CONFLICT = -1
"""Marker in place of the output of an id that was received with several outputs."""
DENSE = 1 << 20
"""Largest number of outputs whose counts are held as one array with its zeros, unless `dense` is called."""
VECTOR = 1 << 28
"""Largest number of outputs for which `SparseCounts.dense` makes one array."""


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Counts of the outputs that came, in rising order, for far more possible outputs than reports.

    Raises:
        ValueError: unless both arrays are whole numbers of one length, outputs rise within 0..size-1 and every
            count is positive.

    Example:
        >>> counts = SparseCounts.of(np.array([0, 3, 0, 1]))
        >>> counts.outputs.tolist(), counts.counts.tolist(), counts.size, counts.sum()
        ([1, 3], [3, 1], 4, 4)
    """

    outputs: np.ndarray
    """Outputs that came (k,), int64, each once, rising."""
    counts: np.ndarray
    """How often each of them came (k,), int64, at least once."""
    size: int
    """Number m of possible outputs."""

    def __post_init__(self) -> None:
        """Check and freeze both arrays."""
        for name in ("outputs", "counts"):
            given = np.asarray(getattr(self, name))
            if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
                raise ValueError(
                    f"{name} were given as {given.dtype} of shape {given.shape}, but must be a vector of whole "
                    "numbers: give those that came, and how often"
                )
            kept = given.astype(np.int64)
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)
        outputs, counts = self.outputs, self.counts
        rising = len(outputs) == len(counts) and (np.diff(outputs, prepend=-1) > 0).all()
        if not rising or (len(outputs) and outputs[-1] >= self.size) or (counts < 1).any():
            raise ValueError(
                f"{len(outputs)} outputs and {len(counts)} counts were given, but must be outputs that rise from "
                f"0 to {self.size - 1} at most, each with a count of 1 or more: use SparseCounts.of"
            )

    @staticmethod
    def of(counts: Counts) -> SparseCounts:
        """Return a vector of counts (m,) without its zeros; sparse counts are returned unchanged."""
        if isinstance(counts, SparseCounts):
            return counts
        counts = np.asarray(counts)
        came = np.flatnonzero(counts)
        return SparseCounts(came, counts[came], len(counts))

    def sum(self) -> int:
        """Return the number of reports."""
        return int(self.counts.sum())

    def dense(self) -> np.ndarray:
        """Return the vector (m,) with its zeros.

        Raises:
            ValueError: if more than 2^28 outputs are possible.
        """
        if self.size > VECTOR:
            raise ValueError(
                f"counts of {self.size} outputs do not fit into one array: use those that came, .outputs and .counts"
            )
        vector = np.zeros(self.size, dtype=np.int64)
        vector[self.outputs] = self.counts
        return vector


Counts = np.ndarray | SparseCounts
"""Number of reports of each output: a vector (m,), or sparse counts where m is above 2^20."""


def counted(outputs: np.ndarray, size: int, times: np.ndarray | None = None) -> Counts:
    """Return how often each of `size` outputs comes in `outputs` (k,), entry i counted `times[i]` times.

    Raises:
        ValueError: for an output outside 0..size-1, which would be counted as another from the end.
    """
    if wrong := outputs[(outputs < 0) | (outputs >= size)].tolist():
        raise ValueError(
            f"an output is {wrong[0]}, but must be from 0 to {size - 1}: give reports that were checked"
        )
    if times is None:
        times = np.ones(len(outputs), dtype=np.int64)
    if size > DENSE:
        came, place = np.unique(outputs, return_inverse=True)
        return SparseCounts(came, _added(place, len(came), times), size)
    return _added(outputs, size, times)


def _added(places: np.ndarray, size: int, times: np.ndarray) -> np.ndarray:
    """Return the sums (size,) of `times` over equal places, exact because they are whole numbers."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, places, times)
    return total


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
