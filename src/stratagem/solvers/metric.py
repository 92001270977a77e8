"""Strategies private by distance: weights of rows that use up every step of a line, or of all rays of any distances."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.bounds.exact import Start, solve
from stratagem.bounds.proof import sets
from stratagem.math.computing import on_one_core, working_in
from stratagem.solvers.certified.patterns import field_factor
from stratagem.solvers.gradient.loss import merged
from stratagem.strategies import MatrixStrategy

ROUNDS = 20
"""Rounds of new rows at most."""
LISTED = 16
"""Largest number of values for which the prices are compared with all rows."""
FIRST, ADDED, KEPT = 20, 10, 1200
"""Rows of random signs to begin with and rows that a round adds, for each value, and the most that it keeps."""
STARTS, BATCH = 400, 16
"""Starts of the local search for rows, and how many run together."""
YOUNG = 0.03
"""Share of the weight that new rows begin with."""
FAINT = 1e-4
"""Weight relative to the largest below which a row is left out."""
ROUGH, FINE = 1e-3, 1e-7
"""Relative gaps to which weights are found in the first round and at the end."""
SETTLED = 1e-6
"""Excess over the prices, relative to the objective, that more rows are not worth."""
LIGHT = 1e-8
"""Weight relative to the largest below which a row is no part of a strategy."""
MARGIN = 1e-9
"""Share that a step is lowered by, so that rounded probabilities keep to it."""


def rays(signs: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the rows s (m x n) with s_(u+1)/s_u = exp(steps_u) where signs (m, n - 1) hold, else exp(-steps_u).

    They are the extreme rays of the rows that the steps allow (theory.md, section 13), scaled to the mean one.
    """
    logs = np.cumsum(np.where(signs, steps, -steps), axis=1)
    logs = np.concatenate([np.zeros((len(logs), 1)), logs], axis=1)
    S = np.exp(logs - logs.max(axis=1, keepdims=True))
    return S / S.mean(axis=1, keepdims=True)


def peaks(n: int) -> np.ndarray:
    """Return the signs (n, n - 1) of the rows that rise up to one value and fall from there."""
    return np.arange(n - 1) < np.arange(n)[:, None]


def geometric(steps: np.ndarray) -> MatrixStrategy:
    """Return the truncated geometric mechanism (n x n): Q[y, u] = c_y exp(-d(u, y)), one step a value.

    On equal steps it adds two-sided geometric noise and moves what leaves the line to its ends.

    Reference:
        Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", STOC 2009; unequal
        steps: ElSalamouny, Chatzikokolakis, Palamidessi, "Generalized differential privacy: regions of priors that
        admit robust optimal mechanisms", 2014.
    """
    n = len(steps) + 1
    return _strategy(peaks(n), np.zeros(n), steps)


def search_metric(
    V: np.ndarray, steps: np.ndarray, information: np.ndarray, rounds: int, rng: np.random.Generator
) -> Iterator[MatrixStrategy]:
    """Yield strategies within the steps (n - 1,), each from more rows.

    `V` (n x n) is the centred Gram matrix, not zero, `information` (n x n) what `metric_bound` asks for. A round finds
    weights of the rows and their prices, and adds the rows that exceed these most. The search ends
    where none does by more than `SETTLED` of the objective.
    """
    n, V = len(V), V / np.trace(V)
    signs = np.unique(np.concatenate([peaks(n), ~peaks(n), _fields(information, FIRST * n, rng)]), axis=0)
    begin: Start | None = None
    gap = ROUGH
    for _ in range(rounds):
        S = rays(signs, steps)
        try:
            with on_one_core(len(S)):
                found = solve(S, V, gap, begin)
            inverse = np.linalg.inv(found.information)
        except np.linalg.LinAlgError:  # the weights left double precision
            return
        G = inverse @ V @ inverse
        total = float(np.trace(inverse @ V))
        new, worth = _priced(signs, found.theta, found.information, steps, G, found.multiplier, rng)
        excess = max(0.0, float(worth.max())) / total
        yield _strategy(signs, found.theta, steps)
        if gap == FINE and excess <= SETTLED:
            return
        gap = max(FINE, min(gap, excess / 10))
        heavy = np.argsort(-found.theta)[:KEPT]
        heavy = heavy[found.theta[heavy] > FAINT * found.theta[heavy[0]]]
        new = new[np.argsort(-worth)[: min(ADDED * n, (worth > 0).sum())]]
        signs, first = np.unique(np.concatenate([signs[heavy], new]), axis=0, return_index=True)
        theta = np.concatenate(
            [found.theta[heavy], np.full(len(new), YOUNG * found.theta.sum() / max(len(new), 1))]
        )
        begin = theta[first], found.multiplier


