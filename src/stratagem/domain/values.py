"""The values of an attribute: which cell a text of a column, or of a form, falls into, and what a cell is called."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from stratagem.io.numeral import parse_decimal

OTHER = "other"
"""What the value is called that stands for an answer in none of the others."""
NO_ANSWER = "no answer"
"""What the value is called that stands for a question left out."""
MISSING = frozenset(("", "na", "n/a", "nan", "null", "none"))
"""Texts, in lower case, that stand for a missing number, date or time. Of labels only the empty text is missing."""
NUMBERED = re.compile(r"\W*\d")
"""How labels begin that stand in the order of their numbers, as 18-24 or <5k."""
UNKNOWN = "unknown label"
UNEVEN = "not a whole number"
ABSENT = "missing"
"""The reason why a value that is not there has no cell."""


class Bin(NamedTuple):
    """The numbers, or the dates and times as texts, from `start` to below `stop`."""

    start: float | str
    stop: float | str


class Place(NamedTuple):
    """The cell of a value, -1 for one that has none, and the reason why not."""

    cell: int
    reason: str = ""
    nearest: int | None = None
    """The first or the last bin for a value beyond the edges."""


@dataclass(frozen=True)
class ValueCells:
    """The cells of the values of a column, with reasons for values that have none."""

    cell: np.ndarray
    """Cell of each value, of shape (k,); -1 outside the domain."""
    reason: tuple[str, ...]
    """Reason why each value is outside the domain; empty for values inside."""


class Values(ABC):
    """What an attribute's values are: a rule from the text of a value (None where missing) to a cell 0..size-1."""

    size: Any
    """The number of cells, an int."""
    no_answer: Any
    """Whether the last cell stands for people who gave no answer, a bool."""
    texts: Any
    """The labels, a tuple of texts; none where the values are numbers, dates or times."""
    edges: Any
    """The edges of the bins, a tuple of texts; none where there are no bins."""
    spellings: Any = ()
    """Other texts of a file, each with the label that it counts as."""
    numbers: Any = 0
    """How many of them are whole numbers that stand for themselves, an int."""
    bins: Any = 0
    """How many of them lie between edges, an int."""
    ordered: Any = True
    """Whether they have an order, a bool: that of labels must be stated."""
    moments: Any = False
    """Whether the values are dates or times, a bool."""
    zone: Any = ""
    """The zone to whose local time dates are moved that name one."""
    whole: Any = False
    """Whether the numbers in bins are whole ones, a bool."""
    link: Any = " to "
    """The word between the first and the last of some values."""
    UP_TO: ClassVar = "up to"
    """The relation to all values up to one."""

    @property
    @abstractmethod
    def other(self) -> int | None:
        """The cell that stands for every value without a cell of its own; None if there is no such cell."""

    @property
    def arranged(self) -> bool:
        """Whether the order of the values may mean something: that of the alphabet does not."""
        return True

    @property
    def outside(self) -> tuple[int, ...]:
        """The cells that have no place in an order: "other" and "no answer", where they exist."""
        both = self.other, self.size - 1 if self.no_answer else None
        return tuple(cell for cell in both if cell is not None)

    @abstractmethod
    def place(self, text: str | None) -> Place:
        """Return the cell of a value as text, or why it has none."""

    @abstractmethod
    def value(self, cell: int) -> str | int | Bin:
        """Return a cell as its owner knows it: its label, its bin, or the whole number itself."""

    @abstractmethod
    def entry(self) -> dict[str, Any]:
        """Return what a bundle states of these values beside their number."""

    @abstractmethod
    def ends(self, low: int, high: int) -> tuple[str, str]:
        """Return what the values from `low` to `high` begin and end with, in words."""

    def limit(self, high: int) -> str:
        """Return in words what the values up to `high` end with."""
        return self.ends(high, high)[1]

    def apart(self, low: int, high: int) -> tuple[int, ...]:
        """Return the last cells from `low` to `high` that words name apart from the order of the others."""
        return (high,) if self.no_answer and high == self.size - 1 else ()

    @property
    def own(self) -> str:
        """The values without those that have no place in an order, as text."""
        return str(self)

    def without(self, text: str | None, reason: str) -> Place:
        """Return the cell of a text that is no answer, or the word for other ones, or else why it has none."""
        if self.other is not None and text and text.strip() == OTHER:
            return Place(self.other)
        silent = reason == ABSENT or (text or "").strip() == NO_ANSWER
        return Place(self.size - 1) if self.no_answer and silent else Place(-1, reason)

    def member(self, cell: int) -> Any:
        """Return a value that falls into a cell: the label, the whole number, or where the bin begins."""
        return self.value(cell)

    def end(self, cell: int) -> Any:
        """Return the label or the whole number of a cell, or where its bin ends."""
        return self.value(cell)

    def middle(self, cell: int) -> float | None:
        """Return the number that a cell stands for in a sum: itself, or the middle of a bin; None where it is none."""
        return None

    @property
    def cut(self) -> bool:
        """Whether an answer before the first value counts as other."""
        return False

    def bounds(self, low: int | None, high: int) -> dict[str, Any]:
        """Return the values from `low` to `high` by name: `value`, or `from` and `to`; of bins `from` and `below`."""
        first = None if low is None else self.value(low)
        return {"value": first} if low == high else {"from": first, "to": self.value(high)}

    def text(self, low: int | None, high: int, unit: str = "") -> str:
        """Return the values from `low` to `high` in words; without a `low` the last of them."""
        return self.relation(low, high, unit)[1]

    def relation(self, low: int | None, high: int, unit: str = "") -> tuple[str, str]:
        """Return how an attribute is related to the values from `low` to `high`, and these in words with a unit."""
        rest = self.apart(low or 0, high)
        names = " or ".join(str(self.value(cell)) for cell in rest)
        high -= len(rest)
        if low is not None and low > high:
            return "=", names
        first, last = ("", self.limit(high)) if low is None else self.ends(low, high)
        words = last if low is None or first == last else f"{first}{self.link}{last}"
        relation = self.UP_TO if low is None else "=" if low == high else "from"
        return relation, f"{words}{f' {unit}' if unit else ''}{f' or {names}' if names else ''}"

    def shorter(self, name: str) -> str:
        """Return a sentence on a last value that stands for less than the others; nothing where there is none."""
        return ""

    def fit(self, size: int) -> Self:
        """Return the values for an attribute of so many."""
        if size != self.size:
            also = f" and {NO_ANSWER}" if self.no_answer else ""
            raise ValueError(
                f"{self.size - self.no_answer} labels{also} were given, but the attribute has {size} values: "
                "give one label a value"
            )
        return self

    def cell(self, text: str | None) -> int:
        """Return the cell of a value as text."""
        place = self.place(text)
        if place.cell < 0:
            raise ValueError(
                f"{text!r:.60} was given, but is {article(place.reason)}: give one of the values {self}"
            )
        return place.cell

    def cells(self, values: Sequence[str | None], *, clip: bool = False) -> ValueCells:
        """Return the cell of every value; `clip` moves values beyond the edges into the first or the last bin."""
        places = [self.place(value) for value in values]
        if clip:
            places = [one if one.nearest is None else Place(one.nearest) for one in places]
        numbers = np.array([one.cell for one in places], dtype=np.int64)
        return ValueCells(numbers, tuple(one.reason for one in places))


