"""Queries less their multiples of the total, which is known exactly: factors scale by scale, what they depend on."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, reduce
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg import qr

from stratagem.math.linalg import centre, centred_factor, factor
from stratagem.math.privacy import uniform
from stratagem.workloads.combined import LARGEST, SMALLEST, Stack, Weighted
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Total
from stratagem.workloads.marginals import Marginals, Parity
from stratagem.workloads.merged import Spread
from stratagem.workloads.product import Product
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.selection import Ranges, SomeQueries
from stratagem.workloads.workload import Array, Workload

ROUNDED = 4 * float(np.finfo(float).eps)
"""Share of a row's largest entry up to which what is left of the row without its mean is rounding."""
WIDE = 2
"""Columns of a factor of V for each user type above which they are made fewer."""
ANSWERED = 1 << 22
"""Most queries whose means are computed one by one."""
OUTWEIGHS, FAR = 1.0, 100.0
"""Ratios of the total to all else in L(Q) of exact answers above which the two are computed and stated apart."""
DECADES = 4
"""Powers of ten between sizes of queries whose V is formed together: their squares keep eight digits."""


class Centred(NamedTuple):
    """The centred Gram matrix of queries, with the diagonal that its rounding error is relative to."""

    gram: Array
    """Centred Gram matrix A V A^T with A = I - 1 p^T, n x n."""
    own: Array
    """Diagonal of V before centring, without queries for the total alone, shape (n,)."""


def differences(workload: Workload, prior: Array | None = None) -> Workload | None:
    """Return queries that differ from those of a workload by multiples of the total; None where nothing is left.

    Queries given as rows have mean zero under a prior p (n,), 1/n by default. A workload without such queries is
    returned as it is.

    Every strategy knows the number of users, so that their variances are the same. A query that weighs all user
    types alike is left out exactly, however much it outweighs the others: in V it would take their digits.
    """

    def left(part: Workload) -> Workload | None:
        match part:
            case Total():
                return None
            case Explicit():
                return _explicit(centred_rows(part.rows, prior), part)
        return part if part.domain_size > 1 else None

    return _rebuilt(workload, left)


def _rebuilt(workload: Workload, part: Callable[[Workload], Workload | None]) -> Workload | None:
    """Return a workload with other parts inside its weights and stacks, itself where none changes, None without any."""
    match workload:
        case Weighted():
            inner = _rebuilt(workload.workload, part)
            return workload if inner is workload.workload else inner and replace(workload, workload=inner)
        case Stack():
            found = tuple(one for old in workload.parts if (one := _rebuilt(old, part)) is not None)
            same = len(found) == len(workload.parts) and all(map(operator.is_, found, workload.parts))
            return workload if same else Stack(found) if found else None
    return part(workload)


def levelled(workload: Workload, prior: Array | None = None) -> Workload:
    """Return the same p queries less their means under a prior (n,), which the number of users gives exactly.

    Answers change by multiples of the number of users, variances do not. Only rows of a matrix change, and parts in
    which nothing would be left stay as they are.
    """

    def centred(part: Workload) -> Workload:
        if part.given is None:
            return part
        rows = centred_rows(part.given, prior)
        usable = SMALLEST <= np.abs(rows).max() <= LARGEST
        return replace(cast("Explicit", part), rows=rows) if usable else part

    return _rebuilt(workload, centred) or workload


class Outweighed(NamedTuple):
    """Queries whose means outweigh all else that they ask, taken apart."""

    rest: Workload
    """The queries less their means."""
    known: float
    """What the means add to L(Q) of every strategy."""
    far: bool
    """Whether that is so much that L(Q) and its bounds hold few digits of the rest, so that they are stated apart."""


def centred(workload: Workload, prior: Array | None = None) -> Centred:
    """Return A V A^T for a prior p (n,), 1/n by default, without the digits that a total would take from V."""
    rest, n = differences(workload, prior), workload.domain_size
    V = np.zeros((n, n)) if rest is None else rest.gram()
    return Centred(centre(V, prior), np.diag(V))


