"""What commands write: tables and sentences for people, one JSON object for programs."""

from __future__ import annotations

import ast
import errno
import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from stratagem.io.screen import WIDTH, folded, visible

if TYPE_CHECKING:
    from stratagem.io.table import Table

UNREAD = 128 + 13
"""Exit status of what SIGPIPE ends, as shells say it."""
NARROW = 40
"""Fewest columns for which anything is laid out."""


def screen_width() -> int:
    """Return the number of columns of the terminal, 80 at most; 80 where nothing is shown on one."""
    return max(NARROW, min(WIDTH, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else WIDTH


def write_json(data: dict[str, Any]) -> None:
    """Write exactly one JSON object to standard output.

    Raises:
        ValueError: for NaN or infinity, which JSON does not have.
    """
    put(json.dumps(data, indent=2, allow_nan=False) + "\n")


def write(text: str = "") -> None:
    """Write lines of text to standard output, long ones in several; nothing in them commands a terminal."""
    put("".join(f"{part}\n" for line in text.split("\n") for part in folded(visible(line), screen_width())))


def facts_lines(facts: Mapping[str, object]) -> list[str]:
    """Return facts as lines, each behind its name."""
    width = max(map(len, facts)) + 1
    return [f"{name + ':':<{width}} {fact}" for name, fact in facts.items()]


def write_files(**paths: Path | None) -> None:
    """Say which files were made, each behind the word for how: drawn, written or saved."""
    for word, path in paths.items():
        if path is not None:
            put(f"{word} in {visible(str(path))}\n")


def continued(command: str, behind: int = 0) -> str:
    """Return a command to type behind so many characters, on several lines where it is long, broken before options."""
    whole = " ".join(part.replace(" ", "\0") for part in re.split(r" (?=--)", command))
    width = WIDTH - len(" \\") * (len(whole) + behind > WIDTH)
    lines = wrap(
        whole,
        width,
        initial_indent=behind * "\0",
        subsequent_indent=8 * "\0",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return " \\\n".join(lines).replace("\0", " ")[behind:]


def write_command(command: str, label: str = "") -> None:
    """Write what a person types behind a label, broken before options alone."""
    put(f"{label}{continued(visible(command), len(label))}\n")


def put(text: str) -> None:
    """Write a text to standard output, as it is.

    Raises:
        SystemExit: if nobody reads it any more.
        ValueError: if its disk is full.
    """
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise lost(error) from None


def flush() -> None:
    """Hand on what was written to standard output.

    Raises:
        SystemExit: if nobody reads it any more.
        ValueError: if its disk is full.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        raise lost(error) from None


def lost(error: OSError) -> ValueError:
    """Return what to say of a standard output that takes no more, and let the rest go nowhere.

    Raises:
        SystemExit: if nobody reads it any more, as of `| head`: nothing is said then, as other tools end.
    """
    with suppress(OSError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    if error.errno == errno.EPIPE:
        raise SystemExit(UNREAD)
    return ValueError(f"the output cannot be written ({error.strerror or error}): send it to another place")


def check_streams() -> None:
    """Let a closed input be empty and closed errors go nowhere; refuse a closed output before any work."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
        raise ValueError(
            "standard output is closed, so that no result can be told: send it to a file or a terminal"
        )


def write_table(table: Table) -> None:
    """Write a table as wide as the screen at most; on a terminal its bold row stands out."""
    bold = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    lines = table.lines(screen_width(), (lambda line: f"\x1b[1m{line}\x1b[0m") if bold else str)
    put("".join(f"{line}\n" for line in lines))


class Result(Protocol):
    """What a command found: values for programs, sentences and tables for people."""

    def record(self) -> dict[str, Any]:
        """Return the named values."""
        ...

    def sentences(self) -> Iterable[str | Table]:
        """Return lines and tables in their order."""
        ...


def write_result(result: Result, *, json: bool) -> None:
    """Write the named values of a result, or its lines and tables."""
    if json:
        write_json(result.record())
    else:
        write_lines(result.sentences())


def write_lines(parts: Iterable[str | Table]) -> None:
    """Write lines and tables, with options in place of the keyword arguments that they advise.

    A command or options to type, behind a label or alone, are broken before options alone.
    """
    for part in parts:
        if not isinstance(part, str):
            write_table(part)
        elif typed := TYPED.match(part):
            write_command(part[typed.end() :], typed[0])
        else:
            write(translated(part))


def apart(parts: Iterable[str | Table]) -> Iterator[str | Table]:
    """Yield sentences and tables, an empty line between them."""
    for place, part in enumerate(filter(None, parts)):
        yield from ("", part) if place else (part,)


def fail(sentence: str, status: int = 2) -> NoReturn:
    """Write one sentence to standard error and exit."""
    with suppress(ValueError):
        flush()
    with suppress(OSError):
        said = f"stratagem: {visible(' '.join(sentence.split()))}"
        width = max(NARROW, min(WIDTH, shutil.get_terminal_size().columns))
        sys.stderr.write(
            "".join(f"{part}\n" for part in (folded(said, width) if sys.stderr.isatty() else [said]))
        )
    sys.exit(status)


OPTIONS = {
    "as_is": "--as-is",
    "column": "--column ",
    "date_format": "--date-format ",
    "at_most": "--at-most ",
    "decimal": "--decimal ",
    "domain": "--domain ",
    "invalid": "--invalid ",
    "edges": "--edges=",  # may begin with a minus sign
    "labels": "--labels ",
    "mapping": "--map ",
    "method": "--method ",
    "missing": "--missing ",
    "seed": "--seed ",
    "variable": "--variable ",
}
"""The options that are given in place of keyword arguments which errors advise."""
TYPED = re.compile(r"(?:[a-z]+: +)?(?=stratagem )|(?=--)")
"""What stands before what a person types."""
LIMIT = re.compile(r"\b(max_seconds|seconds(?= is )|(?<=ask with more )seconds)\b")
BINS = re.compile(
    r"(values=\{?|, (?=['\"]))(?:('(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"): )?st\.bins\(('[^']*')\)\}?"
)
OWN = re.compile(r"by_column=(\{.*?\}\}+)")
"""What is said of single columns."""
ADVICE = re.compile(rf"\b({'|'.join(OPTIONS)})=('[^']*'|\"[^\"]*\"|\d+|True|\[[^]]*\]|\{{[^}}]*\}})")


def translated(sentence: str) -> str:
    """Return a sentence with options in place of keyword arguments: domain='2^6' becomes --domain '2^6'."""
    sentence = sentence.replace("values=st.labels('a', 'b', ...)", "--labels a,b,...")
    return BINS.sub(_edges, ADVICE.sub(_option, OWN.sub(_own, LIMIT.sub("--seconds", sentence))))


def options_advised(sentence: str) -> str:
    """Return the options that a sentence advises for single columns, alternatives of each other; empty without any."""
    return " or ".join(dict.fromkeys(_own(found) for found in OWN.finditer(sentence)))


def _own(found: re.Match[str]) -> str:
    """Return the options COLUMN=VALUE for what is said of single columns."""
    try:
        given = ast.literal_eval(found[1])
    except (SyntaxError, ValueError):  # braces in somebody's own text
        return found[0]
    return " ".join(
        f"{OPTIONS[name]}{shlex.quote(f'{column}={text}')}"
        for column, own in given.items()
        for name, texts in own.items()
        for text in _listed(texts)
    )


def _listed(given: Any) -> Iterable[str]:
    """Return texts: one alone, or several, those of a table as FROM=TO."""
    match given:
        case str():
            return [given]
        case dict():
            return [f"{text}={label}" for text, label in given.items()]
    return given


def _edges(found: re.Match[str]) -> str:
    lead, *rest = found.groups()
    name, bins = (ast.literal_eval(text or "''") for text in rest)
    given = f"{name}={bins}" if name else bins
    return f"{' ' * (lead == ', ')}--edges{'=' if given.startswith('-') else ' '}{shlex.quote(given)}"


def _option(found: re.Match[str]) -> str:
    name, literal = found.groups()
    try:
        given = ast.literal_eval(literal)
        if given is True:
            return OPTIONS[name]
        values = _listed(given if isinstance(given, list | dict) else [given])
        return " ".join(f"{OPTIONS[name]}{shlex.quote(str(value))}" for value in values)
    except (SyntaxError, ValueError):  # a backslash in somebody's own text
        return found[0]
