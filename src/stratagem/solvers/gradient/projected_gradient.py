"""The published optimiser: projected gradient descent over (Q, z), compiled by JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax

from stratagem.math.computing import Precision, working_in
from stratagem.math.privacy import ratio
from stratagem.problem import Problem
from stratagem.solvers.gradient.loss import (
    Evaluation,
    as_strategy,
    evaluate,
    gradient,
    renewed_rows,
    reweigh,
    spread_rows,
)
from stratagem.solvers.gradient.projection import Method, feasible_thresholds, force, project_with_multiplier
from stratagem.solvers.solver import Limits, Solver, check_limits, check_whole
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


@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """Projected gradient over strategy matrices Q (m x n) and their row thresholds z (m,).

    Minimises tr(M^-1 V) subject to z_y <= Q[y, u] <= E z_y and 1^T Q = 1, from random or given starts.
    A step first tries Q and z together, the thresholds by the chain rule through the projection and both
    through the update rule of optax; while Armijo's rule refuses, it halves the step and moves Q alone
    along the plain gradient. The objective never increases.

    Reference:
        McKenna, Maity, Mazumdar, Miklau, VLDB 2020, Algorithms 1 and 2, with their fixed step schedule
        replaced by a line search and a stopping rule.

    Raises:
        ValueError: for parameters out of range.

    Example:
        >>> import stratagem as st
        >>> solution = st.optimise(st.prefix(8), epsilon=1.0, solver=st.ProjectedGradient(outputs=32))
        >>> solution.gap < 0.1
        True
    """

    reference: ClassVar[str] = "@mckenna2020workload"

    outputs: int | None = None
    """Number m of rows; default 4 n, as published."""
    start: MatrixStrategy | None = None
    """Warm start of the first start, its rows repeated with a little noise to fill `outputs`."""
    restarts: int = 1
    """Number of starts: the warm one if given, a random one, then the best so far with light rows renewed."""
    seed: int = 0
    max_steps: int = 3000
    max_seconds: float = math.inf
    tolerance: float = 1e-4
    patience: int = 25
    gap: float = 0.0
    momentum: float = 0.0
    """Nesterov momentum of the update rule, 0 to below 1."""
    projection: Method = "bracketed"
    precision: Precision = "float64"
    """Arithmetic of the descent; the strategy and every number reported are float64."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_whole(
            restarts=self.restarts, max_steps=self.max_steps, patience=self.patience, outputs=self.outputs
        )
        check_whole(0, seed=self.seed)
        check_limits(self.max_seconds, tolerance=self.tolerance, gap=self.gap)
        if not (isinstance(self.momentum, Real) and 0 <= self.momentum < 1):
            raise ValueError(f"momentum is {self.momentum!r}: give a number from 0 to below 1")
        for name, allowed in (("projection", ("bracketed", "sorted")), ("precision", ("float64", "float32"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}: choose {' or '.join(allowed)}")

    @property
    def limits(self) -> Limits:
        """When to stop."""
        return Limits(
            self.max_steps, self.restarts, self.tolerance, self.patience, self.max_seconds, self.gap
        )

    def begin(self, problem: Problem, start: int, best: Any) -> Point:
        """Return the first point of a start, the projection of a warm, random or renewed matrix.

        The matrix is the warm start with noise, a random one, or the best so far with its lightest rows
        replaced.
        """
        rng = np.random.default_rng([self.seed, start])
        E, n = ratio(problem.epsilon), problem.workload.domain_size
        m = self.outputs or 4 * n
        if start == 0 and self.start is not None:
            R, z = spread_rows(self.start, m, E, rng)
        elif start == 0 or (start == 1 and self.start is not None):
            R, z = rng.random((m, n)), np.full(m, (1 + 1 / E) / (2 * m))
        else:
            R, z = renewed_rows(np.asarray(best.Q), np.asarray(best.z), E, rng)
        return self.begin_at(problem, R, z)

    def begin_at(self, problem: Problem, R: np.ndarray, z: np.ndarray) -> Point:
        """Return the feasible point that a matrix R (m x n) with thresholds z (m,) is projected to."""
        with working_in(self.precision):
            numbers = (R, z, regularised_factor(problem.gram, self.precision), ratio(problem.epsilon))
            arrays = (jnp.asarray(number, dtype=self.precision) for number in numbers)
            return _begin(*arrays, self.momentum, self.projection)

    def advance(self, problem: Problem, state: Point) -> Point:
        """Return the point after one step of the line search, with the rows reweighed if that is due or it is stuck."""
        with working_in(self.precision):
            state = _advance(state, self.momentum, self.projection)
            if state.stuck or int(state.steps) >= int(state.due):
                state = _reweighed(state)
            return state

    def finish(self, problem: Problem, state: Point) -> MatrixStrategy:
        """Return the exactly feasible strategy in float64, proportional rows merged."""
        return as_strategy(np.asarray(state.Q), np.asarray(state.z), problem.epsilon)


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


def regularised_factor(V: np.ndarray, precision: Precision) -> np.ndarray:
    """Return F (n x n) with F F^T = V + r (tr V/n) I for a small r.

    With a workload of low rank, M tends to a singular matrix in directions that no query depends on. With the
    added multiple of the identity those eigenvalues stay near r^(1/2), at a relative cost of about r^(1/2) in
    the objective.
    """
    sliver = {"float64": 1e-9, "float32": 1e-5}[precision]
    return np.linalg.cholesky(V + sliver * np.trace(V) / len(V) * np.eye(len(V)))


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
def _begin(
    R: jax.Array, z: jax.Array, F: jax.Array, E: jax.Array, momentum: float, projection: Method
) -> Point:
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
def _advance(point: Point, momentum: float, projection: Method) -> Point:
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
    return Point(
        Q=kept[0],
        z=kept[1],
        evaluation=kept[2],
        slope=force(reached, last.multiplier, last.z, E) / last.step,
        step=jnp.where(last.accepted, last.step * jnp.where(bold, GROWTH, 1.0), step),
        coupling=jnp.where(bold, jnp.minimum(jnp.sqrt(GROWTH) * coupling, 1e3), 0.25 * coupling),
        update=jax.tree.map(partial(jnp.where, bold), advanced, rule.init((Q, z))),
        accepted=last.accepted,
        steps=point.steps + 1,
        due=point.due,
        wait=point.wait,
        F=F,
        E=E,
    )


@jax.jit
def _reweighed(point: Point) -> Point:
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
