"""The plan of an audit: user types, classes of outputs and events, all fixed before any report is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stratagem.auditor.event import Favoured
from stratagem.auditor.output_classes import OutputClasses
from stratagem.auditor.pool import Pool


@dataclass(frozen=True)
class Chosen:
    """The user types that an audit tests."""

    user_types: tuple[int, ...]
    drawn: int | None
    """Number of them drawn at random from all user types; None if all are tested."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The classes of outputs and the events that an audit counts for some user types."""

    user_types: tuple[int, ...]
    partitions: tuple[tuple[tuple[str, OutputClasses], ...], ...]
    """For every user type, pairs of a check's name and the classes of outputs that it counts, finest classes first."""
    favoured: tuple[Favoured, ...]
    """For every user type, the outputs that favour it."""
    pool: Pool | None
    """Events that prove an epsilon; None where no two user types can be compared."""


def matched(distance: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs (i, j) whose distances (t x t) sum to the most, every number at most once first and once second.

    Pairs of distance 0 or less are left out.
    """
    from scipy.optimize import linear_sum_assignment

    wanted = np.where(distance > 0, distance, 0.0)
    rows, columns = linear_sum_assignment(wanted, maximize=True)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if wanted[i, j] > 0]


def filled(first: Sequence[int], others: Sequence[int], count: int) -> Chosen:
    """Return `count` user types: the first ones, then others, which are random, in their order."""
    chosen = list(dict.fromkeys(first))[:count]
    drawn = 0
    for drawn, one in enumerate(others, 1):
        if len(chosen) == count:
            return Chosen(tuple(chosen), drawn - 1)
        if one not in chosen:
            chosen.append(one)
    return Chosen(tuple(chosen), drawn)
