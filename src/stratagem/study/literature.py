"""The literature, one file of BibTeX entries cited as @key, and everything that has a name, with its references."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from stratagem.bounds import RULES
from stratagem.estimation.postprocessing import METHODS
from stratagem.io.toml import nearest
from stratagem.published import BASELINES
from stratagem.workloads.given import KINDS, entry, names

SCOPE = "unbiased estimates from one report per person"
"""What every bound is about: the variance of such estimates, averaged as the objective says. Biased ones may err less.

Of N users whose types are drawn from the prior, an unbiased estimate, linear or not, has at least the variance of its
linear part, which is unbiased too (Hoeffding 1948); so the bounds on linear estimates hold for all unbiased ones, and
also where the strategy of a user depends on earlier reports (theory.md, section 4).
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


@dataclass(frozen=True)
class Item:
    """A named workload, solver, mechanism, post-processing or bound, with its reference."""

    name: str
    title: str
    reference: str
    """The reference as readable text."""
    keys: tuple[str, ...]
    """BibTeX keys of the literature that the reference cites."""

    @staticmethod
    def of(name: str, title: str, reference: str) -> Item:
        """Return the item for a reference that cites literature as @key."""
        return Item(name, title, readable(reference), cited(reference))


def contents() -> dict[str, tuple[Item, ...]]:
    """Return all named items by kind: workloads, solvers, mechanisms, post-processings and bounds."""
    shelves = {kind: {name: entry(kind, name) for name in names(kind)} for kind in KINDS}
    return {
        kind: tuple(Item.of(name, one.title, one.reference) for name, one in shelf.items())
        for kind, shelf in shelves.items()
    } | {
        "mechanisms": tuple(Item.of(one.name, one.title, one.reference) for one in BASELINES),
        "post-processings": tuple(Item.of(one.name, one.bias, one.reference) for one in METHODS.values()),
        "bounds": tuple(Item.of(rule.name, rule.meaning, rule.reference) for rule in RULES.values()),
    }


def bibtex(*chosen: str) -> str:
    """Return the BibTeX entries of the literature behind some names, by default behind everything.

    A name of several kinds, as `fourier` may be, stands for all of them.

    Raises:
        ValueError: for an unknown name, with the nearest known ones.

    Example:
        >>> print(bibtex("subset-selection").splitlines()[0])
        @misc{wang2016mutual,
    """
    items = [item for shelf in contents().values() for item in shelf]
    known = {item.name for item in items}
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(
            f"{unknown[0]!r} was given, but has no reference: {nearest(unknown[0], sorted(known))}"
        )
    keys = {key for item in items if not chosen or item.name in chosen for key in item.keys}
    return "\n\n".join(publications()[key].bibtex for key in sorted(keys)) + "\n"
