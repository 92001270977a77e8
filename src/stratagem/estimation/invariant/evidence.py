"""Reports of an invariant strategy, decoded: which pattern, on which attributes, by which shifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.collection.tally import Counts, SparseCounts
from stratagem.estimation.reconstruction import check_number, impossible_report, whole_counts
from stratagem.strategies import InvariantStrategy
from stratagem.workloads import Workload


def check_sizes(sizes: tuple[int, ...], workload: Workload) -> None:
    """Refuse a workload over other attributes than a strategy's.

    Raises:
        ValueError: if the sizes differ.
    """
    if workload.domain.sizes != sizes:
        raise ValueError(
            f"the strategy has attributes of sizes {_shown(sizes)}, the workload {_shown(workload.domain.sizes)}: "
            "both must speak of the same domain"
        )


def _shown(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes[:4])) + (f" x ... ({len(sizes)} in all)" if len(sizes) > 4 else "")


@dataclass(frozen=True, eq=False)
class Placed:
    """The reports of one pattern that came, each with how often it came."""

    pattern: int
    attributes: np.ndarray
    """The attribute that each axis lies on (k, axes), int32."""
    shifts: np.ndarray
    """The shift along each axis (k, axes), int32."""
    counts: np.ndarray
    """(k,), floats that hold whole numbers."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """A strategy and the reports that it made."""

    strategy: InvariantStrategy
    counts: SparseCounts

    @staticmethod
    def of(strategy: InvariantStrategy, counts: Counts) -> Evidence:
        """Check the counts.

        Raises:
            ValueError: for counts of another number of outputs, that are no whole numbers, hold no report, or hold
                one that the strategy never makes.
        """
        if not isinstance(counts, SparseCounts):
            counts = SparseCounts.of(whole_counts(counts, strategy.outputs).astype(np.int64))
        if counts.size != strategy.outputs:
            raise ValueError(
                f"counts of {counts.size} outputs were given, but the strategy has {strategy.outputs}: use the "
                "strategy that the clients used"
            )
        check_number(counts.sum())
        for b, places in strategy.by_pattern(counts.outputs):
            if strategy.weights[b] == 0:
                raise impossible_report(int(counts.outputs[places[0]]))
        return Evidence(strategy, counts)

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.counts.sum()

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """The reports by pattern."""
        return tuple(self._decoded())

    def _decoded(self) -> Iterator[Placed]:
        for b, places in self.strategy.by_pattern(self.counts.outputs):
            attributes, shifts = self.strategy.decoded(
                b, self.counts.outputs[places] - self.strategy.offsets[b]
            )
            yield Placed(
                b,
                attributes.astype(np.int32),
                shifts.astype(np.int32),
                self.counts.counts[places].astype(float),
            )

    @cached_property
    def group(self) -> np.ndarray:
        """The group of each attribute (d,)."""
        group = np.empty(len(self.strategy.sizes), dtype=np.int64)
        for g, members in enumerate(self.strategy.groups):
            group[list(members)] = g
        return group
