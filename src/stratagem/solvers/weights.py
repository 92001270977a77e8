"""The weights of fixed patterns: an A-optimal design by a monotone, accelerated majorisation."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jax.scipy.sparse.linalg import cg

RIDGE = {"float64": 1e-11, "float32": 1e-7}
"""Multiple of tr C/n added to C: keeps it positive definite where no query looks."""
TINY = 1e-300


class Weights(NamedTuple):
    """A design: probabilities p on rows and the multipliers that balanced it.

    With p_s = theta_s d_s/n and x_s = (n/d_s)(s - d_s/n 1), d_s = 1^T s, a strategy is a probability vector p
    with sum_s p_s x_s = 0, and C = M - 11^T/n = (1/n) sum_s p_s x_s x_s^T.
    """

    p: jax.Array
    """(m,), sums to one."""
    previous: jax.Array
    """p one step earlier (m,), for the momentum."""
    value: jax.Array
    """An upper bound on tr(C^+ V_c) at p: the minimum of the majorisation that gave it."""
    mu: jax.Array
    nu: jax.Array
    """Multipliers of sum p = 1 and of sum p x = 0 (n,)."""
    age: jax.Array
    """Steps since the momentum was last reset."""


class Information(NamedTuple):
    """C of a design and what follows from it."""

    value: jax.Array
    """tr(C^-1 V_c)."""
    factor: jax.Array
    """Lower Cholesky factor of C + 11^T/n (n x n)."""
    root: jax.Array
    """J = C^-1 F/sqrt(n) (n x r), so that h_s = ||J^T x_s||^2."""


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


class _Balance(NamedTuple):
    mu: jax.Array
    nu: jax.Array
    p: jax.Array
    dual: jax.Array
    residual: jax.Array
    steps: jax.Array


def balance(
    X: jax.Array, a: jax.Array, factor: jax.Array, mu: jax.Array, nu: jax.Array, tolerance: float
) -> _Balance:
    """Minimise sum_s a_s/p_s subject to sum p = 1, sum p x = 0: p_s = sqrt(a_s/(mu + nu^T x_s)).

    (mu, nu) maximises the concave 2 sum_s sqrt(a_s (mu + nu^T x_s)) - mu by Newton steps, each solved by
    conjugate gradients with C^-1 as preconditioner, which is the Hessian up to scale at an optimal design.
    """
    n = X.shape[1]

    def apply(v):
        return (X @ v.astype(X.dtype)).astype(v.dtype)

    def adjoint(w):
        return (X.T @ w.astype(X.dtype)).astype(w.dtype)

    def at(mu, nu):
        t = mu + apply(nu)
        valid = jnp.all((t > 0) | (a == 0))
        p = jnp.where(a > 0, jnp.sqrt(a / jnp.where(a > 0, t, 1)), 0)
        dual = jnp.where(valid, 2 * (p * t).sum() - mu, -jnp.inf)
        return t, p, dual

    def residuals(p):
        return p.sum() - 1, adjoint(p)

    def size(r, R):
        return jnp.sqrt(r**2 + R @ cho_solve((factor, True), R) / n)

    def step(state):
        t = state.mu + apply(state.nu)
        curvature = jnp.where(a > 0, state.p / jnp.where(a > 0, t, 1), 0) / 2
        r, R = residuals(state.p)

        def hessian(v):
            w = curvature * (v[0] + apply(v[1]))
            return w.sum(), adjoint(w)

        def precondition(v):
            return 2 * state.mu * v[0], 2 * state.mu / n * cho_solve((factor, True), v[1])

        (along_mu, along_nu), _ = cg(hessian, (r, R), M=precondition, maxiter=12, tol=1e-2)

        def shorten(trial):
            return trial[0] / 2, at(state.mu + trial[0] / 2 * along_mu, state.nu + trial[0] / 2 * along_nu)

        def worse(trial):
            return (trial[1][2] < state.dual - 1e-12 * jnp.abs(state.dual)) & (trial[0] > 1e-4)

        one = jnp.ones_like(state.mu)
        length, (_, p, dual) = jax.lax.while_loop(
            worse, shorten, (one, at(state.mu + along_mu, state.nu + along_nu))
        )
        better = dual >= state.dual - 1e-12 * jnp.abs(state.dual)
        length, p = jnp.where(better, length, 0), jnp.where(better, p, state.p)
        return _Balance(
            state.mu + length * along_mu,
            state.nu + length * along_nu,
            p,
            jnp.where(better, dual, state.dual),
            jnp.where(better, size(*residuals(p)), 0.0),
            state.steps + 1,
        )

    _, p, dual = at(mu, nu)
    # nu = 0 with its best mu is always inside: start there unless the old multipliers do better
    scale = jnp.sqrt(a).sum() ** 2
    warm = dual > scale
    mu, nu = jnp.where(warm, mu, scale), jnp.where(warm, nu, 0)
    _, p, dual = at(mu, nu)
    start = _Balance(mu, nu, p, dual, size(*residuals(p)), jnp.asarray(0))
    return jax.lax.while_loop(lambda s: (s.residual > tolerance) & (s.steps < 8), step, start)


@jax.jit
def improve(X: jax.Array, F: jax.Array, start: Weights, steps: int) -> Weights:
    """Take `steps` accelerated steps; the bound on tr(C^-1 V_c) never increases between resets.

    One plain step minimises sum_s p_s^2 h_s/p'_s >= L(p') over balanced p' and needs no balanced p, so a point
    extrapolated along log p may take its place; the momentum starts again when the bound rises.
    """
    tolerance = 1e-7 if X.dtype == jnp.float64 else 1e-5

    def step(_, now: Weights) -> Weights:
        beta = now.age / (now.age + 3.0)
        ahead = now.p * jnp.clip((now.p + TINY) / (now.previous + TINY), 1e-3, 1e3) ** beta
        ahead = ahead / ahead.sum()
        info = inform(X, ahead, F)
        a = ahead**2 * energies(X, info.root)
        new = balance(X, a, info.factor, now.mu, now.nu, tolerance)
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
