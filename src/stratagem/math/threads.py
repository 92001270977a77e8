"""The number of cores that NumPy's and SciPy's linear algebra uses."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded before its threads are counted
from threadpoolctl import ThreadpoolController

SMALL = 256
"""Largest number of rows for which one core is as fast as two."""


def on_one_core(rows: int = 0) -> AbstractContextManager[object]:
    """Return a context in which the BLAS of NumPy and SciPy take one core, if matrices have few enough rows.

    Each has threads of its own, which wait for work without a pause. Where small matrices go from one to the other,
    or another process takes a core, they wait for each other: factors of 30 in time were seen.
    """
    return _libraries().limit(limits=1, user_api="blas") if rows <= SMALL else nullcontext()


@cache
def _libraries() -> ThreadpoolController:
    """Return the controller of the thread pools of all loaded libraries."""
    return ThreadpoolController()
