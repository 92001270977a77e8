"""Rules that turn the values of a column into the cells of one attribute."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
"""What stands for no number, in lower case; labels may be any text, only the empty one is missing."""
MAX_BINS = 1 << 20


@dataclass(frozen=True)
class Cells:
    """Where the values of a column went."""

    cell: np.ndarray
    """Cell of each value (k,), -1 outside."""
    reason: tuple[str, ...]
    """Why each value is outside, empty for those inside."""


class Binning(ABC):
    """A rule from the text of a value (None where missing) to a cell 0..a-1."""

    @abstractmethod
    def cells(self, values: list[str | None], column: str) -> Cells:
        """Place every value.

        Raises:
            ValueError: if the column does not hold what the rule reads.
        """


@dataclass(frozen=True)
class Edges(Binning):
    """Bin k holds the numbers from edge k to below edge k + 1.

    Raises:
        ValueError: for edges that do not increase, or that do not make `size` bins.
    """

    edges: tuple[float, ...]
    size: int

    def __post_init__(self) -> None:
        """Check the edges."""
        if not all(map(math.isfinite, self.edges)) or (np.diff(self.edges) <= 0).any():
            shown = ",".join(f"{edge:g}" for edge in self.edges[:8])
            raise ValueError(
                f"the edges {shown} were given, but edges must be finite and increase: put them in order"
            )
        bins = max(0, len(self.edges) - 1)
        if bins != self.size:
            raise ValueError(
                f"--edges gives {bins} bins, but the attribute has {self.size} values: "
                f"give {self.size + 1} edges, or START:STOP:STEP with {self.size} steps"
            )

    @staticmethod
    def parse(text: str, size: int | None = None) -> Edges:
        """Read START:STOP:STEP (STOP is the last edge) or a comma list of edges; without a size any number.

        Raises:
            ValueError: for any other text.
        """
        parts = text.split(":")
        try:
            numbers = tuple(float(part) for part in (parts if len(parts) == 3 else text.split(",")))
        except ValueError:
            raise ValueError(
                f"--edges {text!r} is neither START:STOP:STEP nor e0,e1,...: write for example -60:260:5"
            ) from None
        edges = _spaced(*numbers) if len(parts) == 3 else numbers
        return Edges(edges, max(1, len(edges) - 1) if size is None else size)

    def cells(self, values: list[str | None], column: str) -> Cells:
        """Place numbers by binary search."""
        numbers = _numbers(values, column)
        cell = np.searchsorted(self.edges, numbers, side="right") - 1
        low, high = f"below {self.edges[0]:g}", f"{self.edges[-1]:g} or above"
        return _placed(cell, numbers, self.size, low, high)


@dataclass(frozen=True)
class Labels(Binning):
    """Value k is the text labels[k].

    Raises:
        ValueError: for a repeated label, or another number of labels than `size`.
    """

    labels: tuple[str, ...]
    size: int

    def __post_init__(self) -> None:
        """Check the labels."""
        if len(self.labels) != self.size:
            raise ValueError(
                f"--labels gives {len(self.labels)} labels, but the attribute has {self.size} values: "
                "give one label a value"
            )
        if len(set(self.labels)) < len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise ValueError(f"--labels gives {twice!r} twice, but labels must differ: name each value once")

    @staticmethod
    def parse(text: str, size: int | None = None) -> Labels:
        """Read a comma list of labels, in double quotes where they hold commas; without a size any number."""
        labels = tuple(part.strip() for part in next(csv.reader([text], skipinitialspace=True), [""]))
        return Labels(labels, len(labels) if size is None else size)

    def __str__(self) -> str:
        """Write the list that `parse` reads."""
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(self.labels)
        return line.getvalue()

    def cells(self, values: list[str | None], column: str) -> Cells:
        """Look every text up."""
        place = {label: k for k, label in enumerate(self.labels)}
        texts = [value.strip() if value is not None else "" for value in values]
        cell = np.array([place.get(text, -1) for text in texts], dtype=np.int64)
        reason = tuple("" if text in place else "unknown label" if text else "missing" for text in texts)
        return Cells(cell, reason)


@dataclass(frozen=True)
class Codes(Binning):
    """The values are already the whole numbers 0..size-1."""

    size: int

    def cells(self, values: list[str | None], column: str) -> Cells:
        """Take every whole number as its cell."""
        numbers = _numbers(values, column)
        cell = np.clip(np.nan_to_num(np.floor(numbers), nan=-1), -1, self.size).astype(np.int64)
        placed = _placed(cell, numbers, self.size, "below 0", f"above {self.size - 1}")
        fraction = (placed.cell >= 0) & (np.floor(numbers) != numbers)
        reason = tuple("not a whole number" if f else r for f, r in zip(fraction, placed.reason, strict=True))
        return Cells(np.where(fraction, -1, placed.cell), reason)


def _placed(cell: np.ndarray, numbers: np.ndarray, size: int, low: str, high: str) -> Cells:
    """Name the reason of every number that fell outside 0..size-1."""
    missing = np.isnan(numbers)
    kind = np.select([missing, cell < 0, cell >= size], [1, 2, 3], 0)
    reason = tuple(("", "missing", low, high)[k] for k in kind)
    return Cells(np.where(kind == 0, cell, -1), reason)


def _numbers(values: list[str | None], column: str) -> np.ndarray:
    """Read texts as numbers, NaN where missing."""
    return np.array([_number(value, column) for value in values], dtype=float)


def _number(value: str | None, column: str) -> float:
    if value is None or value.strip().lower() in MISSING:
        return math.nan
    try:
        return float(value)
    except ValueError:
        raise ValueError(
            f"column {column!r} holds the text {value[:40]!r}, but numbers are needed: "
            "map texts to values with --labels a,b,..."
        ) from None


def _spaced(start: float, stop: float, step: float) -> tuple[float, ...]:
    """Return start, start + step, ..., stop."""
    count = (stop - start) / step if step else math.nan
    if not (0.5 < count < MAX_BINS and abs(count - round(count)) <= 1e-6):
        raise ValueError(
            f"--edges {start:g}:{stop:g}:{step:g} does not lead from START to STOP in whole steps: "
            "write for example -60:260:5, which has 64 bins"
        )
    return tuple(start + k * step for k in range(round(count) + 1))
