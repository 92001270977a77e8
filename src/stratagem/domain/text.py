"""Texts of a column: which of them are spellings of one answer, and in which order they stand."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from unicodedata import normalize

from stratagem.domain.values import OTHER, Labels, is_missing
from stratagem.math.number import grouped

PAIRS = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("0", "1"))
"""Spellings of no and yes that belong together."""
LEADING = re.compile(
    r"(under|below|less than|up to|at most|<=?|≤)?\s*(over|above|more than|at least|>=?|≥)?\s*[$€£]?\s*"
    r"([0-9]+(?:[.,][0-9]+)*)(?:\s*(k|m|bn)(?![a-z]))?",
    re.IGNORECASE,
)
"""The number that a text such as 10k to 30k, 18-24 or <18 begins with."""
SCALES = {"k": 1e3, "m": 1e6, "bn": 1e9}


def folded(text: str) -> str:
    r"""Return a text without what tells spellings of one answer apart: outer blanks, case and Unicode form.

    >>> folded(" Nord ") == folded("NORD"), folded("é") == folded("e\u0301"), folded("North") == folded("Nort")
    (True, True, False)
    """
    return normalize("NFC", normalize("NFC", text).strip().casefold())


def spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the texts that are other spellings of an answer, each with the most frequent one.

    A label is in the form NFC, as devices write what is typed. Texts that say yes or no in several ways are spellings
    of these two.

    >>> spellings({"North": 5, "north": 2, "South": 1})
    {'north': 'North'}
    >>> spellings({"TRUE": 3, "FALSE": 4, "Y": 1, "0": 2})
    {'TRUE': 'yes', 'FALSE': 'no', 'Y': 'yes', '0': 'no'}
    """
    forms = {text: folded(text) for text in counts}
    found = {form for text, form in forms.items() if not is_missing(text) and form != OTHER}
    sides = [{pair[side] for pair in PAIRS} & found for side in (0, 1)]
    if all(sides) and found == set().union(*sides) and not any(found == set(pair) for pair in PAIRS):
        words = dict.fromkeys(sides[0], "no") | dict.fromkeys(sides[1], "yes")
        return {text: words[form] for text, form in forms.items() if words.get(form, text) != text}
    first: dict[str, str] = {OTHER: OTHER}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        first.setdefault(forms[text], normalize("NFC", text))
    return {text: first[form] for text, form in forms.items() if first[form] != text}


def respelt(counts: Mapping[str, int], spelt: Mapping[str, str]) -> Counter[str]:
    """Return how often each answer occurs, whatever its spelling."""
    found: Counter[str] = Counter()
    for text, count in counts.items():
        found[spelt.get(text, text)] += count
    return found


def alike(texts: Iterable[str], labels: Iterable[str]) -> dict[str, str]:
    """Return the texts that are other spellings of labels, each with its label.

    >>> alike(["north", "East"], ["North"]), alike(["TRUE", "n", "no"], ["no", "yes"])
    ({'north': 'North'}, {'TRUE': 'yes', 'n': 'no'})
    """
    known = {folded(label): label for label in labels}
    if known.keys() >= {*PAIRS[0]}:
        known = {word: known[PAIRS[0][side]] for pair in PAIRS for side, word in enumerate(pair)} | known
    return {
        text: known[folded(text)] for text in texts if folded(text) in known and text not in known.values()
    }


def said(spelt: Mapping[str, str]) -> str:
    """Return a sentence on the spellings that count as one answer; empty without any.

    >>> said({"north": "North", "NORTH": "North"})
    "'north', 'NORTH' count as 'North', unless as_is=True tells them apart."
    """
    texts: dict[str, list[str]] = {}
    for text, label in spelt.items():
        form = " in another Unicode form" * (normalize("NFC", text) != text)
        texts.setdefault(label, []).append(f"{text!r}{form}")
    parts = [
        f"{', '.join(found)} {'counts' if len(found) == 1 else 'count'} as {label!r}"
        for label, found in texts.items()
    ]
    return f"{'; '.join(parts)}, unless as_is=True tells them apart." if parts else ""


def labelled(
    texts: Iterable[str], spelt: Mapping[str, str], order: Sequence[str] = (), extra: tuple[str, ...] = ()
) -> Labels:
    """Return the labels for the texts of a column, in an order that is known, otherwise of the alphabet.

    Known is the `order` that a file or a pandas categorical states, and that of the numbers that the texts begin with.

    >>> labelled(["5k to 9k", "10k or more", "<5k"], {}).texts
    ('<5k', '5k to 9k', '10k or more')
    """
    texts = sorted(texts)
    stated = {spelt.get(text, text): k for k, text in enumerate(order)}
    known = [stated.get(text) for text in texts] if order else list(map(leading, texts))
    ordered = len(texts) > 1 and None not in known and len(set(known)) == len(texts)
    if ordered:
        texts = [text for _, text in sorted(zip(known, texts, strict=True))]  # type: ignore[type-var]
    pairs = tuple((text, label) for text, label in spelt.items() if label in (*texts, *extra))
    return Labels((*texts, *extra), ordered=ordered, spellings=pairs)


def leading(text: str) -> tuple[float, int] | None:
    """Return the number that a text begins with, and whether it is below or above it; None without one.

    >>> leading("10k to 30k"), leading("< 18"), leading("over 65"), leading("30 min"), leading("B12")
    ((10000.0, 0), (18.0, -1), (65.0, 1), (30.0, 0), None)
    """
    found = LEADING.match(text)
    if not found:
        return None
    below, above, digits, scale = found.groups()
    number = grouped(digits, ".") or digits
    if number.count(".") + number.count(",") > 1:
        return None
    times = SCALES.get((scale or "").lower(), 1.0)
    return float(number.replace(",", ".")) * times, bool(above) - bool(below)


def read_map(given: Iterable[str]) -> dict[str, str]:
    """Read texts FROM=TO, and the names of CSV files of two columns with a header, as what stands for what."""
    found: dict[str, str] = {}
    for one in given:
        start, equals, target = one.partition("=")
        rows = [(start, target)] if equals else _pairs(one)
        for text, label in rows:
            text, label = text.strip(), label.strip()
            if found.setdefault(text, label) != label:
                raise ValueError(f"{text!r} is mapped to {found[text]!r} and to {label!r}: keep one of them")
    return found


def _pairs(path: str) -> list[tuple[str, str]]:
    if not path.lower().endswith(".csv"):
        raise ValueError(
            f"{path!r} maps no text to another: write for example north=North, or name a CSV file"
        )
    try:
        rows = list(csv.reader(Path(path).read_text("utf-8-sig").splitlines(), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"{path} cannot be read ({error}): give a CSV file of two columns in UTF-8"
        ) from None
    rows = [row for row in rows if row]
    if len(rows) < 2 or any(len(row) != 2 for row in rows):
        raise ValueError(
            f"{path} is no table of two columns with a header: write a line from,to and the pairs below"
        )
    return [(row[0], row[1]) for row in rows[1:]]
