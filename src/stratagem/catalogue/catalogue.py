"""The catalogues of workloads and solvers: entries by name, one short TOML file an entry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stratagem.io.toml import nearest, read_table

KINDS = ("workloads", "solvers")
HEADER = ("title", "reference")


@dataclass(frozen=True)
class Entry:
    """One file of a catalogue: its header, and `settings`, the keys that its kind reads."""

    source: str
    title: str
    reference: str
    settings: dict[str, Any]


def names(kind: str) -> tuple[str, ...]:
    """Return the names in a catalogue, sorted: the file names without .toml.

    >>> "prefix" in names("workloads")
    True

    Raises:
        ValueError: for a kind other than workloads and solvers.
    """
    return tuple(sorted(path.stem for path in folder(kind).glob("*.toml")))


def entry(kind: str, name: str) -> Entry:
    """Return one entry of a catalogue.

    Raises:
        ValueError: for an unknown name, with the nearest ones.
    """
    if name not in (known := names(kind)):
        raise ValueError(f"{name!r} is not in the catalogue of {kind}: {nearest(name, known)}")
    return read_entry(folder(kind) / f"{name}.toml", f"{kind.removesuffix('s')} {name}")


def read_entry(path: Path, source: str) -> Entry:
    """Read a TOML file as an entry; `source` is how errors name it.

    Raises:
        ValueError: for a file that is not TOML, or a title or reference that is not text.
    """
    table = read_table(path)
    header = {key: table.pop(key, "") for key in HEADER}
    for key, text in header.items():
        if not isinstance(text, str):
            raise ValueError(f"{source}: {key} = {text!r} is not text: put it in quotation marks")
    return Entry(source, header["title"], header["reference"], table)


def folder(kind: str) -> Path:
    """Return the folder of a catalogue: inside the installed package, or at the root of a checkout.

    Raises:
        ValueError: for an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(
            f"{kind!r} was given as a catalogue, but there are {' and '.join(KINDS)}: use one of them"
        )
    package = Path(__file__).resolve().parents[1]
    installed = package / "_catalogue" / kind
    return installed if installed.is_dir() else package.parents[1] / kind
