"""Formats for numbers and bounds in the text of a report."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from stratagem.math.number import count_text

BEST = 5e-5
"""Share below which a difference counts as too small to state."""


def count(number: int) -> str:
    """Write a whole number with separators below 10^15, otherwise as a power of ten."""
    return f"{number:,}" if number < 10**15 else count_text(number)


def counted(number: int, thing: str) -> str:
    """Write a number with its noun in the singular or plural: 1 query, 2 queries, 3 people."""
    if thing == "person" and number != 1:
        return f"{count(number)} people"
    things = thing if number == 1 else f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}s"
    return f"{count(number)} {things}"


def percent(share: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a share in per cent, with more digits the smaller it is."""
    if not math.isfinite(share):
        return "infinitely far"
    if 0 < share < BEST:
        return "less than 0.01\u00a0%"
    if share >= 1e9:
        return f"{100 * share:.3g}\u00a0%"
    digits = 0 if share >= 10 else 1 if share >= 0.1 else 2
    written = Decimal(f"{100 * share:.12g}").quantize(Decimal(1).scaleb(-digits), rounding)
    return f"{written + 0:,}\u00a0%"


def at_most(share: float) -> str:
    """Write an upper limit in per cent, rounded up so that it remains an upper limit."""
    return percent(share) if 0 <= share < BEST else f"at most {percent(share, ROUND_CEILING)}"


def above(share: float) -> str:
    """Write a share in per cent, rounded up."""
    return percent(share, ROUND_CEILING)


def below(share: float) -> str:
    """Write a share in per cent, rounded down."""
    return percent(share, ROUND_FLOOR)


def unbroken(text: str) -> str:
    """Write a text so that no line ends between a number and its per cent sign."""
    return text.replace(" %", "\u00a0%")


def odds(epsilon: float) -> str:
    """Write e^epsilon rounded up, with three digits; up to 2, with three digits of e^epsilon - 1.

    >>> odds(1.0), odds(0.001)
    ('2.72', '1.00101')
    """
    exact = Decimal(epsilon).exp()
    excess = exact - 1
    shown = exact if exact > 2 else excess
    rounded = shown.quantize(Decimal(1).scaleb(shown.adjusted() - 2), ROUND_CEILING)
    whole = rounded if exact > 2 else 1 + rounded
    return f"{whole:.2e}" if whole >= 10**6 else f"{whole:,f}"
