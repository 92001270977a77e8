"""Strategies under a limit: a cap on the best guess, or one on every pair of user types after shuffling.

Both are weights of random patterns under more linear conditions, and both searches add patterns round by round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.math.computing import working_in
from stratagem.math.deadline import deadline
from stratagem.math.linalg import centre
from stratagem.math.optimisers import descend
from stratagem.math.shuffling import PrivacyBlanket, Target, largest_allowed
from stratagem.solvers.certified.patterns import distinct, root_fields, top_cells
from stratagem.solvers.gradient.loss import reweigh
from stratagem.strategies import TwoLevelStrategy
from stratagem.strategies.two_level import pack

CAPPED_ROUNDS = 3
CAPPED_FIELDS = 3000
"""Random patterns that a round adds."""
CAPPED_PARENTS = 60
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
    B = distinct(np.concatenate([np.eye(n, dtype=bool), _capped_fields(factor, E, rng)]))
    theta = np.full(len(B) + 1, 1 / len(B))
    for step in range(rounds):
        theta = _weighted(B, theta, V, E, guess)
        yield _scaled_to_guess(B, theta, E, guess)
        if step + 1 < rounds:
            B, theta = _grown_capped(B, theta, _capped_fields(factor, E, rng))


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


def _grown_capped(B: np.ndarray, theta: np.ndarray, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the patterns in use, neighbours of the heaviest and new ones, with first weights."""
    n = B.shape[1]
    own = theta[:-1]
    kept = own > FAINT * own.max()
    kept[:n] = True
    near = B[np.argsort(-own)[:CAPPED_PARENTS], None] ^ np.eye(n, dtype=bool)
    B, own = B[kept], own[kept]
    new = distinct(np.concatenate([near.reshape(-1, n), more]), B)
    first = np.full(len(new), 0.1 * own.sum() / max(1, len(new)))
    return np.concatenate([B, new]), np.concatenate([own, first, theta[-1:]])


def _capped_fields(factor: np.ndarray, E: float, rng: np.random.Generator) -> np.ndarray:
    """Return random patterns: the k largest cells of Gaussian fields, k from less than n/(1 + E) to 9 n/10."""
    n = len(factor)
    k = rng.integers(max(1, int(0.8 * n / (1 + E))), max(2, math.ceil(0.9 * n)), CAPPED_FIELDS)
    return top_cells(np.argsort(-rng.standard_normal((CAPPED_FIELDS, factor.shape[1])) @ factor.T, axis=1), k)


def _scaled_to_guess(B: np.ndarray, theta: np.ndarray, E: float, guess: float) -> TwoLevelStrategy:
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


FIELDS = 1500
"""Random patterns that a round adds."""
KEPT = 600
"""Patterns of a round that the programme takes in."""
PARENTS = 120
"""Patterns of which every one with one type more or less is looked at."""
ITERATIONS = 1000
ROUGH, FINE = 20.0, 300.0
"""Exponents of the power mean that stands for the largest of all limits."""
NEW = -30.0
"""Logarithm of the weight, relative to all, with which a pattern is tried."""


def _loss(z: jax.Array, B: jax.Array, V: jax.Array, c: float, apart: float, p: float) -> jax.Array:
    """Return log tr(C^+ V) + log of the largest limit used, for weights exp(z) of patterns B (m x n).

    C is M - 11^T/n. Sets of one type make up what columns lack, and an even row the rest of their sum, so that the
    limits are a_uv/apart for all pairs and what all rows but the even one add to a column. The value does not change
    with the scale of the weights, which is chosen last.
    """
    n = B.shape[1]
    theta = jnp.exp(z)
    held = B.T @ theta
    most = _power_mean(held, 4 * p)
    single = most - held
    share = B.mean(axis=1)
    weight = theta / (1 + c * share)
    X = B - share[:, None]
    alone = single / (1 + c / n)
    C = (X * weight[:, None]).T @ X + jnp.diag(alone) - (alone[:, None] + alone) / n + alone.sum() / n**2
    together = B.T @ (theta[:, None] * B) + jnp.diag(single)
    own = jnp.diag(together)
    pairs = ((own[:, None] + own) / 2 - together)[jnp.triu_indices(n, 1)]
    column = theta.sum() + single.sum() + c * most
    used = _power_mean(jnp.append(pairs / apart, column), p)
    return jnp.log(jnp.trace(jnp.linalg.solve(C + 1 / n, V))) + jnp.log(used)


def _power_mean(values: jax.Array, p: float | jax.Array) -> jax.Array:
    """Return (sum values^p)^(1/p), no less than the largest."""
    top = jax.lax.stop_gradient(values.max())
    return top * jnp.sum((values / top) ** p) ** (1 / p)


_slope = jax.jit(jax.value_and_grad(_loss))


