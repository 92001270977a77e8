"""Strategies of translates in whole numbers: all translates of patterns, on domains of any size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from stratagem.mechanism.client import HIGH
from stratagem.mechanism.table import Table, decode, encode
from stratagem.strategies import JuntaStrategy, OrbitStrategy, Pattern, TranslationStrategy


@final
@dataclass(frozen=True, eq=False)
class TranslationTable(Table):
    """A translate of pattern b, placed somehow, has weights[b] units of 2^52 if it holds the user type, else of low.

    The units of a pattern are shared by its multiples, placements and translates. A user type lies in |T_b| of the
    translates by each multiple and placement, so that every column sums to
    sum_b weights[b] (|T_b| 2^52 + (cells_b - |T_b|) low)/cells_b.
    """

    kind: ClassVar[str] = "translates"

    sizes: tuple[int, ...]
    """Attribute sizes a1, ..., ad."""
    cycles: tuple[int, ...]
    """Lengths of the cycles that the attributes lie on, or of the one that the cells lie on."""
    groups: tuple[tuple[int, ...], ...]
    """Partition of the numbers of the cycles into groups, each in rising order."""
    patterns: tuple[Pattern, ...]
    weights: tuple[int, ...]
    """Weights of the patterns before rejection: whole numbers (B,) of at least 1, with sum 2^32."""
    low: int

    @property
    def strategy(self) -> TranslationStrategy:
        """The strategy that clients follow: E = 2^52/low, and w of the patterns that are kept."""
        return self._strategy

    @cached_property
    def _strategy(self) -> TranslationStrategy:
        kept = np.array(
            [
                weight * (self.low + (HIGH - self.low) * (pattern.size / pattern.cells))
                for weight, pattern in zip(self.weights, self.patterns, strict=True)
            ]
        )
        w, ratio = kept / kept.sum(), HIGH / self.low
        everywhere = tuple(range(len(self.cycles)))
        if all(pattern.axes == everywhere for pattern in self.patterns) and self.groups == tuple(
            (i,) for i in everywhere
        ):
            return OrbitStrategy(self.sizes, self.cycles, self.patterns, w, ratio)
        if self.cycles != self.sizes:
            raise ValueError(
                "the table places patterns on attributes with fewer values than their cycles have points, which "
                "only patterns over all attributes may: use the file that stratagem wrote, unchanged"
            )
        return JuntaStrategy(self.sizes, self.groups, self.patterns, w, ratio)

    def data(self) -> dict[str, Any]:
        """Return cycle and group of every attribute, and axes, weight and bits of every pattern."""
        group = {i: number for number, members in enumerate(self.groups) for i in members}
        return {
            "kind": self.kind,
            "outputs": self.strategy.outputs,
            "cycles": list(self.cycles),
            "groups": [group[i] for i in range(len(group))],
            "patterns": [
                {"axes": list(pattern.axes), "weight": weight, "bits": encode(pattern.packed, "u1")}
                | ({"multiples": pattern.multiples, "root": pattern.root} if pattern.multiples > 1 else {})
                for weight, pattern in zip(self.weights, self.patterns, strict=True)
            ],
            "low": self.low,
        }

    @staticmethod
    def of(data: Mapping[str, Any], sizes: tuple[int, ...]) -> TranslationTable:
        members: list[list[int]] = [[] for _ in range(max(data["groups"]) + 1)]
        for i, group in enumerate(data["groups"]):
            members[group].append(i)
        patterns = [
            Pattern(
                tuple(entry["axes"]),
                tuple(data["cycles"][members[group][0]] for group in entry["axes"]),
                decode(entry["bits"], "u1"),
                entry.get("multiples", 1),
                entry.get("root", 1),
            )
            for entry in data["patterns"]
        ]
        weights = tuple(entry["weight"] for entry in data["patterns"])
        return TranslationTable(
            sizes, tuple(data["cycles"]), tuple(map(tuple, members)), tuple(patterns), weights, data["low"]
        )

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.strategy.randomise(values, rng)
