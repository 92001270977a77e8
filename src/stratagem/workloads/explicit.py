"""A workload given as its matrix, and powers of a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from stratagem.domain.domain import Domain
from stratagem.io.screen import brief
from stratagem.math.number import array, dense, integer
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.product import Product
from stratagem.workloads.query import MatrixRow, Query
from stratagem.workloads.structure import Structure
from stratagem.workloads.workload import Array, Workload

HIGHEST = 8
"""Highest power: beyond it, powers of two values of an interval are hard to tell apart."""


def power_queries(
    values: ArrayLike, order: int, domain: Domain | None = None, number: str | None = None
) -> Explicit:
    """Return the queries v_u^j/M^(j - 1), j = 1..order, M = max |v|, for the value v_u of every user type u.

    They are named after `number`, by default the domain's one attribute.
    """
    k = integer(order, "The number of moments", 1, HIGHEST, "give 1 for the mean, 2 for mean and variance")
    v = array(values)
    if v.dtype.kind not in "biuf" or v.ndim != 1 or not np.isfinite(v).all() or not v.any():
        raise ValueError(
            f"the values were given as {v.dtype} of shape {v.shape}, but must be finite numbers, not all of them zero: "
            "give a list with the number of each user type"
        )
    v = v.astype(float)
    largest = np.abs(v).max()
    over = Domain.of(len(v)) if domain is None else domain
    number = number or (over.names[0] if len(over.names) == 1 else "values")
    names = [f"sum of {number}"] + [f"sum of {number}^{j} / {largest ** (j - 1):g}" for j in range(2, k + 1)]
    return Explicit(np.array([v * (v / largest) ** j for j in range(k)]), over, tuple(names))


ADVICE = "give one row a query and one column a cell, predicates as rows of 0 and 1"


@final
@dataclass(frozen=True, eq=False)
class Explicit(Workload):
    """Ask the rows of a matrix; a predicate is a row of 0 and 1 (or False and True).

    `rows` has shape (p, n) and is kept as a read-only copy in float64.

    Raises:
        ValueError: for rows that are not two-dimensional, real, finite and nonzero, or do not fit.
    """

    __repr__ = brief

    rows: Array
    domain: Domain
    names: tuple[str, ...] = ()
    """One name for every row; empty if the rows have no names."""

    def __post_init__(self):
        rows = _checked(self.rows)
        if self.names and (len(self.names) != len(rows) or not all(type(one) is str for one in self.names)):
            raise ValueError(
                f"{len(self.names)} names were given for {len(rows)} rows: give each row a text, or none any"
            )
        if rows.shape[1] != self.domain.size:
            raise ValueError(
                f"an explicit workload was given {rows.shape[1]} columns for domain {self.domain}, but needs "
                "one column for every cell: change the domain, or leave it out"
            )
        object.__setattr__(self, "rows", rows)

    @staticmethod
    def of(rows: ArrayLike, domain: Domain | None = None) -> Explicit:
        """Make the workload; without a domain, one attribute `value` with one cell a column."""
        matrix = _checked(rows)
        return Explicit(matrix, Domain.of(matrix.shape[1]) if domain is None else domain)

    @property
    def by_rows(self) -> bool:
        return True

    @property
    def given(self) -> Array:
        """The rows (p, n)."""
        return self.rows

    @property
    def queries(self) -> int:
        return len(self.rows)

    @property
    def frobenius_squared(self) -> float:
        return float(np.vdot(self.rows, self.rows))

    @property
    def structure(self) -> Structure:
        return Structure(translation_spectrum=self._averaged)

    def _averaged(self) -> Array:
        """Return the sum of the rows' power spectra over n."""
        total = np.zeros(self.domain.sizes)
        for row in self.rows:
            total += np.square(np.abs(np.fft.fftn(row.reshape(self.domain.sizes))))
        return total / self.domain.size

    def _gram(self) -> Array:
        return self.rows.T @ self.rows

    def _describe(self, query: int) -> Query:
        name = self.names[query] if self.names else None
        return Query((MatrixRow(tuple(range(len(self.domain.sizes))), query, name, self.rows[query]),))

    def _answer(self, x: Array) -> Array:
        return self.rows @ x

    def _adjoint(self, y: Array) -> Array:
        return self.rows.T @ y


def counting(rows: Array) -> np.ndarray:
    """Return which rows of a matrix (p x n) count users, or the difference of two counts (p,)."""
    return np.asarray(np.isin(rows, (-1.0, 0.0, 1.0)).all(axis=1))


def counts_users(workload: Workload) -> bool:
    """Return whether answers are numbers of users or differences of such: rows of a matrix hold 1, 0 and -1 alone.

    A weight says how important a count is, and leaves it one.
    """
    match workload:
        case Explicit():
            return bool(counting(workload.rows).all())
        case Weighted():
            return counts_users(workload.workload)
        case Stack(parts=parts) | Product(factors=parts):
            return all(map(counts_users, parts))
    return True


def _checked(rows: object) -> Array:
    numbers = dense(rows)
    try:
        array = np.asarray(numbers)
    except ValueError:
        raise ValueError(f"an explicit workload was given rows of unequal length: {ADVICE}") from None
    if array.size == 0:
        raise ValueError(
            f"an explicit workload was given no numbers (shape {array.shape}), but must ask something: {ADVICE}"
        )
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        raise ValueError(
            f"an explicit workload was given {array.dtype} of shape {array.shape}, but needs real numbers of "
            f"shape (p, n): {ADVICE}"
        )
    matrix = np.array(array, dtype=np.float64, order="C")
    matrix.setflags(write=False)
    _refuse_degenerate(matrix)
    return matrix


def _refuse_degenerate(matrix: Array) -> None:
    if not np.isfinite(matrix).all():
        raise ValueError(
            "an explicit workload was given NaN or infinite entries, but all must be finite: replace them"
        )
    largest = float(np.abs(matrix).max())
    if largest == 0:
        raise ValueError(
            "an explicit workload was given only zeros, but must ask something: "
            "give at least one nonzero entry"
        )
    if not 1e-75 <= largest <= 1e75:
        raise ValueError(
            f"an explicit workload was given entries up to {largest:g}, but the largest must lie between "
            "1e-75 and 1e75 for its square to be a float64: rescale the matrix"
        )
