"""How arrays are computed: bits that compiled code keeps, cores that linear algebra uses, and one text for two kinds.

An algorithm that asks an array for its `namespace` runs at once on NumPy's arrays and is compiled on JAX's.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.linalg  # noqa: F401  SciPy's own BLAS must be loaded before its threads are counted
from scipy.linalg.lapack import get_lapack_funcs
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
HALVINGS = 48
"""Halvings of an interval after which no number of 32 bits, and next to none of 64, lies inside."""
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


_potrf, _potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)
"""LAPACK itself, as SciPy's checks of small matrices cost more than their solution."""


def namespace(a: Any) -> Any:
    """Return the module that an array belongs to, numpy or jax.numpy."""
    return a.__array_namespace__()


@cache
def compiled(function: Callable[..., Any], *static: str) -> Callable[..., Any]:
    """Return a function of JAX arrays that compiles the given one for each new shape and each new value of `static`."""
    return jax().jit(function, static_argnames=static)


def while_loop(xp: Any, going: Callable[[Any], Any], step: Callable[[Any], Any], state: Any) -> Any:
    """Return the state after as many steps as it takes until `going` is false of it."""
    if xp is not np:
        return jax().lax.while_loop(going, step, state)
    while going(state):
        state = step(state)
    return state


def repeat(xp: Any, count: int, step: Callable[[Any], Any], state: Any) -> Any:
    """Return the state after `count` steps."""
    if xp is not np:
        return jax().lax.fori_loop(0, count, lambda _, state: step(state), state)
    for _ in range(count):
        state = step(state)
    return state


def largest(A: Any, counts: Any) -> Any:
    """Return which entries of each row of A (m x n) are among its `counts` (m,) largest; of equal ones the first are.

    Compiled code bisects: XLA sorts on one core, and takes 75 times NumPy's time.
    """
    if (xp := namespace(A)) is np:
        return np.argsort(np.argsort(-A, axis=1, stable=True), axis=1) < counts[:, None]

    def halved(between: tuple[Any, Any]) -> tuple[Any, Any]:
        middle = (between[0] + between[1]) / 2
        enough = (A > middle[:, None]).sum(axis=1) >= counts
        return xp.where(enough, middle, between[0]), xp.where(enough, between[1], middle)

    least, most = A.min(axis=1), A.max(axis=1)
    low, high = repeat(xp, HALVINGS, halved, (2 * least - most - 1, most))
    inside = A > high[:, None]
    others = (A > low[:, None]) & ~inside
    return inside | (others & (xp.cumsum(others, axis=1) <= (counts - inside.sum(axis=1))[:, None]))


def cholesky(A: Any) -> Any:
    """Return the lower Cholesky factor of A (n x n), all NaN where A is not positive definite."""
    if (xp := namespace(A)) is not np:
        return xp.linalg.cholesky(A)
    lower, failed = _potrf(A, lower=True)
    return np.full_like(A, np.nan) if failed else lower


def cho_solve(lower: Any, B: Any) -> Any:
    """Return A^-1 B for the lower Cholesky factor of A (n x n) and B (n,) or (n x k)."""
    if namespace(lower) is not np:
        return jax().scipy.linalg.cho_solve((lower, True), B)
    return _potrs(lower, B, lower=True)[0]


def conjugate_gradients(
    product: Callable[[Any], Any], b: Any, precondition: Callable[[Any], Any], most: int, tolerance: float
) -> Any:
    """Return v with A v near b (n,), A positive definite and given by its product.

    At most `most` steps are taken, until |b - A v| <= tolerance |b|. `precondition` is the product with about A^-1.
    """
    xp = namespace(b)
    enough = tolerance**2 * (b @ b)

    def step(now: tuple[Any, ...]) -> tuple[Any, ...]:
        v, r, d, gamma, k = now
        along = product(d)
        length = gamma / (d @ along)
        v, r = v + length * d, r - length * along
        z = precondition(r)
        return v, r, z + (r @ z) / gamma * d, r @ z, k + 1

    z = precondition(b)
    start = xp.zeros_like(b), b, z, b @ z, 0
    return while_loop(xp, lambda now: (now[1] @ now[1] > enough) & (now[4] < most), step, start)[0]
