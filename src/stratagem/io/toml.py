"""TOML tables read strictly into dataclasses: a key is exactly a field."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from stratagem.io.literal import open_regular

T = TypeVar("T")
LONGEST = 1 << 24
"""Largest size in bytes of a file that is read."""
DEEPEST = 32
"""Largest depth of nested tables and lists that is read; every valid file has at most four."""
DIGITS = 1000
LONG_NUMBER = re.compile(rf"[0-9_]{{{DIGITS + 1},}}")


def read_table(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    table: dict[str, Any] = {}
    try:
        table = tomllib.loads(_text(path))
        deep = _depth(table) > DEEPEST
    except RecursionError:
        deep = True
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"{path} cannot be read ({reason}): give the path of a readable file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not TOML ({error}): correct that place") from None
    if deep:
        raise ValueError(f"{path} nests more than {DEEPEST} tables and lists: write them one beside another")
    return table


def _text(path: Path) -> str:
    with open_regular(path) as file:
        raw = file.read(LONGEST + 1)
    if len(raw) > LONGEST:
        raise ValueError(
            f"{path} is larger than the {LONGEST} bytes that are read: leave out what is not needed"
        )
    text = raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    if LONG_NUMBER.search(text):
        raise ValueError(f"{path} holds a number of more than {DIGITS} digits: round it")
    return text


def _depth(table: object) -> int:
    """Return how many tables and lists are inside one another, at most one more than are read."""
    level: list[Any] = [table]
    depth = 0
    while level and depth <= DEEPEST:
        depth += 1
        level = [
            part
            for each in level
            for part in (each.values() if isinstance(each, dict) else each)
            if isinstance(part, dict | list)
        ]
    return depth


def build(cls: type[T], table: object, source: str, also: Iterable[str] = ()) -> T:
    """Make a dataclass from a table whose keys are exactly its fields; a field with a default may be left out.

    `also` names the keys that the same table may hold for others, to be listed as known.
    """
    table = as_table(table, source)
    own = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]
    check_known(table, (*also, *own), source)
    missing = [name for name, field in own.items() if _required(field) and name not in table]
    if missing:
        raise ValueError(f"{source}: the key {missing[0]} is missing: add it, the keys are {', '.join(own)}")
    return cls(**{name: table[name] for name in own if name in table})


def as_table(given: object, source: str, advice: str = "write key = value") -> Mapping[str, Any]:
    """Return what stands where a table belongs, if it is one."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{source}: {given!r:.80} was given where a table belongs: {advice}")
    return given


def check_known(table: Mapping[str, object], known: Iterable[str], source: str) -> None:
    """Refuse a table with an unknown key."""
    known = tuple(known)
    unknown = [name for name in table if name not in known]
    if unknown:
        raise ValueError(f"{source}: unknown key {unknown[0]!r}: the known keys are {', '.join(known)}")


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Put the name of the file or entry before the sentence of an error that does not say it yet."""
    try:
        yield
    except ValueError as error:
        if source in str(error):
            raise
        raise ValueError(f"{source}: {error}") from None


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the names closest to `name`, or all when none is close, as the end of an error's sentence."""
    known = tuple(known)
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"choose one of {', '.join(known)}"


def _required(field: Field) -> bool:
    return field.default is MISSING and field.default_factory is MISSING
