"""The objective L(Q) = tr(M^-1 V) as compiled code with its closed-form gradient."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve


class Evaluation(NamedTuple):
    """The value of L at Q and what the gradient needs of it."""

    value: jax.Array
    factor: jax.Array
    """Cholesky factor of M (n x n)."""
    solved: jax.Array
    """M^-1 V (n x n)."""


def evaluate(Q: jax.Array, V: jax.Array) -> Evaluation:
    """Return L(Q) = tr(M^-1 V), M = Q^T D^-1 Q: one product of 2 m n^2 operations and a Cholesky solve.

    A ridge of a few ulp keeps M, whose eigenvalues lie in [0, 1], positive definite; where rounding beats
    it the value is not a number, which every line search rejects.
    """
    scaled = Q / jnp.sqrt(Q.sum(axis=1, keepdims=True))
    n = Q.shape[1]
    ridge = n * jnp.finfo(Q.dtype).eps
    factor = jnp.linalg.cholesky(scaled.T @ scaled + ridge * jnp.eye(n, dtype=Q.dtype), symmetrize_input=False)
    solved = cho_solve((factor, True), V)
    return Evaluation(jnp.trace(solved), factor, solved)


def gradient(Q: jax.Array, evaluation: Evaluation) -> jax.Array:
    """Return dL/dQ = -2 D^-1 Q G + (q_y^T G q_y / d_y^2) 1^T row by row, G = M^-1 V M^-1.

    One more product of 2 m n^2 operations; automatic differentiation needs two to three.
    """
    G = cho_solve((evaluation.factor, True), evaluation.solved.T)
    d = Q.sum(axis=1, keepdims=True)
    A = Q @ G / d
    return (A * Q).sum(axis=1, keepdims=True) / d - 2 * A


@jax.custom_vjp
def loss(Q: jax.Array, V: jax.Array) -> jax.Array:
    """Return L(Q) for jax.grad, which then costs one product instead of two to three."""
    return evaluate(Q, V).value


def _forward(Q, V):
    evaluation = evaluate(Q, V)
    return evaluation.value, (Q, evaluation)


def _backward(residuals, cotangent):
    Q, evaluation = residuals
    inverse = cho_solve((evaluation.factor, True), jnp.eye(Q.shape[1], dtype=Q.dtype))
    return cotangent * gradient(Q, evaluation), cotangent * inverse


loss.defvjp(_forward, _backward)
