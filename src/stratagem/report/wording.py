"""Numbers as a reader takes them in, and bounds in words."""

from __future__ import annotations

import math

from stratagem.number import count_text, number_text
from stratagem.study.comparison import ALPHA

ERROR = 0.01
"""Standard error of an answer, as a share of all users, at which a report states the users needed."""
BEST = 5e-5
"""Difference from the best that is too small to show."""


def count(number: int) -> str:
    """Write a whole number with separators, or as a power of ten when nobody would read the digits."""
    return f"{number:,}" if number < 10**15 else count_text(number)


def users(needed: float) -> str:
    """Write a number of users, rounded up."""
    return count(math.ceil(needed)) if needed < 10**12 else number_text(needed)


def at_error(needed: float) -> float:
    """Return the users needed for a standard error of 1 %, from those for normalised variance 0.01.

    The normalised variance is the squared standard error, and the users needed are inverse to it.
    """
    return needed * ALPHA / ERROR**2


def percent(share: float) -> str:
    """Write a share in per cent, with digits enough to tell a small one from none."""
    if not math.isfinite(share):
        return "infinitely far"
    if 0 < share < BEST:
        return "less than 0.01\u00a0%"
    digits = 0 if share >= 10 else 1 if share >= 0.1 else 2
    return f"{100 * share:,.{digits}f}\u00a0%"


def factor(ratio: float) -> str:
    """Write a factor of at most three digits."""
    return f"{ratio:.3g}" if ratio < 1e6 else f"{ratio:.2e}"
