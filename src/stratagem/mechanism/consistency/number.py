"""Numbers from outside."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike


def finite(values: ArrayLike, what: str) -> np.ndarray:
    """Return real finite numbers as a float array of any shape.

    Raises:
        ValueError: for anything else.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(
            f"{what} were given as {array.dtype}, but are real finite numbers: give such an array"
        )
    return array.astype(float)


def positive(value: object, what: str, advice: str) -> float:
    """Return a positive finite number as a float.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return float(value)
    raise ValueError(f"{what} is {value!r}, but must be a positive number: {advice}")
