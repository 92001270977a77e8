"""Tables: strategies in whole numbers, which a client draws from exactly."""

from __future__ import annotations

import base64
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast, final

import numpy as np

from stratagem.math.privacy import check_prior
from stratagem.mechanism.client import HIGH, WEIGHT_BITS, exact_bytes
from stratagem.strategies import (
    JuntaStrategy,
    MatrixStrategy,
    OrbitStrategy,
    Pattern,
    Strategy,
    SurveyStrategy,
    TranslationStrategy,
    TwoLevelStrategy,
)
from stratagem.strategies.strategy import check_values
from stratagem.workloads import Workload
from stratagem.workloads.serial import from_data

SEARCH = {"search": "interrupted"}
"""Further entry of the utility if Ctrl-C ended the search; clients ignore it."""


def workload_of(data: Any) -> tuple[Workload, str]:
    """Return the workload that this part of a bundle describes, and its name."""
    if not isinstance(data, dict) or set(data) != {"name", "specification"}:
        raise ValueError("the workload needs a name and a specification: use the file that stratagem wrote")
    if not all(isinstance(text, str) for text in data.values()):
        raise ValueError(
            "the workload's name and specification are no texts: use the file that stratagem wrote"
        )
    try:
        specification = json.loads(data["specification"])
    except (ValueError, RecursionError):
        raise ValueError("the workload is not plain JSON: use the file that stratagem wrote") from None
    return from_data(specification), data["name"]


def prior_of(text: Any, n: int) -> np.ndarray | None:
    """Return the prior that a bundle states, of shape (n,); None for the uniform one."""
    if text is None:
        return None
    return check_prior(np.frombuffer(exact_bytes(text, "prior", 8 * n), dtype="<f8").astype(float), n)


def utility_of(data: Any) -> dict[str, str]:
    """Return the utility of a bundle, three numbers as text."""
    try:
        numbers = [float(data[key]) for key in ("objective", "unrounded", "loss")]
    except (TypeError, KeyError, ValueError, OverflowError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)) or len(data) != 3 + (SEARCH.items() <= data.items()):
        raise ValueError("the utility must hold three numbers: use the file that stratagem wrote")
    return data


Exact = Strategy | TranslationStrategy | SurveyStrategy
"""The strategies that a table of whole numbers can represent."""
BLOCK = 1 << 15
"""Number of users drawn in one block, so that its numbers fit the processor's cache."""


MOST_ROUNDS = 32
"""Largest mean number of rounds of a simulated draw by rejection; beyond it, the strategy in double precision draws."""


class Table(ABC):
    """Probabilities Q (m x n) as whole numbers: every column sums to the same total, exactly."""

    kind: ClassVar[str]

    levelled: ClassVar[bool] = False
    """Whether each row has units of 2^52 for some user types and of the whole number `low` for all others."""
    strategy: Any
    """The strategy with the same probabilities in double precision, for estimates and variances: `Exact`."""

    def drawn(self) -> list[tuple[float, Any]]:
        """Return the tables of a survey's parts and how often each is drawn, or the one table, always."""
        return [(1.0, self)]

    def lowered(self, low: int) -> Any:
        """Return the levelled table, or one of levelled parts, with another lower level."""
        return replace(cast("Any", self), low=low)

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Return the content of the table as a bundle stores it."""

    @staticmethod
    @abstractmethod
    def of(data: Mapping[str, Any], sizes: tuple[int, ...]) -> Table:
        """Return the table of checked data, over attributes of these sizes."""

    @abstractmethod
    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw an output for every user type as the client does, with pseudo-random numbers.

        User types are cells (k,); tables of translates and of parts take coordinates (k, d) too.

        For simulation alone: who guesses the generator's state knows the values.

        Raises:
            ValueError: for a user type outside 0..n-1.
        """


