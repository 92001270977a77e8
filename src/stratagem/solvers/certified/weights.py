"""The weights of fixed patterns: an A-optimal design by a monotone, accelerated majorisation."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve

from stratagem.solvers.certified.balance import Separable, balance

RIDGE = {"float64": 1e-11, "float32": 1e-7}
"""Multiple of tr C/n added to the diagonal of C, which may be singular in directions that no query depends on."""
TINY = 1e-300


class Weights(NamedTuple):
    """A design: probabilities p on rows and the multipliers that balanced it.

    With p_s = theta_s d_s/n and x_s = (n/d_s)(s - d_s/n 1), d_s = 1^T s, a strategy is a probability vector p
    with sum_s p_s x_s = 0, and C = M - 11^T/n = (1/n) sum_s p_s x_s x_s^T. Under a prior w over the user
    types the same holds with d_s = n w^T s, and C w = 0.
    """

    p: jax.Array
    """Probabilities of the rows (m,), of sum one."""
    previous: jax.Array
    """p one step earlier (m,), for the momentum."""
    value: jax.Array
    """An upper bound on tr(C^+ V_c) at p: the minimum of the majorising function that gave p."""
    mu: jax.Array
    nu: jax.Array
    """Multipliers of sum p = 1 and of sum p x = 0 (n,)."""
    age: jax.Array
    """Steps since the momentum was last reset."""


class Information(NamedTuple):
    """The factorised information matrix C of a design, and the objective that follows from it."""

    value: jax.Array
    """tr(C^-1 V_c)."""
    factor: jax.Array
    """Lower Cholesky factor of C + 11^T/n (n x n)."""
    root: jax.Array
    """J = C^-1 F/sqrt(n) (n x r), so that h_s = ||J^T x_s||^2."""


@jax.jit
def inform(X: jax.Array, p: jax.Array, F: jax.Array) -> Information:
    """Return the information matrix of p, factorised in double precision; X (m x n), F F^T = V_c (n x r)."""
    n = X.shape[1]
    C = (X.T @ (p.astype(X.dtype)[:, None] * X)).astype(F.dtype) / n
    ridge = RIDGE[str(X.dtype)] * jnp.trace(C) / n
    factor = jnp.linalg.cholesky(C + 1 / n + ridge * jnp.eye(n, dtype=F.dtype))
    solved = cho_solve((factor, True), F)
    return Information((F * solved).sum(), factor, solved / jnp.sqrt(jnp.asarray(n, F.dtype)))


def energies(X: jax.Array, root: jax.Array) -> jax.Array:
    """Return h_s = x_s^T C^-1 V_c C^-1 x_s/n (m,), the gain of the objective per weight of row s."""
    return jnp.square(X @ root.astype(X.dtype)).sum(axis=1).astype(root.dtype)


@jax.jit
def improve(X: jax.Array, F: jax.Array, start: Weights, steps: int) -> Weights:
    """Return the weights after `steps` accelerated updates; their bound never increases between resets.

    One plain step minimises sum_s p_s^2 h_s/p'_s >= L(p') over balanced p' and needs no balanced p. So it
    starts from a point extrapolated along log p. A step with momentum that raises the bound on tr(C^-1 V_c)
    is discarded, and the momentum starts again.
    """
    tolerance = 1e-7 if X.dtype == jnp.float64 else 1e-5

    def step(_, now: Weights) -> Weights:
        beta = now.age / (now.age + 3.0)
        ahead = now.p * jnp.clip((now.p + TINY) / (now.previous + TINY), 1e-3, 1e3) ** beta
        ahead = ahead / ahead.sum()
        info = inform(X, ahead, F)
        a = ahead**2 * energies(X, info.root)
        new = balance(Separable(X, a, info.factor), now.mu, now.nu, tolerance)
        good = (new.dual <= now.value) | (now.age == 0)
        p = jnp.where(good, new.p, now.p)
        return Weights(
            p / p.sum(),
            now.p,
            jnp.where(good, new.dual, now.value),
            jnp.where(good, new.mu, now.mu),
            jnp.where(good, new.nu, now.nu),
            jnp.where(good, now.age + 1, 0).astype(now.age.dtype),
        )

    return jax.lax.fori_loop(0, steps, step, start)
