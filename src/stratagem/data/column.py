"""What a column holds, so that the bins or labels of its attribute may follow where nobody states them."""

from __future__ import annotations

import math
from pathlib import Path

from stratagem.data.binning import MISSING, Edges, Labels
from stratagem.data.data import distinct

MOST = 256
"""Values of a column that are told apart unasked; more are better grouped by somebody who knows them."""
GROUPS = 20
"""About as many bins as an error proposes."""


def found_values(path: str | Path, column: str) -> Edges | Labels:
    """Return the values of a column: every whole number from the least to the largest, or the texts in order.

    Missing values are left out. A domain is public: where a mechanism is to be run, it must not be read from
    the data of those who are to be protected, so state the edges or labels there.

    Raises:
        ValueError: for a file that cannot be read, a missing or empty column, numbers with fractions, or
            more than 256 values.
    """
    texts = {text.strip() for text in distinct(path, column) if text is not None}
    texts = sorted(text for text in texts if text.lower() not in MISSING)
    if not texts:
        raise ValueError(f"column {column!r} of {path} holds no values: name another with --column")
    numbers = _numbers(texts)
    if numbers is None:
        return _labels(texts, column)
    low, high = min(numbers), max(numbers)
    if all(number == math.floor(number) for number in numbers) and high - low < MOST:
        return Edges(tuple(low + k for k in range(int(high - low) + 2)), int(high - low) + 1)
    raise ValueError(
        f"column {column!r} holds {len(numbers):,} numbers from {low:g} to {high:g}, too many to tell apart one by "
        f"one: group them with --edges LOW:HIGH:STEP, for example --edges={_groups(low, high)}"
    )


def _labels(texts: list[str], column: str) -> Labels:
    if len(texts) > MOST:
        raise ValueError(
            f"column {column!r} holds {len(texts):,} different texts, among them {texts[0][:40]!r} and "
            f"{texts[-1][:40]!r}, but at most {MOST} are told apart unasked: name those to count with --labels a,b,..."
        )
    return Labels(tuple(texts), len(texts))


def _numbers(texts: list[str]) -> list[float] | None:
    """Return the texts as finite numbers, None if one of them is none."""
    try:
        numbers = list(map(float, texts))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def _groups(low: float, high: float) -> str:
    """Return LOW:HIGH:STEP with a round step that makes about twenty bins."""
    width = max(high - low, abs(high) * 1e-9) / GROUPS
    power = 10.0 ** math.floor(math.log10(width))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    return ":".join(f"{value:.10g}" for value in (first * step, last * step, step))
