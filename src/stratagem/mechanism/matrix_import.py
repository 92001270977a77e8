"""The import of a strategy matrix made elsewhere: it becomes a mechanism, checked like one made here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stratagem.estimators import estimator, evaluate
from stratagem.io.screen import brief
from stratagem.math.number import count_text, dense
from stratagem.math.privacy import check, ratio
from stratagem.mechanism.mechanism import Mechanism
from stratagem.strategies import MatrixStrategy
from stratagem.workloads import DomainLike
from stratagem.workloads.given import WorkloadLike, workload_of

if TYPE_CHECKING:
    from stratagem.bounds import Bounds
    from stratagem.solvers.problem import Problem

PASSES = 200
"""Largest number of bisection steps, more than double precision can distinguish."""


def repaired(Q: np.ndarray, epsilon: float) -> np.ndarray:
    """Return an epsilon-LDP strategy (m x n) close to Q: nonnegative, columns summing to one.

    Each row gets the levels [z_y, E z_y] nearest to it, minimising sum_u dist(Q[y, u], [z_y, E z_y])^2; all are scaled
    by one factor so that the columns sum to one on average; then every column is projected onto {q : z <= q <= E z, sum
    q = 1} in the Euclidean norm. A strategy that holds epsilon is its own repair up to rounding, and so is randomised
    response the one of the identity matrix. A row of little weight costs little, however far it breaks epsilon.

    Guarantee:
        E = exp(epsilon) (1 - 1e-14), so that the rows hold epsilon after the roundings of the projection.

    Reference:
        The projection is that of McKenna et al., VLDB 2020, Algorithm 1.
    """
    E = ratio(epsilon)
    Q = np.maximum(Q, 0.0)
    z = _levels(Q, E)
    target = np.clip(Q, z, E * z)
    scale = Q.shape[1] / target.sum()
    return _projected(scale * target, scale * z, E)


def _levels(Q: np.ndarray, E: float) -> np.ndarray:
    """Return the lower levels z (m, 1) of the rows; a row already within a factor E gets the geometric middle."""
    low, high = Q.min(axis=1, keepdims=True), Q.max(axis=1, keepdims=True)
    inside = high <= E * low
    a, b = low.copy(), high / E
    for _ in range(PASSES):
        z = (a + b) / 2
        rising = np.maximum(z - Q, 0).sum(axis=1, keepdims=True)
        falling = E * np.maximum(Q - E * z, 0).sum(axis=1, keepdims=True)
        settled = (z <= a) | (z >= b)
        if (settled | inside).all():
            break
        a, b = np.where(rising < falling, z, a), np.where(rising < falling, b, z)
    return np.where(inside, np.sqrt(low * high / E), (a + b) / 2)


def _projected(R: np.ndarray, z: np.ndarray, E: float) -> np.ndarray:
    """Return clip(R + lambda, z, E z), lambda (n,) such that the columns sum to one; needs sum z <= 1 <= E sum z."""
    reach = float(np.abs(R).max() + E * z.max())
    low, high = np.full(R.shape[1], -reach), np.full(R.shape[1], reach)
    for _ in range(PASSES):
        middle = (low + high) / 2
        if ((middle <= low) | (middle >= high)).all():
            break
        short = np.clip(R + middle, z, E * z).sum(axis=0) < 1
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.clip(R + (low + high) / 2, z, E * z)


COLUMNS, ROUNDING = 1e-9, 1e-12
"""Largest distance of a column sum from one, and largest share of epsilon by which a row may exceed it: both
count as the rounding of doubles, which whole numbers settle on the private side. Repairs are for more."""


@dataclass(frozen=True, eq=False)
class MatrixImport:
    """A mechanism made from a foreign matrix, and what that did to the matrix."""

    __repr__ = brief

    mechanism: Mechanism
    moved: float
    """Largest total-variation distance between a column before and after, 0 where nothing was repaired: of
    the users of one type at most this share gives another report."""
    loss: float
    """L(Q) after / before - 1, before rounding to whole numbers; NaN where the matrix had none before."""

    @property
    def objective(self) -> float:
        """L(Q) of the mechanism, in whole numbers."""
        return float(self.mechanism.utility["objective"])

    @cached_property
    def bounds(self) -> Bounds:
        """Lower bounds on the objective of every unbiased strategy, those that take a second or less."""
        return self._problem.bounds

    @cached_property
    def gap(self) -> float:
        """objective / lower bound - 1: the mechanism is at most this far above the proven minimum."""
        mechanism = self.mechanism
        accuracy = evaluate(mechanism.workload, mechanism.strategy, mechanism.prior)
        return self._problem.gap(self.bounds, self.objective, accuracy)

    @cached_property
    def _problem(self) -> Problem:
        from stratagem.solvers.problem import problem_of  # with the bounds, which no mechanism needs to run

        mechanism = self.mechanism
        return problem_of(mechanism.workload, float(mechanism.epsilon), prior=mechanism.prior)


def import_matrix(
    matrix: ArrayLike,
    workload: WorkloadLike,
    epsilon: float,
    *,
    domain: DomainLike | None = None,
    transposed: bool = False,
    repair: bool = False,
    name: str = "workload",
    prior: np.ndarray | None = None,
) -> MatrixImport:
    """Return the mechanism of a matrix Q (m x n), Q[y, u] = Pr(report y | user type u), made elsewhere.

    It must hold probabilities whose columns sum to one within 1e-9 and measure at most `epsilon`, up to the rounding of
    doubles. With `repair` it may break any of that and is replaced by the strategy next to it that does not. Outputs
    keep their order, and those that never occur are left out. `transposed` says that it comes as n x m; nothing about
    the matrix is guessed. The workload may be a name, a file or a matrix of queries, over the n values of the matrix or
    over a `domain` (see `workload_of`). The result says how good the matrix is: `objective`, `bounds` and `gap`.

    Guarantee:
        As for every mechanism: the whole numbers hold epsilon exactly, whatever the matrix was.

    Raises:
        ValueError: for a matrix that is no such strategy, saying by how much, or cannot be repaired; and as
            `Mechanism.of`.

    Example:
        >>> import stratagem as st
        >>> loose = st.published.randomised_response(4, 1.01).matrix
        >>> round(import_matrix(loose, st.histogram(4), 1.0, repair=True).moved, 4)
        0.0025
    """
    Q, epsilon = _probabilities(matrix, transposed), check(epsilon)
    workload = workload_of(workload, domain, lambda: Q.shape[1])
    _check_values(Q, workload.domain_size)
    fault = _fault(Q, epsilon)
    if fault and not repair:
        raise ValueError(f"{fault}: correct it, or ask for a repair, which moves it to the private side")
    strategy = MatrixStrategy(repaired(Q, epsilon) if fault else Q)
    mechanism = Mechanism.of(strategy, workload, epsilon, name=name, prior=prior)
    if not fault:
        return MatrixImport(mechanism, 0.0, 0.0)
    moved = float(np.abs(strategy.matrix - Q).sum(axis=0).max()) / 2
    return MatrixImport(mechanism, moved, _loss(Q, strategy, mechanism))


def _probabilities(matrix: ArrayLike, transposed: bool) -> np.ndarray:
    """Return the matrix as m x n doubles, all of them finite."""
    try:
        given = np.asarray(dense(matrix))
    except ValueError:
        given = np.array(None)
    if given.dtype.kind not in "biuf" or given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"the strategy was given as {given.dtype} of shape {given.shape}, but must be a matrix of "
            "numbers: give outputs x user types"
        )
    Q = (given.T if transposed else given).astype(float)
    if not np.isfinite(Q).all():
        raise ValueError(
            f"the strategy has {np.count_nonzero(~np.isfinite(Q))} entries that are no finite numbers, which "
            "no repair can guess: correct them"
        )
    if not (Q > 0).any():
        raise ValueError("the strategy has no entry above zero: give probabilities")
    return Q


def _check_values(Q: np.ndarray, n: int) -> None:
    """Refuse a matrix that is not about the n user types of the workload."""
    if Q.shape[1] != n:
        hint = "say that it is transposed" if Q.shape[0] == n else "give a strategy made for the workload"
        raise ValueError(
            f"the strategy is a matrix of {Q.shape[0]} outputs x {Q.shape[1]} user types, but the workload "
            f"has {count_text(n)} user types: {hint}"
        )


def _fault(Q: np.ndarray, epsilon: float) -> str:
    """Say what keeps the matrix from being an epsilon-LDP strategy and by how much; empty if nothing does."""
    if Q.min() < 0:
        return f"the strategy has entries below zero, the least is {Q.min():.3g}"
    off = float(np.abs(Q.sum(axis=0) - 1).max())
    if off > COLUMNS:
        return f"the strategy has columns that do not sum to one, the worst is off by {off:.3g}"
    measured = MatrixStrategy(Q).epsilon
    if math.isinf(measured):
        return (
            f"the strategy has a zero beside a positive entry in a row, which no epsilon ({epsilon:g}) allows"
        )
    if measured > epsilon * (1 + ROUNDING):
        return f"the strategy measures epsilon {measured:.10g}, {measured - epsilon:.3g} above {epsilon:g}"
    return ""


def _loss(Q: np.ndarray, strategy: MatrixStrategy, mechanism: Mechanism) -> float:
    """Return what the repair cost: L(Q) against that of the matrix with its columns scaled to one."""
    before = np.maximum(Q, 0)
    sums = before.sum(axis=0)
    if (sums == 0).any():
        return math.nan
    try:
        value = estimator(MatrixStrategy(before / sums), mechanism.prior).objective(mechanism.workload)
    except ValueError:  # the matrix could not answer the workload
        return math.nan
    after = estimator(strategy, mechanism.prior).objective(mechanism.workload)
    return after / value - 1 if value > 0 else math.nan
