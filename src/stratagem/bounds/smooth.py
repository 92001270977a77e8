"""The smoothed objective of the nonnegative bound, compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

EDGE = 1e-9
"""Eigenvalue, relative to tr V, below which a square root or a logarithm goes on as its tangent."""
HALVINGS = 45
"""Bisections of a multiplier; any multiplier gives a valid bound."""


class Terms(NamedTuple):
    """The numbers of a problem, V scaled to trace one."""

    F: jax.Array
    """(n x r)"""
    h: jax.Array
    """n p (n,)"""
    X: jax.Array
    """Patterns that are looked at one by one (N x n): all that are listed, or the worst at the last proof."""
    sizes: jax.Array
    """Sizes of other patterns (K,); K = 0 where all patterns are listed."""
    f: jax.Array
    """Their masses (K,), sizes/n without a prior."""
    c: jax.Array
    """E - 1."""


def ends(n: int) -> tuple[int, ...]:
    """Return where gamma, lambda, w, r and N end in a point; what masses of patterns cost (K,) is the rest."""
    return n, 2 * n, 3 * n, 3 * n + 2, 3 * n + 2 + n * (n - 1) // 2


@partial(jax.jit, static_argnames="full")
@partial(jax.value_and_grad, argnums=0)
def loss(point: jax.Array, terms: Terms, smoothing: float, barrier: float, full: bool) -> jax.Array:
    """Return log D - 2 log S, less the barrier times log det(G/D)/n on h^perp where V has low rank."""
    F, h, X, _, f, c = terms
    n = len(h)
    gamma, prices, w, level, upper, tilts = jnp.split(point, ends(n))
    prices = prices * c / n
    N = jnp.zeros((n, n)).at[jnp.triu_indices(n, 1)].set(upper)
    N = N + N.T
    G = jnp.diag(gamma) - N - jnp.outer(w, w)
    excess = _listed_excess(G, prices, h / n, X, c)
    if len(f):
        r = level[0] + level[1] * f
        field = gamma - 2 * jnp.outer(r, w) - 2 * jnp.outer(f, G.sum(axis=1))
        others = _unlisted_excess(field, r**2 + f**2 * G.sum(), prices, tilts, terms, smoothing)
        excess = jnp.concatenate([excess, others])
    width = smoothing * jax.lax.stop_gradient(jnp.abs(prices.mean()) + jnp.abs(excess).max())
    D = prices.sum() + n * width * jax.nn.logsumexp(excess / width)
    S: jax.Array = spectral(F.T @ G @ F, root)
    value = jnp.log(D) - 2 * jnp.log(S)
    if full:
        return value
    unit = h / jnp.linalg.norm(h)
    P = jnp.eye(n) - jnp.outer(unit, unit)
    volume: jax.Array = spectral(P @ G @ P + jnp.outer(unit, unit), logarithm)
    return value + barrier / n * ((n - 1) * jnp.log(D) - volume)


def _listed_excess(G: jax.Array, prices: jax.Array, p: jax.Array, X: jax.Array, c: jax.Array) -> jax.Array:
    """Return [c^2 y^T G y - a lambda^T s]/a^2 of every listed pattern x (N,), y = x - 1 p^T x."""
    f = X @ p
    Y, a = X - f[:, None], len(p) * (1 + c * f)
    return c**2 / a**2 * ((Y @ G) * Y).sum(axis=1) - (prices.sum() + c * (X @ prices)) / a


def _unlisted_excess(
    field: jax.Array,
    squares: jax.Array,
    prices: jax.Array,
    tilts: jax.Array,
    terms: Terms,
    smoothing: float,
) -> jax.Array:
    """Return what bounds it for patterns of each other size and mass (K,), from q = field x + squares (K x n and K,).

    Under a prior t (n f - h^T x) = 0 is added, t the tilts (K,).
    """
    f, c = terms.f, terms.c
    a = len(prices) * (1 + c * f)
    linear = (c**2 / a)[:, None] * field - c * prices
    constant = c**2 * squares / a - prices.sum()
    width = smoothing * jax.lax.stop_gradient(jnp.abs(linear).max())
    if len(tilts):
        linear, constant = linear - jnp.outer(tilts, terms.h), constant + tilts * len(prices) * f
    return (constant + largest(linear, terms.sizes, width)) / a


def largest(linear: jax.Array, sizes: jax.Array, width: jax.Array) -> jax.Array:
    """Return about the largest sum of so many entries of every row (K,).

    It is min over t of size t + width sum softplus((linear - t)/width).
    """

    def halved(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        t = (low + high) / 2
        many = jax.nn.sigmoid((linear - t[:, None]) / width).sum(axis=1) > sizes
        return jnp.where(many, t, low), jnp.where(many, high, t)

    reach = jnp.abs(linear).max(axis=1) + 40 * width
    low, high = jax.lax.fori_loop(0, HALVINGS, halved, (-reach, reach))
    t = jax.lax.stop_gradient(low + high) / 2
    return sizes * t + width * jax.nn.softplus((linear - t[:, None]) / width).sum(axis=1)


Function = Callable[[jax.Array], tuple[jax.Array, jax.Array]]


def root(values: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return x^(1/2) and its derivative; below EDGE the tangent, which is concave and finite too."""
    inside = jnp.maximum(values, EDGE)
    slope = 0.5 / jnp.sqrt(inside)
    return jnp.sqrt(inside) + slope * (values - inside), slope


def logarithm(values: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return log x and its derivative; below EDGE the tangent."""
    inside = jnp.maximum(values, EDGE)
    return jnp.log(inside) + (values - inside) / inside, 1 / inside


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def spectral(H: jax.Array, function: Function) -> jax.Array:
    """Return the sum of a function over the eigenvalues of a symmetric H (r x r)."""
    return function(jnp.linalg.eigvalsh(H))[0].sum()


def _spectral_forward(H: jax.Array, function: Function) -> tuple[jax.Array, jax.Array]:
    """Return the sum and its derivative by H, the derivative applied to the eigenvalues."""
    values, vectors = jnp.linalg.eigh(H)
    image, slope = function(values)
    return image.sum(), (vectors * slope) @ vectors.T


def _spectral_backward(function: Function, slope: jax.Array, cotangent: jax.Array) -> tuple[jax.Array]:
    """Return the derivative by H of what the sum enters."""
    return (cotangent * slope,)


spectral.defvjp(_spectral_forward, _spectral_backward)
