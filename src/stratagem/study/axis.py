"""The axis of a sweep: several budgets for one workload, or one budget for several workloads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from stratagem.math.privacy import check
from stratagem.workloads import Workload

EPSILON, DOMAIN = "epsilon", "domain size"


def along(
    workload: Workload | Sequence[Workload], epsilon: float | Sequence[float]
) -> tuple[str, list[tuple[Workload, float]]]:
    """Return the name of the axis, and the workload and budget at every place on it.

    Raises:
        ValueError: if none or both are sequences, one is empty, or a budget is out of range.
    """
    workloads = [workload] if isinstance(workload, Workload) else _several(workload, "workloads")
    budgets = [epsilon] if isinstance(epsilon, int | float) else _several(epsilon, "budgets")
    if isinstance(workload, Workload) == isinstance(epsilon, int | float):
        raise ValueError(
            f"{len(workloads)} workloads and {len(budgets)} budgets were given, but a sweep goes along one of "
            "them: give several of one and one of the other"
        )
    for one in workloads:
        if not isinstance(one, Workload):
            raise ValueError(f"{one!r} was given among the workloads: give workloads such as st.prefix(8)")
    axis = EPSILON if isinstance(workload, Workload) else DOMAIN
    return axis, list(product(workloads, map(check, budgets)))


def place(axis: str, workload: Workload, epsilon: float) -> float:
    """Return the value on the axis for a workload and a budget: its epsilon or its domain size."""
    return epsilon if axis == EPSILON else workload.domain_size


def _several(given: Iterable, what: str) -> list:
    """Return the sequence as a list, which must not be empty."""
    items = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    if not items:
        raise ValueError(f"{given!r} was given as {what}: give at least one in a list")
    return items
