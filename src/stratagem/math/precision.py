"""The arithmetic of compiled code and the cores of linear algebra, switched for one block of code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Literal, TypeVar

import jax
import numpy as np
from threadpoolctl import ThreadpoolController

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


def on_one_core() -> AbstractContextManager[object]:
    """Return a context in which the BLAS of NumPy and SciPy take one core.

    Each has threads of its own, which wait for work without a pause. Where small matrices go from one to the other,
    or another process takes a core, they wait for each other: factors of 30 in time were seen.
    """
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """Return the controller of the thread pools of all loaded libraries."""
    return ThreadpoolController()


Precision = Literal["float64", "float32"]


@contextmanager
def working_in(precision: Precision) -> Iterator[None]:
    """Allow 64-bit arithmetic in this block if asked for; never let a GPU round products to fewer bits."""
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"):
        yield
