"""Projection of a matrix onto the strategies whose rows lie between z and E z."""

from __future__ import annotations

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp

Method = Literal["bracketed", "sorted"]

MAX_PASSES = 100
"""Newton passes at most; bisection alone exhausts double precision well before."""


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def project(R: jax.Array, z: jax.Array, E: jax.Array, method: Method = "bracketed") -> jax.Array:
    """Return argmin_Q ||Q - R||_F^2 subject to z_y <= Q[y, u] <= E z_y and 1^T Q = 1.

    Column by column Q = clip(R + lambda, z, E z), lambda the root of a nondecreasing piecewise-linear
    function; exact to rounding. R is m x n, z is (m,) with sum z <= 1 <= E sum z. Differentiable in R and
    z: the free entries of a column share the multiplier, the clipped ones move with z.

    Reference:
        McKenna et al., VLDB 2020, Algorithm 1 (sorted); the bracketed Newton method is one pass over
        the matrix per step, and a handful of steps from a nearby start.
    """
    z = z[:, None]
    multiplier = _sorted(R, z, E) if method == "sorted" else _bracketed(R, z, E)
    return jnp.clip(R + multiplier, z, E * z)


def _forward(R, z, E, method):
    Q = project(R, z, E, method)
    return Q, (Q, z, E)


def _backward(method, residuals, G):
    Q, z, E = residuals
    lower, upper = clipped(Q, z, E)
    free = ~(lower | upper)
    relative = G - multipliers(G, free)
    return jnp.where(free, relative, 0), (relative * (lower + E * upper)).sum(axis=1), jnp.zeros_like(E)


project.defvjp(_forward, _backward)


def clipped(Q: jax.Array, z: jax.Array, E: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the masks of the entries at their lower bound z and at their upper bound E z."""
    return Q <= z[:, None], Q >= E * z[:, None]


def multipliers(G: jax.Array, free: jax.Array) -> jax.Array:
    """Return the mean of G over the free entries of each column; over the whole column if none is free."""
    count = free.sum(axis=0)
    return jnp.where(count > 0, (G * free).sum(axis=0) / jnp.maximum(count, 1), G.mean(axis=0))


def threshold_gradient(Q: jax.Array, z: jax.Array, E: jax.Array, G: jax.Array) -> jax.Array:
    """Return dL/dz for the projected point Q with gradient G (m x n): how L changes if the bounds move.

    Chain rule through `project`, an entry counting only while the gradient presses it against its bound:
    dL/dz_y = sum over lower entries of (G - mu_u)_+ minus E times the sum over upper ones of (mu_u - G)_+.
    """
    lower, upper = clipped(Q, z, E)
    relative = G - multipliers(G, ~(lower | upper))
    return (jnp.maximum(relative, 0) * lower + E * jnp.minimum(relative, 0) * upper).sum(axis=1)


def feasible_thresholds(z: jax.Array, E: jax.Array) -> jax.Array:
    """Return z rescaled so that sum z <= 1 <= E sum z, with a little room for rounding."""
    room = 64 * jnp.finfo(z.dtype).eps
    total = z.sum()
    return z * jnp.clip(1.0, (1 + room) / (E * total), (1 - room) / total)


def _bracketed(R: jax.Array, z: jax.Array, E: jax.Array) -> jax.Array:
    """Newton on sum_y clip(R + lambda, z, E z) = 1 for all columns at once, bisecting where it leaves its bracket."""
    tolerance = 4 * jnp.finfo(R.dtype).eps

    def unfinished(state):
        return (state[0] < MAX_PASSES) & ~state[-1]

    def improve(state):
        count, multiplier, low, high, _ = state
        T = R + multiplier
        excess = jnp.clip(T, z, E * z).sum(axis=0) - 1
        free = ((T > z) & (T < E * z)).sum(axis=0)
        low = jnp.where(excess <= 0, multiplier, low)
        high = jnp.where(excess >= 0, multiplier, high)
        newton = multiplier - excess / jnp.maximum(free, 1)
        inside = (free > 0) & (newton >= low) & (newton <= high)
        candidate = jnp.where(inside, newton, 0.5 * (low + high))
        done = (jnp.abs(excess) <= tolerance) | (candidate == multiplier)
        return count + 1, jnp.where(done, multiplier, candidate), low, high, done.all()

    low, high = (z - R).min(axis=0), (E * z - R).max(axis=0)
    start = jnp.clip(jnp.zeros_like(low), low, high)
    return jax.lax.while_loop(unfinished, improve, (0, start, low, high, False))[1]


def _sorted(R: jax.Array, z: jax.Array, E: jax.Array) -> jax.Array:
    """Walk the sorted breakpoints z - R (slope up by one) and E z - R (slope down by one) of every column."""
    m = R.shape[0]
    points = jnp.concatenate([z - R, E * z - R])
    order = jnp.argsort(points, axis=0)
    points = jnp.take_along_axis(points, order, axis=0)
    slopes = jnp.cumsum(jnp.where(order < m, 1.0, -1.0).astype(R.dtype), axis=0)
    rises = jnp.cumsum(slopes[:-1] * jnp.diff(points, axis=0), axis=0)
    target = 1 - z.sum()
    segment = jnp.minimum((rises < target).sum(axis=0), 2 * m - 2)[None]
    height = jnp.take_along_axis(jnp.concatenate([jnp.zeros_like(points[:1]), rises]), segment, axis=0)
    slope = jnp.take_along_axis(slopes, segment, axis=0)
    return (jnp.take_along_axis(points, segment, axis=0) + (target - height) / jnp.maximum(slope, 1))[0]
