"""Workloads without their totals: queries less the multiple of the total that they contain."""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np

from stratagem.math.linalg import centre
from stratagem.math.prior import uniform
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.stack import Stack
from stratagem.workloads.total import Total
from stratagem.workloads.weighted import LARGEST, SMALLEST, Weighted
from stratagem.workloads.workload import Array, Workload


class Centred(NamedTuple):
    """The centred Gram matrix of queries, with the diagonal that its rounding error is relative to."""

    gram: Array
    """Centred Gram matrix A V A^T with A = I - 1 p^T, n x n."""
    own: Array
    """Diagonal of V before centring, without queries for the total alone, shape (n,)."""


def differences(workload: Workload, prior: np.ndarray | None = None) -> Workload | None:
    """Return queries that differ from those of a workload by multiples of the total; None where nothing is left.

    Queries given as rows have mean zero under a prior p (n,), 1/n by default. A workload without such queries is
    returned as it is.

    Every strategy knows the number of users, so that their variances are the same. A query that weighs all user
    types alike is left out exactly, however much it outweighs the others: in V it would take their digits.
    """
    match workload:
        case Total():
            return None
        case Weighted():
            inner = differences(workload.workload, prior)
            return workload if inner is workload.workload else inner and Weighted(inner, workload.weight)
        case Stack():
            parts = tuple(part for one in workload.parts if (part := differences(one, prior)) is not None)
            same = len(parts) == len(workload.parts) and all(map(operator.is_, parts, workload.parts))
            return workload if same else Stack(parts) if parts else None
        case Explicit():
            return _explicit(_centred(workload.rows, prior), workload)
    return workload if workload.domain_size > 1 else None


def centred(workload: Workload, prior: np.ndarray | None = None) -> Centred:
    """Return A V A^T for a prior p (n,), 1/n by default, without the digits that a total would take from V."""
    rest, n = differences(workload, prior), workload.domain_size
    V = np.zeros((n, n)) if rest is None else rest.gram()
    return Centred(centre(V, prior), np.diag(V))


def _explicit(rows: Array, workload: Explicit) -> Workload | None:
    """Return rows as a workload, None where their squares leave float64; centred ones may be twice as large."""
    largest = float(np.abs(rows).max())
    if largest < SMALLEST:
        return None
    if largest > LARGEST:
        return Weighted(Explicit(rows / 2, workload.domain), 2.0)
    return Explicit(rows, workload.domain)


def _centred(rows: Array, prior: np.ndarray | None) -> Array:
    """Return rows less their means; rows of equal entries become exactly zero."""
    rows = rows - rows[:, :1]
    return rows - (rows @ (uniform(rows.shape[1]) if prior is None else prior))[:, None]
