"""The bundle of a count mechanism, *.count.json: data only, checked in whole numbers when it is read.

Keys: format, version, size (n), alpha and certificate ([numerator, denominator] as decimal texts), mechanism,
properties and sha256, the hash of the canonical form (UTF-8, keys sorted, no spaces, without the hash).
A closed form is {"kind": its name}. A table is {"kind": "table", "name", "total", "columns"}: the base64 text of
its numbers, column by column, unsigned, big-endian, each in the fewest bytes that hold the total.

Anybody checks a table in a few lines: every column sums to the total, no number is more than 1/alpha times
its neighbour in the next column.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from fractions import Fraction
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.counts.closed import TABLE, ClosedForm, ExplicitFair, Geometric, Uniform
from stratagem.counts.criteria import names
from stratagem.counts.exact import LEAST, Whole
from stratagem.counts.mechanism import CountMechanism, CountTable, check_ratio
from stratagem.io.target import check_target, written_atomically
from stratagem.mechanism.client import (
    ADVICE,
    PARTS,
    checked,
    exact_bytes,
    exact_keys,
    fingerprint,
    from_digits,
    unsealed,
    whole_number,
)

FORMAT, VERSION = "stratagem-counts", 1
SUFFIX = ".count.json"
DIGITS = 4000
"""Largest number of decimal digits of a number in the file."""
CLOSED: dict[str, type[ClosedForm]] = {form.name: form for form in (Geometric, ExplicitFair, Uniform)}


def save(mechanism: CountMechanism, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a count mechanism to *.count.json; the file appears complete or not at all.

    Raises:
        ValueError: for another suffix, a folder that does not exist, a file that exists, unless `overwrite`, or a
            table of more than 512 people or of numbers of more than 4000 digits.
    """
    path = check_target(path, (SUFFIX,), overwrite=overwrite)
    written = text(mechanism).encode("utf-8")
    with written_atomically(path) as file:
        file.write(written)
    return path


def text(mechanism: CountMechanism) -> str:
    """Return the text of the bundle, as a file holds it.

    Raises:
        ValueError: for a table that is too large, or breaks its alpha.
    """
    return json.dumps(content(mechanism), indent=1, ensure_ascii=False) + "\n"


def load(path: str | Path) -> CountMechanism:
    """Read a count mechanism and check everything that its file says of it.

    Guarantee:
        Columns sum to the total; neighbouring numbers of a row differ by a factor of at most 1/alpha, so no
        zero faces a positive number; the certificate is the exact worst factor; the properties hold.

    Raises:
        ValueError: for a file that is not such a bundle or does not hold what it promises.
    """
    return checked(path, parse, f"*{SUFFIX}")


def content(mechanism: CountMechanism) -> dict[str, Any]:
    """Return the content of the bundle: the numbers, the guarantees that are checked on reading, and the hash.

    Raises:
        ValueError: for a table that is too large, or breaks its alpha.
    """
    ratio, bound = check_ratio(mechanism), 1 / mechanism.alpha
    bundle = {
        "format": FORMAT,
        "version": VERSION,
        "size": mechanism.size,
        "alpha": _texts(mechanism.alpha),
        "mechanism": _described(mechanism),
        "properties": names(mechanism.properties),
        "certificate": {"worst_ratio": _texts(ratio), "allowed_ratio": _texts(bound)},
    }
    return bundle | {"sha256": fingerprint(bundle)}


def parse(raw: bytes) -> CountMechanism:
    """Return the mechanism that the bytes of a file describe, checked as by `load`."""
    keys = "format version size alpha mechanism properties certificate sha256"
    bundle = unsealed(raw, FORMAT, VERSION, keys)
    size, alpha, described = bundle["size"], _alpha(bundle["alpha"]), bundle["mechanism"]
    whole_number(size, "size", 1, PARTS)
    kind = described.get("kind") if isinstance(described, dict) else None
    if kind == "table":
        found: CountMechanism = _read_table(described, size, alpha)
    else:
        exact_keys(described, "the mechanism", "kind")
        if str(kind) not in CLOSED:
            raise ValueError(f"the mechanism is none of {', '.join(CLOSED)} and table: update stratagem")
        found = CLOSED[str(kind)](size, alpha)
    true = content(found)
    if bundle["certificate"] != true["certificate"]:
        raise ValueError(f"the certificate is not that of the mechanism: {ADVICE}")
    if bundle["properties"] != true["properties"]:
        raise ValueError(
            f"the mechanism file claims other properties than hold, {', '.join(true['properties']) or 'none'}: {ADVICE}"
        )
    if fingerprint(true) != bundle["sha256"]:
        raise ValueError(f"the mechanism file is not written as stratagem writes it: {ADVICE}")
    return found


@singledispatch
def _described(mechanism: CountMechanism) -> dict[str, str]:
    """Return a mechanism as a bundle stores it: the name of a closed form, else its table."""
    if mechanism.size > TABLE:
        raise ValueError(f"the table is for {mechanism.size} people, but a file holds at most {TABLE}")
    name, (cells, total) = mechanism.name, mechanism.whole()
    if not isinstance(name, str) or not name.isprintable() or len(name) > 80:
        raise ValueError("the table's name must be a text of at most 80 printable letters: rename it")
    width = _width(total)
    raw = b"".join(number.to_bytes(width, "big") for number in cells.T.ravel().tolist())
    text = base64.b64encode(raw).decode()
    return {"kind": "table", "name": name, "total": _text(total), "columns": text}


@_described.register
def _(mechanism: ClosedForm) -> dict[str, str]:
    return {"kind": mechanism.name}


def _read_table(data: Mapping[str, Any], size: int, alpha: Fraction) -> CountTable:
    """Return the table of a bundle; its columns sum to the total."""
    exact_keys(data, "the table", "kind name total columns")
    whole_number(size, "size of a table", 1, TABLE)
    total, m = from_digits(data["total"], "total", DIGITS), size + 1
    if not total:
        raise ValueError(f"the total is 0, but columns of probabilities sum to more: {ADVICE}")
    width = _width(total)
    raw = exact_bytes(data["columns"], "columns", m * m * width)
    flat = [int.from_bytes(raw[at : at + width], "big") for at in range(0, len(raw), width)]
    cells = np.array(flat, dtype=object).reshape(m, m).T
    wrong = np.flatnonzero(cells.sum(axis=0) != total)
    if len(wrong):
        raise ValueError(f"column {wrong[0]} does not sum to the total: {ADVICE}")
    return CountTable(size, alpha, Whole(cells, total), data["name"])


def _alpha(data: Any) -> Fraction:
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError(f"alpha must be a numerator and a denominator: {ADVICE}")
    numerator, denominator = (from_digits(part, "alpha", DIGITS) for part in data)
    if not 0 < numerator < denominator or Fraction(numerator, denominator) < LEAST:
        raise ValueError(f"alpha must lie between 0 and 1, 1e-131 at least: {ADVICE}")
    return Fraction(numerator, denominator)


def _width(total: int) -> int:
    """Return the bytes of a number up to the total."""
    return -(-total.bit_length() // 8)


def _texts(ratio: Fraction) -> list[str]:
    return [_text(part) for part in ratio.as_integer_ratio()]


def _text(number: int) -> str:
    if number.bit_length() > 3.32 * DIGITS:
        raise ValueError(
            f"a number has more than the {DIGITS} digits that a mechanism file holds: give a simpler alpha"
        )
    return str(number)
