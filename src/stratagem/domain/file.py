"""Files of answers: columns of a CSV or Parquet file as texts, found by the names that stand in the file."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.io.database import HEAD, PARQUET_SCAN, connect, divided, lines_above, ragged_fault
from stratagem.io.literal import compression, first_line, line_end_fault, literal, open_regular, unpacked
from stratagem.io.toml import nearest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from stratagem.domain.policy import Reading

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_MAGIC = b"PAR1"
BATCH = 1 << 16
"""Number of rows fetched together."""
CSV_SCAN = (
    "read_csv(?, all_varchar = true, header = true, skip = {}, comment = '', quote = '\"', escape = '\"', "
    "compression = '{}', hive_partitioning = false)"
)
"""Template of the query for a CSV file. DuckDB guesses only the delimiter: if it guessed more, it would drop
lines that look like comments or titles."""
NESTED = re.compile(r".*\]|(STRUCT|MAP|UNION)\b.*", re.DOTALL)
"""Types of Parquet columns each of whose values is several."""


class UnreadableError(ValueError):
    """The rows of a file cannot be told, whichever columns are asked for."""


def batches(path: Path, columns: list[str], also: str = "", grouping: str = "") -> Iterator[list[tuple]]:
    """Yield the rows of the columns as text, NULL as None, in batches."""
    import duckdb

    try:
        with literal(path) as name, connect() as connection:
            scan = _scan(path)
            try:
                chosen = ", ".join(_chosen(connection, scan, path, name, columns))
                rows = connection.execute(f"SELECT {chosen}{also} FROM {scan} {grouping}", [name])
                while batch := rows.fetchmany(BATCH):
                    yield batch
            except duckdb.Error as error:
                raise UnreadableError(_unreadable(path, scan, error)) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name a CSV or Parquet file") from None


def _unreadable(path: Path, scan: str, error: Exception) -> str:
    """Return why DuckDB cannot read a file and what to do, in a sentence."""
    kind = scan.split("(")[0].removeprefix("read_").upper()
    if kind == "CSV" and "utf-8" in str(error).lower() and (fault := _encoding_fault(path)):
        return fault
    plain = kind == "CSV" and compression(path) == "none" and "on Line" not in str(error)
    if plain and (fault := line_end_fault(path)):
        return fault
    with suppress(OSError, EOFError, zlib.error):
        if kind == "CSV" and (fault := ragged_fault(path)):
            return fault
    return f"{path} cannot be read as {kind} ({first_line(error, path)}): give a CSV file with a header, or Parquet"


def _encoding_fault(path: Path) -> str | None:
    """Return the sentence about the first byte of a text file that is no UTF-8; None where all are."""
    with open_regular(path) as file:
        for number, line in enumerate(unpacked(path, file), 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start : error.start + 1]
                letter = byte.decode("cp1252", "replace")
                return (
                    f"{path} is not written in UTF-8 (line {number:,} holds the byte {byte.hex()}, {letter!r} in "
                    "Latin-1): save it as CSV in UTF-8"
                )
    return None


def _scan(path: Path) -> str:
    """Return DuckDB's table function for the file, chosen by its first bytes, then by its name."""
    with open_regular(path) as file:
        head = file.read(HEAD)
        if head.startswith(PARQUET_MAGIC):
            return PARQUET_SCAN
        name = path.name.lower()
        if not name.endswith(TEXT_SUFFIXES):
            raise ValueError(
                f"{path} is neither Parquet nor text named {', '.join(TEXT_SUFFIXES)}: convert it to one of these"
            )
        file.seek(0)
        with suppress(OSError, EOFError, zlib.error):  # DuckDB says what is wrong with it
            head = unpacked(path, file).read(HEAD)
    if b"\0" in head:
        wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or not (
            head[::2].strip(b"\0") and head[1::2].strip(b"\0")
        )
        held = "is written in UTF-16" if wide else "has a NUL byte, which no text has in UTF-8"
        raise ValueError(f"{path} {held}: save it as CSV in UTF-8")
    return CSV_SCAN.format(lines_above(head), compression(path))


