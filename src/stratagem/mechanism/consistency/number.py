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
    array = numbers(values)
    if not np.isfinite(array).all():
        raise ValueError(f"{what} are not all real finite numbers: give an array of such numbers")
    return array


def numbers(values: ArrayLike) -> np.ndarray:
    """Return real numbers as floats of any shape, a single nan for anything else."""
    try:
        array = np.asarray(values)
    except ValueError:
        return np.array(np.nan)
    return array.astype(float) if array.dtype.kind in "iuf" else np.array(np.nan)


def positive(value: object, what: str, advice: str) -> float:
    """Return a positive finite number as a float.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return float(value)
    raise ValueError(f"{what} is {value!r}, but must be a positive number: {advice}")
