"""How arrays are computed: the bits that compiled code keeps, the cores that linear algebra uses."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded before its threads are counted
from threadpoolctl import ThreadpoolController

Precision = Literal["float64", "float32"]
SMALL = 1024
"""Largest number of rows for which the second core is not used: where other processes share two cores, the comparison
of marginals of 1024 cells took 78 to 156 processor seconds with it, and 32 without."""


def jax() -> Any:
    """Return JAX, which takes a second to load, where something is to be compiled."""
    import jax

    return jax


@contextmanager
def working_in(precision: Precision) -> Iterator[None]:
    """Allow 64-bit arithmetic in this block if asked for; never let a GPU round products to fewer bits."""
    with jax().enable_x64(precision == "float64"), jax().default_matmul_precision("highest"):
        yield


def on_one_core(rows: int = 0) -> AbstractContextManager[object]:
    """Return a context in which the BLAS of NumPy and SciPy take one core, if matrices have few enough rows.

    Each has threads of its own, which wait for work without a pause. Where small matrices go from one to the other,
    or another process takes a core, they wait for each other: factors of 30 in time were seen.
    """
    return _libraries().limit(limits=1, user_api="blas") if rows <= SMALL else nullcontext()


STANDARD_OUTPUT = 1
_one_solver = threading.RLock()


@contextmanager
def quiet_solver() -> Iterator[None]:
    """Let what a solver prints itself go nowhere, and its warnings of inaccurate solutions, which callers measure.

    HiGHS 1.16 prints its version wherever an instance is made, whatever its options say. One thread solves at a
    time, so that each puts back what it found; what others print to standard output meanwhile is lost as well.
    """
    with _one_solver, warnings.catch_warnings(), ExitStack() as undone:
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        with suppress(OSError):  # a closed output needs no care
            kept = os.dup(STANDARD_OUTPUT)
            undone.callback(os.close, kept)
            undone.callback(os.dup2, kept, STANDARD_OUTPUT)
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), STANDARD_OUTPUT)
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Return the controller of the thread pools of all loaded libraries."""
    return ThreadpoolController()
