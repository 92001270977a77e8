"""Numbers of very many queries, computed where they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast, final

import numpy as np

from stratagem.math.number import entries

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
