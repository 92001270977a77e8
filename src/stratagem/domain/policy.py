"""How the texts of a column are read: spellings of one answer, the order of labels, and values missing or outside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict
from unicodedata import normalize

from stratagem.domain.moment import ORDERS, best_read, dates_read, iso_date, stating
from stratagem.domain.values import ABSENT, NO_ANSWER, OTHER, Labels, Values, is_missing
from stratagem.io.numeral import GROUPED, grouped, leading, parse_decimal
from stratagem.math.number import counted

PAIRS = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("0", "1"))
"""Spellings of no and yes that belong together."""
ALIKE = 0.9
"""Share of the values that must be numbers, dates, or words for yes and no, for the column to count as one of these."""
LISTS = re.compile(r"\s*[;|,]\s*")
"""What stands between several answers in one cell."""
GAPS = frozenset(("-", "--", "---", "–", "—", "?", "??", "???", ".", "n.a.", "#n/a"))
"""Texts, in lower case, that stand for no answer in many files, beside `MISSING`."""
NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def folded(text: str) -> str:
    r"""Return a text without what tells spellings of one answer apart: outer blanks, case and Unicode form.

    >>> folded(" Nord ") == folded("NORD"), folded("é") == folded("e\u0301"), folded("North") == folded("Nort")
    (True, True, False)
    """
    return normalize("NFC", normalize("NFC", text).strip().casefold())


def spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the texts that are other spellings of an answer, each with the most frequent one.

    A label is in the form NFC, as devices write what is typed. Texts that say yes or no in several ways are spellings
    of these two, where at most a tenth of the rows hold other texts, and none of these is a number.

    >>> spellings({"North": 5, "north": 2, "South": 1})
    {'north': 'North'}
    >>> spellings({"TRUE": 3, "FALSE": 4, "Y": 1, "0": 2})
    {'TRUE': 'yes', 'FALSE': 'no', 'Y': 'yes', '0': 'no'}
    """
    forms = {text: folded(text) for text in counts}
    found = {text: form for text, form in forms.items() if not _silent(text) and form != OTHER}
    sides = [{pair[side] for pair in PAIRS} & {*found.values()} for side in (0, 1)]
    both = set().union(*sides)
    odd = [text for text, form in found.items() if form not in both]
    rows = sum(counts[text] for text in found)
    few = rows - sum(counts[text] for text in odd) >= ALIKE * rows
    first: dict[str, str] = {OTHER: OTHER}
    if (
        all(sides)
        and few
        and both not in map(set, PAIRS)
        and all(parse_decimal(text) is None for text in odd)
    ):
        first |= dict.fromkeys(sides[0], "no") | dict.fromkeys(sides[1], "yes")
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        first.setdefault(forms[text], normalize("NFC", text))
    return {text: first[form] for text, form in forms.items() if first[form] != text}


def beside_yes_and_no(counts: Mapping[str | None, int], spelt: Mapping[str, str], column: str) -> str:
    """Return a sentence on the texts beside several words for yes and no; empty without any.

    >>> beside_yes_and_no({"yes": 20, "no": 9, "Y": 9, "nein": 2}, {"Y": "yes"}, "")
    "No word for yes or no, with the rows of each: 'nein' 2; if they are, say which, as in mapping={'nein': 'no'}."
    """
    if all(label not in PAIRS[0] or folded(text) == label for text, label in spelt.items()):
        return ""
    words = {OTHER, *(word for pair in PAIRS for word in pair)}
    odd = Counter[str]()
    for text, rows in counts.items():
        if text and not _silent(text) and folded(text) not in words:
            odd[spelt.get(text.strip(), text.strip())] += rows
    named = stating(column, "mapping", {max(odd, key=odd.__getitem__): "no"}) if odd else ""
    most = f"No word for yes or no, with the rows of each: {_frequent(odd)}"
    return f"{most}; if they are, say which, as in {named}." if odd else ""


def _silent(text: str) -> bool:
    """Return whether a text stands for no answer in many files."""
    return is_missing(text) or text.strip().lower() in GAPS


def respelt(counts: Mapping[str, int], spelt: Mapping[str, str]) -> Counter[str]:
    """Return how often each answer occurs, whatever its spelling."""
    found: Counter[str] = Counter()
    for text, count in counts.items():
        found[spelt.get(text, text)] += count
    return found


def alike(texts: Iterable[str], labels: Iterable[str]) -> dict[str, str]:
    """Return the texts that are other spellings of labels, each with its label.

    >>> alike(["north", "East"], ["North"]), alike(["TRUE", "n", "no"], ["no", "yes"])
    ({'north': 'North'}, {'TRUE': 'yes', 'n': 'no'})
    """
    known = {folded(label): label for label in labels}
    if known.keys() >= {*PAIRS[0]}:
        known = {word: known[PAIRS[0][side]] for pair in PAIRS for side, word in enumerate(pair)} | known
    return {
        text: known[folded(text)] for text in texts if folded(text) in known and text not in known.values()
    }


