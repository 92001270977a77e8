"""HTML that is safe by construction: whatever is not markup already is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

VOID = ("br", "input", "img")


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def text(part: str) -> Markup:
    """Return a text as HTML that shows it, markup as it is."""
    return part if isinstance(part, Markup) else Markup(escape(part))


def joined(*parts: str) -> Markup:
    """Return texts and markup one after the other."""
    return Markup("".join(map(text, parts)))


def element(tag: str, /, *parts: str, **attributes: str | bool | None) -> Markup:
    """Return an element with its attributes; `class_` is class, a_b is a-b, True is an attribute without a value."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{tag}{given}>" + ("" if tag in VOID else f"{joined(*parts)}</{tag}>"))


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> Markup:
    """Return a table in a box that scrolls by itself; the first `words` columns hold words, the others numbers."""
    head = [element("th", heading, scope="col", **_kind(k, words)) for k, heading in enumerate(headings)]
    lines = [
        element(
            "tr",
            element("th", first, scope="row"),
            *(element("td", cell, **_kind(k, words)) for k, cell in enumerate(rest, 1)),
        )
        for first, *rest in rows
    ]
    content = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *head)),
        element("tbody", *lines),
    )
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=caption)


def details(summary: str, *parts: str) -> Markup:
    """Return a collapsible element: a summary line that opens to show its content."""
    return element("details", element("summary", summary), *parts)


def island(data: object) -> Markup:
    """Return data as JSON that no HTML parser takes for anything else."""
    plain = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _kind(column: int, words: int) -> dict[str, str]:
    return {"class_": "number"} if column >= words else {}


def _attribute(key: str, value: str | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(value)}"' if isinstance(value, str) else ""