def total_term(workload: Workload, prior: Array | None = None) -> float:
    """Return n p^T V p, which is part of L(Q) for every strategy because M (n p) = 1; p = 1/n by default."""
    p = uniform(workload.domain_size) if prior is None else prior
    if workload.queries <= ANSWERED:
        return workload.domain_size * float(np.square(workload.answer(p)).sum())
    return workload.domain_size * float(p @ workload.gram() @ p)


KEPT = 1024
"""Largest number of user types for which F of the last workload is kept: 8 MB."""


def root(workload: Workload, prior: Array | None = None) -> Array:
    """Return F (n x r) with F F^T = A V A^T, A = I - 1 p^T, for a prior p (n,), 1/n by default; F^T p = 0.

    Queries of every scale keep their digits, however much others outweigh them: V is formed from queries of like
    size alone, and rows of a matrix are columns of F unless there are more of one size than user types.
    """
    small = prior is None and workload.domain_size <= KEPT
    return _kept_root(workload) if small else _root(workload, prior)


@lru_cache(maxsize=1)
def _kept_root(workload: Workload) -> Array:
    """Return F without a prior; variances of all published mechanisms on one workload start from it."""
    F = _root(workload, None)
    F.flags.writeable = False
    return F


def _root(workload: Workload, prior: Array | None) -> Array:
    """Return F as `root`."""
    rest, n = differences(workload.unmerged, prior), workload.domain_size
    if rest is None:
        return np.zeros((n, 0))
    grams, columns = dict[int, Array](), list[Array]()
    for weight, part in sorted(parts(rest), key=lambda one: one[1].by_rows):
        if not part.by_rows:
            size = int(_magnitude(abs(weight) * math.sqrt(part.frobenius_squared / part.queries)))
            grams[size] = grams.get(size, 0.0) + weight**2 * part.gram()
            continue
        rows = weight * centred_rows(_rows(part), prior)
        sizes = _magnitude(np.linalg.norm(rows, axis=1))
        for size in np.unique(sizes[rows.any(axis=1)]).tolist():
            alike = rows[sizes == size]
            if size in grams or len(alike) > n:
                grams[size] = grams.get(size, 0.0) + alike.T @ alike
            else:
                columns.append(alike.T)
    F = np.hstack([*columns, *(centred_factor(V, prior) for V in grams.values())])
    return F if F.shape[1] <= WIDE * n else _fewer(F)


def parts(workload: Workload) -> Iterator[tuple[float, Workload]]:
    """Yield the parts of a stack of weighted stacks in the order of their queries, each after its weight."""
    found = workload.split()
    for part in found:
        yield from parts(part)
    if not found:
        yield workload.unweighted


def estimated(workload: Workload) -> int:
    """Return how many answers are estimated, over which every typical error is a root mean square; at least 1.

    All but multiples of the number of all people, such as the last prefix: they are known exactly, without any error.

    >>> import stratagem as st
    >>> estimated(st.prefix(8)), estimated(st.histogram(8)), estimated(st.prefix(8) + st.total(8))
    (7, 8, 7)
    """
    return max(1, workload.queries - _known(workload))


def _known(workload: Workload) -> int:
    """Return how many answers are multiples of the number of all people."""
    if inner := workload.split():
        return sum(map(_known, inner))
    workload = workload.unweighted[1].unmerged
    match workload:
        case Spread(workload=inner):
            return _known(inner)
        case Product(factors=factors):
            return math.prod(map(_known, factors))
        case Marginals(orders=orders):
            return orders.count(0)
        case Total() | Prefix() | Parity():
            return 1
        case AllRange():
            return int(workload.width == workload.domain_size)
        case Ranges():
            return int((workload.lengths == workload.domain_size).sum())
        case SomeQueries():
            return sum(_known(one.workload) for one in workload.margins())
    if (rows := workload.given) is None:
        return 0
    return int((np.ptp(rows, axis=1) <= ROUNDED * np.abs(rows).max(axis=1)).sum())


def _magnitude(size: Any) -> Any:
    """Return the number of a decade of sizes, several decades wide: squares of its sizes share their digits."""
    return np.floor(np.log10(np.maximum(size, np.finfo(float).tiny)) / DECADES).astype(int)


