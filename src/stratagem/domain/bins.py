"""Bins: intervals between edges that are decimals, dates or times, and a last value for everything else."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from functools import cached_property
from itertools import count, pairwise
from typing import Any, ClassVar

from stratagem.domain.moment import instant, rule, shortest, spaced_moments, steps_text, whole_days
from stratagem.domain.rounding import evenly, floor, spaced_text, whole
from stratagem.domain.values import ABSENT, NO_ANSWER, OTHER, UNEVEN, Bin, Place, Values, is_missing, silence
from stratagem.io.numeral import EXACT, decimal_text, parse_decimal, parse_number

MAX_BINS = 1 << 20
LARGEST = 400
"""Largest exponent of an edge, which is beyond those of double precision."""
FACTORS = tuple(map(Decimal, ("1", "2", "2.5", "3", "4", "5")))
"""Coarser bins are so many times a power of ten wide."""
FEW = 12
"""Bins up to which coarser ones keep some of their edges: those of a scale of answers have no others."""
LONGEST = 60
"""Most letters of coarser edges, which stand in a sentence."""
WHOLE = "whole"
"""What follows edges of whole numbers in a list of them."""
FORMS = "START:STOP:STEP nor e0,e1,..."


@dataclass(frozen=True)
class Bins(Values):
    """Bin k holds what is from edge k to below edge k + 1: decimals, or dates and times as texts of ISO 8601.

    With `whole` the numbers are whole ones. Words name these, days, months and years by the first and the last in a
    bin, and others by the edges.

    Edges and values are compared as the decimals that they are written as. Where the text "other" follows the last
    edge, a value after the bins stands for whatever is in none. With `no_answer` a last one stands for empty and
    missing answers. A date that names its zone is moved to local time in `zone`, a name such as Europe/Berlin of the
    IANA database, by default UTC; where clocks go back both hours are one.

    >>> Bins.parse("0:1:0.1").cell("0.3"), Bins.parse("2026-01-01:2026-03-01:1mo").cell("2026-02-01T00:30+02:00")
    (3, 0)
    >>> Bins.parse("2026-01-01:2026-03-01:1mo[Europe/Berlin]").cell("2026-01-31T23:30Z")
    1
    >>> [Bins.parse(text).text(1, 2) for text in ("0:7:1,whole", "0:70:10", "2026-01-01:2027-01-01:1mo")]
    ['1 to 2', '10 to below 30', '2026-02 to 2026-03']

    Raises:
        ValueError: for edges that are none or do not increase, a bin too few, a zone of none or of no dates, or `whole`
            beside other edges than whole numbers in digits.
    """

    edges: tuple[str, ...]
    no_answer: bool = False
    zone: str = ""
    whole: bool = False
    texts: ClassVar = ()
    UP_TO: ClassVar = "below"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(self.edges))
        shown = ",".join(map(str, self.edges[:8]))
        keys: list[Any] = self._keys if all(isinstance(edge, str) for edge in self.edges) else [None]
        if any(key is None for key in keys) or any(a >= b for a, b in pairwise(keys)):
            raise ValueError(
                f"the edges {shown} were given, but edges must be finite numbers, dates or times of day that "
                "increase: put them in order"
            )
        if len(keys) < 2:
            raise ValueError(f"the edges {shown} were given, but a bin lies between two: give one more")
        rule(self.zone)
        if self.zone == "UTC":
            object.__setattr__(self, "zone", "")
        if self.zone and self.kind != "a date":
            raise ValueError(
                f"the zone {self.zone} was given, but the edges {shown} are no dates: leave it out"
            )
        if self.whole and not self.integral:
            raise ValueError(
                f"{WHOLE!r} was given, but the edges {shown} are not all whole numbers in digits: leave it out"
            )

    @staticmethod
    def of(edges: Iterable[object], zone: str = "") -> Bins:
        """Return the bins between numbers, dates or times, each written in the shortest way."""
        if not isinstance(edges, Iterable):
            raise ValueError(f"the edges are {edges!r:.60}, but must be several: give a list")
        return Bins(tuple(edge_text(edge, zone) for edge in edges), zone=zone)

    @staticmethod
    def parse(text: str, zone: str = "") -> Bins:
        """Read START:STOP:STEP (STOP is the last edge) or a comma list of edges.

        Dates may be followed by their zone, "[Europe/Berlin]", and numbers by ",whole"; then either by ",other", and by
        ",no answer".

        Raises:
            ValueError: for any other text.
        """
        text, silent = _ended(text, NO_ANSWER)
        text, other = _ended(text, OTHER)
        text, known = _ended(text, WHOLE)
        if text.endswith("]"):
            text, _, zone = text[:-1].rpartition("[")
        return Bins(_read(text, zone) + ((OTHER,) if other else ()), silent, zone, known)

    @property
    def own(self) -> str:
        """START:STOP:STEP for equal steps, the last one perhaps shorter, or the edges; then a zone."""
        keys, texts = self._keys, self.edges[: self.bins + 1]
        spaced = steps_text(texts) if self.moments else ""
        if not self.moments:
            *steps, last = [EXACT.subtract(b, a) for a, b in pairwise(keys)]
            even = {last} == {last, *steps} or (len(steps) > 1 and len(set(steps)) == 1 and last < steps[0])
            spaced = spaced_text(keys[0], keys[-1], [*steps, last][0]) if even else ""
        return (spaced or ",".join(texts)) + (f"[{self.zone}]" if self.zone else "")

    def __str__(self) -> str:
        """Write what `parse` reads."""
        return ",".join([self.own, *[WHOLE] * self.whole, *(str(self.value(cell)) for cell in self.outside)])

    @property
    def size(self) -> int:
        """The number of bins, with the values for everything else and for no answer."""
        return len(self.edges) - 1 + self.no_answer

    @property
    def bins(self) -> int:
        """The number of bins between edges."""
        return len(self._keys) - 1

    @property
    def other(self) -> int | None:
        return len(self.edges) - 2 if self.edges[-1:] == (OTHER,) else None

    @property
    def cut(self) -> bool:
        return self.other is not None

    @cached_property
    def moments(self) -> bool:
        """Whether the edges are dates or times."""
        return instant(self.edges[0]) is not None

    @property
    def integral(self) -> bool:
        """Whether all edges are whole numbers in digits."""
        return all(text.removeprefix("-").isdecimal() for text in self.edges[: self.bins + 1])

    @cached_property
    def kind(self) -> str:
        """What the values are, in words."""
        return "a number" if not self.moments else "a date" if "-" in self.edges[0] else "a time of day"

    @cached_property
    def _keys(self) -> list[Any]:
        """The edges as they are compared; None for what is no edge."""
        texts = self.edges[:-1] if self.edges[-1:] == (OTHER,) else self.edges
        return list(map(self._key if texts and self.moments else edge_number, texts))

    def _key(self, text: str) -> Any:
        """Return a text as it is compared with the edges; None for what is not of their kind."""
        if not self.moments:
            return parse_decimal(text)
        found = instant(text.strip(), self.zone)
        return found if found and ("-" in found) == ("-" in self.edges[0]) else None

    def place(self, text: str | None) -> Place:
        """Return the bin of a value, by binary search."""
        if text is None or is_missing(text):
            return self.without(text, ABSENT)
        key = self._key(text)
        if key is None:
            return self.without(text, f"not {self.kind}")
        place, bins = bisect_right(self._keys, key) - 1, self.bins
        if place < 0:
            return Place(-1, f"below {self.edges[0]}", 0)
        if place >= bins:
            return Place(-1, f"{self.edges[bins]} or above", bins - 1)
        return Place(-1, UNEVEN) if self.whole and not whole(key) else Place(place)

    def value(self, cell: int) -> str | Bin:
        if cell < self.bins:
            return Bin(*map(edge_value, self.edges[cell : cell + 2]))
        return OTHER if cell == self.other else NO_ANSWER

    def member(self, cell: int) -> Any:
        return edge_value(self.edges[cell]) if cell < self.bins else self.value(cell)

    def end(self, cell: int) -> Any:
        return edge_value(self.edges[cell + 1]) if cell < self.bins else self.value(cell)

    def middle(self, cell: int) -> float | None:
        if self.moments or cell >= self.bins:
            return None
        start, stop = map(float, self.edges[cell : cell + 2])
        return start / 2 + (stop - self.whole) / 2

    def bounds(self, low: int | None, high: int) -> dict[str, Any]:
        rest = self.apart(low or 0, high)
        if low is not None and low >= self.bins:
            first, last = self.value(low), self.value(high)
            return {"value": first} if low == high else {"from": first, "to": last}
        ends = [
            None if low is None else edge_value(self.edges[low]),
            edge_value(self.edges[high - len(rest) + 1]),
        ]
        more = {"or": " or ".join(str(self.value(cell)) for cell in rest)} if rest else {}
        return {"from": ends[0], "below": ends[1]} | more

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """What each bin begins and ends with where all are whole numbers, days, months or years; else none."""
        texts = self.edges[: self.bins + 1]
        if self.moments:
            return whole_days(texts)
        return [(first, str(int(stop) - 1)) for first, stop in pairwise(texts)] if self.whole else []

    @property
    def link(self) -> str:
        return super().link if self._names else " to below "

    def ends(self, low: int, high: int) -> tuple[str, str]:
        if self._names:
            return self._names[low][0], self._names[high][1]
        return self.edges[low], self.edges[high + 1]

    def limit(self, high: int) -> str:
        edge = self.edges[high + 1]
        return edge[: len(self._names[0][0])] if self.moments and self._names else edge

    def apart(self, low: int, high: int) -> tuple[int, ...]:
        return tuple(range(max(low, self.bins), high + 1))

    def shorter(self, name: str) -> str:
        """Return a sentence on a last bin that is shorter than the others, and on steps without one; else nothing."""
        steps = [] if self.moments else evenly(self._keys)
        better = f": steps of {' or '.join(map(decimal_text, steps))} leave none" if steps else ""
        return (
            better
            and f"The last bin of {name}, {self.text(self.bins - 1, self.bins - 1)}, is shorter{better}."
        )

    def fit(self, size: int) -> Bins:
        if size != self.size:
            also = "".join(f" and {self.value(cell)}" for cell in self.outside)
            bins = size - len(self.outside)
            raise ValueError(
                f"the edges make {self.bins} bins{also}, but the attribute has {size} values: "
                f"give {bins + 1} edges, or START:STOP:STEP with {bins} steps"
            )
        return self

    def having_other(self, wanted: bool) -> Bins:
        """Return the bins with "other" after them, or without."""
        return replace(self, edges=(*self.edges, OTHER) if wanted else self.edges[:-1])

    def entry(self) -> dict[str, Any]:
        more = {"zone": self.zone, "whole": self.whole}
        return {"edges": list(self.edges)} | silence(self) | {key: one for key, one in more.items() if one}


def edge_value(text: str) -> float | str:
    """Return an edge as a number, or as text if it is a date or a time."""
    number = parse_decimal(text)
    return text if number is None else float(number)


def edge_text(value: object, zone: str = "") -> str:
    """Return the shortest text of a number, date or time, which may be in a zone; "other" as it is."""
    if value == OTHER:
        return OTHER
    try:
        text = _text(value)
    except (TypeError, ValueError, OverflowError):
        text = ""
    if whole := instant(text, zone):
        return shortest(whole)
    if (number := edge_number(text)) is None:
        raise ValueError(
            f"the edge {value!r:.60} is not a finite number, date or time: give such edges that increase, and "
            f"{OTHER!r} after the last one for everything else"
        )
    return decimal_text(number)


def _text(value: Any) -> str:
    """Return a number as the decimal that it is written as, a date or a time in ISO 8601."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, str | int | Decimal):
        return str(value)
    return repr(float(value))


