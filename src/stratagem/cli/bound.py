"""The command `bound`: what no strategy can beat."""

from __future__ import annotations

from typing import Any

from stratagem.cli.option import DOMAIN, EPSILON, JSON, ORDER, WIDTH, WORKLOAD, read_workload
from stratagem.cli.output import write, write_json
from stratagem.cli.progress import progress


def bound(
    workload: WORKLOAD,
    epsilon: EPSILON,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    json: JSON = False,
) -> None:
    """Compute lower bounds on the objective of every strategy for a workload."""
    from stratagem.bounds import lower_bounds
    from stratagem.privacy import check

    check(epsilon)
    asked = read_workload(workload, domain, order, width)
    with progress("computing bounds"):
        bounds = lower_bounds(asked, epsilon)
    if json:
        write_json(bounds_data(bounds))
        return
    for name, value in bounds.known().items():
        write(f"{name:<9} {value:>16,.6f}{'   best' if name == bounds.name else ''}")


def bounds_data(bounds: Any) -> dict[str, float]:
    """Return the bounds that were computed, by name, and the best of them."""
    return {**bounds.known(), "best": bounds.best}
