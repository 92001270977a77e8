"""Real data: columns of a CSV or Parquet file as a data vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stratagem.data.binning import Binning
from stratagem.file.toml import nearest
from stratagem.number import entries
from stratagem.workloads import Domain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_MAGIC = b"PAR1"
BATCH = 1 << 16
"""Rows fetched together."""
CELLS = 1 << 27
"""Cells of the largest data vector (1 GiB)."""
CSV_SCAN = (
    "read_csv(?, all_varchar = true, header = true, skip = 0, comment = '', quote = '\"', escape = '\"')"
)
"""Only the delimiter is guessed: left to guess more, DuckDB drops lines that look like comments or titles."""


@dataclass(frozen=True)
class Source:
    """Where the values of one attribute come from."""

    column: str
    binning: Binning


@dataclass(frozen=True, eq=False)
class Placed:
    """Where rows went."""

    coordinates: np.ndarray
    """Value of every attribute in every row (k, d), 0 where it is outside."""
    reason: list[str]
    """Why a row is outside, empty for those inside."""

    @property
    def inside(self) -> np.ndarray:
        """Which rows are inside the domain (k,)."""
        return np.array([not why for why in self.reason], dtype=bool)


@dataclass(frozen=True, eq=False)
class Data:
    """How many users have each type, and how many have none."""

    domain: Domain
    coordinates: np.ndarray
    """The user types that occur (k, d), one value an attribute; a type may occur again."""
    counts: np.ndarray
    """Users of each of them (k,), integers."""
    outside: dict[str, int] = field(default_factory=dict)
    """Users outside the domain by reason, by the first attribute that puts them there."""

    @property
    def users(self) -> int:
        """Users inside the domain."""
        return int(self.counts.sum())

    def __str__(self) -> str:
        """Say how many rows are inside the domain and why others are not."""
        outside = ", ".join(f"{reason} {count:,}" for reason, count in self.outside.items())
        total = self.users + sum(self.outside.values())
        return (
            f"{self.users:,} of {total:,} rows counted{f'; outside the domain: {outside}' if outside else ''}"
        )

    @property
    def x(self) -> np.ndarray:
        """Users of each cell (n,), integers.

        Raises:
            ValueError: for a domain of more than 2^27 cells.
        """
        advice = "use the user types that occur, or a smaller domain"
        entries(self.domain.size, CELLS, "a data vector", advice)
        x = np.zeros(self.domain.size, dtype=np.int64)
        np.add.at(x, np.ravel_multi_index(tuple(self.coordinates.T), self.domain.sizes), self.counts)
        return x


def read(path: str | Path, domain: Domain, sources: Mapping[str, Source]) -> Data:
    """Count the rows of a file in the cells of a domain; every row inside or outside is accounted for.

    Raises:
        ValueError: for a file that is not CSV or Parquet, a missing column, an attribute without a source,
            a column that its binning cannot read, or no row inside the domain.
    """
    chosen = _chosen(domain, sources)
    rows = _grouped(Path(path), [source.column for source in chosen])
    data = _count(rows, domain, chosen)
    if data.users == 0:
        reasons = (
            ", ".join(f"{reason}: {count}" for reason, count in data.outside.items()) or "it has no rows"
        )
        raise ValueError(
            f"{path} has no row inside the domain ({reasons}): check --column, --edges and --labels"
        )
    return data


def distinct(path: str | Path, column: str) -> list[str | None]:
    """Return the distinct values of a column as text, NULL as None.

    Raises:
        ValueError: for a file that is not CSV or Parquet, or a missing column.
    """
    return [value for value, _ in _grouped(Path(path), [column])]


def stream(path: str | Path, domain: Domain, sources: Mapping[str, Source]) -> Iterator[Placed]:
    """Yield the values of a file's rows in their order, some thousand rows at a time.

    Raises:
        ValueError: as `read`, though not for a file without a row inside the domain.
    """
    chosen = _chosen(domain, sources)
    for rows in _batches(Path(path), [source.column for source in chosen]):
        yield _placed(rows, chosen)


def _chosen(domain: Domain, sources: Mapping[str, Source]) -> list[Source]:
    """Return the sources in the order of the attributes."""
    if missing := [name for name in domain.attributes if name not in sources]:
        raise ValueError(f"attribute {missing[0]!r} was given no column: add --column {missing[0]}=NAME")
    return [sources[name] for name in domain.attributes]


def _placed(rows: list[tuple], sources: list[Source]) -> Placed:
    """Place every row; further entries of a row are left alone."""
    coordinates = np.zeros((len(rows), len(sources)), dtype=np.int64)
    reason = [""] * len(rows)
    for position, source in enumerate(sources):
        placed = source.binning.cells([row[position] for row in rows], source.column)
        coordinates[:, position] = np.maximum(placed.cell, 0)
        new = (f"{source.column} {why}" if why else "" for why in placed.reason)
        reason = [old or why for old, why in zip(reason, new, strict=True)]
    return Placed(coordinates, reason)


def _count(rows: list[tuple], domain: Domain, sources: list[Source]) -> Data:
    """Place the distinct rows, each with its multiplicity last."""
    counts = np.array([row[-1] for row in rows], dtype=np.int64)
    placed = _placed(rows, sources)
    outside: Counter[str] = Counter()
    for why, count in zip(placed.reason, counts.tolist(), strict=True):
        if why:
            outside[why] += count
    inside = placed.inside
    return Data(domain, placed.coordinates[inside], counts[inside], dict(outside.most_common()))


def _grouped(path: Path, columns: list[str]) -> list[tuple]:
    """Return the distinct rows of the columns as text, NULL as None, each with its count."""
    return [row for rows in _batches(path, columns, ", count(*)", "GROUP BY ALL") for row in rows]


def _batches(path: Path, columns: list[str], also: str = "", grouping: str = "") -> Iterator[list[tuple]]:
    """Yield the rows of the columns as text, NULL as None, in batches."""
    import duckdb

    scan = _scan(path)
    connection = duckdb.connect()
    try:
        _check_columns(connection, scan, path, columns)
        chosen = ", ".join(f'CAST("{_quoted(name)}" AS VARCHAR)' for name in columns)
        rows = connection.execute(f"SELECT {chosen}{also} FROM {scan} {grouping}", [str(path)])
        while batch := rows.fetchmany(BATCH):
            yield batch
    except duckdb.Error as error:
        kind, reason = scan.split("(")[0].removeprefix("read_"), str(error).splitlines()[0][:200]
        raise ValueError(
            f"{path} cannot be read as {kind.upper()} ({reason}): give a CSV file with a header, or Parquet"
        ) from None
    finally:
        connection.close()


def _scan(path: Path) -> str:
    """Return DuckDB's table function for the file, chosen by its first bytes, then by its name."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name a CSV or Parquet file") from None
    if head.startswith(PARQUET_MAGIC):
        return "read_parquet(?)"
    name = path.name.lower()
    if not name.endswith(TEXT_SUFFIXES) or (b"\0" in head and not name.endswith(".gz")):
        raise ValueError(
            f"{path} is neither Parquet nor text named {', '.join(TEXT_SUFFIXES)}: convert it to one of these"
        )
    return CSV_SCAN


def _check_columns(connection: DuckDBPyConnection, scan: str, path: Path, columns: list[str]) -> None:
    described = connection.execute(f"DESCRIBE SELECT * FROM {scan}", [str(path)]).fetchall()
    found = [row[0] for row in described]
    absent = [name for name in columns if name not in found]
    if absent:
        raise ValueError(f"{path} has no column {absent[0]!r}: {nearest(absent[0], found[:50])}")


def _quoted(name: str) -> str:
    return name.replace('"', '""')