@final
@dataclass(frozen=True, eq=False)
class TwoLevelTable(Table):
    """Row y has weights[y] units of 2^52 for u in T_y, else of low, over what every column sums to.

    Q[y, u] = weights[y] (low + (2^52 - low) [u in T_y]) / total, as all user types are covered equally
    (theory.md, section 9).
    """

    kind: ClassVar[str] = "two-level"
    levelled: ClassVar[bool] = True

    patterns: np.ndarray
    """The sets T_y, bit-packed, of shape (m, ceil(n/8)), uint8."""
    weights: np.ndarray
    """Weights of the rows: whole numbers of shape (m,) with sum 2^32."""
    size: int
    """Number n of user types."""
    low: int

    @cached_property
    def strategy(self) -> TwoLevelStrategy:
        """Q with theta = weights low/total and E = 2^52/low."""
        covered = int(coverage(self.patterns, self.weights, self.size)[0])
        total = (self.low << WEIGHT_BITS) + (HIGH - self.low) * covered
        return TwoLevelStrategy(self.patterns, self.weights * (self.low / total), self.size, HIGH / self.low)

    def data(self) -> dict[str, Any]:
        """Return weights as 32-bit and patterns as bytes, in base64."""
        return {
            "kind": self.kind,
            "outputs": len(self.weights),
            "user_types": self.size,
            "weights": encode(self.weights, "<u4"),
            "patterns": encode(self.patterns, "u1"),
            "low": self.low,
        }

    @staticmethod
    def of(data: Mapping[str, Any], sizes: tuple[int, ...]) -> TwoLevelTable:
        patterns = decode(data["patterns"], "u1").reshape(data["outputs"], -1)
        weights = decode(data["weights"], "<u4").astype(np.int64)
        return TwoLevelTable(patterns, weights, math.prod(sizes), data["low"])

    @cached_property
    def _alias(self) -> tuple[np.ndarray, np.ndarray]:
        return alias(self.weights.tolist())

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw rows from an alias table, again after each rejection; the strategy draws if rejections are frequent."""
        cells = check_values(values, self.size)
        strategy = self.strategy
        if strategy.theta.sum() * strategy.ratio > MOST_ROUNDS:
            return strategy.randomise(cells, rng)
        outputs = np.empty(len(cells), dtype=np.int64)
        for first in range(0, len(cells), BLOCK):
            outputs[first : first + BLOCK] = self._draw(cells[first : first + BLOCK], rng)
        return outputs

    def _draw(self, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        threshold, other = self._alias
        flat, width = self.patterns.ravel(), self.patterns.shape[1]
        bits = np.uint32(WEIGHT_BITS - (len(threshold).bit_length() - 1))
        mask = np.uint32((1 << int(bits)) - 1)
        bytes_, shifts = cells >> 3, (7 - (cells & 7)).astype(np.uint8)
        outputs, open_ = np.empty(len(cells), dtype=np.int64), np.arange(len(cells))
        while len(open_):
            drawn = rng.integers(0, 1 << WEIGHT_BITS, len(open_), dtype=np.uint32)
            bucket = (drawn >> bits).astype(np.intp)
            y = np.where((drawn & mask) < threshold[bucket], bucket, other[bucket])
            outside = (flat[y * width + bytes_] >> shifts) & 1 == 0
            repeated = np.flatnonzero(outside)
            chance = rng.integers(0, HIGH, len(repeated), dtype=np.uint64)
            repeated = repeated[chance >= np.uint64(self.low)]
            outputs[open_] = y
            open_, bytes_, shifts = open_[repeated], bytes_[repeated], shifts[repeated]
        return outputs


@final
@dataclass(frozen=True, eq=False)
class ColumnTable(Table):
    """A matrix of whole numbers: Q[y, u] = entries[y, u] / 2^bits."""

    kind: ClassVar[str] = "columns"

    entries: np.ndarray
    """Whole numbers (m x n), int64; every column sums to 2^bits."""
    bits: int

    @cached_property
    def strategy(self) -> MatrixStrategy:
        """Q, the entries over 2^bits."""
        return MatrixStrategy(self.entries / 2.0**self.bits)

    def data(self) -> dict[str, Any]:
        """Return the rows as 32-bit or 64-bit numbers, in base64."""
        return {
            "kind": self.kind,
            "outputs": self.entries.shape[0],
            "user_types": self.entries.shape[1],
            "bits": self.bits,
            "entries": encode(self.entries, self._type(self.bits)),
        }

    @staticmethod
    def of(data: Mapping[str, Any], sizes: tuple[int, ...]) -> ColumnTable:
        flat = decode(data["entries"], ColumnTable._type(data["bits"])).astype(np.int64)
        return ColumnTable(flat.reshape(-1, math.prod(sizes)), data["bits"])

    @staticmethod
    def _type(bits: int) -> str:
        return "<u4" if bits == WEIGHT_BITS else "<u8"

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Invert the cumulative sums of a column for all users of its type together."""
        cells = check_values(values, self.entries.shape[1])
        outputs = np.empty(len(cells), dtype=np.int64)
        order = np.argsort(cells.astype(np.min_scalar_type(self.entries.shape[1])), kind="stable")
        types, starts = np.unique(cells[order], return_index=True)
        for u, users in zip(types, np.split(order, starts[1:]), strict=True):
            points = rng.integers(0, 1 << self.bits, len(users), dtype=np.int64)
            outputs[users] = np.searchsorted(np.cumsum(self.entries[:, u]), points, side="right")
        return outputs


