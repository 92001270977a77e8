"""Numbers of a column that look like placeholders: written where no number is known."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from stratagem.domain.values import is_missing
from stratagem.io.numeral import parse_decimal

CODE = re.compile(r"-?(9{2,}|999+(\.9+)?)|-[19](\.0+)?")
"""What placeholders of statistics files look like: nines, -1 and -9."""
FAR = 1.0
"""Least distance of a placeholder from all other numbers, as a share of their range."""


def placeholders(counts: Mapping[str | None, int]) -> dict[str, int]:
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
