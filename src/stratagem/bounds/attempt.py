"""Work that may fail numerically, without which the other bounds stand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

T = TypeVar("T")
FAILURES = (np.linalg.LinAlgError, FloatingPointError, ZeroDivisionError, OverflowError)
"""Exceptions that numerical work raises where double precision does not suffice."""


def attempted(work: Callable[[], T]) -> T | None:
    """Return what some work finds, None where it fails numerically or finds a number that is not finite.

    Any lower bound may be left out without making the others wrong, so that none ends a run.
    """
    try:
        found = work()
    except FAILURES:
        return None
    return None if isinstance(found, float) and not math.isfinite(found) else found
