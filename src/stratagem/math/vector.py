"""Vectors too long to hold: counts of the reports that came, and numbers of queries computed where asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, cast, final

import numpy as np

from stratagem.math.number import entries

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


WHOLE = 1 << 24
"""Numbers up to which all are written out (128 MiB); of more, those are computed that are asked for."""


@final
class OnDemand:
    """Numbers of many queries, as an array that is only ever indexed: a[7], a[-1], a[:10], a[[2, 5]], len(a).

    >>> squares = OnDemand(10**12, lambda places: np.square(places.astype(float)), "the squares")
    >>> float(squares[-1]), squares[3:6].tolist(), squares[[7, 2]].tolist()
    (9.99999999998e+23, [9.0, 16.0, 25.0], [49.0, 4.0])
    """

    dtype, ndim = np.dtype(float), 1

    def __init__(self, size: int, compute: Callable[[np.ndarray], np.ndarray], what: str) -> None:
        """Store how many numbers there are, the function from places (k,) to the numbers there, and what they are."""
        self.size, self.shape, self._compute, self._what = size, (size,), compute, what

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return self.size

    def __getitem__(self, which: Any) -> Any:
        """Return the numbers at a place, at those of a slice, or at each of a list of places.

        Raises:
            IndexError: for a place that there is not.
            ValueError: for more than 2^24 places.
        """
        if isinstance(which, slice):
            chosen = range(self.size)[which]
            entries(len(chosen), WHOLE, self._what, ADVICE)
            return self._compute(np.array(chosen, dtype=np.int64))
        places = np.asarray(which, dtype=np.int64)
        if not ((-self.size <= places) & (places < self.size)).all():
            raise IndexError(f"place {which} was asked for, but there are {self.size} from 0")
        found = self._compute(np.atleast_1d(places % self.size))
        return found if places.ndim else found[0]

    def __iter__(self) -> Iterator[float]:
        """Refuse to go through all numbers."""
        self._refuse()

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Refuse to write out all numbers.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def __repr__(self) -> str:
        """Say what the numbers are, and how many."""
        return f"OnDemand({self._what}, {self.size:,} numbers)"

    def _refuse(self) -> NoReturn:
        entries(self.size, WHOLE, self._what, ADVICE)
        raise AssertionError("as many numbers are written out")


ADVICE = "ask for some of them by number, [7], [:10] or [[2, 5]]"


def written_or_asked(
    size: int, every: Callable[[], np.ndarray], some: Callable[[np.ndarray], np.ndarray], what: str
) -> np.ndarray:
    """Return all numbers (size,) up to 2^24 of them, else an `OnDemand`, which stands for an array that is indexed."""
    return every() if size <= WHOLE else cast("np.ndarray", OnDemand(size, some, what))
