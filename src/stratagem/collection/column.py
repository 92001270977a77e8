"""Values found in a column, from which the bins or labels of its attribute follow if none are stated."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from stratagem.collection.binning import Labels, is_missing, read_number
from stratagem.collection.data import STRICT, distinct
from stratagem.collection.edges import Edges
from stratagem.collection.policy import Policy, examples
from stratagem.workloads.attribute import OTHER

MOST = 256
"""Largest number of values of a column that each get a cell without edges or labels being stated."""
GROUPS = 20
"""Approximate number of bins that an error message proposes."""


def found_values(path: str | Path, column: str, policy: Policy = STRICT) -> Edges | Labels:
    """Return the values of a column: every whole number from the least to the largest, or the texts in order.

    Missing values are left out; where the policy counts them as other, the last value is "other". A domain is
    public: where a mechanism is to be run, it must not be read from the data of those who are to be protected,
    so state the edges or labels there.

    Raises:
        ValueError: for a file that cannot be read, a missing or empty column, numbers with fractions or with
            texts among them, or more than 256 values.
    """
    counts: Counter[str] = Counter()
    for text, count in distinct(path, column).items():
        if text is not None and not is_missing(policy.read(text)):
            counts[text.strip()] += count
    if not counts:
        raise ValueError(f"column {column!r} of {path} holds no values: name another column")
    extra = (OTHER,) if policy.invalid == OTHER else ()
    numbers = [number for text in counts if math.isfinite(number := read_number(text))]
    if not numbers:
        texts = _labels(sorted(set(counts) - set(extra)), column)
        return Labels((*texts, *extra), len(texts) + len(extra))
    _check_unmixed(counts, column)
    low, high = min(numbers), max(numbers)
    if all(number == math.floor(number) for number in numbers) and high - low < MOST:
        edges = tuple(low + k for k in range(int(high - low) + 2))
        return Edges((*edges, *extra), len(edges) - 1 + len(extra))
    raise ValueError(
        f"column {column!r} holds {len(numbers):,} numbers from {low:g} to {high:g}, too many to tell apart one by "
        f"one: group them with edges LOW:HIGH:STEP, for example edges='{_groups(low, high)}'"
    )


def _check_unmixed(counts: Counter[str], column: str) -> None:
    """Refuse numbers with texts among them: as texts they would lose their order."""
    texts = Counter({text: count for text, count in counts.items() if not math.isfinite(read_number(text))})
    if texts:
        total, first = sum(texts.values()), texts.most_common(1)[0][0]
        raise ValueError(
            f"column {column!r} holds {sum(counts.values()) - total:,} numbers and {total:,} {examples(texts)}: "
            f"say which texts stand for no value with missing={first!r}, or name all values with "
            "labels='a,b,...' to count them as texts"
        )


def _labels(texts: list[str], column: str) -> list[str]:
    if len(texts) > MOST:
        raise ValueError(
            f"column {column!r} holds {len(texts):,} different texts, among them {texts[0][:40]!r} and "
            f"{texts[-1][:40]!r}, but at most {MOST} are told apart unasked: name those to count with labels='a,b,...'"
        )
    return texts


def _groups(low: float, high: float) -> str:
    """Return LOW:HIGH:STEP with a round step that makes about twenty bins."""
    width = max(high - low, abs(high) * 1e-9) / GROUPS
    power = 10.0 ** math.floor(math.log10(width))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    return ":".join(f"{value:.10g}" for value in (first * step, last * step, step))
