"""Real data: columns of a CSV or Parquet file as a data vector."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stratagem.collection.binning import (
    FAIL,
    Binning,
    InvalidValuesError,
    Labels,
    Policy,
    examples,
    finite_numbers,
    is_missing,
    listed,
)
from stratagem.collection.edges import Edges, round_steps
from stratagem.io.database import connect
from stratagem.io.literal import compression, first_line, line_end_fault, literal, open_regular
from stratagem.io.toml import nearest
from stratagem.math.number import entries
from stratagem.workloads import Domain
from stratagem.workloads.domain import OTHER

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_MAGIC = b"PAR1"
STRICT = Policy()
"""The default policy, which refuses values outside the domain."""
TEXTS = ("not a number", "unknown label", "like the edges")
"""Endings of the reasons that concern a text."""
BATCH = 1 << 16
"""Number of rows fetched together."""
CELLS = 1 << 27
"""Largest number of cells of a data vector (1 GiB)."""
CSV_SCAN = (
    "read_csv(?, all_varchar = true, header = true, skip = 0, comment = '', quote = '\"', escape = '\"', "
    "compression = '{}', hive_partitioning = false)"
)
"""Template of the query for a CSV file. DuckDB guesses only the delimiter: if it guessed more, it would drop
lines that look like comments or titles."""
PARQUET_SCAN = "read_parquet(?, hive_partitioning = false)"


@dataclass(frozen=True)
class Source:
    """The column of an attribute, and the rule from its values to cells."""

    column: str
    binning: Binning


@dataclass(frozen=True, eq=False)
class Placed:
    """The coordinates of rows in the domain, with reasons for rows outside it."""

    coordinates: np.ndarray
    """Value of every attribute in every row, of shape (k, d); 0 where it is outside the domain."""
    reason: list[str]
    """Reason why each row is outside the domain; empty for rows inside."""
    others: list[tuple[int, str]]
    """Pairs of a row and a reason, for every attribute whose value counts as "other" by the policy."""
    texts: list[tuple[int, str]]
    """Pairs of a row outside the domain and the text that is no value."""

    @property
    def inside(self) -> np.ndarray:
        """Whether each row is inside the domain, of shape (k,)."""
        return np.array([not why for why in self.reason], dtype=bool)


@dataclass(frozen=True, eq=False)
class Data:
    """Data of a file: the number of users of each type, and of those outside the domain."""

    domain: Domain
    coordinates: np.ndarray
    """User types that occur, of shape (k, d), one value per attribute; a type may occur again."""
    counts: np.ndarray
    """Number of users of each of these types: integers of shape (k,)."""
    outside: dict[str, int] = field(default_factory=dict)
    """Number of users outside the domain by reason, counted at the first attribute that excludes them."""
    others: dict[str, int] = field(default_factory=dict)
    """Number of values that count as "other" by reason; their users are inside the domain."""

    @property
    def users(self) -> int:
        """Number of users inside the domain."""
        return int(self.counts.sum())

    def __str__(self) -> str:
        """Say how many rows are inside the domain and why others are not."""
        total = self.users + sum(self.outside.values())
        outside = f"; outside the domain: {listed(self.outside)}" if self.outside else ""
        others = f"; as other: {listed(self.others)}" if self.others else ""
        return f"{self.users:,} of {total:,} rows counted{outside}{others}"

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


def read(path: str | Path, domain: Domain, sources: Mapping[str, Source], policy: Policy = STRICT) -> Data:
    """Count the rows of a file in the cells of a domain; every row inside or outside is accounted for.

    Raises:
        InvalidValuesError: for values outside the domain, unless the policy says what becomes of them.
        ValueError: for a file that is not CSV or Parquet, a missing column, an attribute without a source,
            one without a value "other" where the policy needs it, or no row inside the domain.
    """
    chosen = _chosen(domain, sources)
    rows = _grouped(Path(path), [source.column for source in chosen])
    data, texts = _count(rows, domain, chosen, policy)
    if data.outside and policy.invalid == FAIL:
        total = data.users + sum(data.outside.values())
        has_other = all(source.binning.other is not None for source in chosen)
        raise InvalidValuesError(path, total, data.outside, texts, has_other=has_other)
    if data.users == 0:
        reasons = (
            ", ".join(f"{reason}: {count}" for reason, count in data.outside.items()) or "it has no rows"
        )
        raise ValueError(
            f"{path} has no row inside the domain ({reasons}): check the columns, edges and labels"
        )
    return data


def distinct(path: str | Path, column: str) -> Counter[str | None]:
    """Return the distinct values of a column as text, NULL as None, with their numbers.

    Raises:
        ValueError: for a file that is not CSV or Parquet, or a missing column.
    """
    return Counter(dict(_grouped(Path(path), [column])))


def stream(
    path: str | Path, domain: Domain, sources: Mapping[str, Source], policy: Policy = STRICT
) -> Iterator[tuple[Placed, np.ndarray]]:
    """Yield the different rows among some thousand rows of a file at a time, and which of them each row is (k,).

    Raises:
        ValueError: as `read`, before the first rows.
    """
    if policy.invalid == FAIL:
        read(path, domain, sources, policy)
    chosen = _chosen(domain, sources)
    for rows in _batches(Path(path), [source.column for source in chosen]):
        different: dict[tuple, int] = {}
        which = [different.setdefault(row, len(different)) for row in rows]
        yield _placed(list(different), chosen, policy), np.array(which)


def _chosen(domain: Domain, sources: Mapping[str, Source]) -> list[Source]:
    """Return the sources in the order of the attributes."""
    if missing := [name for name in domain.attributes if name not in sources]:
        raise ValueError(f"attribute {missing[0]!r} has no source: name its column")
    return [sources[name] for name in domain.attributes]


def _placed(rows: list[tuple], sources: list[Source], policy: Policy) -> Placed:
    """Return the coordinates of all rows; further entries of a row are not read."""
    placed = Placed(np.zeros((len(rows), len(sources)), dtype=np.int64), [""] * len(rows), [], [])
    for position, source in enumerate(sources):
        values = [policy.read(row[position]) for row in rows]
        cells, other = source.binning.cells(values, clip=policy.clip), source.binning.other
        reasons = [(row, f"{source.column} {why}") for row, why in enumerate(cells.reason) if why]
        if policy.invalid == OTHER and reasons:
            _check_other(source, other, reasons[0][1])
            placed.others.extend(reasons)
            reasons = []
        placed.coordinates[:, position] = np.where(cells.cell < 0, other or 0, cells.cell)
        for row, why in reasons:
            text = values[row]
            if why.endswith(TEXTS) and text is not None and not placed.reason[row]:
                placed.texts.append((row, text.strip()))
            placed.reason[row] = placed.reason[row] or why
    return placed


def _check_other(source: Source, other: int | None, why: str) -> None:
    if other is None:
        raise ValueError(
            f"{why} was found, but none of the values that are stated for column {source.column!r} is called "
            f"{OTHER!r}: state one as the last of its edges or labels"
        )


def _count(
    rows: list[tuple], domain: Domain, sources: list[Source], policy: Policy
) -> tuple[Data, Counter[str]]:
    """Place the distinct rows, each with its multiplicity last; return also the texts that are no values."""
    counts = np.array([row[-1] for row in rows], dtype=np.int64)
    placed = _placed(rows, sources, policy)
    outside, others, texts = (
        tallied(pairs, counts) for pairs in (enumerate(placed.reason), placed.others, placed.texts)
    )
    inside = placed.inside
    kinds = dict(outside.most_common()), dict(others.most_common())
    return Data(domain, placed.coordinates[inside], counts[inside], *kinds), texts


def tallied(pairs: Iterable[tuple[int, str]], counts: np.ndarray) -> Counter[str]:
    """Count texts by the multiplicity of their rows, the empty one not."""
    found: Counter[str] = Counter()
    for row, text in pairs:
        if text:
            found[text] += int(counts[row])
    return found


def _grouped(path: Path, columns: list[str]) -> list[tuple]:
    """Return the distinct rows of the columns as text, NULL as None, each with its count, sorted."""
    batches = _batches(path, columns, ", count(*)", "GROUP BY ALL ORDER BY ALL")
    return [row for rows in batches for row in rows]


def _batches(path: Path, columns: list[str], also: str = "", grouping: str = "") -> Iterator[list[tuple]]:
    """Yield the rows of the columns as text, NULL as None, in batches."""
    import duckdb

    try:
        with literal(path) as name, connect() as connection:
            scan = _scan(path)
            try:
                _check_columns(connection, scan, path, name, columns)
                chosen = ", ".join(f'CAST("{_quoted(column)}" AS VARCHAR)' for column in columns)
                rows = connection.execute(f"SELECT {chosen}{also} FROM {scan} {grouping}", [name])
                while batch := rows.fetchmany(BATCH):
                    yield batch
            except duckdb.Error as error:
                raise ValueError(_unreadable(path, scan, error)) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): name a CSV or Parquet file") from None


def _unreadable(path: Path, scan: str, error: Exception) -> str:
    """Return why DuckDB cannot read a file and what to do, in a sentence."""
    kind = scan.split("(")[0].removeprefix("read_").upper()
    plain = scan != PARQUET_SCAN and compression(path) == "none" and "on Line" not in str(error)
    if plain and (fault := line_end_fault(path)):
        return fault
    return f"{path} cannot be read as {kind} ({first_line(error, path)}): give a CSV file with a header, or Parquet"


def _scan(path: Path) -> str:
    """Return DuckDB's table function for the file, chosen by its first bytes, then by its name."""
    with open_regular(path) as file:
        head = file.read(4096)
    if head.startswith(PARQUET_MAGIC):
        return PARQUET_SCAN
    name = path.name.lower()
    if not name.endswith(TEXT_SUFFIXES):
        raise ValueError(
            f"{path} is neither Parquet nor text named {', '.join(TEXT_SUFFIXES)}: convert it to one of these"
        )
    if b"\0" in head and not name.endswith(".gz"):
        raise ValueError(f"{path} has a NUL byte, which no text has in UTF-8: save it as CSV in UTF-8")
    return CSV_SCAN.format(compression(path))