def search_shuffled(
    V: np.ndarray, epsilon: float, target: Target, rounds: int, rng: np.random.Generator
) -> Iterator[TwoLevelStrategy]:
    """Yield strategies of a local epsilon whose shuffled reports reach the target, each from more patterns.

    `V` (n x n) is the Gram matrix. The programme minimises tr(C^+ V) under the limits of `Target.apart`; a round adds
    the patterns, random ones and neighbours of the best, whose weight would lower it most.
    """
    n, E = len(V), math.exp(epsilon)
    apart, centred = target.apart(epsilon), centre(V)
    factor = root_fields(centred)
    B = np.concatenate([np.eye(n, dtype=bool), distinct(_fields(factor, E, rng), np.eye(n, dtype=bool))])
    z = np.full(len(B), -4.0)
    for step in range(rounds):
        with working_in("float64"):
            for p in (ROUGH, FINE / 4, FINE) if step == 0 else (FINE,):
                z = _improved(z, B, centred, E - 1, apart, p)
        found = _scaled(np.exp(z), B, E, target)
        yield found
        apart = target.apart(epsilon, float(found.theta.sum()))
        if step + 1 < rounds:
            with working_in("float64"):
                B, z = _grown(z, B, centred, E, apart, factor, rng)


def _improved(z: np.ndarray, B: np.ndarray, V: np.ndarray, c: float, apart: float, p: float) -> np.ndarray:
    rows, start = _padded(B, z)

    def value(z: np.ndarray) -> tuple[jax.Array, jax.Array]:
        return _slope(z, rows, V, c, apart, p)

    return descend(value, start, ITERATIONS, maxfun=2 * ITERATIONS, maxcor=20).x[: len(B)]


def _padded(B: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return patterns and logarithms of weights with even rows of no weight, so that few shapes are compiled."""
    more = -len(B) % 512
    rows = np.concatenate([B, np.zeros((more, B.shape[1]), dtype=bool)]).astype(float)
    return rows, np.concatenate([z, np.full(more, -200.0)])


def _grown(
    z: np.ndarray,
    B: np.ndarray,
    V: np.ndarray,
    E: float,
    apart: float,
    factor: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the patterns in use and those new ones that would lower the loss most, with logarithms of weights."""
    n = B.shape[1]
    kept = z > z.max() - 12
    kept[:n] = True
    near = B[np.argsort(-z)[:PARENTS], None] ^ np.eye(n, dtype=bool)
    B, z = B[kept], z[kept]
    new = distinct(np.concatenate([near.reshape(-1, n), _fields(factor, E, rng)]), B)
    low = math.log(np.exp(z).sum()) + NEW
    rows, start = _padded(np.concatenate([B, new]), np.concatenate([z, np.full(len(new), low)]))
    slope = np.asarray(_slope(start, rows, V, E - 1, apart, FINE)[1])[len(B) : len(B) + len(new)]
    best = np.argsort(slope)[:KEPT]
    best = best[slope[best] < 0]
    return np.concatenate([B, new[best]]), np.concatenate([z, np.full(len(best), z.max() - 6)])


def _fields(factor: np.ndarray, E: float, rng: np.random.Generator) -> np.ndarray:
    """Return random patterns: the k largest cells of Gaussian fields, log k even up to log 1.5 n/(1 + E)."""
    n = len(factor)
    largest = max(2, min(n - 1, int(1.5 * n / (1 + E)) + 2))
    sizes = np.exp(rng.uniform(0, math.log(largest + 0.99), FIELDS)).astype(int)
    return top_cells(np.argsort(-rng.standard_normal((FIELDS, factor.shape[1])) @ factor.T, axis=1), sizes)


def _scaled(theta: np.ndarray, B: np.ndarray, E: float, target: Target) -> TwoLevelStrategy:
    """Return the strategy with these weights, balanced, and as large as columns and the target allow."""
    n, c = B.shape[1], E - 1
    used = theta > 1e-7 * theta.max()
    used[:n] = True
    B, theta = B[used], theta[used]
    held = B.T @ theta
    theta[:n] += held.max() - held
    most = float(held.max())
    together = B.T @ (theta[:, None] * B)
    apart = float((np.diag(together)[:, None] - together).max())
    full = 1 / (theta.sum() + c * most)

    def allowed(scale: float) -> bool:
        return target.reached(PrivacyBlanket(E, c * scale * apart, 1 - c * scale * most))

    theta *= largest_allowed(allowed, full) * (1 - 1e-12)
    even = 1 - theta.sum() - c * float((B.T @ theta).max())
    B, theta = np.concatenate([B, np.zeros((1, n), dtype=bool)]), np.append(theta, max(even, 0.0))
    return TwoLevelStrategy(pack(B), theta, n, E)
