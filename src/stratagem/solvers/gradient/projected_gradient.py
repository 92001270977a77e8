"""The published optimiser: projected gradient descent over (Q, z), compiled by JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stratagem.math.computing import Precision, jax, working_in
from stratagem.math.privacy import ratio
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Algorithm, Limits, check_limits, check_whole
from stratagem.strategies import MatrixStrategy

if TYPE_CHECKING:
    from stratagem.solvers.gradient.descent import Method, Point

RENEWED = 0.25
"""Share of the rows that a restart replaces by random ones."""
NOISE = 1e-2
"""Relative noise on the entries of a warm start, enough to leave a symmetric saddle point."""


@dataclass(frozen=True)
class ProjectedGradient(Algorithm):
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
            arrays = (jax().numpy.asarray(number, dtype=self.precision) for number in numbers)
            return _compiled().begin(*arrays, self.momentum, self.projection)

    def advance(self, problem: Problem, state: Point) -> Point:
        """Return the point after one step of the line search, with the rows reweighed if that is due or it is stuck."""
        with working_in(self.precision):
            state = _compiled().advance(state, self.momentum, self.projection)
            if state.stuck or int(state.steps) >= int(state.due):
                state = _compiled().reweighed(state)
            return state

    def finish(self, problem: Problem, state: Point) -> MatrixStrategy:
        return _compiled().as_strategy(np.asarray(state.Q), np.asarray(state.z), problem.epsilon)


def _compiled() -> Any:
    """Return the module of compiled steps, which loads JAX."""
    from stratagem.solvers.gradient import descent

    return descent


def spread_rows(
    strategy: MatrixStrategy, outputs: int, E: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start (R, z) near a strategy: its rows repeated to `outputs`, with a little noise.

    The heaviest rows have one copy more where the numbers do not divide. z is the geometric mean of the
    thresholds max/E and min that the rows allow.
    """
    rows = strategy.matrix[strategy.row_sums > 0]
    copies, rest = divmod(max(outputs, len(rows)), len(rows))
    copies = np.full(len(rows), copies)
    copies[np.argsort(-rows.sum(axis=1))[:rest]] += 1
    rows = np.repeat(rows / copies[:, None], copies, axis=0)
    z = np.sqrt(rows.max(axis=1) / E * np.maximum(rows.min(axis=1), rows.max(axis=1) / E))
    return rows * (1 + NOISE * rng.standard_normal(rows.shape)), z


def renewed_rows(
    Q: np.ndarray, z: np.ndarray, E: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start (R, z) near Q with its lightest rows replaced by random rows of ordinary weight.

    A search that has converged to two-level rows rarely changes them any more; random rows let it find
    others.
    """
    d = Q.sum(axis=1)
    light = np.argsort(d)[: max(1, int(RENEWED * len(d)), int((d < 1e-3 * d.mean()).sum()))]
    R, z = np.array(Q, dtype=float), np.array(z, dtype=float)
    z[light] = 0.5 * z.mean() * rng.random(len(light))
    R[light] = z[light, None] * (1 + (E - 1) * rng.random((len(light), Q.shape[1])))
    total = R.sum(axis=0).mean()
    return R / total, z / total


def regularised_factor(V: np.ndarray, precision: Precision) -> np.ndarray:
    """Return F (n x n) with F F^T = V + r (tr V/n) I for a small r.

    With a workload of low rank, M tends to a singular matrix in directions that no query depends on. With the
    added multiple of the identity those eigenvalues stay near r^(1/2), at a relative cost of about r^(1/2) in
    the objective.
    """
    sliver = {"float64": 1e-9, "float32": 1e-5}[precision]
    return np.linalg.cholesky(V + sliver * np.trace(V) / len(V) * np.eye(len(V)))
