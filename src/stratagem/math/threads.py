"""How many cores linear algebra takes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401 - loads its own BLAS, which is limited too
from threadpoolctl import ThreadpoolController


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
