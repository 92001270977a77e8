"""The steps of the projected gradient over (Q, z), compiled by JAX."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax

from stratagem.math.computing import working_in
from stratagem.math.privacy import ratio
from stratagem.solvers.gradient.loss import Evaluation, evaluate, gradient, merged, reweigh
from stratagem.solvers.gradient.projection import Method, feasible_thresholds, force, project_with_multiplier
from stratagem.strategies import MatrixStrategy

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
