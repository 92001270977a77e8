"""Texts that objects show at a prompt and in a notebook, limited to the size of a screen."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from typing import Any

WIDTH = 100
"""Largest number of columns (characters) in a line."""
LONGEST = 32
"""Largest number of characters of one value."""
ROWS = 16
"""Largest number of rows of a table."""


def visible(text: str) -> str:
    r"""Return a text in one line in which no character commands a terminal or turns the direction of others.

    Whatever is neither printable nor a space becomes the escape that Python writes.

    >>> visible("a\x1b[2J\n")
    'a\\x1b[2J\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def columns(text: str) -> int:
    """Return how many columns of a screen a visible text takes: two for a wide character, none for one above others.

    >>> columns("age"), columns("年齢"), columns("e\N{COMBINING ACUTE ACCENT}")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.category(character) == "Mn" for character in text)


def brief(self: Any) -> str:
    """Return the class and the fields of a dataclass in one line; arrays and collections by their size."""
    text, left = f"{type(self).__name__}(", ""
    for part in (f"{field.name}={_value(getattr(self, field.name))}" for field in fields(self) if field.repr):
        if len(text) + len(left) + len(part) > WIDTH - 7:
            return f"{text}, ...)"
        text, left = text + left + part, ", "
    return f"{text})"


def _value(value: Any) -> str:
    if getattr(value, "shape", None) is not None:
        return f"array {value.shape}"
    if isinstance(value, Collection) and not isinstance(value, str):
        return f"{len(value)} of {type(value).__name__}"
    if is_dataclass(value):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
