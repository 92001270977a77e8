"""The literature: one file of BibTeX entries, cited as @key wherever a reference is printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).with_name("references.bib")
CITED = re.compile(r"@([a-z]+(?:\d{4}[a-z]+)?)")
SHOWN = 4
"""Largest number of authors that a short reference names; with more it names the first one only."""


@dataclass(frozen=True)
class Publication:
    """One BibTeX entry of the bibliography."""

    key: str
    fields: dict[str, str]
    bibtex: str
    """Text of the entry as it is in the file."""

    @property
    def short(self) -> str:
        """Short reference: surnames and year."""
        surnames = [author.split(",")[0].strip("{}") for author in self.fields["author"].split(" and ")]
        names = ", ".join(surnames) if len(surnames) <= SHOWN else f"{surnames[0]} et al."
        return f"{names} {self.fields['year']}"


@lru_cache
def publications() -> dict[str, Publication]:
    """Return all entries by key.

    >>> publications()["ye2018optimal"].short
    'Ye, Barg 2018'
    """
    entries = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    return {one.key: one for one in map(_publication, entries)}


def cited(text: str) -> tuple[str, ...]:
    """Return the keys that a text cites.

    >>> cited("@ye2018optimal; @wang2016mutual (k subsets)")
    ('ye2018optimal', 'wang2016mutual')

    Raises:
        ValueError: for a key without an entry.
    """
    keys = tuple(CITED.findall(text))
    if unknown := [key for key in keys if key not in publications()]:
        raise ValueError(f"{text!r} cites @{unknown[0]}, which has no entry: add it to {FILE.name}")
    return keys


def readable(text: str) -> str:
    """Return a text with surnames and years in place of the keys.

    >>> readable("@ye2018optimal; @wang2016mutual (k subsets)")
    'Ye, Barg 2018; Wang et al. 2016 (k subsets)'

    Raises:
        ValueError: for a key without an entry.
    """
    cited(text)
    return CITED.sub(lambda match: publications()[match[1]].short, text)


def _publication(entry: str) -> Publication:
    head, *lines, _ = entry.splitlines()
    fields = (re.fullmatch(r"  (\w+) = \{(.*)\},", line) for line in lines)
    found = re.fullmatch(r"@\w+\{(\w+),", head)
    assert found, f"{FILE.name}: {head}"
    return Publication(found[1], {match[1]: match[2] for match in fields if match}, entry)
