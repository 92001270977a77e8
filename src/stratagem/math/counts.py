"""Counts of the possible reports: a vector, or those that came where far more are possible than came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        """Return the vector (m,) with its zeros."""
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
