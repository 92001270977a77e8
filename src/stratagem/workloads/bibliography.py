"""The literature: one file of BibTeX entries, cited as @key."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

SCOPE = "unbiased estimates from one report per user"
"""What every bound is about: the variance of such estimates, averaged as the objective says. Biased ones may err less.

Of N users whose types are drawn from the prior, an unbiased estimate, linear or not, has at least the variance of its
linear part, which is unbiased too (Hoeffding 1948); so the bounds on linear estimates hold for all unbiased ones.
"""


FILE = Path(__file__).with_name("references.bib")
CITED = re.compile(r"@([a-z]+(?:\d{4}[a-z]+)?)")
SHOWN = 4
"""Largest number of authors that a short reference names; with more it names the first one only."""


ACCENT = re.compile(r"""\{?\\([`'^"~])\{?(\w)\}?\}?""")
"""An accented letter as BibTeX writes it."""
MARKS = dict(zip("`'^\"~", "\u0300\u0301\u0302\u0308\u0303", strict=True))


def _accented(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", found[2] + MARKS[found[1]])


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
        authors = (ACCENT.sub(_accented, author) for author in self.fields["author"].split(" and "))
        surnames = [author.split(",")[0].strip("{}") for author in authors]
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
