"""The linear program of a count mechanism, and the bound that its multipliers prove."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from stratagem.counts.closed import ExplicitFair, Uniform
from stratagem.counts.criteria import (
    Aggregate,
    Inequalities,
    Loss,
    Property,
    column_ratio,
    inequalities,
    joined,
    privacy,
    total_cost,
)
from stratagem.math.computing import quiet_solver

Engine = Literal["HIGHS", "CLARABEL"]
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
ATTEMPTS: dict[Engine, list[dict[str, Any]]] = {
    "HIGHS": [
        {"highs_options": {"solver": "ipm", "ipm_iteration_limit": 1000, **EXACT}},
        {"highs_options": {"solver": "simplex", **EXACT}},
        {"highs_options": {"solver": "simplex"}},
    ],
    "CLARABEL": [{"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}, {}],
}
"""Options of each solver, tried in turn until one succeeds. Both HiGHS methods end in a vertex; the
interior-point one is faster, limited to 1000 iterations because it may never end where alpha is tiny."""


def other(engine: Engine) -> Engine:
    """Return the name of the solver that was not named."""
    return "CLARABEL" if engine == "HIGHS" else "HIGHS"


def minimise(cost: Any, constraints: list[Any], engine: Engine) -> None:
    """Give the variables of a program the values of least cost."""
    import cvxpy as cp

    problem, reason = cp.Problem(cp.Minimize(cost), constraints), "no attempt"
    for options in ATTEMPTS[engine]:
        try:
            with quiet_solver():
                problem.solve(solver=engine, **options)
        except (cp.SolverError, ValueError) as error:
            reason = type(error).__name__
            continue
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return
        reason = problem.status
    raise RuntimeError(f"{engine} failed ({reason}): try solver {other(engine)}, or a budget less extreme")


SMALLEST = 1e-3
"""Smallest scale of a variable; with smaller scales the multipliers prove a weaker bound."""
TIGHT = 1e-7
"""Relative distance of cost and bound above which the multipliers of other programs are tried too."""
TIE = 1.5
"""Exponent of the tie-break: of several optimal mechanisms, the one of least sum |i - j|^1.5 P[i, j] is taken."""
SLIGHT = 1e-6
"""Weight of the tie-break relative to the cost."""
ROUNDING = 2.0**-51
"""Twice the spacing of doubles at one."""


@dataclass(frozen=True, eq=False)
class CountRequest:
    """A request for a count mechanism: group size, alpha, loss, weights and properties."""

    n: int
    alpha: Fraction
    loss: Loss
    weights: np.ndarray
    """Weights of the counts, of shape (n+1,), with sum 1."""
    aggregate: Aggregate
    properties: frozenset[Property]
    reach: int = 1
    """Largest distance between two counts for which alpha must hold."""
    column_factor: Fraction | None = None
    """Least ratio between neighbouring entries of a column; None if none is required."""

    @property
    def symmetric(self) -> bool:
        """Whether a symmetric mechanism is asked for, or costs no more than any other (Theorem 8)."""
        even = bool(np.allclose(self.weights, self.weights[::-1], rtol=1e-15, atol=0))
        return Property.S in self.properties or (even and self.loss.symmetric)

    @cached_property
    def families(self) -> list[Inequalities]:
        """All inequalities between cells."""
        return self.ratios + self.shapes(self.properties | ({Property.S} if self.symmetric else set()))

    @cached_property
    def ratios(self) -> list[Inequalities]:
        """The inequalities whose factor is below one: privacy and the column ratio."""
        columns = [] if self.column_factor is None else column_ratio(self.column_factor, self.n)
        return privacy(self.alpha, self.n, self.reach) + columns

    def shapes(self, kinds: Iterable[Property]) -> list[Inequalities]:
        """Return the inequalities of some properties."""
        return [family for kind in sorted(kinds) for family in inequalities(kind, self.n)]

    @cached_property
    def magnitude(self) -> float:
        """Cost of the explicit fair or the uniform mechanism, a rough scale of all costs; 1 where it is zero."""
        usual = self.reach == 1 and self.column_factor is None
        P = (ExplicitFair if usual else Uniform)(self.n, self.alpha).matrix
        return total_cost(self.by_count(P), self.weights, self.aggregate) or 1.0

    def by_count(self, P: np.ndarray) -> np.ndarray:
        """Return the expected loss at every count (n+1,)."""
        return (self.loss.cost * P).sum(axis=0)


class Program:
    """The linear program over variables y.

    Cells that symmetry or fairness make equal are one variable. A variable is P[i, j]/s with the scale
    s = max(alpha^|i-j|, smallest): alpha^n can lie far below the tolerance of a solver. Inequalities that
    others imply are left out; costs are measured in units of about their size.
    """

    def __init__(self, request: CountRequest, smallest: float, unit: float) -> None:
        """Write the program down, sparsely."""
        import cvxpy as cp

        n, self.request, self.unit = request.n, request, unit
        i, j = np.indices((n + 1, n + 1))
        self.variable = variable = _variables(request)
        count = int(variable.max()) + 1
        self.scale = scale = np.zeros(count)
        np.maximum.at(scale, variable, np.maximum(float(request.alpha) ** np.abs(i - j), smallest).ravel())
        self.greater, self.less, self.factor = _distinct(request, variable)
        above, below, rows = variable[self.greater], variable[self.less], np.arange(len(self.less))
        self.size = np.maximum(scale[above], self.factor * scale[below])
        values = np.concatenate([scale[above], -self.factor * scale[below]]) / np.tile(self.size, 2)
        places = (np.tile(rows, 2), np.concatenate([above, below]))
        self.y = cp.Variable(count, nonneg=True)
        self.differences = sp.csr_matrix((values, places), shape=(len(rows), count))
        self.ordered = self.differences @ self.y >= 0
        columns, costs = (
            sp.csr_matrix((weight * scale[variable], (j.ravel(), variable)), shape=(n + 1, count))
            for weight in (np.ones(len(variable)), request.loss.cost.ravel() / unit)
        )
        self.columns = n // 2 + 1 if request.symmetric else n + 1
        self.sums = columns[: self.columns]
        self.constraints: list[Any] = [self.sums @ self.y == 1, self.ordered]
        tie = (np.abs(i - j) ** TIE).ravel()
        self.ties = SLIGHT * (n + 1) / tie.sum() * np.bincount(variable, tie * scale[variable])
        self.diagonal = np.unique(variable[np.arange(n + 1) * (n + 2)])
        self.honest = self.y[self.diagonal] >= 1 / ((n + 1) * scale[self.diagonal])
        if Property.WH in request.properties:
            self.constraints.append(self.honest)
        if request.aggregate == "max":
            self.costs = costs[request.weights > 0]
            self.cost: Any = cp.Variable()
            self.each = self.costs @ self.y <= self.cost
            self.constraints.append(self.each)
        else:
            self.costs = sp.csr_matrix(request.weights @ costs)
            self.cost = (request.weights @ costs) @ self.y

    def bound(self, engine: Engine) -> float:
        """Return a lower bound on the cost, proved by the multipliers of the optimum."""
        minimise(self.cost, self.constraints, engine)
        request, n, prices = self.request, self.request.n, self.request.weights
        if request.aggregate == "max":
            prices = np.zeros(n + 1)
            prices[request.weights > 0] = _multipliers(self.each)
            prices /= prices.sum()
        terms = [
            (self.greater, _multipliers(self.ordered) * self.unit / self.size),
            (self.less, -self.factor * _multipliers(self.ordered) * self.unit / self.size),
        ]
        constant = 0.0
        if Property.WH in request.properties:
            weight = _multipliers(self.honest) * self.unit / self.scale[self.diagonal]
            terms.append((np.unique(self.variable, return_index=True)[1][self.diagonal], weight))
            constant = float(weight.sum()) / (n + 1)
        multipliers, sizes = np.zeros((n + 1) ** 2), np.zeros((n + 1) ** 2)
        for cells, values in terms:
            np.add.at(multipliers, cells, values)
            np.add.at(sizes, cells, np.abs(values))
        shape = (n + 1, n + 1)
        return proved(request, prices, multipliers.reshape(shape), sizes.reshape(shape), constant)

    def optimum(self, engine: Engine) -> np.ndarray:
        """Return the variables of least cost/unit + 1e-6 T, T = sum |i - j|^1.5 P, 1 if uniform.

        Where the optimum is not unique, that is the optimum of least T.
        """
        minimise(self.cost + self.ties @ self.y, self.constraints, engine)
        return np.asarray(self.y.value)


def proved(
    request: CountRequest, prices: np.ndarray, multipliers: np.ndarray, sizes: np.ndarray, constant: float
) -> float:
    """Return a lower bound on every cost from any multipliers mu >= 0 of G P >= h, exact or not.

    With r = c - G^T mu, c^T P >= r . P + mu^T h for every P as asked for, and columns that sum to one make
    r . P >= sum_j min_i r[i, j]; with a constant diagonal, r . P is also a mean of sum_j r[j, j] and
    sum_j min over i != j. `multipliers` is G^T mu (n+1 x n+1), `sizes` the same with absolute values, which
    bound what rounding can do, `constant` mu^T h.
    """
    n = request.n
    cost = request.loss.cost * prices
    reduced = cost - multipliers
    # a cell has at most 4 n + 8 terms, each rounded twice; so does the sum over columns
    rounding = 4 * (n + 8) * ROUNDING * ((cost + sizes).max(axis=0).sum() + constant)
    if request.symmetric:
        reduced = (reduced + reduced[::-1, ::-1]) / 2
    if Property.F in request.properties:
        off = np.where(np.eye(n + 1, dtype=bool), np.inf, reduced).min(axis=0).sum()
        least = min(off, np.trace(reduced))
    else:
        least = reduced.min(axis=0).sum()
    return max(0.0, float(least) + constant - rounding)


def _variables(request: CountRequest) -> np.ndarray:
    """Return the number of the variable of every cell (flat)."""
    n = request.n
    cell = np.arange((n + 1) ** 2)
    if request.symmetric:
        cell = np.minimum(cell, cell[::-1])
    if Property.F in request.properties:
        cell[np.arange(n + 1) * (n + 2)] = 0
    return np.unique(cell, return_inverse=True)[1]


def _irredundant(request: CountRequest) -> list[Inequalities]:
    """Return the inequalities without those that others imply and those between equal variables."""
    kept = set(request.properties) - {Property.F, Property.S}
    if Property.RM in kept:
        kept.discard(Property.RH)
    if Property.CM in kept:
        kept.discard(Property.CH)
    return request.ratios + request.shapes(kept)


def _distinct(request: CountRequest, variable: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return greater, less and factor of the inequalities, one for each pair of different variables."""
    greater, less, factor = joined(_irredundant(request))
    above, below = variable[greater], variable[less]
    first = np.unique(np.stack([above, below, factor]), axis=1, return_index=True)[1]
    first = first[above[first] != below[first]]
    return greater[first], less[first], factor[first]


def _multipliers(constraint: Any) -> np.ndarray:
    """Return the multipliers of a constraint, none negative."""
    return np.clip(np.atleast_1d(constraint.dual_value), 0, None)
