"""The weights of fixed patterns: an A-optimal design by a monotone, accelerated majorisation."""

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
