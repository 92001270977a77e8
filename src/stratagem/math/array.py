"""One text of an algorithm for two kinds of arrays: NumPy's, which run at once, and JAX's, which are compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg.lapack import get_lapack_funcs

from stratagem.math.computing import jax

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
