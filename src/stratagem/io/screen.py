"""How results are shown: texts limited to the size of a screen, and a register of what draws figures and pages."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Function = TypeVar("Function", bound=Callable[..., Any])
_modules: dict[str, str] = {}
"""Module to import for the functions whose name begins with a given word, up to the first underscore."""
_functions: dict[str, Callable[..., Any]] = {}
WIDTH = 80
"""Largest number of columns (characters) in a line."""
LABEL = re.compile(r"[a-z-]+: +")
"""What a line begins with that names what it says; further lines are indented as far."""
LONGEST = 32
"""Largest number of characters of one value."""
ROWS = 16
"""Largest number of rows of a table."""


def folded(line: str, width: int = WIDTH) -> list[str]:
    """Return a line in parts of at most `width` characters, unless a word is longer, behind its label if it has one."""
    if len(line) <= width:
        return [line]
    label = LABEL.match(line)
    indent = " " * (label.end() if label else 0)
    return wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


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


class Plotted(ABC):
    """A result that a figure shows."""

    figure: ClassVar[str]
    """Name of the registered function that draws it."""

    @final
    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw the result; write an .svg, .png or .pdf if a path is given.

        `width` in inches, that of the style by default.

        Raises:
            ValueError: without matplotlib, or for a path or width that cannot be used.
        """
        return show(self.figure, self, path, width)


def shown_by(**modules: str) -> None:
    """Name the modules that register functions when they are imported, by the first word of the functions' names."""
    _modules.update(modules)


def presents(function: Function) -> Function:
    """Register a function that shows results, under its own name."""
    _functions[function.__name__] = function
    return function


def show(name: str, /, *arguments: Any, **options: Any) -> Any:
    """Return what a registered function makes of a result: a figure, or the path of the file that was written."""
    module = _modules.get(name.partition("_")[0])
    if module is not None:
        import_module(module)
    if name not in _functions:
        raise LookupError(f"{name!r} was asked for, but no module registers it: name one with `shown_by`")
    return _functions[name](*arguments, **options)
