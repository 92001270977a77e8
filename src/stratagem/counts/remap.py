"""Post-processing of count mechanisms and of local channels, and whether one mechanism is that of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem.counts.criteria import Aggregate, Loss, check_aggregate, weights_of
from stratagem.counts.exact import Whole, reduced
from stratagem.counts.mechanism import CountMechanism, CountTable, worst_ratio
from stratagem.counts.optimum import REACHES
from stratagem.math.computing import quiet_solver
from stratagem.math.number import integer

TIE, TINY = 1e-9, 1e-290
"""Relative and absolute difference of two expected losses below which they are compared as exact fractions."""
PARTS = 1 << 53
"""Total of a column of T: a randomised answer is drawn with one whole number below this."""


@dataclass(frozen=True, eq=False)
class Remap:
    """A mechanism P whose outputs y are replaced by answers, T P, and what that costs its consumer."""

    mechanism: CountTable
    """The mechanism T P in whole numbers; it is as private as P, because T reads only the output."""
    transition: np.ndarray
    """T (n+1 x n+1), T[i, y] = Pr[answer i | output y]. Its entries are zeros and ones under "sum"."""
    cost: float
    bound: float
    """Lower bound on the cost of every post-processing of P."""

    @property
    def answers(self) -> np.ndarray:
        """Most likely answer to every output, of shape (n+1,)."""
        return self.transition.argmax(axis=0)


def best_remap(
    mechanism: CountMechanism,
    loss: str | Sequence | np.ndarray = "L0",
    prior: Sequence[float] | np.ndarray | None = None,
    *,
    aggregate: Aggregate = "sum",
) -> Remap:
    """Return the post-processing of least cost for a consumer with this loss C and this prior w.

    Under "sum" every output y becomes the answer of least posterior expected loss sum_j w_j C[i, j] P[y, j],
    the smallest of equals (0 for an output that never occurs). Under "max" the answers are random: T solves
    the linear program min_T max_j sum_i C[i, j] (T P)[i, j] over the counts j that have weight.

    Guarantee:
        T P is computed in whole numbers, so its rows are exact sums and it is private as P is.

    Raises:
        ValueError: for an unknown loss or aggregate, a prior that is not n + 1 weights, or a closed form too
            large for whole numbers (n > 512).
        RuntimeError: if the solver fails.

    Reference:
        Ghosh, Roughgarden, Sundararajan, STOC 2009 (sum); Gupte, Sundararajan, PODS 2010 (max).

    Example:
        >>> from stratagem import counts
        >>> found = best_remap(counts.geometric(4, "2/3"), "L1")
        >>> found.answers.tolist()
        [1, 1, 2, 3, 3]
    """
    check_aggregate(aggregate)
    n = mechanism.size
    matrix, weights = Loss.of(loss, n), weights_of(prior, n)
    cells, size = mechanism.whole().cells, n + 1
    if aggregate == "sum":
        answers = best_answers(cells, matrix, weights)
        T, cells, bound = np.eye(size)[:, answers], gathered(cells, answers), np.inf
    else:
        parts, harshest = _randomised(mechanism.matrix, matrix, weights)
        T, cells = (parts / PARTS).astype(float), parts @ cells
        bound = best_remap(mechanism, loss, harshest).cost
    table = CountTable(n, mechanism.alpha, reduced(cells), f"{mechanism.name}, remapped")
    cost = table.cost(matrix.cost, weights, aggregate)
    return Remap(table, T, cost, min(bound, cost))


def best_answers(P: np.ndarray, loss: Loss, weights: np.ndarray) -> np.ndarray:
    """Return argmin_i sum_j w_j C[i, j] P[y, j] for every output y (m,), of equals the smallest.

    P (m x n+1), any m, holds whole numbers or floats, each taken as exactly what it is: expected losses that
    floating point cannot part are compared as fractions.
    """
    top = P.max(axis=1, keepdims=True)
    likelihood = (P / np.where(top == 0, 1, top)).astype(float)
    expected = (loss.cost * weights) @ likelihood.T
    close = expected <= expected.min(axis=0) * (1 + TIE) + TINY
    found = close.argmax(axis=0)
    for y in np.flatnonzero((close.sum(axis=0) > 1) & (top[:, 0] > 0)):
        evidence = [
            (j, Fraction(float(weights[j])) * Fraction(P[y, j])) for j in np.flatnonzero(weights) if P[y, j]
        ]
        exact = {
            i: sum(Fraction(float(loss.cost[i, j])) * weight for j, weight in evidence)
            for i in np.flatnonzero(close[:, y])
        }
        found[y] = min(exact, key=lambda i: exact[i])
    return found


def gathered(P: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Return the square matrix (n+1 x n+1) whose row i is the sum of the rows y of P (m x n+1) answered i."""
    found = np.zeros((P.shape[1], P.shape[1]), dtype=P.dtype)
    np.add.at(found, answers, P)
    return found


