"""Marginal tables that were not collected, reconstructed from tables that overlap them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stratagem.estimation.consistency.table import MarginalTable, named, shared_sizes
from stratagem.estimation.postprocessing import largest_entropy
from stratagem.estimation.working_set import sparse_minimum
from stratagem.math.computing import quiet_solver
from stratagem.math.number import entries

Method = Literal["maximum-entropy", "least-squares", "linear-program"]

MAX_CELLS = 4096
"""Largest number of cells of a marginal: its Gram matrix is dense."""
MAX_ENTRIES = 1 << 26
"""Largest number of entries of the matrix of a marginal's overlaps with the tables (half a GiB)."""
CLOSE = 1e-8
"""Largest distance from the exact answers, as a share of all users."""


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Linear queries about the cells of a marginal, with the answers that the tables give to them."""

    sizes: tuple[int, ...]
    queries: np.ndarray
    """Queries (p x cells): each is a cell of a table's overlap with the marginal, divided by its standard error. All
    are scaled so that the largest entry is 1."""
    answers: np.ndarray
    """Answers (p,) to the queries as fractions of all users, with the same scale."""
    total: float


def marginal_from(
    tables: Sequence[MarginalTable], attributes: str | Sequence[str], method: Method = "maximum-entropy"
) -> np.ndarray:
    """Return a table of the attributes, without negative cells, from tables that each hold some of them.

    Every table with attributes B in common gives its table of B, with standard errors sqrt(variance cells_i /
    cells_B); the total is the tables' weighted mean. The answers nearest to these in least squares of standard
    errors, of a table without negative cells, are the given ones where the tables are consistent and not negative.
    With those answers there are many tables: `maximum-entropy` returns the one of largest entropy (independent
    where nothing speaks against it), `least-squares` the one of least sum of squares; `linear-program` instead
    minimises the largest distance, in standard errors, from the given answers. The joint domain of the tables is
    never formed, only the marginal itself.

    The result is biased where the attributes depend on each other in a way that no table holds, and because cells
    may not be negative.

    Args:
        tables: The given tables, best made consistent by `consistent_marginals` before.
        attributes: Attributes of the marginal, in the order of its axes; each must be in some table.
        method: The criterion by which the table is chosen.

    Raises:
        ValueError: for attributes in no table or named twice, more than 4096 cells, a total that is not positive,
            an unknown method, or tables that differ in the size of an attribute.

    Reference:
        Qardaji, Yang, Li, SIGMOD 2014.

    Example:
        >>> tables = [MarginalTable(("a",), [30.0, 10.0]), MarginalTable(("b",), [20.0, 20.0])]
        >>> marginal_from(tables, ("a", "b")).round(6).tolist()
        [[15.0, 15.0], [5.0, 5.0]]
    """
    if method not in _METHODS:
        raise ValueError(f"{method!r} was given as method, but is not one: choose {', '.join(_METHODS)}")
    evidence = _evidence(tables, named(attributes))
    return (evidence.total * _METHODS[method](evidence)).reshape(evidence.sizes)


def _largest_entropy(evidence: _Evidence) -> np.ndarray:
    return largest_entropy(evidence.queries, _nearest(evidence), CLOSE)


def _least_squares(evidence: _Evidence) -> np.ndarray:
    import cvxpy as cp

    z = cp.Variable(evidence.queries.shape[1])
    agree = cp.Zero(evidence.queries @ z - evidence.queries @ _nearest(evidence))
    return _solve(cp.Minimize(cp.sum_squares(z)), z, [agree], cp.CLARABEL)


def _linear_program(evidence: _Evidence) -> np.ndarray:
    import cvxpy as cp

    z, farthest = cp.Variable(evidence.queries.shape[1]), cp.Variable()
    apart = evidence.queries @ z - evidence.answers
    return _solve(
        cp.Minimize(farthest), z, [cp.NonNeg(farthest - apart), cp.NonNeg(farthest + apart)], cp.HIGHS
    )


def _solve(goal: Any, z: Any, constraints: list[Any], solver: str) -> np.ndarray:
    """Return the optimal z on the simplex; every program here has one."""
    import cvxpy as cp

    problem = cp.Problem(goal, [*constraints, cp.NonNeg(z), cp.Zero(cp.sum(z) - 1)])
    with quiet_solver():
        problem.solve(solver=solver)
    if z.value is None:
        raise RuntimeError(f"{solver} found no table ({problem.status}): try method maximum-entropy")
    found = np.maximum(z.value, 0.0)
    return found / found.sum()


_METHODS = {
    "maximum-entropy": _largest_entropy,
    "least-squares": _least_squares,
    "linear-program": _linear_program,
}


def _nearest(evidence: _Evidence) -> np.ndarray:
    """Return a z >= 0, sum z = 1, whose answers are nearest to the given ones."""
    H = evidence.queries.T @ evidence.queries
    even = np.full(len(H), 1 / len(H))
    slope = evidence.queries.T @ (evidence.queries @ even - evidence.answers)
    return sparse_minimum(H, even, slope, 0.5 * CLOSE**2)


def _evidence(tables: Sequence[MarginalTable], attributes: tuple[str, ...]) -> _Evidence:
    known = shared_sizes(tables)
    unknown = [name for name in attributes if name not in known]
    if unknown or len(set(attributes)) != len(attributes):
        wrong = f"{unknown[0]!r} is in none of them" if unknown else "one is named twice"
        raise ValueError(
            f"a marginal of {', '.join(attributes)} was asked for, but the tables hold {', '.join(known)} and {wrong}: "
            "name attributes of the tables, each once"
        )
    sizes = tuple(known[name] for name in attributes)
    if math.prod(sizes) > MAX_CELLS:
        raise ValueError(
            f"a marginal of {math.prod(sizes)} cells was asked for, but at most {MAX_CELLS} can be reconstructed: "
            "name fewer attributes"
        )
    total, rows, answers = _total(tables), [], []
    overlaps = [[name for name in attributes if name in table.attributes] for table in tables]
    height = sum(
        table.counts.size // table.merged(shared) for table, shared in zip(tables, overlaps, strict=True)
    )
    entries(
        height * math.prod(sizes), MAX_ENTRIES, "its sums over the tables' overlaps", "name fewer attributes"
    )
    for table, shared in zip(tables, overlaps, strict=True):
        weight = 1 / math.sqrt(table.variance * table.merged(shared))
        rows.append(weight * _sums(sizes, [name in shared for name in attributes]))
        answers.append(weight / total * table.onto(shared).ravel())
    largest = max(row.max() for row in rows)
    return _Evidence(sizes, np.concatenate(rows) / largest, np.concatenate(answers) / largest, total)


def _total(tables: Sequence[MarginalTable]) -> float:
    """Return the weighted mean of the tables' totals."""
    weights = [1 / (table.variance * table.counts.size) for table in tables]
    total = float(np.average([table.counts.sum() for table in tables], weights=weights))
    if total <= 0:
        raise ValueError(
            f"the tables hold {total:.6g} users, but a marginal needs a positive total: check them"
        )
    return total


def _sums(sizes: tuple[int, ...], kept: Sequence[bool]) -> np.ndarray:
    """Return the matrix (cells of the kept axes x cells) of the sums over the other axes."""
    matrix = np.ones((1, 1))
    for size, keep in zip(sizes, kept, strict=True):
        matrix = np.kron(matrix, np.eye(size) if keep else np.ones((1, size)))
    return matrix
