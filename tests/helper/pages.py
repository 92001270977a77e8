"""Pages of the documentation as their readers use them: blocks that run, what they print, numbers in sentences."""

import re
import shlex
from collections.abc import Callable, Iterator
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stratagem.cli import main

FOLDER = Path(__file__).parents[2] / "docs"
PAGES = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*.md"))}
DIFFER = r"numbers differ (?:(?P<varying>every time)|(?P<drawn>between processors))"
MARK = rf"(?:<!-- (?:not run: (?P<reason>[^>]+)|{DIFFER}) -->\n)?"
FENCE = re.compile(
    rf"^{MARK}```(?P<language>\w+)\n(?P<code>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.^/])\d(?:[\d,]*\d)?(?:\.\d+)?")
SILENT = re.compile(r"\A---\n.*?\n---\n|<!--.*?-->|`[^`\n]+`|(?<=\])\([^)]+\)|<[^>]+>", re.DOTALL)
"""Parts of a page that are no sentence: settings, comments, code, addresses of links, HTML."""
CLOSE = 0.02
"""Share by which a number may differ from the one on the page: processors round differently."""
DRAWN = 0.3
"""The same for numbers drawn from a mechanism that was found, where the last digits decide what is drawn."""


class Block(NamedTuple):
    """A block of a page: its language, its text, and the reason for which it does not run, if any."""

    language: str
    code: str
    reason: str | None
    varying: bool
    close: float


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page in their order."""
    return [
        Block(
            one["language"],
            one["code"],
            one["reason"],
            bool(one["varying"]),
            DRAWN if one["drawn"] else CLOSE,
        )
        for one in FENCE.finditer(text)
    ]


def value(token: str) -> float | None:
    """Return the number that a word of an output is, without commas, signs and units, or None."""
    try:
        return float(token.strip("[](),.;:%+").replace(",", ""))
    except ValueError:
        return None


def alike(expected: str, printed: str, varying: bool = False, close: float = CLOSE) -> bool:
    """Return whether two words are equal, or nearly equal numbers; where these vary, any two, or lines of tables."""
    if varying and {*expected} == {*printed} == {"-"}:
        return True
    both = value(expected), value(printed)
    if None in both:
        return expected == printed
    return varying or isclose(*both, rel_tol=close, abs_tol=CLOSE / 2)


def says(expected: str, printed: str, varying: bool = False, close: float = CLOSE) -> bool:
    """Return whether a text was printed, word for word; three dots stand for anything."""
    words, places = printed.split(), {0}
    for word in expected.split():
        if word == "...":
            places = set(range(min(places, default=len(words) + 1), len(words) + 1))
        else:
            places = {
                place + 1
                for place in places
                if place < len(words) and alike(word, words[place], varying, close)
            }
    return len(words) in places


def run(text: str, captured: Callable[[], str], names: dict[str, Any]) -> Iterator[tuple[Block, str]]:
    """Run a page from top to bottom in the working folder; yield every block and what was printed last."""
    printed = ""
    for block in blocks(text):
        if block.language == "python" and not block.reason:
            exec(compile(block.code, "page", "exec"), names)
            printed = captured()
        elif block.language == "sh" and not block.reason:
            printed = "".join(command(line, captured) for line in block.code.replace("\\\n", "").splitlines())
        yield block, printed


def command(line: str, captured: Callable[[], str]) -> str:
    """Run a command of the package and return what it wrote."""
    program, *arguments = shlex.split(line)
    assert program == "stratagem", f"a page runs {program}: mark its block as not run, with a reason"
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    printed = captured()
    assert not stop.value.code, printed
    return printed


def sentences(text: str) -> str:
    """Return a page without its blocks and all that is no sentence."""
    return SILENT.sub(" ", FENCE.sub("", text))


def numbers(text: str) -> set[str]:
    """Return the numbers in a text, as they are written."""
    return set(NUMBER.findall(text))
