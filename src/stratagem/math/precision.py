"""The arithmetic of compiled code, switched on for one block and never as a side effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import jax

Precision = Literal["float64", "float32"]


@contextmanager
def working_in(precision: Precision) -> Iterator[None]:
    """Allow 64-bit arithmetic in this block if asked for; never let a GPU round products to fewer bits."""
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"):
        yield