def edge_number(text: str) -> Decimal | None:
    """Return the number of an edge; None for what is no finite one."""
    number = parse_decimal(text)
    if number is None or not number.is_finite() or abs(number.adjusted()) > LARGEST:
        return None
    return number


def _ended(text: str, last: str) -> tuple[str, bool]:
    """Return a list without its last word, if this is `last`, and whether it was."""
    body, comma, word = text.rpartition(",")
    return (body, True) if comma and word.strip() == last else (text, False)


def _read(text: str, zone: str) -> tuple[str, ...]:
    if (moments := spaced_moments(text, MAX_BINS)) is not None:
        return moments
    parts = [part.strip() for part in text.split(",")]
    dated = {"-" in part for part in parts}
    if len(parts) > 1 and len(dated) == 1 and all(map(instant, parts)):  # 15:95:10 alone is START:STOP:STEP
        return tuple(edge_text(part, zone) for part in parts)
    spaced = [part.strip() for part in text.split(":")]
    parts = spaced if len(spaced) == 3 else parts
    try:
        finite = all(map(math.isfinite, map(parse_number, parts)))
    except ValueError:
        raise ValueError(
            f"the edges {text!r} are neither {FORMS}: write for example -60:260:5, or 2026-01-01:2027-01-01:1mo"
        ) from None
    if len(spaced) == 3:
        return spaced_numbers(*map(Decimal, spaced))
    return tuple(map(edge_text, parts)) if finite else tuple(parts)


