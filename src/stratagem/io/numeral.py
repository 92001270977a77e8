"""Numbers that people write, without what Python alone takes for one."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,9})?|[+-]?inf(inity)?", re.IGNORECASE)
"""A number: digits with a sign, a point or an exponent; inf."""
GROUPED = {
    ",": re.compile(r"[+-]?([0-9]+,[0-9]+|[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]+)?)"),
    ".": re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?"),
}
"""Numbers that `parse_decimal` reads otherwise or not, by what separates their decimals; the other mark separates
thousands."""
LEADING = re.compile(
    r"(under|below|less than|up to|at most|<=?|≤)?\s*(over|above|more than|at least|>=?|≥)?\s*[$€£]?\s*"
    r"([0-9]+(?:[.,][0-9]+)*)(?:\s*(k|m|bn)(?![a-z]))?",
    re.IGNORECASE,
)
"""The number that a text such as 10k to 30k, 18-24 or <18 begins with."""
SCALES = {"k": 1e3, "m": 1e6, "bn": 1e9}
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Arithmetic that rounds nothing."""


def plain_digits(text: str) -> str:
    """Return a text that may be a number; Python reads 1_0 as 10, and the digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is no number: write digits alone, such as 10 or 0.5")
    return text


def parse_number(text: str) -> float:
    """Return the number that a text stands for: digits with a sign, a point or an exponent; nan or inf.

    Raises:
        ValueError: for any other text.

    >>> parse_number("1e3")
    1000.0
    """
    return float(plain_digits(text))


def parse_decimal(text: str) -> Decimal | None:
    """Return the very number that a text stands for, as `parse_number` but exactly; None for any other text and nan.

    >>> parse_decimal("0.30"), parse_decimal("18_24"), parse_decimal("inf")
    (Decimal('0.30'), None, Decimal('Infinity'))
    """
    plain = text.strip()
    return Decimal(plain) if DECIMAL.fullmatch(plain) else None


def grouped(text: str, decimal: str) -> str | None:
    """Return a number with the decimal mark "," or "." as `parse_decimal` reads it, the other mark between thousands.

    None for a text that has neither mark in such a place.

    >>> grouped("1.234,5", ","), grouped("2.500", ","), grouped("1,234.5", ".")
    ('1234.5', '2500', '1234.5')
    >>> grouped("12.5", ","), grouped("3,5", "."), grouped("0.500", ",")
    (None, None, None)
    """
    plain, group = text.strip(), "." if decimal == "," else ","
    if not GROUPED[decimal].fullmatch(plain):
        return None
    return plain.replace(group, "").replace(decimal, ".")


def decimal_text(number: Decimal) -> str:
    """Return the shortest text of a finite number, as Python writes those that are its own.

    >>> decimal_text(Decimal("0.30")), decimal_text(Decimal("1E3")), decimal_text(Decimal("1E-7"))
    ('0.3', '1000', '1e-07')
    """
    sign, digits, _ = number.normalize(EXACT).as_tuple()
    if not number:
        return "0"
    if -4 <= number.adjusted() < 16:
        return f"{number.normalize(EXACT):f}"
    mantissa = "".join(map(str, digits))
    point = f"{mantissa[0]}{'.' if mantissa[1:] else ''}{mantissa[1:]}"
    return f"{'-' * sign}{point}e{number.adjusted():+03d}"


def leading(text: str) -> tuple[float, int] | None:
    """Return the number that a text begins with, and whether it is below or above it; None without one.

    >>> leading("10k to 30k"), leading("< 18"), leading("over 65"), leading("30 min"), leading("B12")
    ((10000.0, 0), (18.0, -1), (65.0, 1), (30.0, 0), None)
    """
    found = LEADING.match(text)
    if not found:
        return None
    below, above, digits, scale = found.groups()
    number = grouped(digits, ".") or digits
    if number.count(".") + number.count(",") > 1:
        return None
    times = SCALES.get((scale or "").lower(), 1.0)
    return float(number.replace(",", ".")) * times, bool(above) - bool(below)
