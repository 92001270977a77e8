"""Which queries depend on given directions of the data, query by query, each against its own length."""

from __future__ import annotations

import math

import numpy as np

from stratagem.math.privacy import uniform
from stratagem.workloads.centring import by_rows, centred_rows, levelled, parts, unmerged
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.workload import Array, Workload

UNSEEN = 1e-9
"""Share of a query's length, less its mean, that may lie where reports do not depend on the data."""
UNSEEN_ENERGY = 1e-13
"""Share of the squares of queries of one scale that may lie at characters which no report sees: their rounding."""
LISTED = 1 << 24
"""Most entries of queries whose lengths are computed one by one."""
SHORTEST = 0.5
"""Lower bound on the length, less its mean, of a query of zeros and ones, or of characters, that is no total."""
ROUNDED = 1e-13
"""Rounding of what a query of zeros and ones, or of characters, is off by, over n^(1/2)."""
PROBES = 8
"""Random combinations of the directions that reports do not depend on, in place of more of them.

A query is off by t ||z||, z normal with PROBES entries, where it is off by t: less than t/1000 once in 10^25 times.
"""


def first_dependent(workload: Workload, null: Array, prior: Array | None = None) -> int | None:
    """Return the first query w that depends on directions, by more than 1e-9 of its own length; None without one.

    `null` (n x k) is an orthonormal basis of the directions, in which p, a prior (n,) or 1/n, may be too: w counts
    less its mean, w - 1 p^T w, as the number of users is known. No query depends on them if
    ||null^T (w - 1 p^T w)|| <= 1e-9 ||w - 1 p^T w|| for each, whatever its weight beside others.
    """
    shares, first = uniform(workload.domain_size) if prior is None else prior, 0
    for _, part in parts(levelled(unmerged(workload), prior)) if null.shape[1] else ():
        few, probes = part.queries * part.domain_size <= LISTED, _probes(null, part.queries)
        if few and by_rows(part):
            rows = centred_rows(part.matrix(), prior)
            lost, own = np.linalg.norm(rows @ probes, axis=1), np.linalg.norm(rows, axis=1)
        else:
            own = _lengths(part, None, shares) if few else SHORTEST
            lost = _lengths(part, probes, shares) - ROUNDED * math.sqrt(part.domain_size)
        missing = lost > UNSEEN * own
        if missing.any():
            return first + int(missing.argmax())
        first += part.queries
    return None


def unseen(workload: Workload, seen: np.ndarray) -> Array | None:
    """Return the energies of queries at characters that are not `seen` (cycles), None where they are rounding.

    Each scale of the queries counts for itself: the parts of a stack without their weights, every row of a matrix.
    """
    if seen.all():
        return None
    for _, part in parts(levelled(workload)):
        rows = part.rows if isinstance(part, Explicit) else ()
        for one in [Explicit(row[None], part.domain) for row in rows if row.any()] or [part]:
            v = one.structure.translation_spectrum()[..., : seen.shape[-1]]
            if v[~seen].sum() > UNSEEN_ENERGY * v.sum():
                return np.where(seen, 0.0, v)
    return None


def _probes(null: Array, queries: int) -> Array:
    """Return the basis (n x k), or as few random combinations of it as decide."""
    count = PROBES if queries <= LISTED else 1
    if null.shape[1] <= count:
        return null
    return null @ np.random.default_rng(0).standard_normal((null.shape[1], count))


def _lengths(part: Workload, X: Array | None, shares: Array) -> Array:
    """Return ||X^T (w - 1 p^T w)|| for every query w (p,), ||w - 1 p^T w|| without an X (n x k)."""
    n, squares = part.domain_size, np.zeros(part.queries)
    mean, width = part.answer(shares), max(1, LISTED // part.queries)
    for start in range(0, n if X is None else X.shape[1], width):
        block = np.eye(n, min(width, n - start), -start) if X is None else X[:, start : start + width]
        squares += np.square(part.answer(block) - np.outer(mean, block.sum(axis=0))).sum(axis=1)
    return np.sqrt(squares)