def _randomised(P: np.ndarray, loss: Loss, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return T of least cost at the worst count, and the prior (n+1,) under which nothing does better.

    T (n+1 x n+1) in Python integers, every column of sum 2^53.
    """
    from scipy.optimize import linprog

    size, some = len(P), weights > 0
    costs = np.einsum("ij,yj->jiy", loss.cost, P).reshape(size, -1)[some]
    scale = max(float(loss.cost.max()), 1e-300)
    with quiet_solver():
        found = linprog(
            np.append(np.zeros(size * size), 1.0),
            A_ub=np.column_stack([costs / scale, -np.ones(len(costs))]),
            b_ub=np.zeros(len(costs)),
            A_eq=np.column_stack([np.kron(np.ones(size), np.eye(size)), np.zeros(size)]),
            b_eq=np.ones(size),
            bounds=[(0, 1)] * (size * size) + [(None, None)],
            method="highs",
        )
    if found.status != 0:
        raise RuntimeError(f"HiGHS found no post-processing ({found.message}): try a loss of smaller range")
    harshest = np.zeros(size)
    harshest[some] = np.clip(-found.ineqlin.marginals, 0, None)
    T = found.x[:-1].reshape(size, size)
    parts = np.floor(np.clip(T, 0, 1) * PARTS).astype(int).astype(object)
    parts[T.argmax(axis=0), np.arange(size)] += PARTS - parts.sum(axis=0)
    return parts, harshest


@dataclass(frozen=True, eq=False)
class Derivation:
    """T = P G^-1, the only matrix with P = T G for the geometric mechanism G of the same size and alpha.

    Its columns sum to one; P is a post-processing of G where T has no negative entry, and T then is it.
    """

    numbers: Whole
    """T (n+1 x n+1) as whole numbers, negative ones among them if P is not derivable, over their total."""

    @property
    def matrix(self) -> np.ndarray:
        """T (n+1 x n+1): Pr[answer i | the geometric mechanism's output y] where P is derivable."""
        return (self.numbers.cells / self.numbers.total).astype(float)

    @property
    def least(self) -> Fraction:
        """The least entry of T, exactly."""
        return Fraction(int(self.numbers.cells.min()), self.numbers.total)

    def derivable(self, tolerance: float = 0) -> bool:
        """Return whether no entry of T is below -tolerance.

        Exact with tolerance 0. A programmed mechanism reaches the least cost only up to about 1e-9, and G^-1
        multiplies what its cells are off by up to (1 + a)^2/(1 - a)^2: allow for that where optima are judged.

        Raises:
            ValueError: if the tolerance is negative or not a number.
        """
        if not 0 <= tolerance < 1:
            raise ValueError(f"tolerance is {tolerance!r}: give a number from 0 to below 1, for example 1e-6")
        return self.least >= -Fraction(tolerance)


def derivation(mechanism: CountMechanism) -> Derivation:
    """Return T = P G^-1 in exact arithmetic, G the geometric mechanism of the mechanism's size and alpha.

    G = diag(f) A with A[i, j] = a^|i-j|, whose inverse is tridiagonal, so that

        T[i, j] = ((1 + a^2) P[i, j] - a P[i, j-1] - a P[i, j+1]) / (1 - a)^2    0 < j < n,
        T[i, 0] = (P[i, 0] - a P[i, 1]) / (1 - a),    T[i, n] = (P[i, n] - a P[i, n-1]) / (1 - a).

    Privacy alone makes the two outer columns non-negative; the inner ones say that any three neighbours in a
    row satisfy P[i, j] - a P[i, j-1] >= a (P[i, j+1] - a P[i, j]). Columns of T sum to one because those of
    P and G do. Where a cost has several optima, some may be derivable and others not.

    Raises:
        ValueError: for a closed form too large for whole numbers (n > 512).

    Reference:
        Gupte, Sundararajan, PODS 2010, the test of three neighbours.

    Example:
        >>> from stratagem import counts
        >>> derivation(counts.geometric(4, 0.9)).derivable(), derivation(counts.explicit_fair(4, 0.9)).derivable()
        (True, False)
    """
    P, (p, q) = mechanism.whole().cells, mechanism.alpha.as_integer_ratio()
    T = (p * p + q * q) * P
    T[:, 1:-1] -= p * q * (P[:, :-2] + P[:, 2:])
    T[:, 0] = (q - p) * (q * P[:, 0] - p * P[:, 1])
    T[:, -1] = (q - p) * (q * P[:, -1] - p * P[:, -2])
    return Derivation(reduced(T))


def reach_ratio(mechanism: CountMechanism, reach: int) -> Fraction:
    """Return the largest ratio of two entries of a row at most `reach` counts apart, exactly.

    At most exp(eps) for a mechanism that is (reach, eps)-LLDP (limited-precision local DP); reach n is
    eps-LDP, reach 1 central eps-DP.

    Raises:
        ValueError: unless reach is a whole number from 1 to n, or if a zero faces a positive number.
    """
    reach = integer(reach, "reach", 1, mechanism.size, REACHES)
    cells, total = mechanism.whole()
    pairs = [(cells[:, :-step].ravel(), cells[:, step:].ravel()) for step in range(1, reach + 1)]
    return max(worst_ratio(Whole(np.column_stack(pair), total)) for pair in pairs)


def merged(
    channel: np.ndarray,
    loss: str | Sequence | np.ndarray = "L0",
    prior: Sequence[float] | np.ndarray | None = None,
) -> np.ndarray:
    """Return the square channel (n+1 x n+1) of a channel Q (m x n+1) whose outputs become their best answers.

    P[i, j] = sum of Q[y, j] over the outputs y whose answer of least posterior expected loss is i: the
    expected loss is that of Q with its best decoder, the largest ratio in a row no larger.

    Raises:
        ValueError: unless Q holds probabilities with columns that sum to one, for at least two user types,
            and loss and prior fit them.
    """
    from stratagem.strategies import MatrixStrategy

    Q = MatrixStrategy(channel).matrix
    n = Q.shape[1] - 1
    if n < 1:
        raise ValueError("the channel has one column; a decision needs at least two user types")
    return gathered(Q, best_answers(Q, Loss.of(loss, n), weights_of(prior, n)))
