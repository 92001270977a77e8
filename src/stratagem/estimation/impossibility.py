"""Answers that no data vector of N users has: outside their limits, or prefix answers that fall; and nested limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from stratagem.estimation.answer import Interval
from stratagem.estimation.postprocessing import RECOMMENDED
from stratagem.estimators.estimator import Evidence
from stratagem.estimators.translation.tables import TABLE
from stratagem.workloads import Workload
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.marginals import Marginals
from stratagem.workloads.merged import Padded
from stratagem.workloads.product import Product
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.selection import Cells, Ranges, SomeQueries

BLOCK = 1 << 24
"""Entries of a temporary array."""


def limits(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return a lower and an upper limit (p,) of the entries of each row, infinite where the structure tells none.

    The answer of a row w from N users lies between N times its two limits.
    """
    p = workload.queries
    match workload:
        case Identity() | Total() | Prefix() | AllRange() | Padded() | Ranges() | Cells() | Marginals():
            return np.zeros(p), np.ones(p)
        case Explicit():
            return workload.rows.min(axis=1), workload.rows.max(axis=1)
        case Weighted():
            ends = [workload.weight * end for end in limits(workload.workload)]
            return np.minimum(*ends), np.maximum(*ends)
        case Stack():
            low, high = zip(*map(limits, workload.parts), strict=True)
            return np.concatenate(low), np.concatenate(high)
        case SomeQueries():
            low, high = np.empty(p), np.empty(p)
            for margin in workload.margins():
                low[margin.places], high[margin.places] = limits(margin.workload)
            return low, high
        case Product():
            return reduce(_multiplied, map(limits, workload.factors))
        case _:
            return np.full(p, -np.inf), np.full(p, np.inf)


