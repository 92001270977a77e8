"""Post-processing: the answers that serve a consumer best, given the outputs of a count mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stratagem.counts.exact import reduced
from stratagem.counts.loss import Aggregate, Loss, check_aggregate, weights_of
from stratagem.counts.mechanism import CountMechanism
from stratagem.counts.table import CountTable

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
