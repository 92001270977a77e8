"""The steps of the projected gradient over (Q, z), and the projection of a matrix onto strategies, compiled by JAX."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax

from stratagem.math.computing import working_in
from stratagem.math.privacy import ratio
from stratagem.solvers.gradient.loss import Evaluation, evaluate, gradient, merged, reweigh
from stratagem.strategies import MatrixStrategy

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


DECREASE = 1e-4
"""Armijo constant: a step must gain this share of ||Q' - Q||_F^2 / step."""
MAX_HALVINGS = 25
GROWTH = 1.5
"""Factor by which the step length grows after a first try that succeeds; the coupling grows by its square root."""
REWEIGH_AFTER = 25
"""Steps until the next reweighing, doubled after one that gained too little for its cost of some six products."""
WORTHWHILE = 1e-4
"""Least relative gain for which a reweighing counts as progress."""
REACH = 2.0
"""A threshold z_y at most doubles or halves in one step."""


class Point(NamedTuple):
    """The state of the descent: a feasible Q (m x n), its thresholds z (m,), and the data of the next step."""

    Q: jax.Array
    z: jax.Array
    evaluation: Evaluation
    slope: jax.Array
    """dL/dz (m,) by the chain rule through the last projection."""
    step: jax.Array
    """Step length to try next."""
    coupling: jax.Array
    """Step of the thresholds relative to that of Q; shrinks whenever they spoil a step."""
    update: optax.OptState
    accepted: jax.Array
    steps: jax.Array
    due: jax.Array
    """Step of the next reweighing."""
    wait: jax.Array
    """Steps between the last reweighing and the next."""
    F: jax.Array
    """V = F F^T, regularised."""
    E: jax.Array

    @property
    def objective(self) -> float:
        """L(Q) with the regularised V = F F^T of the descent."""
        return float(self.evaluation.value)

    @property
    def stuck(self) -> bool:
        """Whether even the shortest step along the plain gradient was refused."""
        return not bool(self.accepted)


class _Trial(NamedTuple):
    """One trial point of the line search."""

    step: jax.Array
    Q: jax.Array
    z: jax.Array
    multiplier: jax.Array
    evaluation: Evaluation
    accepted: jax.Array
    tries: jax.Array


def _rule(momentum: float, n: int, E: jax.Array) -> optax.GradientTransformation:
    """Return the update rule: thresholds n E times slower than entries, then Nesterov momentum."""

    def slow_thresholds(updates: Any, _: Any) -> Any:
        along_Q, along_z = updates
        return along_Q, along_z / (n * E)

    thresholds = optax.stateless(slow_thresholds)
    if momentum == 0:
        return thresholds
    return optax.chain(thresholds, optax.trace(decay=momentum, nesterov=True))


@partial(jax.jit, static_argnames=("momentum", "projection"))
def begin(
    R: jax.Array, z: jax.Array, F: jax.Array, E: jax.Array, momentum: float, projection: Method
) -> Point:
    """Return the feasible point that a matrix R (m x n) with thresholds z (m,) is projected to."""
    z = feasible_thresholds(z, E)
    Q, _ = project_with_multiplier(R, z, E, projection)
    evaluation = evaluate(Q, F)
    G = gradient(Q, evaluation)
    # a first step that moves the entries, about 1/m each, by a hundredth
    step = 1e-2 / (len(z) * jnp.abs(G - G.mean(axis=0)).mean() + jnp.finfo(Q.dtype).tiny)
    update = _rule(momentum, Q.shape[1], E).init((Q, z))
    return Point(
        Q=Q,
        z=z,
        evaluation=evaluation,
        slope=jnp.zeros_like(z),
        step=step,
        coupling=jnp.ones_like(step),
        update=update,
        accepted=jnp.isfinite(evaluation.value),
        steps=jnp.asarray(0),
        due=jnp.asarray(REWEIGH_AFTER),
        wait=jnp.asarray(REWEIGH_AFTER),
        F=F,
        E=E,
    )


