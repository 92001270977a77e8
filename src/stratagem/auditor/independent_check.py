"""The independent check of a bundle: its certificate computed again, by other means than the client uses."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

DIGITS = 60
"""Decimal digits with which exp(epsilon) is computed."""
BLOCK = 1 << 22
"""Largest number of entries of a temporary array."""


@dataclass(frozen=True)
class Recheck:
    """What the independent check finds in a table of whole numbers."""

    equal_sums: bool
    """Whether every user type's numbers sum to the same total."""
    high: int
    low: int
    """The largest and the smallest number of the output whose ratio of the two is greatest; `low` may be 0."""
    allowed: Fraction
    """A fraction at most exp(epsilon), within 1e-59 of it relatively."""

    @property
    def holds(self) -> bool:
        """Whether every output is at most exp(epsilon) times as likely for one user type as for another."""
        return self.equal_sums and self.high <= self.low * self.allowed


def recheck(bundle: Mapping[str, Any]) -> Recheck:
    """Check the content of a bundle exactly, sharing no code with the client that ships.

    Guarantee:
        `holds` is true only if the table, read as Q[y, u] = number / total, is epsilon-LDP: sums and ratios
        are exact, and `allowed` is rounded down from exp(epsilon) computed in 60 digits.
    """
    table, epsilon = bundle["table"], Fraction(*map(int, bundle["epsilon"]))
    equal, high, low = _checked(table)
    return Recheck(equal, high, low, exp_floor(epsilon))


def exp_floor(epsilon: Fraction) -> Fraction:
    """Return a fraction at most exp(epsilon): Decimal's exp is correctly rounded, so one step down is below."""
    with localcontext(prec=DIGITS, rounding=ROUND_FLOOR):
        below = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        return Fraction(below.exp().next_minus())


def _checked(table: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return whether all columns have one sum, and the largest and smallest number of the worst row."""
    checks = {"two-level": _two_level, "columns": _columns, "translates": _translates, "parts": _parts}
    return checks[table["kind"]](table)


def _parts(table: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return whether shares sum to 2^32 and the columns of every part to one sum, and the levels of the worst part."""
    parts = table["parts"]
    shares, outputs = (part["share"] for part in parts), (part["table"]["outputs"] for part in parts)
    equal, high, low = sum(shares) == 1 << 32 and sum(outputs) == table["outputs"], 1, 1
    for part in parts:
        fine, most, least = _checked(part["table"])
        equal &= fine and part["share"] > 0 and part["attributes"] == sorted(set(part["attributes"]))
        if most * low > high * least:
            high, low = most, least
    return equal, high, low


def _two_level(table: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return whether all columns are covered equally, and the two levels if some output has both."""
    m, n = table["outputs"], table["user_types"]
    weights = np.frombuffer(base64.b64decode(table["weights"]), "<u4").astype(np.int64)
    packed = np.frombuffer(base64.b64decode(table["patterns"]), "u1").reshape(m, -1)
    covered, both, step = np.zeros(n, np.int64), False, max(1, BLOCK // n)
    for first in range(0, m, step):
        inside = np.unpackbits(packed[first : first + step], axis=1, count=n).astype(np.int64)
        covered += weights[first : first + step] @ inside
        both |= bool((inside.min(axis=1) < inside.max(axis=1)).any())
    levels = (1 << 52, table["low"]) if both else (1, 1)
    return bool((covered == covered[0]).all()), max(levels), min(levels)


def _translates(table: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return whether every user type meets each set equally often, and the two levels.

    It does so if the bits of a pattern are those of all cells of its axes, every attribute that an axis may be
    placed on has a cycle of the axis's length, and no placement is left out or counted twice.
    """
    group, cycle = np.array(table["groups"]), np.array(table["cycles"])
    equal, outputs = True, 0
    for pattern in table["patterns"]:
        options = [cycle[group == axis] for axis in pattern["axes"]]
        lengths, raw = [int(found.max(initial=0)) for found in options], base64.b64decode(pattern["bits"])
        equal &= all(len(set(found.tolist())) == 1 for found in options)
        placements = math.prod(
            len(found) - pattern["axes"][:t].count(axis)
            for t, (axis, found) in enumerate(zip(pattern["axes"], options, strict=True))
        )
        inside = np.unpackbits(np.frombuffer(raw, "u1"))
        placements *= pattern.get("multiples", 1)
        equal &= all(math.gcd(pattern.get("root", 1), length) == 1 for length in lengths)
        equal &= placements > 0 and -(-math.prod(lengths) // 8) == len(raw)
        equal &= not inside[math.prod(lengths) :].any()
        outputs += placements * math.prod(lengths)
    equal &= (
        outputs == table["outputs"] and sum(pattern["weight"] for pattern in table["patterns"]) == 1 << 32
    )
    return bool(equal), max(1 << 52, table["low"]), min(1 << 52, table["low"])


def _columns(table: Mapping[str, Any]) -> tuple[bool, int, int]:
    """Return whether all columns sum to 2^bits, and the worst row's largest and smallest number."""
    m, n, bits = table["outputs"], table["user_types"], table["bits"]
    numbers = np.frombuffer(base64.b64decode(table["entries"]), "<u4" if bits == 32 else "<u8").reshape(m, n)
    # halves of 32 bits each, so that no sum of fewer than 2^31 numbers leaves 64 bits
    upper = (numbers >> 32).sum(axis=0, dtype=np.uint64) if bits > 32 else np.zeros(n, np.uint64)
    lower = (numbers & 0xFFFFFFFF).sum(axis=0, dtype=np.uint64)
    equal = all((int(a) << 32) + int(b) == 1 << bits for a, b in zip(upper, lower, strict=True))
    high, low = 1, 1
    for most, least in zip(numbers.max(axis=1).tolist(), numbers.min(axis=1).tolist(), strict=True):
        if most * low > high * least:
            high, low = most, least
    return equal, high, low