@dataclass(frozen=True)
class Codes(Values):
    """The values are the whole numbers 0..size-1 themselves, but the last cells with `others` and `no_answer`.

    >>> Codes(5, no_answer=True, others=True).cells(["2", "other", ""]).cell.tolist()
    [2, 3, 4]

    Raises:
        ValueError: for no number beside these.
    """

    size: int
    no_answer: bool = False
    others: bool = False
    texts: ClassVar = ()
    edges: ClassVar = ()
    UP_TO: ClassVar = "at most"

    def __post_init__(self) -> None:
        if self.numbers < 1:
            names = " and ".join(repr(self.value(cell)) for cell in range(self.size))
            raise ValueError(f"{names} was stated as the only value: give two values or more")

    @property
    def other(self) -> int | None:
        return self.numbers if self.others else None

    @property
    def numbers(self) -> int:
        """How many whole numbers are values."""
        return self.size - self.no_answer - self.others

    def apart(self, low: int, high: int) -> tuple[int, ...]:
        return tuple(range(max(low, self.numbers), high + 1))

    def middle(self, cell: int) -> float | None:
        return cell if cell < self.numbers else None

    def place(self, text: str | None) -> Place:
        if text is None or is_missing(text):
            return self.without(text, ABSENT)
        number = parse_decimal(text)
        if number is None:
            return self.without(text, "not a number")
        if number < 0:
            return Place(-1, "below 0", 0)
        if number >= self.numbers:
            return Place(-1, f"above {self.numbers - 1}", self.numbers - 1)
        cell = int(number)
        return Place(cell) if cell == number else Place(-1, UNEVEN)

    def value(self, cell: int) -> int | str:
        return cell if cell < self.numbers else OTHER if cell == self.other else NO_ANSWER

    def ends(self, low: int, high: int) -> tuple[str, str]:
        return str(low), str(high)

    def entry(self) -> dict[str, Any]:
        """Return `other` and `no_answer` alone, where they are: a bundle states the number of values."""
        return ({"other": True} if self.others else {}) | silence(self)

    @property
    def own(self) -> str:
        return f"0 to {self.numbers - 1}"

    def __str__(self) -> str:
        """Return the values in words."""
        return " or ".join([self.own, *(str(self.value(cell)) for cell in self.outside)])