def _multiplied(
    one: tuple[np.ndarray, np.ndarray], two: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of the products of two entries, one from each row, for all pairs of rows."""
    products = [np.multiply.outer(a, b).ravel() for a in one for b in two]
    return np.minimum.reduce(products), np.maximum.reduce(products)


def extremes(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits (p,) of `limits`, computed entry by entry where the structure tells none."""
    least, most = limits(workload)
    if not (np.isfinite(least).all() and np.isfinite(most).all()):
        for margin in workload.margins():
            least[margin.places], most[margin.places] = _by_entry(margin.workload)
    return least, most


def cells(workload: Workload) -> np.ndarray:
    """Return the number of cells (p,) of the table that each query is about."""
    found = np.empty(workload.queries)
    for margin in workload.margins():
        found[margin.places] = float(margin.workload.domain_size)
    return found


def _by_entry(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    n, step = workload.domain_size, max(1, BLOCK // workload.queries)
    least, most = np.full(workload.queries, np.inf), np.full(workload.queries, -np.inf)
    for first in range(0, n, step):
        entries = workload.answer(np.eye(n, min(step, n - first), -first))
        least, most = np.minimum(least, entries.min(axis=1)), np.maximum(most, entries.max(axis=1))
    return least, most


ROUNDING = 1e-9
"""Share of all users by which an answer may be off before it counts as impossible."""

FEW = 8
"""Largest number of queries for which it is checked whether one answer determines all others."""


@dataclass(frozen=True, kw_only=True)
class Impossible:
    """How many answers cannot be true, and of what kind; one answer may be of two kinds.

    >>> print(Impossible(queries=64, answers=3, low=2, high=0, falling=1, counts=True, method="wnnls"))
    3 of 64 answers cannot be true (2 negative, 1 below a shorter prefix); the method wnnls mends them
    """

    queries: int
    """How many answers were looked at."""
    answers: int
    """How many answers are impossible, in one way or in several."""
    low: int
    """Number of answers below the smallest value possible with N users; for counts, negative answers."""
    high: int
    """Number of answers above the largest value possible with N users; for counts, answers above N."""
    falling: int
    """Number of prefix answers below the answer of a shorter prefix."""
    counts: bool
    """Whether every query is a count, so that answers lie between zero and the number of users."""
    method: str
    """Name of the post-processing that mends them, or makes answers fit together; empty where it would change
    nothing, or the domain has too many cells for it."""
    some: bool = False
    """Whether there are more answers than were looked at."""

    @property
    def fact(self) -> str:
        """Statement of what is impossible; empty where nothing is."""
        low, high = ("negative", "above all people") if self.counts else ("too small", "too large")
        kinds = {low: self.low, high: self.high, "below a shorter prefix": self.falling}
        shown = ", ".join(f"{many:,} {kind}" for kind, many in kinds.items() if many)
        some = " that were looked at" if self.some else ""
        return f"{self.answers:,} of {self.queries:,} answers{some} cannot be true ({shown})" if shown else ""

    def __str__(self) -> str:
        """Return the fact and the name of the method that mends the answers."""
        return self.fact + (f"; the method {self.method} mends them" if self.fact and self.method else "")


def merged(parts: Sequence[Impossible]) -> Impossible:
    """Return what is said of the answers of several tables together."""
    return Impossible(
        queries=sum(one.queries for one in parts),
        answers=sum(one.answers for one in parts),
        low=sum(one.low for one in parts),
        high=sum(one.high for one in parts),
        falling=sum(one.falling for one in parts),
        counts=all(one.counts for one in parts),
        method=next((one.method for one in parts if one.method), ""),
        some=any(one.some for one in parts),
    )


def impossible(
    workload: Workload,
    evidence: Evidence,
    answers: np.ndarray,
    processed: np.ndarray | None = None,
    among: int | None = None,
) -> Impossible:
    """Return how many answers (p,) no data vector of N users has, up to rounding.

    The answer of row w of the workload lies between N min w and N max w, and prefix answers rise. `processed` (n,)
    is the data vector that a post-processing made from the evidence, `among` the number of answers of which
    these are looked at.
    """
    users = evidence.users
    least, most = limits(workload)
    low, high = answers < users * (least - ROUNDING), answers > users * (most + ROUNDING)
    falling = _falling(workload, answers, users * ROUNDING)
    wrong = low | high | falling
    dense = evidence.by_cell
    mendable = dense or workload.domain_size <= TABLE
    fitting = (dense and _exists(evidence.data if processed is None else processed, users)) or _single(
        workload
    )
    return Impossible(
        queries=len(answers),
        answers=int(np.count_nonzero(wrong)),
        low=int(np.count_nonzero(low)),
        high=int(np.count_nonzero(high)),
        falling=int(np.count_nonzero(falling)),
        counts=bool((least >= 0).all() and (most <= 1).all()),
        method=RECOMMENDED if mendable and (wrong.any() or not fitting) else "",
        some=among is not None and among > len(answers),
    )


def _exists(data: np.ndarray, users: int) -> bool:
    """Return whether a data vector (n,), from which answers come, can be that of N users."""
    return bool(data.min() >= -users * ROUNDING and abs(data.sum() - users) <= users * ROUNDING)


def _single(workload: Workload) -> bool:
    """Return whether one answer and the number of users determine all answers, as for a single mean."""
    if workload.queries > FEW or not np.isfinite(limits(workload)).all():
        return False
    rows = workload.matrix()
    return int(np.linalg.matrix_rank(rows - rows.mean(axis=1, keepdims=True))) <= 1


def _falling(workload: Workload, answers: np.ndarray, rounding: float) -> np.ndarray:
    """Mark the answers (p,) of prefixes that are below the one before, also inside weights, stacks and products."""
    match workload:
        case Prefix() | Padded(workload=Prefix()):
            return np.diff(answers, prepend=-np.inf) < -rounding
        case Weighted():
            return _falling(workload.workload, answers / workload.weight, rounding / abs(workload.weight))
        case Stack():
            parts = np.split(answers, np.cumsum([part.queries for part in workload.parts])[:-1])
            pairs = zip(workload.parts, parts, strict=True)
            return np.concatenate([_falling(part, own, rounding) for part, own in pairs])
        case Product() if min(limits(workload)[0], default=0.0) >= 0:
            factors = [
                factor for factor in workload.factors if factor.queries > 1
            ]  # arrays have 64 axes at most
            tensor = answers.reshape([factor.queries for factor in factors])
            found = np.zeros(tensor.shape, dtype=bool)
            for axis, factor in enumerate(factors):
                if factor.unpadded.cumulative:
                    found |= np.diff(tensor, axis=axis, prepend=-np.inf) < -rounding
            return found.ravel()
        case _:
            return np.zeros(len(answers), dtype=bool)


SIDE = 2048
"""Most values of an attribute whose ranges are looked at all together, as a square of so many numbers a side."""


def nested(workload: Workload, found: Interval) -> Interval:
    """Return intervals (p,) that grow until whoever is counted by A and by B too has no limit of A above that of B.

    The lower end of A becomes the least of all B that are nowhere smaller than A, entry by entry, the upper end of B
    the largest of all such A. So a share below 65 has no higher limit than one below 70, and no interval loses a truth
    that it held. Prefixes, ranges and products of them are compared, and rows of a small matrix, within each question.
    """
    return Interval(*(end[:, 0] for end in _grown(workload, found.low[:, None], found.high[:, None])))


def _grown(workload: Workload, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper ends (p, k) of k families of intervals, each nested along the queries."""
    match workload:
        case Prefix():
            return np.minimum.accumulate(low[::-1])[::-1], np.maximum.accumulate(high)
        case Padded():
            return _grown(workload.workload, low, high)
        case AllRange():
            starts = [np.arange(rows.stop - rows.start) for _, rows in workload.lengths()]
            ends = [start + shorter for shorter, start in enumerate(starts)]
            return _ranges(workload.domain.size, np.concatenate(starts), np.concatenate(ends), low, high)
        case Ranges():
            return _ranges(workload.domain.size, workload.low, workload.high, low, high)
        case Weighted() if workload.weight > 0:
            return _grown(workload.workload, low, high)
        case Explicit() if workload.queries**2 * workload.domain_size <= BLOCK:
            inside = np.all(workload.rows[:, None] <= workload.rows, axis=2)
            least = [low[larger].min(axis=0) for larger in inside]
            return np.stack(least), np.stack([high[smaller].max(axis=0) for smaller in inside.T])
        case Stack():
            ends = np.cumsum([part.queries for part in workload.parts])[:-1]
            pairs = zip(workload.parts, np.split(low, ends), np.split(high, ends), strict=True)
            lows, highs = zip(*(_grown(*one) for one in pairs), strict=True)
            return np.concatenate(lows), np.concatenate(highs)
        case SomeQueries():
            low, high = low.copy(), high.copy()
            for one in workload.margins():
                low[one.places], high[one.places] = _grown(one.workload, low[one.places], high[one.places])
        case Product() if all((limits(factor)[0] >= 0).all() for factor in workload.factors):
            for place, factor in enumerate(workload.factors):
                before = math.prod(one.queries for one in workload.factors[:place])
                shape = before, factor.queries, -1
                turned = [np.swapaxes(end.reshape(shape), 0, 1) for end in (low, high)]
                grown = _grown(factor, *(one.reshape(factor.queries, -1) for one in turned))
                both = zip(grown, turned, strict=True)
                low, high = (np.swapaxes(a.reshape(b.shape), 0, 1).reshape(low.shape) for a, b in both)
    return low, high


def _ranges(
    size: int, first: np.ndarray, last: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nested ends (p, k) of ranges from `first` to `last`: longer ones begin before and end after.

    Of very many values nothing but prefixes is compared.
    """
    low, high = low.copy(), high.copy()
    starts = np.unique(first) if size <= SIDE else np.unique(first)[:1]
    chosen = np.flatnonzero(np.isin(first, starts))
    rows, columns = np.searchsorted(starts, first[chosen]), last[chosen]
    for ends, blank, way, least in ((low, np.inf, -1, np.minimum), (high, -np.inf, 1, np.maximum)):
        for k in range(ends.shape[1]):
            square = np.full((len(starts), size), blank)
            least.at(square, (rows, columns), ends[chosen, k])
            across = least.accumulate(square[:, ::way], axis=1)[:, ::way]
            ends[chosen, k] = least.accumulate(across[::-way], axis=0)[::-way][rows, columns]
    return low, high