def _rows(part: Workload) -> Array:
    """Return the queries of a part (p x n), or as many of the same V."""
    if part.given is not None:
        return part.given
    assert isinstance(part, Product)
    return np.asarray(reduce(np.kron, [_fewer(_columns(one)) for one in part.factors]).T, dtype=float)


def _columns(workload: Workload) -> Array:
    """Return a factor (n x r) of V, not centred."""
    match workload:
        case Weighted():
            return workload.weight * _columns(workload.workload)
        case Stack():
            return np.hstack([_columns(part) for part in workload.parts])
        case Explicit():
            return workload.rows.T
    return factor(workload.gram())


def _fewer(F: Array) -> Array:
    """Return at most n columns with the same F F^T; small columns keep their digits.

    Householder's method with rows sorted by size and column pivoting is stable row by row (Cox and Higham, Stability
    of Householder QR factorization for weighted least squares problems, 1998).
    """
    if F.shape[1] <= len(F):
        return F
    order = np.argsort(-np.abs(F).max(axis=0), kind="stable")
    R, places = cast("tuple[np.ndarray, np.ndarray]", qr(F.T[order], mode="r", pivoting=True))
    found = np.empty((len(F), len(F)))
    found[places] = R[: len(F)].T
    return found


def _explicit(rows: Array, workload: Explicit) -> Workload | None:
    """Return rows as a workload, None where their squares leave float64; centred ones may be twice as large."""
    largest = float(np.abs(rows).max())
    if largest < SMALLEST:
        return None
    if largest > LARGEST:
        return Weighted(Explicit(rows / 2, workload.domain), 2.0)
    return Explicit(rows, workload.domain)


def centred_rows(rows: Array, prior: Array | None) -> Array:
    """Return rows (p, n) less their means; rows of entries that are equal but for rounding become exactly zero."""
    rest = rows - rows[:, :1]
    rest = rest - (rest @ (uniform(rows.shape[1]) if prior is None else prior))[:, None]
    rounded = np.abs(rest).max(axis=1) <= ROUNDED * np.abs(rows).max(axis=1)
    return np.where(rounded[:, None], 0.0, rest)


UNSEEN = 1e-9
"""Share of a query's length, less its mean, that may lie where reports do not depend on the data."""
UNSEEN_ENERGY = 1e-13
"""Share of the squares of queries of one scale that may lie at characters which no report sees: their rounding."""
LISTED = 1 << 24
"""Most entries of queries whose lengths are computed one by one."""
SHORTEST = 0.5
"""Lower bound on the length, less its mean, of a query of zeros and ones, or of characters, that is no total."""
ROUNDED_LENGTH = 1e-13
"""Rounding of what a query of zeros and ones, or of characters, is off by, over n^(1/2)."""
PROBES = 8
"""Random combinations of the directions that reports do not depend on, in place of more of them.

A query is off by t ||z||, z normal with PROBES entries, where it is off by t: less than t/1000 once in 10^25 times.
"""


def first_dependent(workload: Workload, null: Array, shares: Array) -> int | None:
    """Return the first query w that depends on directions, by more than 1e-9 of its own length; None without one.

    `null` (n x k) is an orthonormal basis of the directions, in which the shares p (n,) may be too: w counts
    less its mean, w - 1 p^T w, as the number of users is known. No query depends on them if
    ||null^T (w - 1 p^T w)|| <= 1e-9 ||w - 1 p^T w|| for each, whatever its weight beside others.
    """
    first = 0
    for _, part in parts(levelled(workload.unmerged, shares)) if null.shape[1] else ():
        few, probes = part.queries * part.domain_size <= LISTED, _probes(null, part.queries)
        if few and part.by_rows:
            rows = centred_rows(part.matrix(), shares)
            lost, own = np.linalg.norm(rows @ probes, axis=1), np.linalg.norm(rows, axis=1)
        else:
            own = _lengths(part, None, shares) if few else SHORTEST
            lost = _lengths(part, probes, shares) - ROUNDED_LENGTH * math.sqrt(part.domain_size)
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
        rows = () if part.given is None else part.given
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