def _chosen(
    connection: DuckDBPyConnection, scan: str, path: Path, name: str, columns: list[str]
) -> Iterator[str]:
    """Yield the expression of each column as text, by the names that stand in the file."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {scan}", [name]).fetchall()
    found = [row[0] for row in described]
    heads = _heads(connection, scan, path, name)
    if not any(heads):
        raise ValueError(
            f"{path} has no column {columns[0]!r}, nor a header: begin it with the names of the columns"
        )
    if len(heads) != len(found):
        heads = found  # DuckDB calls what is named twice, or in other case, by another name
    heads = [head or other for head, other in zip(heads, found, strict=True)]
    for column in columns:
        times = heads.count(column)
        if not times:
            raise ValueError(f"{path} has no column {column!r}: {meant(column, heads)}")
        if times > 1:
            raise ValueError(f"{path} has {times} columns {column!r}: rename all but one")
        known, kind, *_ = described[heads.index(column)]
        if NESTED.fullmatch(kind):
            what = "lists" if kind.endswith("]") else "structures"
            raise ValueError(
                f"column {column!r} of {path} holds {what} ({kind[:60]}), but an answer is one number, date or text: "
                "write each part into a column of its own"
            )
        if scan == PARQUET_SCAN and kind == "BIGINT" and _in_arrow(path, column)[0].startswith("duration"):
            raise ValueError(
                f"column {column!r} of {path} holds durations, but an answer is one number, date or text: write them "
                "as numbers of minutes, hours or days, and state that as their unit"
            )
        quoted = known.replace('"', '""')
        text = f'CAST("{quoted}" AS VARCHAR)'
        # whole numbers beside gaps are doubles in Parquet: -1, and not -1.0, is what people write of them
        yield f"regexp_replace({text}, '\\.0$', '')" if kind in ("DOUBLE", "FLOAT") else text


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file, in their order.

    Raises:
        ValueError: for a file that cannot be read, or a column without a name.
    """
    import duckdb

    try:
        with literal(path) as name, connect() as connection:
            scan = _scan(path)
            try:
                heads = _heads(connection, scan, path, name)
            except duckdb.Error as error:
                raise UnreadableError(_unreadable(path, scan, error)) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name a CSV or Parquet file") from None
    if not any(heads) and len(heads) < 2:
        raise ValueError(
            f"{path} is empty: begin it with the names of the columns, a line of answers each below"
        )
    if not all(heads):
        raise ValueError(f"{path} has a column without a name: begin the file with the names of the columns")
    return heads


def check_columns(path: Path, columns: Iterable[str]) -> None:
    """Refuse several columns in one name, which the file has apart."""
    if joined := [column for column in columns if "," in column]:
        names = column_names(path)
        for column in (one for one in joined if one not in names):
            raise ValueError(f"{path} has no column {column!r}: {meant(column, names)}")


def meant(column: str, names: Sequence[str]) -> str:
    """Return what was meant by a column that is not there, as the end of a sentence.

    >>> meant("age,income", ["age", "income"]), meant("ages", ["age", "income"])
    ("each column has its own, so write column=['age', 'income']", 'did you mean age?')
    """
    parts = [part.strip() for part in column.split(",")]
    if len(parts) > 1 and {*parts} <= {*names}:
        return f"each column has its own, so write column={parts}"
    return nearest(column, [name[:50] for name in names[:50]])


def stated_order(path: Path, column: str) -> tuple[str, ...]:
    """Return the values of an ordered categorical column of a Parquet file in their order; nothing for others."""
    return _in_arrow(path, column)[1]


