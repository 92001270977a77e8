"""Files of reports made of known values: CSV, JSON lines or Parquet, one report per row."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from stratagem.auditor.audit import FALSE_ALARM, TYPES, Audit, check_options, outcome
from stratagem.auditor.check import Asked
from stratagem.auditor.plan import Chosen
from stratagem.auditor.planning import plan
from stratagem.auditor.runner import ID as NO_ID
from stratagem.auditor.runner import Reports
from stratagem.collection.reports import ID
from stratagem.io.database import PARQUET_SCAN, connect
from stratagem.io.literal import first_line, literal, open_regular
from stratagem.mechanism.client import reader
from stratagem.mechanism.mechanism import Mechanism

USER_TYPE, OUTPUT, NAME, MECHANISM = "user_type", "output", "id", "mechanism"
"""Names of the columns that are not attributes."""
OPTIONAL = (NAME, MECHANISM)
"""Columns of a report that all rows have or none."""
ROW_LIMIT = 1 << 20
"""Largest number of characters in a line."""


@dataclass(frozen=True, eq=False)
class KnownReports:
    """Reports, with the user type that each was made of."""

    user_types: list[int]
    outputs: np.ndarray
    """Outputs of the reports: whole numbers of shape (k,), -1 for a report that the bundle does not describe."""
    ids: np.ndarray | None
    """Bytes of the ids of the reports, of shape (k, 16), zeros for what is no id; None if no row has one."""
    unknown: tuple[str, ...]
    """Columns that no report has, in the order in which they came; their rows have the output -1."""
    absent: tuple[str, ...]
    """Which of `id` and `mechanism` no row has, so that nothing is known of them."""


def read_known(path: str | Path, mechanism: Mechanism) -> KnownReports:
    """Read the reports of a file, and the values that they were made of.

    A row has a column `output`, and the value in a column for every attribute, named as the attribute, or its
    number 0..n-1 in the column `user_type`. The columns `id` and `mechanism` may follow, as clients write them, in
    all rows or in none. A row with any other column is no report.
    """
    path, cells, outputs, ids = Path(path), [], [], bytearray()
    number: Callable[[Mapping[str, Any]], int] | None = None
    known, unknown, has = {OUTPUT, USER_TYPE, *OPTIONAL, *mechanism.domain.names}, {}, []
    for place, row in enumerate(_rows(path), 1):
        try:
            number = number or _number(mechanism, row)
            cells.append(number(row))
        except ValueError as error:
            raise ValueError(f"{path}, row {place}: {error}") from None
        outputs.append(_output(row, mechanism) if row.keys() <= known else -1)
        unknown |= dict.fromkeys(key for key in row if key not in known)
        has.append([name in row for name in OPTIONAL])
        ids += bytes.fromhex(row[NAME]) if _is_id(row.get(NAME)) else NO_ID
    if not cells:
        raise ValueError(f"{path} holds no reports: give a file with a report a row")
    given = np.array(has)
    some = np.array(given.any(axis=0))
    found = np.where((given == some).all(axis=1), np.array(outputs, dtype=np.int64), -1)
    absent = tuple(name for name, there in zip(OPTIONAL, some.tolist(), strict=True) if not there)
    raw = None if NAME in absent else np.frombuffer(bytes(ids), np.uint8).reshape(-1, 16)
    return KnownReports(cells, found, raw, tuple(unknown), absent)


def _number(mechanism: Mechanism, row: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], int]:
    """Return the rule from a row to the number of its user type, by the columns of the first row."""
    attributes, size = mechanism.bundle["domain"], mechanism.domain.size
    names = [attribute["name"] for attribute in attributes]
    if OUTPUT not in row:
        raise ValueError(f"there is no column {OUTPUT!r}: name the number of the output so")
    if set(names) <= row.keys() and OUTPUT not in names:
        readers, memory = list(map(reader, attributes)), dict[tuple[Any, ...], int]()
        sizes = [attribute["size"] for attribute in attributes]

        def by_value(row: Mapping[str, Any]) -> int:
            values = tuple(row.get(name) for name in names)
            if values not in memory:
                cells = [read(value) for read, value in zip(readers, values, strict=True)]
                memory[values] = reduce(
                    lambda above, one: above * one[0] + one[1], zip(sizes, cells, strict=True), 0
                )
            if USER_TYPE in row and USER_TYPE not in names and _whole(row[USER_TYPE]) != memory[values]:
                raise ValueError(
                    f"{USER_TYPE} is {row[USER_TYPE]!r:.40}, but the value is number {memory[values]}: keep one column"
                )
            return memory[values]

        return by_value
    if USER_TYPE not in row:
        shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        raise ValueError(
            f"the value is missing: have a column for every attribute ({shown}), or its number in {USER_TYPE!r}"
        )

    def by_number(row: Mapping[str, Any]) -> int:
        if not 0 <= (found := _whole(row.get(USER_TYPE))) < size:
            raise ValueError(
                f"{USER_TYPE} is {row.get(USER_TYPE)!r:.40}, but must be a whole number from 0 to {size - 1}"
            )
        return found

    return by_number


def _output(row: Mapping[str, Any], mechanism: Mechanism) -> int:
    """Return the output of a row, -1 for one that is no report of the mechanism."""
    found = _whole(row.get(OUTPUT))
    known = (
        0 <= found < mechanism.outputs
        and row.get(MECHANISM, mechanism.form.mechanism) == mechanism.form.mechanism
        and (NAME not in row or _is_id(row[NAME]))
    )
    return found if known else -1


def _is_id(name: Any) -> bool:
    return isinstance(name, str) and ID.fullmatch(name) is not None


def _whole(value: Any) -> int:
    """Return a whole number, also from its decimal digits; -1 for anything else."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 400 else -1
    return value if type(value) is int else -1


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a file by the names of their columns."""
    kinds = {".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
    if path.suffix.lower() not in kinds:
        raise ValueError(f"{path} is not a .csv, .jsonl or .parquet file by its name: convert or rename it")
    try:
        yield from kinds[path.suffix.lower()](path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name a readable file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: save it as such") from None


def _csv(path: Path) -> Iterator[Mapping[str, Any]]:
    rows = csv.reader(_lines(path), strict=True)
    try:
        header = next(rows, [])
        if len(set(header)) != len(header):
            raise ValueError(f"{path} has two columns of one name: keep one")
        for row in rows:
            if len(row) != len(header):
                raise ValueError(
                    f"{path}, line {rows.line_num} has {len(row)} values, but the header has {len(header)} names: "
                    "mend the line"
                )
            yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV ({error}): save it as such") from None


def _json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    for place, line in enumerate(_lines(path), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            yield row
        elif line.strip():
            raise ValueError(f"{path}, line {place} is not a JSON object: write one a line")


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text, with their ends; a mark of the byte order before them is taken off."""
    with open_regular(path) as raw, TextIOWrapper(raw, "utf-8-sig", newline="") as file:
        while line := file.readline(ROW_LIMIT):
            if len(line) == ROW_LIMIT:
                raise ValueError(
                    f"{path} has a line of {ROW_LIMIT} characters or more: write a report a line"
                )
            yield line


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    with literal(path) as opened, connect() as connection:
        try:
            found = connection.execute(f"SELECT * FROM {PARQUET_SCAN}", [opened])
            names = [column[0] for column in found.description]
            while batch := found.fetchmany(1 << 16):
                yield from (dict(zip(names, row, strict=True)) for row in batch)
        except duckdb.Error as error:
            raise ValueError(f"{path} is not Parquet ({first_line(error, path)}): save it as such") from None


