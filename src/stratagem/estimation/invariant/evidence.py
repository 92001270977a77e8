"""Reports of an invariant strategy, decoded: which pattern, on which attributes, by which shifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.collection.tally import Counts, SparseCounts
from stratagem.estimation.reconstruction import check_number, impossible_report, whole_counts
from stratagem.strategies import TranslationStrategy
from stratagem.strategies.orbit import on_cycles
from stratagem.workloads import Workload
from stratagem.workloads.merged import merged


def check_sizes(sizes: tuple[int, ...], workload: Workload) -> None:
    """Refuse a workload whose attributes have other sizes than those of the strategy.

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
    """The k distinct reports of one multiple of one pattern, with the count of each."""

    pattern: int
    multiple: int
    """Index of the multiple of the pattern."""
    attributes: np.ndarray
    """Index of the attribute that each axis of each report lies on (k, axes), int32."""
    shifts: np.ndarray
    """Shift of each report along each axis (k, axes), int32."""
    counts: np.ndarray
    """Number of times that each report came (k,), floats that hold whole numbers."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """A strategy and the counts of the reports made with it."""

    strategy: TranslationStrategy
    """The strategy, written over one attribute where all attributes of the domain share one cycle."""
    counts: SparseCounts
    sizes: tuple[int, ...]
    """Number of values of each attribute of the domain."""

    @staticmethod
    def of(strategy: TranslationStrategy, counts: Counts) -> Evidence:
        """Return the strategy with its counts, after checking the counts.

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
        return Evidence(on_cycles(strategy), counts, strategy.sizes)

    def asked(self, workload: Workload) -> Workload:
        """Return the workload over the attributes of `strategy`, merged into one where it has one cycle.

        Raises:
            ValueError: for a workload over other attributes than the domain's.
        """
        check_sizes(self.sizes, workload)
        return workload if len(self.strategy.cycles) > 1 else merged(workload)

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.counts.sum()

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """The reports grouped by pattern and multiple."""
        return tuple(self._decoded())

    def _decoded(self) -> Iterator[Placed]:
        for b, places in self.strategy.by_pattern(self.counts.outputs):
            local, counts = self.counts.outputs[places] - self.strategy.offsets[b], self.counts.counts[places]
            multiples = self.strategy.multiples(b, local)
            ends = np.flatnonzero(np.diff(multiples)) + 1  # outputs rise, and so do multiples
            for part, own in zip(np.split(local, ends), np.split(counts, ends), strict=True):
                attributes, shifts = self.strategy.decoded(b, part)
                multiple = int(self.strategy.multiples(b, part[:1])[0])
                yield Placed(
                    b, multiple, attributes.astype(np.int32), shifts.astype(np.int32), own.astype(float)
                )

    @cached_property
    def group(self) -> np.ndarray:
        """Index of the group of each attribute (d,)."""
        group = np.empty(len(self.strategy.sizes), dtype=np.int64)
        for g, members in enumerate(self.strategy.groups):
            group[list(members)] = g
        return group
