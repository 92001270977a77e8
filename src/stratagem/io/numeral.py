"""Numbers that people write, without what Python alone takes for one."""

from __future__ import annotations


def plain_digits(text: str) -> str:
    """Return a text that may be a number; Python reads 1_0 as 10, and the digits of other scripts.

    Raises:
        ValueError: for underscores, and for anything that is not ASCII.
    """
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