def _check_columns(
    connection: DuckDBPyConnection, scan: str, path: Path, name: str, columns: list[str]
) -> None:
    described = connection.execute(f"DESCRIBE SELECT * FROM {scan}", [name]).fetchall()
    found = [row[0] for row in described]
    absent = [column for column in columns if column not in found]
    if absent:
        close = [column[:50] for column in found[:50]]
        raise ValueError(f"{path} has no column {absent[0]!r}: {nearest(absent[0], close)}")


def _quoted(name: str) -> str:
    return name.replace('"', '""')


MOST = 256
"""Largest number of values of a column that each get a cell without edges or labels being stated."""
GROUPS = 20
"""Approximate number of bins that an error message proposes."""


def found_values(path: str | Path, column: str, policy: Policy = STRICT) -> Edges | Labels:
    """Return the values of a column: every whole number from the least to the largest, or the texts in order.

    Missing values are left out; where the policy counts them as other, the last value is "other". A domain is
    public: where a mechanism is to be run, it must not be read from the data of those who are to be protected,
    so state the edges or labels there.

    Raises:
        ValueError: for a file that cannot be read, a missing or empty column, numbers with fractions or with
            texts among them, or more than 256 values.
    """
    counts: Counter[str] = Counter()
    for text, count in distinct(path, column).items():
        if text is not None and not is_missing(policy.read(text)):
            counts[text.strip()] += count
    if not counts:
        raise ValueError(f"column {column!r} of {path} holds no values: name another column")
    extra = (OTHER,) if policy.invalid == OTHER else ()
    by_text = finite_numbers(counts, column)
    if not by_text:
        texts = _labels(sorted(set(counts) - set(extra)), column)
        return Labels((*texts, *extra), len(texts) + len(extra))
    _check_unmixed(counts, by_text, column)
    numbers = list(by_text.values())
    low, high = min(numbers), max(numbers)
    if all(number == math.floor(number) for number in numbers) and high - low < MOST:
        edges = tuple(low + k for k in range(int(high - low) + 2))
        return Edges((*edges, *extra), len(edges) - 1 + len(extra))
    raise ValueError(
        f"column {column!r} holds {len(numbers):,} numbers from {low:g} to {high:g}, too many to tell apart one by "
        f"one: group them with edges LOW:HIGH:STEP, for example edges='{_groups(low, high)}'"
    )


def _check_unmixed(counts: Counter[str], numbers: Mapping[str, float], column: str) -> None:
    """Refuse numbers with texts among them: as texts they would lose their order."""
    texts = Counter({text: count for text, count in counts.items() if text not in numbers})
    if texts:
        total, first = sum(texts.values()), texts.most_common(1)[0][0]
        raise ValueError(
            f"column {column!r} holds {sum(counts.values()) - total:,} numbers and {total:,} {examples(texts)}: "
            f"say which texts stand for no value with missing={first!r}, or name all values with "
            "labels='a,b,...' to count them as texts"
        )


def _labels(texts: list[str], column: str) -> list[str]:
    if len(texts) > MOST:
        raise ValueError(
            f"column {column!r} holds {len(texts):,} different texts, among them {texts[0][:40]!r} and "
            f"{texts[-1][:40]!r}, but at most {MOST} are told apart unasked: name those to count with labels='a,b,...'"
        )
    return texts


def _groups(low: float, high: float) -> str:
    """Return LOW:HIGH:STEP with a round step that makes about twenty bins."""
    first, last, step = round_steps(low, high, GROUPS)
    return ":".join(f"{value:.10g}" for value in (first * step, last * step, step))
