"""The reference mechanisms of the central model side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stratagem.central.measurement import (
    GaussianMeasurement,
    GeometricMeasurement,
    Measurement,
    Neighbours,
    Pure,
    check,
    geometric_variance,
    measure,
    measure_gaussian,
    spending,
)
from stratagem.central.table import (
    BRANCHINGS,
    MOST,
    GridHierarchy,
    Hierarchy,
    Tree,
    best_budgets,
    cube_tables,
    haar,
    parities,
    tables,
)
from stratagem.io.table import Table
from stratagem.math import privacy
from stratagem.math.block_design import covering_tables
from stratagem.math.linalg import centre
from stratagem.math.number import number_text
from stratagem.math.privacy import check_delta
from stratagem.published.baseline import Setting
from stratagem.published.query_strategy import least_l1, least_l2
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.given import WorkloadLike, workload_of

LONGEST = 4
"""Largest number of measured queries per user type."""


Candidate = tuple[str, str, Pure]
"""Name of the mechanism, its tuned parameters in words, and its measurement."""


@dataclass(frozen=True, eq=False)
class Task:
    """The workload to answer, and the budget and neighbour relation to keep."""

    workload: Workload
    setting: Setting
    epsilon: float
    neighbours: Neighbours

    def spent(
        self, mechanism: str, parameters: str, K: np.ndarray, shares: np.ndarray | None = None
    ) -> Iterator[Candidate]:
        """Yield whole-number queries measured with geometric noise; nothing if all neighbours agree on them."""
        if self.neighbours == "add-remove" or (K != K[:, :1]).any():
            yield mechanism, parameters, measure(K, self.epsilon, self.neighbours, shares)


def candidates(task: Task) -> Iterator[Candidate]:
    """Yield the linear mechanisms of pure differential privacy that a task may use."""
    n = task.setting.domain_size
    yield "laplace", "histogram", measure(np.eye(n), task.epsilon, task.neighbours, noise="laplace")
    yield from task.spent("geometric", "histogram", np.eye(n))
    yield from _workload_itself(task)
    if n > 1:
        yield from _hierarchies(task)
    if len(task.setting.sizes) == 1 and n > 1:
        yield from task.spent("privelet", "", haar(n))
    if len(task.setting.sizes) > 1:
        yield from _views(task)
        yield from _cube(task)
    if set(task.setting.sizes) == {2}:
        yield from _parities(task)


def _workload_itself(task: Task) -> Iterator[Candidate]:
    workload, n = task.workload, task.setting.domain_size
    if workload.queries <= LONGEST * n:
        W = workload.matrix()
        if (W % 1 == 0).all() and np.abs(W).max() < 2**53:
            yield from task.spent("workload", "least squares", W)


def _hierarchies(task: Task) -> Iterator[Candidate]:
    """Yield trees of every branching, and the best of them with the budgets that suit the workload best."""
    V, totals = task.setting.gram, {}
    for tree in _trees(task.setting.sizes):
        for candidate in task.spent("hierarchical", f"branching {tree.branching}", tree.queries()):
            totals[tree] = candidate[2].total_variance(V)
            yield candidate
    best = min(totals, key=lambda tree: totals[tree], default=None)
    if best is not None and len(best.widths) > 1:
        budgets = best_budgets(best, V)
        words = " ".join(f"{budget:.2g}" for budget in budgets[::-1])
        parameters = f"branching {best.branching}, budgets {words}"
        yield from task.spent("hierarchical", parameters, best.queries(), best.shares(budgets))


def _trees(sizes: tuple[int, ...]) -> Iterator[Tree]:
    """Yield trees with more levels than the histogram; for one attribute the binary tree in any case."""
    if len(sizes) == 1:
        yield from (Hierarchy(sizes[0], b) for b in BRANCHINGS if b == 2 or b < sizes[0])
    else:
        yield from (GridHierarchy(sizes, b) for b in BRANCHINGS if b < max(sizes))


def _views(task: Task) -> Iterator[Candidate]:
    """Yield measurements of the tables that the workload asks for, and of larger tables that cover them."""
    sizes, margins = task.setting.sizes, task.setting.margins
    K = tables(sizes, margins)
    if len(K) <= LONGEST * task.setting.domain_size:
        yield from task.spent("marginals", f"{len(margins)} tables", K)
    for size in range(max(map(len, margins)) + 1, len(sizes)):
        views = covering_tables(len(sizes), margins, size)
        K = tables(sizes, views)
        if len(K) <= LONGEST * task.setting.domain_size:
            yield from task.spent("views", f"{len(views)} of {size} attributes", K)


def _cube(task: Task) -> Iterator[Candidate]:
    """Yield the measurement of the tables that the greedy data-cube search chooses for its noise."""
    sizes, person = task.setting.sizes, 1 if task.neighbours == "add-remove" else 2
    if len(sizes) <= MOST:
        chosen = cube_tables(task.setting, lambda s: geometric_variance(task.epsilon / (person * s)))
        yield from task.spent("data cube", f"{len(chosen)} tables", tables(sizes, chosen))


def _parities(task: Task) -> Iterator[Candidate]:
    d, inside = len(task.setting.sizes), {()}
    for margin in task.setting.margins:
        inside |= {S for k in range(len(margin) + 1) for S in combinations(margin, k)}
    sets = sorted(inside, key=lambda S: (len(S), S))
    yield from task.spent("fourier", f"{len(sets)} parities", parities(d, sets))


GRID = 1 << 20
"""Number of steps of a query's weights: they are rounded to 2^-20 of the largest."""
SAME = 1e-9
"""Relative difference up to which the weights of a query count as equal."""