def _priced(
    signs: np.ndarray,
    theta: np.ndarray,
    M: np.ndarray,
    steps: np.ndarray,
    G: np.ndarray,
    prices: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return signs (k, n - 1) and s^T G s/n - prices^T s (k,) of all rows if few, else of those that a search finds."""
    n = len(G)
    if n <= LISTED:
        found = sets(np.arange(2 ** (n - 1)), n - 1).astype(bool)
    else:
        near = signs[rng.choice(len(signs), STARTS // 2, p=theta / theta.sum())] ^ (
            rng.random((STARTS // 2, n - 1)) < 1 / n
        )
        starts = np.concatenate([near, _fields(M - 1 / n, STARTS // 2, rng)])
        with working_in("float64"):
            climbed = np.asarray(_ascend(starts, steps, G, prices))
        found = np.unique(np.concatenate([starts, climbed]), axis=0)
    S = rays(found, steps)
    return found, np.einsum("si,si->s", S @ G, S) / n - S @ prices


@jax.jit
def _ascend(signs: jax.Array, steps: jax.Array, G: jax.Array, prices: jax.Array) -> jax.Array:
    """Return the signs (m, n - 1) that each start reaches by changing one or two of them as long as that pays."""
    return jax.lax.map(partial(_climb, steps=steps, G=G, prices=prices), signs, batch_size=BATCH)


def _climb(sign: jax.Array, steps: jax.Array, G: jax.Array, prices: jax.Array) -> jax.Array:
    n = len(G)
    first, second = jnp.triu_indices(n - 1)
    last = first == second

    def step(_: int, sign: jax.Array) -> jax.Array:
        logs = jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.where(sign, steps, -steps))])
        s = jnp.exp(logs - logs.max())
        factor = jnp.exp(jnp.where(sign, -2 * steps, 2 * steps))
        p, q = factor[first], jnp.where(last, 1.0, factor[second])
        a, c = first + 1, jnp.where(last, n, second + 1)
        C = jnp.pad(jnp.cumsum(jnp.cumsum(s[:, None] * G * s, axis=0), axis=1), ((1, 0), (1, 0)))
        one, both, two = C[a, a], C[a, c], C[c, c]
        ends = C[a, n] - both, C[c, n] - two
        square = one + 2 * p * (both - one) + p**2 * (two - 2 * both + one)
        square += 2 * p * q * (ends[0] + p * (ends[1] - ends[0])) + (p * q) ** 2 * (
            C[n, n] - 2 * C[c, n] + two
        )

        def line(x: jax.Array) -> jax.Array:
            sums = jnp.pad(jnp.cumsum(x), (1, 0))
            return sums[a] + p * (sums[c] - sums[a]) + p * q * (sums[n] - sums[c])

        mass = line(s)
        worth = n * (square / mass - line(prices * s)) / mass
        now = n * (C[n, n] / s.sum() - prices @ s) / s.sum()
        best = jnp.argmax(worth)
        changed = jnp.zeros(n - 1, bool).at[second[best]].set(~last[best]).at[first[best]].set(True)
        return jnp.where(worth[best] > now + 1e-9 * jnp.abs(now), sign ^ changed, sign)

    return jax.lax.fori_loop(0, n, step, sign)


def _fields(Y: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return random signs (count, n - 1) with the correlations of neighbours' differences under Y (n x n)."""
    factor = field_factor(np.diff(np.diff(Y, axis=0), axis=1))
    return rng.standard_normal((count, factor.shape[1])) @ factor.T > 0


def _strategy(signs: np.ndarray, theta: np.ndarray, steps: np.ndarray) -> MatrixStrategy:
    """Return the strategy of rows with weights (m,); rows with one peak make up what its columns lack.

    With K = exp(-d), K^-1 1 is positive, so that a little less of all weights leaves K^-1 (1 - columns) >= 0.
    """
    n, steps = len(steps) + 1, steps * (1 - MARGIN)
    top = rays(peaks(n), steps)
    used = theta > LIGHT * theta.max()
    Q = theta[used, None] * rays(signs[used], steps)
    whole, held = (np.linalg.solve(top.T, x) for x in (np.ones(n), Q.sum(axis=0)))
    share = np.min(whole[held > 0] / held[held > 0], initial=1.0)
    mended = np.maximum(whole - share * held, 0.0)[:, None] * top
    return MatrixStrategy(merged(np.concatenate([share * Q, mended])))


def from_rays(S: np.ndarray, theta: np.ndarray) -> MatrixStrategy:
    """Return the strategy of rays S (m x n, mean one) with weights (m,), which keeps to their distances.

    Weights are multiplied by 1 + S z for small z (n,) so that columns sum to one. A share `MARGIN` of constant rows
    makes up for rays that rounding put beyond a distance; it leaves the column sums as they are.
    """
    used = theta > LIGHT * theta.max()
    S, theta = S[used], theta[used]
    for _ in range(2):
        theta = theta * (1 + S @ np.linalg.solve((S.T * theta) @ S, 1 - S.T @ theta))
    return MatrixStrategy(merged(np.maximum(theta, 0.0)[:, None] * ((1 - MARGIN) * S + MARGIN)))


def published_at(d: np.ndarray) -> MatrixStrategy:
    """Return a published mechanism (n x n) for distances d (n x n): Q[y, u] = c_y exp(-d_yu) where such c > 0 exist.

    It is the geometric mechanism on a line and randomised response for equal distances. Where there are none it is
    the exponential mechanism, Q[y, u] = exp(-d_yu/2)/sum_y exp(-d_yu/2).

    Reference:
        ElSalamouny, Chatzikokolakis, Palamidessi, "Generalized differential privacy: regions of priors that admit
        robust optimal mechanisms", 2014; McSherry, Talwar, "Mechanism design via differential privacy", FOCS 2007.
    """
    d = d * (1 - MARGIN)
    K = np.exp(-d)
    with suppress(np.linalg.LinAlgError):
        c = np.linalg.solve(K, np.ones(len(d)))
        if c.min() > 0:
            return MatrixStrategy(c[:, None] * K)
    K = np.exp(-d / 2)
    return MatrixStrategy(K / K.sum(axis=0))
