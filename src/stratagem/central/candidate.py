"""The candidates of a comparison: every reference mechanism that applies to a workload, with its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from stratagem.baselines.setting import Setting
from stratagem.central.basis import haar, parities
from stratagem.central.cube import MOST, cube_tables
from stratagem.central.grid import GridHierarchy
from stratagem.central.hierarchy import Hierarchy
from stratagem.central.neighbour import Neighbours
from stratagem.central.pure import Pure, geometric_variance, measure
from stratagem.central.tree import BRANCHINGS, Tree, best_budgets
from stratagem.central.view import tables
from stratagem.math.covering import covering_tables
from stratagem.workloads import Workload

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