def said(spelt: Mapping[str, str]) -> str:
    """Return a sentence on the spellings that count as one answer; empty without any.

    >>> said({"north": "North", "NORTH": "North"})
    "'north', 'NORTH' count as 'North', unless as_is=True tells them apart."
    """
    texts: dict[str, list[str]] = {}
    for text, label in spelt.items():
        form = " in another Unicode form" * (normalize("NFC", text) != text)
        texts.setdefault(label, []).append(f"{text!r}{form}")
    parts = [
        f"{', '.join(found)} {'counts' if len(found) == 1 else 'count'} as {label!r}"
        for label, found in texts.items()
    ]
    return f"{'; '.join(parts)}, unless as_is=True tells them apart." if parts else ""


def labelled(
    texts: Iterable[str], spelt: Mapping[str, str], order: Sequence[str] = (), extra: tuple[str, ...] = ()
) -> Labels:
    """Return the labels for the texts of a column, in an order that is known, otherwise of the alphabet.

    Known is the `order` that a file or a pandas categorical states, and that of the numbers that the texts begin with.

    >>> labelled(["5k to 9k", "10k or more", "<5k"], {}).texts
    ('<5k', '5k to 9k', '10k or more')
    """
    texts = sorted(texts)
    stated = {spelt.get(text, text): k for k, text in enumerate(order)}
    known = [stated.get(text) for text in texts] if order else list(map(leading, texts))
    ordered = len(texts) > 1 and None not in known and len(set(known)) == len(texts)
    if ordered:
        texts = [text for _, text in sorted(zip(known, texts, strict=True))]  # type: ignore[type-var]
    pairs = tuple((text, label) for text, label in spelt.items() if label in (*texts, *extra))
    return Labels((*texts, *extra), ordered=ordered, spellings=pairs)


FAIL, DROP = "fail", "drop"
POLICIES = (FAIL, DROP, OTHER)
SHOWN = 6
"""Largest number of kinds of values that a sentence lists."""
TEXTS = ("missing", "mapping", "decimal", "date_format")
"""What may be said of a single column."""


