"""Balanced weights: the inner problem of every weight update, solved through its multipliers."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jax.scipy.sparse.linalg import cg

ROUNDING = 1e-12
MOST = 8
"""Most Newton steps of one weight update; the next update starts from the multipliers and reduces the error."""


class Separable(NamedTuple):
    """The convex problem: minimise sum_s a_s/p_s over p >= 0 subject to sum p = 1 and sum p x = 0."""

    X: jax.Array
    """The rows x_s, an array of shape (m, n)."""
    a: jax.Array
    """The coefficients a_s (m,), nonnegative; rows with a = 0 get p = 0."""
    factor: jax.Array
    """Lower Cholesky factor of an n x n matrix C near sum p x x^T/n: the preconditioner."""

    def along(self, v: jax.Array) -> jax.Array:
        """Return X v (m,)."""
        return (self.X @ v.astype(self.X.dtype)).astype(v.dtype)

    def against(self, w: jax.Array) -> jax.Array:
        """Return X^T w (n,)."""
        return (self.X.T @ w.astype(self.X.dtype)).astype(w.dtype)


class Balance(NamedTuple):
    """Multipliers (mu, nu) of the two constraints and the weights p (m,) that they imply."""

    mu: jax.Array
    nu: jax.Array
    p: jax.Array
    dual: jax.Array
    """2 sum_s sqrt(a_s (mu + nu^T x_s)) - mu, minus infinity outside its domain."""
    residual: jax.Array
    """Norm of (sum p - 1, sum p x), the latter in the metric of C^-1/n."""
    steps: jax.Array


def balance(problem: Separable, mu: jax.Array, nu: jax.Array, tolerance: float) -> Balance:
    """Return p_s = sqrt(a_s/(mu + nu^T x_s)) for the (mu, nu) that maximise the concave dual.

    `mu` and `nu` (n,) are a guess, which Newton's method improves. Conjugate gradients solve each Newton
    step, with C^-1 as preconditioner, which is the inverse of the Hessian up to scale at an optimal design.
    """
    # nu = 0 with its best mu is always inside: start there unless the guess does better
    cold = jnp.sqrt(problem.a).sum() ** 2
    warm = _at(problem, mu, nu).dual > cold
    start = _at(problem, jnp.where(warm, mu, cold), jnp.where(warm, nu, 0))
    return jax.lax.while_loop(
        lambda now: (now.residual > tolerance) & (now.steps < MOST), lambda now: _newton(problem, now), start
    )


def _at(problem: Separable, mu: jax.Array, nu: jax.Array, steps: int | jax.Array = 0) -> Balance:
    used = problem.a > 0
    t = jnp.where(used, mu + problem.along(nu), 1.0)
    p = jnp.sqrt(problem.a / jnp.where(t > 0, t, 1.0))
    dual = jnp.where(jnp.all(t > 0), 2 * (p * t).sum() - mu, -jnp.inf)
    r, R = p.sum() - 1, problem.against(p)
    residual = jnp.sqrt(r**2 + R @ cho_solve((problem.factor, True), R) / len(R))
    return Balance(mu, nu, p, dual, residual, jnp.asarray(steps))


def _newton(problem: Separable, now: Balance) -> Balance:
    """Take the longest of the steps 1, 1/2, 1/4, ... that does not lower the dual; none if all of them do."""
    along_mu, along_nu = _direction(problem, now)

    def step(length):
        return _at(problem, now.mu + length * along_mu, now.nu + length * along_nu, now.steps + 1)

    floor = now.dual - ROUNDING * jnp.abs(now.dual)
    _, last = jax.lax.while_loop(
        lambda trial: ~(trial[1].dual >= floor) & (trial[0] > 1e-4),
        lambda trial: (trial[0] / 2, step(trial[0] / 2)),
        (jnp.ones_like(now.mu), step(jnp.ones_like(now.mu))),
    )
    stay = now._replace(residual=jnp.zeros_like(now.residual), steps=now.steps + 1)
    return jax.tree.map(lambda new, old: jnp.where(last.dual >= floor, new, old), last, stay)


def _direction(problem: Separable, now: Balance) -> tuple[jax.Array, jax.Array]:
    """Solve 1/2 sum_s p_s/t_s (1, x_s)(1, x_s)^T v = (sum p - 1, sum p x), t = mu + nu^T x."""
    t = now.mu + problem.along(now.nu)
    curvature = jnp.where(problem.a > 0, now.p / jnp.where(problem.a > 0, t, 1.0), 0.0) / 2

    def hessian(v):
        w = curvature * (v[0] + problem.along(v[1]))
        return w.sum(), problem.against(w)

    def precondition(v):
        return 2 * now.mu * v[0], 2 * now.mu / len(now.nu) * cho_solve((problem.factor, True), v[1])

    residuals = now.p.sum() - 1, problem.against(now.p)
    return cg(hessian, residuals, M=precondition, maxiter=12, tol=1e-2)[0]