def _in_arrow(path: Path, column: str) -> tuple[str, tuple[str, ...]]:
    """Return the type of a column of a Parquet file that Arrow wrote, and the order of its values, if stated.

    Parquet itself knows neither durations, which it holds as whole numbers, nor orders.
    """
    from pyarrow import ArrowException, DictionaryType, parquet

    try:
        with open_regular(path) as file:
            if file.read(len(PARQUET_MAGIC)) != PARQUET_MAGIC:
                return "", ()
            found = parquet.ParquetFile(file)
            kind = found.schema_arrow.field(column).type
            if not (isinstance(kind, DictionaryType) and kind.ordered):
                return str(kind), ()
            part = next(found.iter_batches(batch_size=1, columns=[column]), None)
            order = () if part is None else tuple(map(str, part.column(0).dictionary.to_pylist()))
            return str(kind), order
    except (OSError, KeyError, ArrowException):
        return "", ()


def _heads(connection: DuckDBPyConnection, scan: str, path: Path, name: str) -> list[str]:
    """Return the names of the columns that stand in the file.

    Where a line is shorter or longer than the others, DuckDB takes every line for one column.
    """
    if scan == PARQUET_SCAN:
        return _top(connection, name)
    heads = _header(connection, scan, name)
    if len(heads) == 1 and divided(heads[0]) and (fault := ragged_fault(path)):
        raise UnreadableError(fault)
    return heads


def _header(connection: DuckDBPyConnection, scan: str, name: str) -> list[str]:
    """Return the names in the header of a CSV file, an empty one where there is none."""
    bare = scan.replace("header = true", "header = false")
    row = connection.execute(f"SELECT * FROM {bare} LIMIT 1", [name]).fetchone()
    return [(text or "").strip() for text in row or ()]


def _top(connection: DuckDBPyConnection, name: str) -> list[str]:
    """Return the names of the columns of a Parquet file, without those of the parts of their values."""
    rows = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [name]).fetchall()
    names, inner = [], 0
    for text, children in rows[1:]:
        if not inner:
            names.append(text)
        inner += (children or 0) - bool(inner)
    return names


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


def read_texts(data: Path | None, given: Mapping[str, Iterable[str] | None]) -> Reading:
    """Read what options say of the texts of a file: VALUE for all columns, COLUMN=VALUE for one of the file's.

    `given` are the values by the names of `Reading`; a value of `mapping` is FROM=TO, or the name of a CSV file.
    """
    texts = {name: list(values or ()) for name, values in given.items()}
    several = (
        data is not None
        and data.suffix.lower() != ".toml"
        and any("=" in one for own in texts.values() for one in own)
    )
    names = sorted(column_names(data), key=len, reverse=True) if data is not None and several else []
    of_all, own = dict[str, list[str]](), dict[str, dict[str, list[str]]]()
    for name, values in texts.items():
        for value in values:
            column = next((one for one in names if value.startswith(f"{one}=")), "")
            rest = value[len(column) + 1 :] if column else value
            if name == "mapping" and "=" not in rest and not rest.lower().endswith(".csv"):
                column, rest = "", value
            (own.setdefault(column, {}) if column else of_all).setdefault(name, []).append(rest)
    by_column = {column: _reading(one, f"{column}=") for column, one in own.items()}
    found = _reading(of_all, "")
    if by_column:
        found["by_column"] = by_column
    return found


def _reading(given: Mapping[str, list[str]], column: str) -> Reading:
    """Return what options say of one column, or of all."""
    found: Reading = {}
    if "missing" in given:
        found["missing"] = tuple(given["missing"])
    if "mapping" in given:
        found["mapping"] = read_map(given["mapping"])
    for name in ("decimal", "date_format"):
        if len(one := {*given.get(name, ())}) > 1:
            said = " and ".join(f"{column}{text}" for text in sorted(one))
            raise ValueError(
                f"--{name.replace('_', '-')} was given as {said}, but a column has one: keep one of them"
            )
        if one:
            found[name] = one.pop()
    return found
