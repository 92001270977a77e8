"""The best strategy under a cap on the best guess: weights of random patterns under one more linear condition."""

from __future__ import annotations

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.math.computing import working_in
from stratagem.math.deadline import deadline
from stratagem.math.linalg import centre
from stratagem.solvers.certified.patterns import distinct, root_fields, top_cells
from stratagem.solvers.gradient.loss import reweigh
from stratagem.strategies import TwoLevelStrategy
from stratagem.strategies.two_level import pack

ROUNDS = 3
FIELDS = 3000
"""Random patterns that a round adds."""
PARENTS = 60
"""Patterns of which every one with one type more or less is added."""
STEPS = 200
"""Steps on the weights of a round."""
FAINT = 1e-6
"""Weight relative to the largest below which a pattern is left out after a round."""
RIDGE = 1e-12
"""What is added to the eigenvalues of M, the largest of which is 1: queries of low rank leave some at zero."""
TINY = 1e-40
"""Weight below which none falls, so that its square is no zero."""


def search_capped(
    V: np.ndarray, epsilon: float, guess: float, rounds: int, rng: np.random.Generator
) -> Iterator[TwoLevelStrategy]:
    """Yield strategies whose best guess is right with probability `guess`, each from more patterns.

    The cap is the condition sum_y theta_y e_y = n guess, e_y = E, 1 for the even row: one more column of the patterns,
    so that the steps of `reweigh` keep it with the column sums. `V` (n x n) is the Gram matrix, and the cap is below
    what the best strategy without one has, so that it holds with equality.
    """
    n, E = len(V), math.exp(epsilon)
    centred = centre(V)
    factor = root_fields(centred)
    B = distinct(np.concatenate([np.eye(n, dtype=bool), _fields(factor, E, rng)]))
    theta = np.full(len(B) + 1, 1 / len(B))
    for step in range(rounds):
        theta = _weighted(B, theta, V, E, guess)
        yield _strategy(B, theta, E, guess)
        if step + 1 < rounds:
            B, theta = _grown(B, theta, _fields(factor, E, rng))


def _weighted(B: np.ndarray, theta: np.ndarray, V: np.ndarray, E: float, guess: float) -> np.ndarray:
    """Return better weights of the patterns and of the even row, which is the last."""
    n = B.shape[1]
    S = np.concatenate([np.where(B, E, 1.0), np.ones((1, n))])
    cap = np.append(np.full(len(B), E), 1.0) / (n * guess)
    with working_in("float64"):
        for _ in range(STEPS):
            better = np.asarray(_step(theta, S, cap, V))
            if not np.isfinite(better).all():
                break
            theta = better
            if deadline().over:
                break
    return theta


@jax.jit
def _step(theta: jax.Array, S: jax.Array, cap: jax.Array, V: jax.Array) -> jax.Array:
    """Return weights theta' of the rows S that lower tr(M^-1 V) and keep S^T theta' = 1 and cap^T theta' = 1."""
    sizes = S.sum(axis=1)
    M = (S * (theta / sizes)[:, None]).T @ S
    inverse = jnp.linalg.inv(M + RIDGE * jnp.eye(len(M)))
    gained = ((S @ (inverse @ V @ inverse)) * S).sum(axis=1) / sizes
    rows = theta[:, None] * jnp.concatenate([S, cap[:, None]], axis=1)
    return jnp.maximum(theta * reweigh(rows, theta * gained), TINY)


def _grown(B: np.ndarray, theta: np.ndarray, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the patterns in use, neighbours of the heaviest and new ones, with first weights."""
    n = B.shape[1]
    own = theta[:-1]
    kept = own > FAINT * own.max()
    kept[:n] = True
    near = B[np.argsort(-own)[:PARENTS], None] ^ np.eye(n, dtype=bool)
    B, own = B[kept], own[kept]
    new = distinct(np.concatenate([near.reshape(-1, n), more]), B)
    first = np.full(len(new), 0.1 * own.sum() / max(1, len(new)))
    return np.concatenate([B, new]), np.concatenate([own, first, theta[-1:]])


def _fields(factor: np.ndarray, E: float, rng: np.random.Generator) -> np.ndarray:
    """Return random patterns: the k largest cells of Gaussian fields, k from less than n/(1 + E) to 9 n/10."""
    n = len(factor)
    k = rng.integers(max(1, int(0.8 * n / (1 + E))), max(2, math.ceil(0.9 * n)), FIELDS)
    return top_cells(np.argsort(-rng.standard_normal((FIELDS, factor.shape[1])) @ factor.T, axis=1), k)


def _strategy(B: np.ndarray, theta: np.ndarray, E: float, guess: float) -> TwoLevelStrategy:
    """Return the strategy with exact columns, which sets of one type and the even row mend, as is the best guess."""
    n = B.shape[1]
    used = np.append(theta[:-1] > 1e-9 * theta[:-1].max(), True)
    used[:n] = True
    rows, theta = np.concatenate([B, np.zeros((1, n), dtype=bool)])[used], theta[used]
    held = rows.T @ theta
    theta[:n] += held.max() - held
    total = theta[:-1].sum() + (E - 1) * float((rows.T @ theta).max())
    theta[:-1] /= max(1.0, total)
    proper = theta[:-1].sum()
    theta[-1] = 1 - proper - (E - 1) * float((rows.T @ theta).max())
    found = (E * proper + theta[-1]) / n
    share = min(1.0, (guess - 1 / n) / (found - 1 / n)) * (1 - 1e-12)
    theta *= share
    theta[-1] = 1 - theta[:-1].sum() - (E - 1) * float((rows.T @ theta).max())
    return TwoLevelStrategy(pack(rows), np.maximum(theta, 0.0), n, E)
