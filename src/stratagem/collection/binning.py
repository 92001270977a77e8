"""Rules that turn the values of a column into the cells of one attribute."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stratagem.io.numeral import parse_number
from stratagem.workloads.domain import OTHER

FAIL, DROP = "fail", "drop"
POLICIES = (FAIL, DROP, OTHER)
SHOWN = 6
"""Largest number of kinds of values that a sentence lists."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a column is read where its values are missing, no numbers, beyond the edges or unknown labels.

    Raises:
        ValueError: for another word than fail, drop or other.
    """

    invalid: str = FAIL
    """fail: such values are counted and refused. drop: their rows are left out, and that they are missing tells
    something of these users. other: they have the value "other" of their attribute."""
    missing: tuple[str, ...] = ()
    """Texts that stand for no value, beside the empty one; for numbers NA, NaN, null and none are among them."""
    clip: bool = False
    """Whether numbers, dates and times beyond the edges belong to the first or the last bin."""

    def __post_init__(self) -> None:
        """Check the word, and take the blanks off the texts."""
        if self.invalid not in POLICIES:
            raise ValueError(
                f"{self.invalid!r} was given for invalid values, but what may become of them is "
                f"{', '.join(POLICIES)}: choose one"
            )
        if isinstance(self.missing, str):
            raise ValueError(
                f"missing was given as the text {self.missing!r}, but is several: write a tuple of texts"
            )
        object.__setattr__(self, "missing", tuple(text.strip() for text in self.missing))

    def read(self, value: str | None) -> str | None:
        """Return a text of a column, None where it stands for no value."""
        return None if value is not None and value.strip() in self.missing else value


class InvalidValuesError(ValueError):
    """Error for rows with values outside the domain when the policy does not say how to treat them."""

    def __init__(
        self, path: object, rows: int, counts: Mapping[str, int], texts: Counter[str], *, has_other: bool
    ) -> None:
        self.counts, self.has_other = counts, has_other
        self.fact = (
            f"{path} has {sum(counts.values()):,} of {rows:,} rows outside the domain ({listed(counts)}"
            f"{f'; {examples(texts)}' if texts else ''})"
        )
        super().__init__(
            f"{self.fact}; choose invalid='drop' to leave them out, or invalid='other' to count them as the last value "
            "of an attribute that has one for them"
        )


def listed(counts: Mapping[str, int]) -> str:
    """Return kinds of values with their numbers, the most frequent first, the rest as a number of kinds."""
    ordered = Counter(counts).most_common()
    more = len(ordered) - SHOWN
    words = ", ".join(f"{kind} {count:,}" for kind, count in ordered[:SHOWN])
    return f"{words}{f' and {more} more kinds' if more > 0 else ''}"


def examples(texts: Counter[str]) -> str:
    """Return the most frequent texts with their numbers."""
    return "texts " + ", ".join(f"{text[:30]!r} {count:,}" for text, count in texts.most_common(3))


MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
"""Texts, in lower case, that stand for a missing number, date or time. Of labels only the empty text is missing."""


@dataclass(frozen=True)
class Cells:
    """The cells of the values of a column, with reasons for values that have none."""

    cell: np.ndarray
    """Cell of each value, of shape (k,); -1 outside the domain."""
    reason: tuple[str, ...]
    """Reason why each value is outside the domain; empty for values inside."""


class Binning(ABC):
    """A rule from the text of a value (None where missing) to a cell 0..a-1."""

    @property
    @abstractmethod
    def other(self) -> int | None:
        """The cell that stands for every value without a cell of its own; None if there is no such cell."""

    @abstractmethod
    def cells(self, values: Sequence[str | None], *, clip: bool = False) -> Cells:
        """Return the cell of every value; `clip` moves values beyond the edges into the first or the last bin."""


@dataclass(frozen=True)
class Labels(Binning):
    """Value k is the text labels[k], without the blanks around it.

    Raises:
        ValueError: for a repeated label, or another number of labels than `size`.
    """

    labels: tuple[str, ...]
    size: int

    def __post_init__(self) -> None:
        """Check the labels."""
        if len(self.labels) != self.size:
            raise ValueError(
                f"{len(self.labels)} labels were given, but the attribute has {self.size} values: "
                "give one label a value"
            )
        if len(set(self.labels)) < len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise ValueError(
                f"the label {twice!r} was given twice, but labels must differ: name each value once"
            )

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

    @property
    def other(self) -> int | None:
        """The label "other", None where there is none."""
        return self.labels.index(OTHER) if OTHER in self.labels else None

    def cells(self, values: Sequence[str | None], *, clip: bool = False) -> Cells:
        """Return the cell of every text among the labels; `clip` has no effect, as labels have no order."""
        exact = {label: k for k, label in enumerate(self.labels)}
        place = {label.strip(): k for label, k in exact.items()} | exact
        texts = [value or "" for value in values]
        found = [exact.get(text, place.get(text.strip(), -1)) for text in texts]
        pairs = zip(found, texts, strict=True)
        reason = tuple("" if k >= 0 else "unknown label" if text.strip() else "missing" for k, text in pairs)
        return Cells(np.array(found, dtype=np.int64), reason)


@dataclass(frozen=True)
class Codes(Binning):
    """The values are already the whole numbers 0..size-1."""

    size: int

    @property
    def other(self) -> int | None:
        """None, as numbers without labels have no cell for other values."""
        return None

    def cells(self, values: Sequence[str | None], *, clip: bool = False) -> Cells:
        """Return every whole number as its own cell."""
        numbers = np.array([read_number(value) for value in values], dtype=float)
        missing = np.array([is_missing(value) for value in values], dtype=bool)
        unknown = np.isnan(numbers)
        whole = np.floor(np.where(unknown, 0, numbers))
        cell = np.clip(whole, -1, self.size).astype(np.int64)
        kinds = (missing, unknown, ~unknown & (whole != numbers) & (cell >= 0) & (cell < self.size))
        words = ("missing", "not a number", "not a whole number")
        return placed(cell, self.size, kinds, words, ("below 0", f"above {self.size - 1}"), clip=clip)


def placed(
    cell: np.ndarray,
    bins: int,
    kinds: tuple[np.ndarray, ...],
    words: tuple[str, ...],
    ends: tuple[str, str],
    *,
    clip: bool,
) -> Cells:
    """Return the cells, with the word of the first kind that a value is of, or of the end that it lies beyond."""
    conditions = [*kinds, cell < 0, cell >= bins]
    kind = np.select(conditions, range(1, len(conditions) + 1), 0)
    if clip:
        beyond = kind > len(kinds)
        cell, kind = np.where(beyond, np.clip(cell, 0, bins - 1), cell), np.where(beyond, 0, kind)
    names = ("", *words, *ends)
    return Cells(np.where(kind == 0, cell, -1), tuple(names[k] for k in kind))


def is_missing(value: str | None) -> bool:
    """Return whether a value is one of the texts that stand for none."""
    return value is None or value.strip().lower() in MISSING


HUGE = 1e300
"""Largest number that round steps can cover; what is larger stands for no value in all data that were seen."""


def finite_numbers(texts: Iterable[str], column: str) -> dict[str, float]:
    """Return the texts of a column that are finite numbers, with these.

    Raises:
        ValueError: for a number beyond 10^300.
    """
    found = {text: number for text in texts if math.isfinite(number := read_number(text))}
    huge = next((text for text, number in found.items() if abs(number) > HUGE), None)
    if huge is not None:
        raise ValueError(
            f"column {column!r} holds the number {huge[:40]}, but bins are found for numbers up to {HUGE:g}: if it "
            f"stands for no value, say so with missing={huge!r}"
        )
    return found


def read_number(value: str | None) -> float:
    """Return the number that a text stands for, NaN where it is missing or no number."""
    if value is None or is_missing(value):
        return math.nan
    try:
        return parse_number(value)
    except ValueError:
        return math.nan
