"""What a comparison tries: every reference mechanism that applies to a workload, with what it may be tuned to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from stratagem.baselines.setting import Setting
from stratagem.central.basis import haar, parities
from stratagem.central.hierarchy import BRANCHINGS, Hierarchy, best_budgets
from stratagem.central.neighbour import Neighbours
from stratagem.central.pure import Pure, measure
from stratagem.central.view import covering, tables
from stratagem.workloads import Workload

LONGEST = 4
"""Measured queries per user type at most."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked and under which promise."""

    workload: Workload
    setting: Setting
    epsilon: float
    neighbours: Neighbours

    def measured(self, K: np.ndarray, shares: np.ndarray | None = None) -> Pure:
        """Return whole-number queries with geometric noise that spends the budget."""
        return measure(K, self.epsilon, self.neighbours, shares)


Candidate = tuple[str, str, Pure]
"""Mechanism, tuned parameters in words, measurement."""


def candidates(task: Task) -> Iterator[Candidate]:
    """Yield the linear mechanisms of pure differential privacy that a task may use."""
    n = task.setting.domain_size
    yield "laplace", "histogram", measure(np.eye(n), task.epsilon, task.neighbours, noise="laplace")
    yield "geometric", "histogram", task.measured(np.eye(n))
    yield from _workload_itself(task)
    if len(task.setting.sizes) == 1 and n > 1:
        yield from _hierarchies(task)
        yield "privelet", "", task.measured(haar(n))
    if len(task.setting.sizes) > 1:
        yield from _views(task)
    if set(task.setting.sizes) == {2}:
        yield from _parities(task)


def _workload_itself(task: Task) -> Iterator[Candidate]:
    workload, n = task.workload, task.setting.domain_size
    if workload.queries <= LONGEST * n:
        W = workload.matrix()
        if (W % 1 == 0).all() and np.abs(W).max() < 2**53:
            yield "workload", "least squares", task.measured(W)


def _hierarchies(task: Task) -> Iterator[Candidate]:
    """Yield trees of every branching, and the best of them with the budgets that suit the workload best."""
    n, best, least = task.setting.domain_size, None, np.inf
    for branching in (b for b in BRANCHINGS if b == 2 or b < n):
        tree = Hierarchy(n, branching)
        measurement = task.measured(tree.queries())
        yield "hierarchical", f"branching {branching}", measurement
        total = measurement.total_variance(task.setting.gram)
        if total < least:
            best, least = tree, total
    if best is not None and len(best.widths) > 1:
        budgets = best_budgets(best, task.setting.gram)
        words = " ".join(f"{budget:.2g}" for budget in budgets[::-1])
        parameters = f"branching {best.branching}, budgets {words}"
        yield "hierarchical", parameters, task.measured(best.queries(), best.shares(budgets))


def _views(task: Task) -> Iterator[Candidate]:
    """Yield the tables that are asked for, and larger ones that cover them."""
    sizes, margins = task.setting.sizes, task.setting.margins
    K = tables(sizes, margins)
    if len(K) <= LONGEST * task.setting.domain_size:
        yield "marginals", f"{len(margins)} tables", task.measured(K)
    for size in range(max(map(len, margins)) + 1, len(sizes)):
        views = covering(len(sizes), size, margins)
        K = tables(sizes, views)
        if len(K) <= LONGEST * task.setting.domain_size:
            yield "views", f"{len(views)} of {size} attributes", task.measured(K)


def _parities(task: Task) -> Iterator[Candidate]:
    d, inside = len(task.setting.sizes), {()}
    for margin in task.setting.margins:
        inside |= {S for k in range(len(margin) + 1) for S in combinations(margin, k)}
    sets = sorted(inside, key=lambda S: (len(S), S))
    yield "fourier", f"{len(sets)} parities", task.measured(parities(d, sets))