def optimised(
    V: np.ndarray, epsilon: float, neighbours: Neighbours, starts: Sequence[ArrayLike] = ()
) -> GeometricMeasurement:
    """Return queries optimised for a Gram matrix V (n x n) with geometric noise.

    A query whose weights are c, 0 and -c becomes 1, 0 and -1 at the rate c, where whole-number noise is a little
    below Laplace noise; the weights of other queries are rounded to 2^-20 of their largest.

    Guarantee:
        epsilon-differential privacy: the sensitivity is that of the rounded queries.

    Raises:
        ValueError: as `least_l1` and `measure`.
    """
    A = least_l1(V, starts).matrix
    A = A[np.abs(A).max(axis=1) > SAME * np.abs(A).max()]
    sizes = np.abs(A)
    largest, least = sizes.max(axis=1), np.where(sizes > 0, sizes, np.inf).min(axis=1)
    steps = np.where(least >= largest * (1 - SAME), 1, GRID)
    K = np.rint(A * (steps / largest)[:, None]).astype(np.int64)
    return GeometricMeasurement(*spending(K, epsilon, neighbours, largest / steps), neighbours)


def optimised_gaussian(
    V: np.ndarray, epsilon: float, delta: float, neighbours: Neighbours
) -> GaussianMeasurement:
    """Return the best queries for a Gram matrix V (n x n) and Gaussian noise, up to a relative 1e-7.

    They are the best for "add-remove"; for "replace" they are only good, as Euclidean distances of columns
    take the place of lengths.

    Raises:
        ValueError: as `least_l2` and `measure_gaussian`.
    """
    return measure_gaussian(least_l2(V).matrix, epsilon, delta, neighbours)


LARGEST = 1024
"""Largest number of user types, for which a comparison takes about a minute."""
CONSTANT = 1e-12
"""Fraction of max |V| below which the centred V counts as zero: the workload then asks for the total alone."""


