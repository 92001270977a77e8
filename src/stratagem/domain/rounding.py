"""Round numbers: steps of 1, 2 or 5 times a power of ten that cover the numbers of a column."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import count, pairwise
from typing import Any

from stratagem.domain.values import is_missing
from stratagem.io.numeral import EXACT, decimal_text, parse_decimal

HUGE = Decimal("1e300")
"""Largest number that round steps can cover; what is larger stands for no value in all data that were seen."""
EXACT_TO = 2**53
"""Whole numbers up to here are exact in double precision."""
FINEST = 9, 300
"""Digits of the largest number that steps may tell apart, and of the smallest step at all."""
CODE = re.compile(r"-?(9{2,}|999+(\.9+)?)|-[19](\.0+)?")
"""What placeholders of statistics files look like: nines, -1 and -9."""
FAR = 1.0
"""Least distance of a placeholder from all other numbers, as a share of their range."""
NEARBY = 4
"""How many times as many bins may be named in place of those whose last is shorter."""


def finite_numbers(texts: Iterable[str], column: str) -> dict[str, Decimal]:
    """Return the texts of a column that are finite numbers, with these."""
    numbers = {text: parse_decimal(text) for text in texts if not is_missing(text)}
    found = {text: one for text, one in numbers.items() if one is not None and one.is_finite()}
    huge = next((text for text, number in found.items() if abs(number) > HUGE), None)
    if huge is not None:
        raise ValueError(
            f"column {column!r} holds the number {huge[:40]}, but bins are found for numbers up to {HUGE:.0e}: if it "
            f"stands for no value, say so with missing={huge!r}"
        )
    _check_apart(found.values(), column)
    return found


def _check_apart(numbers: Iterable[Decimal], column: str) -> None:
    """Refuse whole numbers beyond 2^53 that clients cannot tell apart, as identifiers are."""
    large = sorted({number for number in numbers if abs(number) >= EXACT_TO and whole(number)})
    for one, other in pairwise(large):
        if float(one) == float(other):
            raise ValueError(
                f"column {column!r} holds whole numbers such as {decimal_text(one)} and {decimal_text(other)}, but "
                "beyond 2^53 double precision does not tell all of them apart: if they are identifiers name another "
                "column, otherwise state edges that lie further apart"
            )


def whole(number: Decimal) -> bool:
    """Return whether a number is an integer."""
    return number == number.to_integral_value()


def round_steps(
    low: Decimal, high: Decimal, most: int, least: Decimal = Decimal(0)
) -> tuple[int, int, Decimal]:
    """Return (a, b, step) so that a step <= low and high < b step, with at most about `most` steps between them.

    The step is 1, 2 or 5 times a power of ten, the smallest that is at least `least` and (high - low)/most.

    >>> round_steps(Decimal(0), Decimal("3.3"), 33)
    (0, 34, Decimal('0.1'))
    """
    smallest = max(high.adjusted() - FINEST[0], -FINEST[1])
    width = max((high - low) / most, least, Decimal(1).scaleb(smallest))
    power = Decimal(1).scaleb(width.adjusted())
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)
    return floor(low, step), floor(high, step) + 1, step


def grid(numbers: Collection[Decimal], most: int) -> Decimal | None:
    """Return the largest step below 1 of which all numbers are multiples; None where they span `most` of it or more.

    The step is 1, 2, 2.5 (a quarter) or 5 times a power of ten.

    >>> [grid([Decimal(text) for text in row], 64) for row in (("0", "0.1", "0.5"), ("0.25", "0.5"), ("0.001", "0.5"))]
    [Decimal('0.1'), Decimal('0.25'), None]
    """
    low, high = min(numbers), max(numbers)
    least = max((high - low) / most, Decimal(1).scaleb(max(high.adjusted() - FINEST[0], -FINEST[1])))
    for power in range(-1, least.adjusted() - 1, -1):
        for factor in (Decimal(5), Decimal("2.5"), Decimal(2), Decimal(1)):
            step = factor.scaleb(power)
            if step > least and all(EXACT.remainder(number, step) == 0 for number in numbers):
                return step
    return None


def roundest(low: Decimal, high: Decimal) -> Decimal:
    """Return the number above `low` and at most `high` that is a multiple of the largest 5, 2 or 1 times 10^k.

    Where both are the same, it is this number.

    >>> [decimal_text(roundest(*map(Decimal, pair))) for pair in (("-3", "4"), ("7", "23"), ("0.31", "0.38"))]
    ['0', '20', '0.35']
    """
    if low == high:
        return high
    for power in count(max(low.adjusted(), high.adjusted()) + 1, -1):
        for factor in (5, 2, 1):
            step = factor * Decimal(1).scaleb(power)
            found = EXACT.multiply(floor(high, step), step)
            if found > low:
                return found
    raise AssertionError


def floor(number: Decimal, step: Decimal) -> int:
    """Return the largest whole number of steps that is at most a number."""
    steps = EXACT.divide_int(number, step)
    return int(steps) - (EXACT.multiply(steps, step) > number)


def spaced_text(start: Decimal, stop: Decimal, step: Decimal) -> str:
    """Return START:STOP:STEP.

    >>> spaced_text(Decimal("-1E+1"), Decimal(10), Decimal("2.50"))
    '-10:10:2.5'
    """
    return ":".join(map(decimal_text, (start, stop, step)))


def placeholders(counts: Mapping[Any, int]) -> dict[str, int]:
    """Return the texts that look like placeholders among real numbers, with their rows, the most frequent first.

    These are infinities; -1, -9 and nines below numbers none of which is negative; and nines far above all others.

    >>> placeholders({"31": 5, "64": 2, "999": 3, "-1": 4, "inf": 1, "40": 1})
    {'-1': 4, '999': 3, 'inf': 1}
    >>> placeholders({"18": 5, "64": 2, "99": 3}), placeholders({"-20": 1, "-1": 4, "15": 5})
    ({}, {})
    """
    known = {text: parse_decimal(text) for text in counts if text is not None and not is_missing(text)}
    numbers = {text: float(number) for text, number in known.items() if number is not None}
    coded = {text for text in numbers if CODE.fullmatch(text.strip())}
    others = [number for text, number in numbers.items() if text not in coded and math.isfinite(number)]
    if len(others) < 2:
        return {}
    low, high = min(others), max(others)

    def apart(text: str, number: float) -> bool:
        if not math.isfinite(number):
            return True
        return text in coded and (number < 0 <= low or number > high + FAR * (high - low))

    found = {text: counts[text] for text, number in numbers.items() if apart(text, number)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def looking_missing(column: str, coded: Mapping[str, int]) -> str:
    """Return what is to be done about `placeholders`; nothing without any."""
    listed = ", ".join(f"{text!r} {rows:,}" for text, rows in coded.items())
    said = (
        f"{column} holds numbers that look like placeholders for no answer (rows with {listed}): if they are, say so "
        f"with missing={list(coded)}."
    )
    return said if coded else ""


def evenly(edges: Sequence[Decimal]) -> list[Decimal]:
    """Return the nearest steps that divide a range evenly where those between its edges leave a shorter last bin.

    A smaller one and a larger one, as far as there are any; none where no last bin is shorter than all others.

    >>> evenly([*map(Decimal, (15, 22, 29, 36, 39))]), evenly([*map(Decimal, (15, 22, 29))])
    ([Decimal('6'), Decimal('8')], [])
    """
    *steps, last = [EXACT.subtract(b, a) for a, b in pairwise(edges)]
    if len(set(steps)) != 1 or last >= steps[0]:
        return []
    unit = Decimal(1).scaleb(min(int(one.as_tuple().exponent) for one in (*edges, Decimal(0))))
    span, bins = int((edges[-1] - edges[0]) / unit), len(steps) + 1
    smaller, larger = range(bins, NEARBY * bins), range(bins - 1, 1, -1)
    found = (next((k for k in tried if span % k == 0), None) for tried in (smaller, larger))
    return [span // k * unit for k in found if k]
