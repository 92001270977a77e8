"""How arrays are computed: the bits that compiled code keeps, the cores that linear algebra uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Literal

import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded before its threads are counted
from threadpoolctl import ThreadpoolController

Precision = Literal["float64", "float32"]
SMALL = 256
"""Largest number of rows for which one core is as fast as two."""


@contextmanager
def working_in(precision: Precision) -> Iterator[None]:
    """Allow 64-bit arithmetic in this block if asked for; never let a GPU round products to fewer bits."""
    import jax

    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"):
        yield


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