class Reading(TypedDict, total=False):
    """How the texts of a column are read: fields of `Policy` of this name."""

    missing: Iterable[str]
    mapping: Mapping[str, str]
    as_is: bool
    decimal: str | None
    date_format: str | None
    by_column: Mapping[str, Reading]


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
    date_format: str | None = None
    """Where the day stands in dates such as 03/04/2024: day-first, month-first or year-first. None refuses to guess."""
    by_column: Mapping[str, Reading] = field(default_factory=dict)
    """What else holds for single columns, by their names: missing, mapping, decimal and date_format."""

    def __post_init__(self) -> None:
        if self.decimal not in (None, ",", "."):
            raise ValueError(
                f"{self.decimal!r} was given as the mark of decimals, but it is a comma or a point: write decimal=','"
            )
        if self.date_format not in (None, *ORDERS):
            raise ValueError(
                f"{self.date_format!r} was given as the order of day and month, but there are {', '.join(ORDERS)}: "
                "write date_format='day-first'"
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
        object.__setattr__(self, "missing", tuple(dict.fromkeys(text.strip() for text in self.missing)))
        for column in self.by_column:
            self.of(column)

    def of(self, column: str) -> Policy:
        """Return how one column is read: what holds for it alone, beside what holds for all."""
        own = self.by_column.get(column, {})
        if strange := own.keys() - TEXTS:
            raise ValueError(
                f"{min(strange)!r} was given for {column!r}, but a column has {', '.join(TEXTS)}"
            )
        return replace(
            self,
            by_column={},
            missing=(*self.missing, *own.get("missing", ())),
            mapping={**self.mapping, **own.get("mapping", {})},
            decimal=own.get("decimal") or self.decimal,
            date_format=own.get("date_format") or self.date_format,
        )

    def told(self, values: Values) -> Reading:
        """Return what of this reads a column of these values, with the spellings of its labels."""
        numbers, spelt = values.edges and not values.moments, dict(values.spellings)
        kept = {text: to for text, to in self.mapping.items() if not values.place(self.read(to)).reason}
        found: Reading = {"missing": list(self.missing), "mapping": {**kept, **spelt}}
        found |= {"decimal": self.decimal} if numbers else {}
        found |= {"date_format": self.date_format} if values.moments else {}
        return {name: given for name, given in found.items() if given}  # type: ignore[return-value]

    def read(self, value: str | None) -> str | None:
        """Return a text of a column, None where it stands for no value, numbers with commas as they are meant."""
        if value is None or (value := self.mapping.get(value.strip(), value)).strip() in self.missing:
            return None
        if self.decimal is not None and (number := grouped(value, self.decimal)):
            return number
        return value if self.date_format is None else iso_date(value, self.date_format) or value

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


def listed(counts: Mapping[str, int]) -> str:
    """Return kinds of values with their numbers, the most frequent first, the rest as a number of kinds."""
    ordered = Counter(counts).most_common()
    more = len(ordered) - SHOWN
    words = ", ".join(f"{kind} {count:,}" for kind, count in ordered[:SHOWN])
    return f"{words}{f' and {more} more kinds' if more > 0 else ''}"


def like_missing(rows: Mapping[Any, int], counted_as: str = "an answer", column: str = "") -> str:
    """Return a sentence on the texts that look like no answer, with their rows; empty where none has a row.

    >>> like_missing({"-": 1_200, "yes": 3})
    "'-' (1,200 rows) counts as an answer; missing=['-'] makes that no answer."
    """
    known = ((text.strip(), count) for text, count in rows.items() if text and text.strip() and count)
    found = {text: count for text, count in known if _silent(text)}
    said = ", ".join(f"{text!r} ({counted(count, 'row')})" for text, count in found.items())
    verb = "count" if len(found) > 1 else "counts"
    makes = f"{stating(column, 'missing', list(found))} makes that no answer."
    return f"{said} {verb} as {counted_as}; {makes}" if found else ""


def read_as_missing(rows: Mapping[Any, int], column: str = "", *, numbers: bool = False) -> str:
    """Return a sentence on the texts that stand for no number, date or time, with their rows; empty without any.

    Among numbers none may mean 0.

    >>> read_as_missing({"N/A": 18, None: 56, "31": 5})
    "'N/A' (18 rows) counts as 'no answer'."
    >>> read_as_missing({"none": 18}, numbers=True)
    "'none' (18 rows) counts as 'no answer'; if it means 0, mapping={'none': '0'} says so."
    """
    found = {
        text.strip(): count for text, count in rows.items() if text and text.strip() and is_missing(text)
    }
    listed = ", ".join(f"{text!r} ({counted(count, 'row')})" for text, count in found.items())
    zero = {text: "0" for text in found if numbers and text.lower() == "none"}
    which = "it" if len(found) == 1 else "/".join(map(repr, zero))
    meant = f"; if {which} means 0, {stating(column, 'mapping', zero)} says so" if zero else ""
    return f"{listed} {'count' if len(found) > 1 else 'counts'} as {NO_ANSWER!r}{meant}." if found else ""


def commas_read(texts: Mapping[str, int], column: str = "") -> tuple[int, str]:
    """Return the rows of the texts that are numbers with commas, and how the first can be read; nothing without any.

    >>> commas_read({"1,234.5": 2, "7": 1})
    (2, "numbers with commas, such as 1,234.5, which decimal='.' reads as 1234.5")
    """
    commas = {text: n for text, n in texts.items() if "," in text}
    rows, read = best_read(commas, grouped, {mark: stating(column, "decimal", mark) for mark in GROUPED})
    return rows, f"numbers with commas, such as {read}" if rows else ""


def with_commas(texts: Mapping[str, int]) -> str:
    """Return the advice on texts that are numbers with commas; empty where most are none."""
    most, read = commas_read(texts)
    return f"; {most:,} of these are {read}" if most and 2 * most >= sum(texts.values()) else ""


def strange(texts: Mapping[str, int], reason: str = "", *, column: str = "") -> Iterator[str]:
    """Yield sentences on the texts that are no numbers, or dates, in a column of these: how they can be read."""
    rows, read = dates_read(texts, column) if reason == "not a date" else commas_read(texts, column)
    if rows:
        yield f"{counted(rows, 'row')} with {read}, so far counted as {OTHER!r}."
    gaps = like_missing(texts, repr(OTHER), column)
    if gaps:
        yield gaps
    if texts and not (rows or gaps):
        yield f"{reason.capitalize()}, so counted as {OTHER!r}, with the rows of each: {_frequent(texts)}."
        yield as_missing(texts, column)


def as_missing(texts: Mapping[str, int], column: str = "") -> str:
    r"""Return the sentence that says how the most frequent texts are no answer.

    >>> as_missing({"don't know": 3, "?": 1}, "age")
    'If they stand for no answer, by_column={\'age\': {\'missing\': ["don\'t know", \'?\']}} says so.'
    >>> as_missing({"five": 3})
    "If they stand for no answer, missing=['five'] says so; if they are answers, mapping={'five': '5'} does."
    """
    most = [text for text, _ in Counter(texts).most_common(3)]
    numbers = {text: str(NUMERALS.index(text.lower())) for text in most if text.lower() in NUMERALS}
    meant = f"; if they are answers, {stating(column, 'mapping', numbers)} does" if numbers else ""
    return f"If they stand for no answer, {stating(column, 'missing', most)} says so{meant}."


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


def examples(texts: Mapping[str, int]) -> str:
    """Return the most frequent texts with their numbers."""
    return f"texts {_frequent(texts)}"


def _frequent(texts: Mapping[str, int]) -> str:
    return ", ".join(f"{text[:30]!r} {count:,}" for text, count in Counter(texts).most_common(3))


def listing(column: str, labels: Sequence[str]) -> str:
    """Return a sentence on labels that list several answers, as of boxes to tick; empty where most do not."""
    several = [text for text in labels if LISTS.search(text)]
    ticked = {part for text in several for part in LISTS.split(text)}
    if 2 * len(several) < len(labels) or len(ticked) >= len(several):
        return ""
    return (
        f"{column} holds labels that list several answers, such as {several[0]!r}: write a column of yes and no for "
        f"each of the {len(ticked)} answers, which asks far fewer people."
    )
