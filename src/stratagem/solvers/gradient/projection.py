"""Projection of a matrix onto the strategies whose rows lie between z and E z."""

from __future__ import annotations

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

Method = Literal["bracketed", "sorted"]

MAX_PASSES = 500
"""Largest number of passes; by then the bisection steps alone have exhausted double precision."""


def project_with_multiplier(
    R: jax.Array, z: jax.Array, E: jax.Array, method: Method = "bracketed"
) -> tuple[jax.Array, jax.Array]:
    """Return argmin_Q ||Q - R||_F^2 subject to z_y <= Q[y, u] <= E z_y and 1^T Q = 1, and its multipliers (n,).

    Column by column Q = clip(R + lambda, z, E z), lambda the root of a nondecreasing piecewise-linear
    function; exact to rounding. R is m x n, z is (m,) with sum z <= 1 <= E sum z.

    Reference:
        McKenna et al., VLDB 2020, Algorithm 1 (sorted); the bracketed root finder replaces the
        sort by some seven passes over the matrix.
    """
    z = z[:, None]
    multiplier = _sorted(R, z, E) if method == "sorted" else _bracketed(R, z, E)
    return jnp.clip(R + multiplier, z, E * z), multiplier


def force(R: jax.Array, multiplier: jax.Array, z: jax.Array, E: jax.Array) -> jax.Array:
    """Return the force (m,) with which the clipped entries of the projection of R resist z.

    By the chain rule, lowering z_y lowers ||Q - R||_F^2 / 2 at the rate sum_u (r_+ - E (-r)_+), r = Q - T
    the residual of row y against the shifted target T = R + lambda: its lower entries press down on z_y,
    its upper ones push up E z_y. For R = Q0 - step dL/dQ the force over the step is dL/dz to first order.
    A pass of its own: fused with the projection it would cost several.
    """
    T, z = R + multiplier, z[:, None]
    return (jnp.maximum(z - T, 0) - E * jnp.maximum(T - E * z, 0)).sum(axis=1)


def feasible_thresholds(z: jax.Array, E: jax.Array) -> jax.Array:
    """Return z rescaled so that sum z <= 1 <= E sum z, with a little room for rounding."""
    room = 64 * jnp.finfo(z.dtype).eps
    total = z.sum()
    return z * jnp.clip(1.0, (1 + room) / (E * total), (1 - room) / total)


class _Bracket(NamedTuple):
    """A bracket [low, high] around every column's root, with the (weighted) values at its ends."""

    passes: jax.Array
    multiplier: jax.Array
    low: jax.Array
    high: jax.Array
    below: jax.Array
    """Value at `low`, at most 0."""
    above: jax.Array
    """Value at `high`, at least 0."""
    side: jax.Array
    """+1 where the last point replaced `low`, -1 where it replaced `high`."""
    done: jax.Array


def _bracketed(R: jax.Array, z: jax.Array, E: jax.Array) -> jax.Array:
    """Solve sum_y clip(R + lambda, z, E z) = 1 for all columns at once by weighted regula falsi.

    The function is piecewise linear, so interpolation with the weights of Anderson and Bjorck 1973 ends in
    some seven passes; every eighth bisects. A pass is one fused sum: counting the free entries for
    Newton's method costs several times more than the sum itself.
    """
    tolerance = 8 * jnp.finfo(R.dtype).eps

    def improve(at: _Bracket) -> _Bracket:
        value = jnp.clip(R + at.multiplier, z, E * z).sum(axis=0) - 1
        left = value <= 0
        replaced = jnp.where(left, at.below, at.above)
        weight = 1 - value / jnp.where(replaced == 0, 1, replaced)
        weight = jnp.where(weight > 0, weight, 0.5)
        below = jnp.where(left, value, jnp.where(at.side == -1, at.below * weight, at.below))
        above = jnp.where(left, jnp.where(at.side == 1, at.above * weight, at.above), value)
        low = jnp.where(left, at.multiplier, at.low)
        high = jnp.where(left, at.high, at.multiplier)
        middle = 0.5 * (low + high)
        rise = jnp.where(above > below, above - below, 1)
        guess = jnp.where((above > below) & (at.passes % 8 != 7), low - below * (high - low) / rise, middle)
        guess = jnp.where((guess > low) & (guess < high), guess, middle)
        done = (jnp.abs(value) <= tolerance) | (guess == at.multiplier)
        multiplier = jnp.where(done, at.multiplier, guess)
        side = jnp.where(left, 1.0, -1.0).astype(R.dtype)
        return _Bracket(at.passes + 1, multiplier, low, high, below, above, side, done)

    low, high = (z - R).min(axis=0), (E * z - R).max(axis=0)
    ones, nowhere = jnp.ones_like(low), jnp.zeros_like(low)
    ends = (ones * (z.sum() - 1), ones * (E * z.sum() - 1))
    start = _Bracket(jnp.asarray(0), jnp.clip(nowhere, low, high), low, high, *ends, nowhere, nowhere > 0)
    return jax.lax.while_loop(lambda at: (at.passes < MAX_PASSES) & ~at.done.all(), improve, start).multiplier


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
    multiplier = (jnp.take_along_axis(points, segment, axis=0) + (target - height) / jnp.maximum(slope, 1))[0]
    # one Newton step takes back the rounding of the long cumulative sums
    T = R + multiplier
    free = ((z < T) & (E * z > T)).sum(axis=0)
    return multiplier - (jnp.clip(T, z, E * z).sum(axis=0) - 1) / jnp.maximum(free, 1)