@dataclass(frozen=True)
class Labels(Values):
    """Value k is the text texts[k], without the blanks around it; `ordered` says whether their order means something.

    With `no_answer` a last value after the texts stands for empty and missing answers.

    Raises:
        ValueError: for no label, one that is no text, or a repeated one, or one that is empty beside `no_answer`.
    """

    texts: tuple[str, ...]
    ordered: bool = field(default=False, compare=False)
    no_answer: bool = False
    spellings: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Other texts of a file, each with the label that it counts as; no bundle holds them."""
    edges: ClassVar = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", tuple(self.texts))
        if not self.texts or not all(isinstance(text, str) for text in self.texts):
            raise ValueError(f"the labels are {self.texts!r:.60}, but labels are texts: give one or more")
        if len(set(self.texts)) < len(self.texts):
            twice = next(text for text in self.texts if self.texts.count(text) > 1)
            raise ValueError(
                f"the label {twice!r} was given twice, but labels must differ: name each value once"
            )
        if self.no_answer and {"", NO_ANSWER} & {text.strip() for text in self.texts}:
            raise ValueError(
                f"a label is empty or {NO_ANSWER!r}, but the last value already stands for no answer: leave one out"
            )

    @property
    def arranged(self) -> bool:
        texts = [text for text in self.texts if text != OTHER]
        return self.ordered or texts != sorted(texts) or all(NUMBERED.match(text) for text in texts)

    @staticmethod
    def parse(text: str) -> Labels:
        """Read a comma list of labels, in double quotes where they hold commas; a last "no answer" is no label."""
        if len(text.splitlines()) > 1:
            raise ValueError(
                f"{text!r:.60} was given as labels, but has several lines: write one, with commas"
            )
        texts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [""])]
        silent = texts[-1:] == [NO_ANSWER] and len(texts) > 1
        return Labels(tuple(texts[:-1] if silent else texts), no_answer=silent)

    def __str__(self) -> str:
        """Write the list that `parse` reads."""
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([*self.texts, *([NO_ANSWER] if self.no_answer else [])])
        return line.getvalue()

    @property
    def size(self) -> int:
        """The number of labels, with the value for no answer."""
        return len(self.texts) + self.no_answer

    @property
    def other(self) -> int | None:
        known = self.texts[-1:] if self.no_answer else self.texts
        return self.texts.index(OTHER) if OTHER in known else None

    @cached_property
    def _places(self) -> dict[str, Place]:
        exact = {text: Place(k) for k, text in enumerate(self.texts)}
        stripped = {text.strip(): place for text, place in exact.items()}
        return {text: exact[label] for text, label in self.spellings} | stripped | exact

    def place(self, text: str | None) -> Place:
        known = self._places.get(text or "") or self._places.get((text or "").strip())
        return known or self.without(text, UNKNOWN if text and text.strip() else ABSENT)

    def value(self, cell: int) -> str:
        return self.texts[cell] if cell < len(self.texts) else NO_ANSWER

    def ends(self, low: int, high: int) -> tuple[str, str]:
        return self.texts[low], self.texts[high]

    def entry(self) -> dict[str, Any]:
        return {"labels": list(self.texts)} | silence(self)

    def having_other(self, wanted: bool) -> Labels:
        """Return the labels with "other" after them, or without, which is then their last."""
        return replace(self, texts=(*self.texts, OTHER) if wanted else self.texts[:-1])


def article(reason: str) -> str:
    """Return why a value has no cell, as it stands behind "is".

    >>> article("unknown label"), article("not a number")
    ('an unknown label', 'not a number')
    """
    return f"an {reason}" if reason == UNKNOWN else reason


def silence(values: Values) -> dict[str, Any]:
    """Return what a bundle states of a last cell for no answer: nothing where there is none."""
    return {"no_answer": True} if values.no_answer else {}


def is_missing(text: str) -> bool:
    """Return whether a text is one of those that stand for no number, date or time."""
    return text.strip().lower() in MISSING
