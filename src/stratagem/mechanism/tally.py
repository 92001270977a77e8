"""What a collection of reports came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

CONFLICT = -1
"""Stands for the output of an id that was received with two."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Reports counted by output, with every line or row that was not counted accounted for.

    received = reports + duplicates + conflicting + sum of rejected.
    """

    counts: np.ndarray
    """Reports of each output (m,) int64, each id once."""
    rejected: Mapping[str, int]
    """Lines or rows that are no reports of this mechanism, by reason, the most frequent first."""
    duplicates: int
    """Reports whose id had been received before."""
    conflicting: int
    """Ids received with two different outputs; they count for none, whatever the order of arrival."""
    anonymous: int
    """Reports among the counts that carry no id, so that no duplicate of them can be found."""

    @property
    def reports(self) -> int:
        """Number of reports counted."""
        return int(self.counts.sum())

    @property
    def received(self) -> int:
        """Number of lines and rows received, whatever became of them."""
        return self.reports + self.duplicates + self.conflicting + sum(self.rejected.values())
