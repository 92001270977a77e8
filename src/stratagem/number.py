"""Numbers from outside, and numbers for reading."""

from __future__ import annotations

import math
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
    found = array(values)
    return found.astype(float) if found.dtype.kind in "biuf" else np.array(np.nan)


def array(values: ArrayLike) -> np.ndarray:
    """Return values as an array, a single nan where its rows would have different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.array(np.nan)


def real(value: object) -> float:
    """Return one real number as a float, nan for anything else: no comparison with it holds."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan


def scalar(value: object, what: str) -> float:
    """Return one real finite number as a float.

    Raises:
        ValueError: for anything else.
    """
    number = real(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} is {value!r}, but must be one finite number: give for example 1000.0")
    return number


def positive(value: object, what: str) -> float:
    """Return a positive finite number as a float.

    Raises:
        ValueError: for anything else.
    """
    number = scalar(value, what)
    if number <= 0:
        raise ValueError(f"{what} is {value!r}, but must be positive: give for example 1.0")
    return number


def number_text(value: float) -> str:
    """Write a number for reading: whole from a thousand on, a power of ten from 10^12 on."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def spread(count: int, shown: int) -> list[int]:
    """Return at most `shown` of the numbers 0..count-1, evenly spread, both ends among them."""
    if count <= shown:
        return list(range(count))
    if shown == 1:
        return [0]
    return sorted({round(k * (count - 1) / (shown - 1)) for k in range(shown)})


def ratio(value: float | None, least: float) -> float | None:
    """Return a value over what it is at least, or at most; 1 where both are zero, None where nothing is known."""
    if value is None or (least == 0 and value > 0):
        return None
    return value / least if least > 0 else 1.0