def audit_reports(
    mechanism: Mechanism,
    user_types: Sequence[int] | np.ndarray,
    outputs: Sequence[int] | np.ndarray,
    *,
    ids: np.ndarray | None = None,
    types: int = TYPES,
    false_alarm: float = FALSE_ALARM,
) -> Audit:
    """Test outputs (k,) of a foreign client, each about a user type (k,) that is known, against the table.

    The `types` user types with most reports are tested, and the bytes of ids (k x 16) where they are given. What
    new clients do, and what a report says of the value before it, cannot be told from a list of reports.

    Guarantee:
        As `audit`.

    Raises:
        ValueError: for other numbers of user types than of outputs, numbers that are not whole, user types
            outside the domain, reports about one of several, fewer than 100 reports of those tested, or a false-alarm
            rate outside (0, 0.5).

    Example:
        >>> import numpy as np, stratagem as st
        >>> mechanism = st.optimise(st.histogram(4), epsilon=1.0).mechanism()
        >>> user_types = np.repeat(np.arange(4), 500)
        >>> outputs = mechanism.randomise(user_types, np.random.default_rng(0))
        >>> audit_reports(mechanism, user_types, outputs).passed
        True
    """
    cells = _whole_number(user_types, "user types")
    found = np.array(_whole_number(outputs, "outputs"), dtype=object)
    if len(cells) != len(found) or (ids is not None and np.shape(ids) != (len(cells), 16)):
        raise ValueError(
            f"{len(cells)} user types were given for {len(found)} outputs: give as many, and 16 bytes an id"
        )
    size = mechanism.domain.size
    wrong = next((u for u in cells if not 0 <= u < size), None)
    if wrong is not None:
        raise ValueError(
            f"the user type {wrong} was given, but they are numbered 0 to {size - 1}: give one of them"
        )
    counted = Counter(cells)
    most = tuple(sorted(counted, key=lambda u: (-counted[u], u))[:types])
    check_options(sum(counted[u] for u in most), types, false_alarm, 0)
    if len(counted) == 1 < size:
        raise ValueError(
            f"all reports are about user type {most[0]}, but at least 2 are compared: give reports about others as well"
        )
    place = {u: k for k, u in enumerate(most)}
    kept = np.array([k for k, u in enumerate(cells) if u in place])
    valid = np.array([y if 0 <= y < mechanism.outputs else -1 for y in found[kept]], dtype=np.int64)
    places = np.array([place[cells[k]] for k in kept.tolist()])
    asked = Asked(places, Reports(valid, None if ids is None else np.asarray(ids, np.uint8)[kept]))
    drawn = None if len(most) == size else 0
    planned = plan(mechanism.strategy, most, min(counted[u] for u in most), false_alarm / 4)
    return outcome(mechanism, Chosen(most, drawn), planned, asked, {}, false_alarm, seed=None)


def _whole_number(values: Sequence[int] | np.ndarray, what: str) -> list[int]:
    """Return whole numbers of any size as a list."""
    found = np.asarray(values, dtype=object).tolist()
    if any(type(one) is not int for one in found):
        raise ValueError(f"the {what} are not all whole numbers: give a list of whole numbers")
    return found
