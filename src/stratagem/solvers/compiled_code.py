"""Release of compiled code: each array shape adds hundreds of memory maps, of which a process has a limited number."""

from __future__ import annotations

import gc
from pathlib import Path

import jax

MAPS = Path("/proc/self/maps")
CROWDED = 20_000
"""Number of memory maps above which compiled code is released; Linux allows a process 65,530 by default."""


def release_compiled_code() -> bool:
    """Release all code that JAX has compiled if the process holds too many memory maps; return whether it did.

    A solve of a new size compiles code of some 800 memory maps, which JAX never releases by itself. After
    some eighty sizes the compiler would crash the process. Where the maps cannot be counted (not Linux),
    nothing is released.
    """
    if not MAPS.exists() or MAPS.read_bytes().count(b"\n") <= CROWDED:
        return False
    jax.clear_caches()
    gc.collect()
    return True
