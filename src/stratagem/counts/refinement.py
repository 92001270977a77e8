"""The optimum of a count program, solved in double precision and refined by one step beyond it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from stratagem.counts.engine import Engine, other, run
from stratagem.counts.exact import BITS, fixed_point
from stratagem.counts.program import SMALLEST, TIGHT, Program, Request
from stratagem.counts.property import Property

MAGNIFIED = 23
"""Number of bits of the magnification: residuals are multiplied by 2^23, and a variable moves by at most 2^-23."""
NEAR = 4.0
"""Magnified slack above which so small a move cannot break an inequality; such inequalities are left out."""
BALANCED = 1e-17
"""Error of the column sums below which no refinement is done."""


class Optimum(NamedTuple):
    """A nearly feasible matrix of nearly least cost, with a lower bound on every cost."""

    cells: np.ndarray
    """P (n+1 x n+1) in multiples of 2^-80, Python integers."""
    bound: float
    """Lower bound on the cost of every mechanism that satisfies the request."""


def solve(request: Request, engine: Engine = "HIGHS") -> Optimum:
    """Return the optimum, the one of least sum |i - j|^1.5 where there are several.

    Raises:
        RuntimeError: if the solver fails.
    """
    bound = Program(request, SMALLEST, request.magnitude).bound(engine)
    program = Program(request, SMALLEST, bound or request.magnitude)
    y = program.optimum(engine)
    value = float(program.cost.value) * program.unit
    attempts: list[tuple[float, Engine]] = [(1.0, engine), (1.0, other(engine)), (SMALLEST, other(engine))]
    for smallest, proving in attempts:
        if value > bound * (1 + TIGHT):
            with suppress(RuntimeError):  # a proof more that fails leaves the bound as it is
                bound = max(bound, Program(request, smallest, program.unit).bound(proving))
    return Optimum(refined(program, y, engine)[program.variable].reshape(request.n + 1, -1), bound)


def refined(program: Program, y: np.ndarray, engine: Engine) -> np.ndarray:
    """Return the probabilities of the variables in multiples of 2^-80, with residuals about 2^-23 as large.

    The residuals of y are computed in whole numbers; the move of least cost that mends them, all of it
    magnified by 2^23, is a linear program with the inequalities that are nearly tight. Where a solver finds
    no such move, y is returned.

    Reference:
        Gleixner, Steffy, Wolter, "Iterative refinement for linear programming", INFORMS J. Computing 2016.
    """
    import cvxpy as cp

    request, variable = program.request, program.variable
    n, one = request.n, 1 << BITS
    whole = fixed_point(program.scale * y)
    lacking = one - whole[variable].reshape(n + 1, n + 1).sum(axis=0)[: program.columns]
    if np.abs(lacking).max() <= BALANCED * one:
        return whole
    exact = {float(family.factor): family.factor for family in request.families}
    slack = np.empty(len(program.less))
    for factor, fraction in exact.items():
        these = program.factor == factor
        p, q = fraction.as_integer_ratio()
        above, below = (whole[variable[cells[these]]] for cells in (program.greater, program.less))
        slack[these] = _magnified((q * above - p * below) / q) / program.size[these]
    tight = slack < NEAR
    x, worst = cp.Variable(len(y)), cp.Variable()
    limits: list[Any] = [
        program.sums @ x == _magnified(lacking),
        program.differences[tight] @ x >= -slack[tight],
        x >= np.maximum(-1, -_magnified(whole) / program.scale),
        x <= 1,
    ]
    if Property.WH in request.properties:
        over = _magnified(whole[program.diagonal] - one / (n + 1))
        limits.append(x[program.diagonal] >= -over / program.scale[program.diagonal])
    spent = program.costs @ y
    limits.append(program.costs @ x <= worst + np.ldexp(spent.max() - spent, MAGNIFIED))
    try:
        run(cp.Problem(cp.Minimize(worst + program.ties @ x), limits), engine)
    except RuntimeError:
        return whole
    step = np.ldexp(np.asarray(x.value) * program.scale, BITS - MAGNIFIED)
    moved = whole + np.array([int(value) for value in step], dtype=object)
    return np.maximum(moved, 0)


def _magnified(numbers: np.ndarray) -> np.ndarray:
    """Return multiples of 2^-80 as floating-point multiples of 2^-23."""
    return np.ldexp(numbers.astype(float), MAGNIFIED - BITS)
