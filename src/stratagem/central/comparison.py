"""The reference mechanisms of the central model side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.baselines.setting import Setting
from stratagem.central.candidate import Candidate, Task, candidates
from stratagem.central.gaussian import measure_gaussian
from stratagem.central.measurement import Measurement
from stratagem.central.neighbour import Neighbours, check
from stratagem.central.optimised import optimised, optimised_gaussian
from stratagem.math import privacy
from stratagem.math.gaussian import check_delta
from stratagem.math.linalg import centre
from stratagem.workloads import Workload

HEADINGS = ("mechanism", "parameters", "average variance", "worst variance", "epsilon", "delta")
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

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, in the order of HEADINGS."""
        numbers = (
            self.average_variance,
            self.worst_variance,
            self.measurement.epsilon,
            self.measurement.delta,
        )
        return self.mechanism, self.parameters, *(f"{number:.5g}" for number in numbers)


@dataclass(frozen=True, eq=False)
class CentralComparison:
    """Mechanisms of a trusted curator, in order of increasing average variance."""

    workload: Workload
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        """Lay the mechanisms out as an aligned table."""
        table = [HEADINGS, *(row.cells() for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in table)
        return "\n".join(line.rstrip() for line in lines)


def compare(
    workload: Workload, epsilon: float, neighbours: Neighbours, delta: float | None = None
) -> CentralComparison:
    """Set the mechanisms of the central model side by side, each tuned to its least average variance.

    Every mechanism measures linear queries and answers by least squares, so that its variances hold for all
    data, exactly. The optimised queries are never worse than another mechanism with geometric noise.

    Args:
        workload: Linear queries over at most 1024 user types.
        epsilon: Privacy budget.
        neighbours: "add-remove" or "replace". One person replaced by another changes the histogram by 2
            in the L1 norm; only "replace" is comparable with local differential privacy.
        delta: Adds Gaussian noise on the histogram and on optimised queries.

    Raises:
        ValueError: for an epsilon, delta or relation that is not one, a workload that asks for nothing (or for
            the total alone, where people are replaced), or a larger domain.

    Example:
        >>> import stratagem as st
        >>> compare(st.prefix(16), epsilon=1.0, neighbours="add-remove").rows[0].mechanism
        'optimised'
    """
    check(neighbours)
    privacy.check(epsilon)
    if delta is not None:
        check_delta(delta)
    if workload.domain_size > LARGEST:
        raise ValueError(
            f"The domain has {workload.domain_size} cells; comparisons go to {LARGEST}: merge some."
        )
    V, n = workload.gram(), workload.domain_size
    if neighbours == "replace" and np.abs(centre(V)).max() <= CONSTANT * np.abs(V).max():
        raise ValueError(
            "The workload asks for the total alone, which no replacement changes: use add-remove."
        )
    task = Task(workload, Setting(workload.domain.sizes, V), epsilon, neighbours)
    tuned = _tuned(task)
    others: list[tuple[str, str, Measurement]] = [candidate for _, candidate in tuned.values()]
    others.append(_optimised(task, *min(tuned.values(), key=lambda one: one[0])))
    if delta is not None:
        others.append(("gaussian", "histogram", measure_gaussian(np.eye(n), epsilon, delta, neighbours)))
        others.append(("gaussian", "optimised", optimised_gaussian(V, epsilon, delta, neighbours)))
    rows = (_row(task, *other) for other in others)
    return CentralComparison(workload, tuple(sorted(rows, key=lambda row: row.average_variance)))


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
