"""Queries that touch a few attributes only, one set of attributes at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stratagem.workloads.workload import Workload


@dataclass(frozen=True, eq=False)
class Margin:
    """Some queries of a workload, asked of the table of a few attributes with all others summed out.

    A workload is the union of its margins: answers[places] = workload.answer(table), for each of them.
    """

    attributes: tuple[int, ...]
    """Places of the attributes in the domain, rising; at least one."""
    workload: Workload
    """The queries, over a domain of these attributes."""
    places: np.ndarray | slice
    """Their numbers among all queries (p',)."""


def whole(workload: Workload) -> Margin:
    """Return the margin of a workload that is asked of all attributes together."""
    return Margin(tuple(range(len(workload.domain.sizes))), workload, slice(0, workload.queries))
