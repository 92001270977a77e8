"""Room for compiled code: every new shape costs hundreds of memory maps, and a process may hold only so many."""

from __future__ import annotations

import gc
from pathlib import Path

import jax

MAPS = Path("/proc/self/maps")
CROWDED = 20_000
"""Memory maps, of the 65,530 that Linux grants a process by default, above which compiled code is let go."""


def release_compiled_code() -> bool:
    """Drop what JAX has compiled once it crowds the process; return whether it did.

    A solve of a new size compiles some 800 maps' worth of code that is never let go: after some eighty sizes
    the compiler would crash the process. Where the maps cannot be counted (not Linux), nothing is dropped.
    """
    if not MAPS.exists() or MAPS.read_bytes().count(b"\n") <= CROWDED:
        return False
    jax.clear_caches()
    gc.collect()
    return True