def spaced_numbers(start: Decimal, stop: Decimal, step: Decimal) -> tuple[str, ...]:
    """Return the texts of start, start + step, ..., stop; the last bin is shorter where the steps pass over stop.

    >>> spaced_numbers(Decimal(18), Decimal(30), Decimal(5))
    ('18', '23', '28', '30')
    """
    numbers = start, stop, step
    finite = all(number.is_finite() and abs(number.adjusted()) <= LARGEST for number in numbers)
    if not (finite and step > 0 and stop > start and (stop - start) / step < MAX_BINS):
        raise ValueError(
            f"the edges {':'.join(map(str, numbers))} do not lead from START to STOP in steps above zero, fewer than "
            f"{MAX_BINS:,} of them: write for example -60:260:5, which has 64 bins"
        )
    count = int(EXACT.divide_int(EXACT.subtract(stop, start), step))
    edges = [EXACT.fma(step, k, start) for k in range(count + 1)]
    return tuple(map(decimal_text, edges if edges[-1] == stop else [*edges, stop]))


def coarser(edges: Sequence[str], enough: int | None) -> str:
    """Return edges of fewer bins in place of finer ones, where so many are about enough: round steps, or some edges.

    They are one fewer where four or more are enough, as other questions leave less than is known of one; none where
    there are no coarser ones. Few edges, dates and bins of several widths keep some of their edges.

    >>> ages, months = [str(age) for age in range(15, 91, 5)], [f"2024-{month:02}" for month in range(1, 13)]
    >>> coarser(ages, 5), coarser([str(score) for score in range(12)], 3), coarser(months, 3)
    ('0:100:25', '0,4,8,11', '2024-01,2024-05,2024-09,2024-12')
    """
    most = (enough or 0) - ((enough or 0) > 3)
    finer, numbers = len(edges) - 1, [parse_decimal(edge) for edge in edges]
    if not 1 < most < finer:
        return ""
    kept = ",".join([*edges[: -1 : -(-finer // most)], edges[-1]])
    known = [number for number in numbers if number is not None]
    if finer <= FEW or len(known) < len(edges) or len({b - a for a, b in pairwise(known)}) > 1:
        return kept
    low, high, old = known[0], known[-1], known[1] - known[0]
    steps = (factor.scaleb(k) for k in count(old.adjusted()) for factor in FACTORS)
    step = next(
        one
        for one in steps
        if one > old and (whole(one) or not whole(old)) and -floor(-high, one) - floor(low, one) <= most
    )
    first, last = floor(low, step), -floor(-high, step)
    return spaced_text(first * step, last * step, step) if last - first > 1 else kept


def such_as(bins: Mapping[str, str]) -> str:
    """Return what is to be given for these bins, by column, or by "" for the only one; nothing without them."""
    known = ", ".join(f"{column!r}: " * bool(column) + f"st.bins({one!r})" for column, one in bins.items())
    return f" For example values={known if '' in bins else f'{{{known}}}'}." if known else ""


def as_whole(values: Values, counts: Iterable[str | None]) -> Any:
    """Return bins between whole numbers as those of whole numbers, where a column (its texts) holds no others."""
    known: Any = values
    found = map(parse_decimal, filter(None, counts)) if known.edges and known.integral else ()
    numbers = [one for one in found if one is not None and one.is_finite()]
    return replace(known, whole=True) if numbers and all(map(whole, numbers)) else values
