"""The policy for values that belong to no cell: refuse them, leave their rows out, or count them as another value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from stratagem.workloads.attribute import OTHER

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