@partial(jax.jit, static_argnames=("momentum", "projection"))
def advance(point: Point, momentum: float, projection: Method) -> Point:
    """Return the point after one step of the line search."""
    Q, z, before, slope, F, E = point.Q, point.z, point.evaluation, point.slope, point.F, point.E
    step, coupling, state = point.step, point.coupling, point.update
    G = gradient(Q, before)
    rule = _rule(momentum, Q.shape[1], E)
    updates, advanced = rule.update((G, slope), state)
    along_Q, along_z = cast(tuple[jax.Array, jax.Array], updates)

    def attempt(trial: _Trial) -> _Trial:
        bold = trial.tries == 0
        length = jnp.where(bold, step, 0.5 * trial.step)
        moved = jnp.clip(z - step * coupling * along_z, z / REACH, z * REACH)
        thresholds = feasible_thresholds(jnp.where(bold, moved, z), E)
        target = Q - length * jnp.where(bold, along_Q, G)
        candidate, multiplier = project_with_multiplier(target, thresholds, E, projection)
        after = evaluate(candidate, F)
        gain = DECREASE / length * jnp.square(candidate - Q).sum()
        # a target so far away that rounding unbalances the columns is refused like any bad step
        balanced = jnp.abs(candidate.sum(axis=0) - 1).max() < 1e3 * jnp.finfo(Q.dtype).eps
        accepted = balanced & (after.value < before.value - gain)
        return _Trial(length, candidate, thresholds, multiplier, after, accepted, trial.tries + 1)

    first = _Trial(step, Q, z, jnp.zeros_like(Q[0]), before, jnp.asarray(False), jnp.asarray(0))
    last = jax.lax.while_loop(lambda trial: ~trial.accepted & (trial.tries < MAX_HALVINGS), attempt, first)
    bold = last.tries == 1
    reached = Q - last.step * jnp.where(bold, along_Q, G)
    kept = jax.lax.cond(last.accepted, lambda: (last.Q, last.z, last.evaluation), lambda: (Q, z, before))
    return point._replace(
        Q=kept[0],
        z=kept[1],
        evaluation=kept[2],
        slope=force(reached, last.multiplier, last.z, E) / last.step,
        step=jnp.where(last.accepted, last.step * jnp.where(bold, GROWTH, 1.0), step),
        coupling=jnp.where(bold, jnp.minimum(jnp.sqrt(GROWTH) * coupling, 1e3), 0.25 * coupling),
        update=jax.tree.map(partial(jnp.where, bold), advanced, rule.init((Q, z))),
        accepted=last.accepted,
        steps=point.steps + 1,
    )


@jax.jit
def reweighed(point: Point) -> Point:
    """Return the point with its rows scaled by their best weights if that lowers the objective, else unscaled."""
    Q, before = point.Q, point.evaluation
    g = jnp.square(Q @ (before.inverse.T @ before.half)).sum(axis=1) / Q.sum(axis=1)
    theta = reweigh(Q, g)
    scaled = theta[:, None] * Q
    after = evaluate(scaled, point.F)
    balanced = jnp.abs(scaled.sum(axis=0) - 1).max() < 1e3 * jnp.finfo(Q.dtype).eps
    better = balanced & (after.value < before.value)
    Q, z, evaluation = jax.lax.cond(
        better, lambda: (scaled, theta * point.z, after), lambda: (Q, point.z, before)
    )
    worthwhile = better & (before.value - after.value > WORTHWHILE * after.value)
    wait = jnp.where(worthwhile, REWEIGH_AFTER, 2 * point.wait)
    return point._replace(
        Q=Q,
        z=z,
        evaluation=evaluation,
        accepted=point.accepted | worthwhile,
        due=point.steps + wait,
        wait=wait,
    )


def as_strategy(Q: np.ndarray, z: np.ndarray, epsilon: float) -> MatrixStrategy:
    """Return the strategy nearest to Q (m x n) with rows in [z, E z], proportional rows merged.

    Guarantee:
        Measured epsilon at most `epsilon` and columns that sum to one within 1e-12: the projection works
        with a ratio 1e-14 below exp(epsilon), and the last normalisation moves entries by a few 1e-16.
    """
    with working_in("float64"):
        E = jnp.asarray(ratio(epsilon))
        thresholds = feasible_thresholds(jnp.asarray(z, dtype=float), E)
        Q = np.asarray(project_with_multiplier(jnp.asarray(Q, dtype=float), thresholds, E)[0])
    Q = merged(Q)
    return MatrixStrategy(Q / Q.sum(axis=0))
