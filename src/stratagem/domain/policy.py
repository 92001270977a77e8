"""What becomes of values that are missing or outside the domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from stratagem.domain.values import ABSENT, OTHER, Values, is_missing
from stratagem.math.number import GROUPED, grouped

FAIL, DROP = "fail", "drop"
POLICIES = (FAIL, DROP, OTHER)
SHOWN = 6
"""Largest number of kinds of values that a sentence lists."""


class Reading(TypedDict, total=False):
    """How the texts of a column are read: fields of `Policy` of this name."""

    missing: Iterable[str]
    mapping: Mapping[str, str]
    as_is: bool
    decimal: str | None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a column is read where its values are missing, no numbers, beyond the edges or unknown labels.

    Raises:
        ValueError: for another word than fail, drop or other.
    """

    invalid: str = FAIL
    """fail: such values are counted and refused. drop: their rows are left out, and that they are missing tells
    something of these users. other: they have the value "other" of their attribute."""
    missing: Iterable[str] = ()
    """Texts that stand for no value, beside the empty one; for numbers NA, NaN, null and none are among them."""
    clip: bool = False
    """Whether numbers, dates and times beyond the edges belong to the first or the last bin."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    """Texts, each with the one that it stands for, such as north for North."""
    as_is: bool = False
    """Whether labels that are read from data are told apart where they differ in case or Unicode form alone."""
    decimal: str | None = None
    """What separates decimals, "," or ".", and the other one thousands: 2.500 is 2500 with ",". None refuses to guess
    at commas."""

    def __post_init__(self) -> None:
        if self.decimal not in (None, ",", "."):
            raise ValueError(
                f"{self.decimal!r} was given as the mark of decimals, but it is a comma or a point: write decimal=','"
            )
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
        """Return a text of a column, None where it stands for no value, numbers with commas as they are meant."""
        if value is None or (value := self.mapping.get(value.strip(), value)).strip() in self.missing:
            return None
        return value if self.decimal is None else grouped(value, self.decimal) or value

    def about(self, values: Values) -> Policy:
        """Return how a column of these values is read, as texts are mapped in all columns of a file.

        A text that is one of the values stays where the text that it stands for is none: 0, which means no in one
        column, is a number in another.
        """

        def stays(text: str, to: str) -> bool:
            return not values.place(text).reason and values.place(to).reason not in ("", ABSENT)

        return replace(self, mapping={text: to for text, to in self.mapping.items() if not stays(text, to)})

    def counted(self, rows: Mapping[Any, int]) -> Counter[str | None]:
        """Return the rows of every text as this policy reads it, from those of the texts of a column."""
        counts: Counter[str | None] = Counter()
        for text, count in rows.items():
            counts[self.read(text)] += count
        return counts


STRICT = Policy()
"""The default policy, which refuses values outside the domain."""


class InvalidValuesError(ValueError):
    """Error for rows with values outside the domain when the policy does not say how to treat them."""

    def __init__(
        self,
        path: object,
        rows: int,
        counts: Mapping[str, int],
        texts: Counter[str],
        spelt: Mapping[str, str],
        *,
        has_other: bool,
    ) -> None:
        self.counts, self.has_other = counts, has_other
        self.fact = (
            f"{path} has {sum(counts.values()):,} of {rows:,} rows outside the domain ({listed(counts)}"
            f"{f'; {examples(texts)}' if texts else ''}){with_commas(texts)}{with_spellings(spelt)}"
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


def like_missing(rows: Mapping[str, int]) -> str:
    """Return a sentence on the labels that look like no answer, with their rows; empty where none has a row."""
    found = {text: count for text, count in rows.items() if count and text.strip() and is_missing(text)}
    said = ", ".join(f"{count:,} rows say {text!r}" for text, count in found.items())
    return f"{said}: an answer, unless missing={list(found)} says that it is none." if found else ""


def with_commas(texts: Mapping[str, int]) -> str:
    """Return the advice on texts that are numbers with commas; empty where most are none."""
    commas = {text: n for text, n in texts.items() if "," in text}
    rows = {mark: sum(n for text, n in commas.items() if grouped(text, mark)) for mark in GROUPED}
    most = max(rows.values())
    if not most or 2 * most < sum(texts.values()):
        return ""
    marks = [mark for mark in GROUPED if rows[mark] == most]
    shown = next(text for text in commas if all(grouped(text, mark) for mark in marks))
    advice = " and ".join(f"decimal={mark!r} reads as {grouped(shown, mark)}" for mark in marks)
    return f"; {most:,} of these are numbers with commas, such as {shown}, which {advice}"


def with_spellings(spelt: Mapping[str, str]) -> str:
    """Return the advice on texts that are other spellings of labels; empty without any."""
    return f"; some are other spellings of labels, which mapping={dict(spelt)} reads" if spelt else ""


def refuse_commas(texts: Mapping[str, int], column: str) -> None:
    """Refuse to take numbers with commas for labels."""
    if advice := with_commas(texts):
        raise ValueError(
            f"column {column!r} holds {len(texts):,} different texts in {sum(texts.values()):,} rows, most often "
            f"{_frequent(texts)}{advice}: say so, or state values=st.labels('a', 'b', ...) if they are no numbers"
        )


def examples(texts: Counter[str]) -> str:
    """Return the most frequent texts with their numbers."""
    return f"texts {_frequent(texts)}"


def _frequent(texts: Mapping[str, int]) -> str:
    return ", ".join(f"{text[:30]!r} {count:,}" for text, count in Counter(texts).most_common(3))