@final
@dataclass(frozen=True, eq=False)
class TranslationTable(Table):
    """A translate of pattern b, placed somehow, has weights[b] units of 2^52 if it holds the user type, else of low.

    The units of a pattern are shared by its multiples, placements and translates. A user type lies in |T_b| of the
    translates by each multiple and placement, so that every column sums to
    sum_b weights[b] (|T_b| 2^52 + (cells_b - |T_b|) low)/cells_b.
    """

    kind: ClassVar[str] = "translates"
    levelled: ClassVar[bool] = True

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

    @cached_property
    def strategy(self) -> TranslationStrategy:
        """The strategy that clients follow: E = 2^52/low, and w of the patterns that are kept."""
        share = np.array([pattern.size / pattern.cells for pattern in self.patterns])
        kept = np.array(self.weights) * (self.low + (HIGH - self.low) * share)
        w, ratio = kept / kept.sum(), HIGH / self.low
        everywhere = tuple(range(len(self.cycles)))
        whole = all(pattern.axes == everywhere for pattern in self.patterns)
        if whole and self.groups == tuple((i,) for i in everywhere):
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


Levels = TwoLevelTable | TranslationTable
"""The tables whose rows have two levels, of which `low` is the lower."""


def coverage(patterns: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Return the weight (n,) of the rows that hold each user type; exact, as the sum stays below 2^53."""
    covered, step = np.zeros(n), max(1, (1 << 22) // n)
    for first in range(0, len(weights), step):
        rows = slice(first, first + step)
        covered += weights[rows].astype(float) @ np.unpackbits(patterns[rows], axis=1, count=n)
    return covered.astype(np.int64)


def alias(weights: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return thresholds and alternatives of 2^k buckets of 2^(32 - k) units: Walker's method, exact.

    Reference:
        Vose 1991, "A linear algorithm for generating random numbers with a given distribution".
    """
    buckets = 1 << (len(weights) - 1).bit_length()
    room = (1 << WEIGHT_BITS) // buckets
    left = weights + [0] * (buckets - len(weights))
    threshold, other = left.copy(), list(range(buckets))
    small = [k for k in range(buckets) if left[k] < room]
    large = [k for k in range(buckets) if left[k] >= room]
    while small and large:
        few, many = small.pop(), large[-1]
        threshold[few], other[few] = left[few], many
        left[many] -= room - left[few]
        if left[many] < room:
            small.append(large.pop())
    for k in large:
        threshold[k] = room
    return np.array(threshold, dtype=np.uint64), np.array(other, dtype=np.intp)


def encode(numbers: np.ndarray, kind: str) -> str:
    """Return the base64 text of an array in the byte order of bundles."""
    return base64.b64encode(np.ascontiguousarray(numbers, dtype=kind).tobytes()).decode()


def decode(text: str, kind: str) -> np.ndarray:
    """Return the flat array of a base64 text."""
    return np.frombuffer(base64.b64decode(text), dtype=kind)