@dataclass(frozen=True, eq=False)
class Row:
    """A mechanism of the central model, tuned for a workload."""

    mechanism: str
    parameters: str
    average_variance: float
    """Mean variance of a query of the workload, in squared counts; it is the same for all data."""
    worst_variance: float
    """Variance of the least accurate query, in squared counts."""
    measurement: Measurement

    def record(self) -> dict[str, object]:
        """Return the row as named values."""
        return {
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "average_variance": self.average_variance,
            "worst_variance": self.worst_variance,
            "queries": len(self.measurement.queries),
            "epsilon": self.measurement.epsilon,
            "delta": self.measurement.delta,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class CentralComparison:
    """Mechanisms of a trusted curator, in order of increasing average variance."""

    workload: Workload
    epsilon: float
    neighbours: Neighbours
    delta: float | None
    """That of Gaussian noise; None where there is none."""
    rows: tuple[Row, ...]
    name: str = "workload"
    """What the workload is called."""

    def table(self) -> Table:
        """Return the mechanisms as a table."""
        headings = ("mechanism", "parameters", "average variance", "worst variance", "epsilon", "delta")
        rows = []
        for row in self.rows:
            spent = row.measurement.epsilon, row.measurement.delta
            numbers = (row.average_variance, row.worst_variance, *spent)
            rows.append((row.mechanism, row.parameters, *(f"{one:.5g}" for one in numbers)))
        return Table(headings, rows, words=2)

    def __str__(self) -> str:
        """Lay the mechanisms out as an aligned table."""
        return str(self.table())

    def record(self) -> dict[str, Any]:
        """Return what was compared as named values."""
        return {
            "workload": self.name,
            "domain": str(self.workload.domain),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "mechanisms": [row.record() for row in self.rows],
        }

    def sentences(self) -> list[str | Table]:
        """Return what the best mechanism reaches, all of them as a table, and what was asked."""
        best, unit = self.rows[0], "users" if counts_users(self.workload) else "in the units of the queries"
        name = f"{best.mechanism} ({best.parameters})" if best.parameters else best.mechanism
        promise = f"epsilon {self.epsilon:g}" + ("" if self.delta is None else f", delta {self.delta:g}")
        lead = (
            f"With a trusted curator the best mechanism, {name}, has a standard error of "
            f"{number_text(best.average_variance**0.5)} {unit}, root mean square over the queries, and of "
            f"{number_text(best.worst_variance**0.5)} for the least accurate answer, however many users there are."
        )
        below = (
            "variance: of a query's answer in squared counts, the same for all data; the curator is trusted"
        )
        asked = (
            f"asked: {self.name} over domain {self.workload.domain}, {promise}, neighbours {self.neighbours}"
        )
        return [lead, "", self.table(), "", below, asked]


def compare(
    workload: WorkloadLike,
    epsilon: float,
    neighbours: Neighbours,
    delta: float | None = None,
    *,
    domain: DomainLike | None = None,
) -> CentralComparison:
    """Set the mechanisms of the central model side by side, each tuned to its least average variance.

    Every mechanism measures linear queries and answers by least squares, so that its variances hold for all
    data, exactly. The optimised queries are never worse than another mechanism with geometric noise.

    Args:
        workload: Linear queries over at most 1024 user types, or their name, file or matrix (see `workload_of`).
        epsilon: Privacy budget.
        neighbours: "add-remove" or "replace". One person replaced by another changes the histogram by 2
            in the L1 norm; only "replace" is comparable with local differential privacy.
        delta: Adds Gaussian noise on the histogram and on optimised queries.
        domain: Domain of a name which fits any, or of the columns of a matrix.

    Raises:
        ValueError: for an epsilon, delta or relation that is not one, a workload that asks for nothing (or for
            the total alone, where people are replaced), or a larger domain.

    Example:
        >>> import stratagem as st
        >>> compare(st.prefix(16), epsilon=1.0, neighbours="add-remove").rows[0].mechanism
        'optimised'
    """
    check(neighbours)
    workload, epsilon = workload_of(workload, domain), privacy.check(epsilon)
    if delta is not None:
        check_delta(delta)
    task = _task(workload, epsilon, neighbours)
    V, n, tuned = task.setting.gram, workload.domain_size, _tuned(task)
    others: list[tuple[str, str, Measurement]] = [candidate for _, candidate in tuned.values()]
    others.append(_optimised(task, *min(tuned.values(), key=lambda one: one[0])))
    if delta is not None:
        others.append(("gaussian", "histogram", measure_gaussian(np.eye(n), epsilon, delta, neighbours)))
        others.append(("gaussian", "optimised", optimised_gaussian(V, epsilon, delta, neighbours)))
    rows = tuple(sorted((_row(task, *other) for other in others), key=lambda row: row.average_variance))
    return CentralComparison(
        workload=workload, epsilon=epsilon, neighbours=neighbours, delta=delta, rows=rows
    )


def _task(workload: Workload, epsilon: float, neighbours: Neighbours) -> Task:
    """Return what is to be compared, refusing what takes too long or asks for nothing."""
    if workload.domain_size > LARGEST:
        raise ValueError(
            f"the domain has {workload.domain_size} cells; comparisons go to {LARGEST}: merge some"
        )
    V = workload.gram()
    if neighbours == "replace" and np.abs(centre(V)).max() <= CONSTANT * np.abs(V).max():
        raise ValueError(
            "the workload asks for the total alone, which no replacement changes: use add-remove"
        )
    return Task(workload, Setting(workload.domain.sizes, V), epsilon, neighbours)


def _tuned(task: Task) -> dict[str, tuple[float, Candidate]]:
    """Return the candidate of least total variance for every mechanism, among those that measure the whole workload."""
    tuned: dict[str, tuple[float, Candidate]] = {}
    for candidate in candidates(task):
        name, total = candidate[0], candidate[2].total_variance(task.setting.gram)
        if total < tuned.get(name, (np.inf,))[0]:
            tuned[name] = total, candidate
    return tuned


def _optimised(task: Task, least: float, best: Candidate) -> Candidate:
    """Return optimised queries, the best of the published ones where descent from it found nothing better."""
    V, known = task.setting.gram, best[2]
    found = optimised(V, task.epsilon, task.neighbours, [known.queries * known.rates[:, None]])
    if found.total_variance(V) <= least:
        return "optimised", "matrix mechanism", found
    return "optimised", f"as {best[0]}", known


def _row(task: Task, mechanism: str, parameters: str, measurement: Measurement) -> Row:
    average = measurement.total_variance(task.setting.gram) / task.workload.queries
    return Row(mechanism, parameters, average, measurement.worst_variance(task.workload), measurement)
