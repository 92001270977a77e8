"""Real data: columns of a CSV or Parquet file as a data vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.domain import Domain
from stratagem.domain.file import batches, stated_order
from stratagem.domain.moment import date_order, zones_said
from stratagem.domain.policy import (
    DROP,
    FAIL,
    STRICT,
    Policy,
    Reading,
    alike,
    examples,
    like_missing,
    listed,
    said,
    with_commas,
    with_spellings,
)
from stratagem.domain.values import ABSENT, OTHER, UNEVEN, article, is_missing
from stratagem.io.numeral import parse_decimal
from stratagem.math.number import entries

TEXTS = ("not a number", UNEVEN, "unknown label", "not a date", "not a time of day")
"""Endings of the reasons that concern a text."""
NOTHING = ("nan", "NaT", "<NA>")
"""What missing values of NumPy and pandas are as texts."""
MANY = 100
"""Rows from which on a column of whole numbers, each once, is taken for a number of the row."""
CELLS = 1 << 27
"""Largest number of cells of a data vector (1 GiB)."""


@dataclass(frozen=True, eq=False)
class PlacedRows:
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

    remarks: tuple[str, ...] = ()
    """Sentences on how texts were read that could be meant otherwise."""

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
    def like_missing(self) -> str:
        """A sentence on the answers that look like none, such as the label NA; empty without them."""
        rows: Counter[str] = Counter()
        for place, one in enumerate(self.domain.attributes):
            for k, text in enumerate(one.values.texts):
                rows[text] += int(self.counts[self.coordinates[:, place] == k].sum())
        return like_missing(rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was read otherwise than somebody may have meant it: spellings, answers such as NA."""
        spelt = [said(dict(one.values.spellings)) for one in self.domain.attributes]
        return tuple(filter(None, (*self.remarks, *spelt, self.like_missing)))

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


class InvalidValuesError(ValueError):
    """Error for rows with values outside the domain when the policy does not say how to treat them."""

    def __init__(
        self,
        path: object,
        rows: int,
        counts: Mapping[str, int],
        texts: Counter[str],
        spelt: Mapping[str, str],
        *,
        has_other: bool,
        columns: Sequence[str],
    ) -> None:
        self.counts, self.has_other = counts, has_other
        head = f"{path} has {sum(counts.values()):,} of {rows:,} rows outside the domain"
        advice = f"{with_commas(texts)}{with_spellings(spelt)}"
        self.fact = f"{head} ({listed(counts)}{f'; {examples(texts)}' if texts else ''}){advice}"
        self.by_column = tuple(
            f"{column}: {listed(own)}" for column in columns if (own := _of_column(counts, column, columns))
        )
        """The reasons, a line a column."""
        self.short = f"{head}{advice}"
        super().__init__(
            f"{self.fact}; choose invalid='drop' to leave them out, or invalid='other' to count them as the last value "
            "of an attribute that has one for them"
        )


def _of_column(counts: Mapping[str, int], column: str, columns: Sequence[str]) -> dict[str, int]:
    """Return the rows by reason of one column, whose name stands before each reason."""
    longer = tuple(f"{one} " for one in columns if one.startswith(f"{column} "))
    own = (why for why in counts if why.startswith(f"{column} ") and not why.startswith(longer))
    return {why.removeprefix(f"{column} "): counts[why] for why in own}


def read(path: str | Path, domain: Domain, columns: Mapping[str, str], policy: Policy = STRICT) -> Data:
    """Count the rows of a file in the cells of a domain; every row inside or outside is accounted for."""
    chosen = _chosen(domain, columns)
    rows = _grouped(Path(path), chosen)
    data, texts = _count(rows, domain, chosen, policy)
    if data.outside and policy.invalid == FAIL:
        total = data.users + sum(data.outside.values())
        has_other = all(one.other is not None for one in domain.attributes)
        labels = [text for one in domain.attributes for text in one.values.texts]
        spelt = alike(texts, labels)
        raise InvalidValuesError(path, total, data.outside, texts, spelt, has_other=has_other, columns=chosen)
    if data.users == 0:
        reasons = (
            ", ".join(f"{reason}: {count}" for reason, count in data.outside.items()) or "it has no rows"
        )
        raise ValueError(
            f"{path} has no row inside the domain ({reasons}): check the columns, edges and labels"
        )
    for k, (one, column) in enumerate(zip(domain.attributes, chosen, strict=True)):
        if one.values.outside and not set(data.coordinates[:, k].tolist()) - set(one.values.outside):
            reasons = {why: count for why, count in data.others.items() if why.startswith(f"{column} ")}
            reading = policy.of(column).about(one.values)
            texts = tallied(
                ((i, reading.read(row[k]) or "") for i, row in enumerate(rows)), [row[-1] for row in rows]
            )
            if reasons:
                raise ValueError(
                    f"none of the {sum(reasons.values()):,} answers in column {column!r} of {path} is a value of "
                    f"{one.name} ({listed(reasons)}; {examples(texts)}){with_commas(texts)}: name the column that "
                    "holds them, or say how its texts are read"
                )
    return data


def distinct(path: str | Path, column: str, policy: Policy = STRICT) -> Counter[str | None]:
    """Return the distinct values of a column as text, as the policy reads them, None where missing, with their rows.

    Raises:
        ValueError: for a file that is not CSV or Parquet, or a missing column.
    """
    return policy.of(column).counted(dict(_grouped(Path(path), [column])))


def stream(
    path: str | Path, domain: Domain, columns: Mapping[str, str], policy: Policy = STRICT
) -> Iterator[tuple[PlacedRows, np.ndarray]]:
    """Yield the different rows among some thousand rows of a file at a time, and which of them each row is (k,).

    Raises:
        ValueError: as `read`, before the first rows.
    """
    read(path, domain, columns, policy)
    chosen = _chosen(domain, columns)
    for rows in batches(Path(path), chosen):
        different: dict[tuple, int] = {}
        which = [different.setdefault(row, len(different)) for row in rows]
        yield _placed(list(different), domain, chosen, policy), np.array(which)


class ColumnTexts(NamedTuple):
    """The texts of one column of data."""

    rows: Counter[str | None]
    """The rows of every text as it stands there, None where there is none."""
    policy: Policy
    """How the column is read, in the order of day and month that its dates tell."""
    order: tuple[str, ...]
    """The order of its values, if stated."""

    @property
    def counts(self) -> Counter[str | None]:
        """The rows of every text as it is read."""
        return self.policy.counted(self.rows)

    @property
    def tells_rows_apart(self) -> bool:
        """Whether each of many rows holds a whole number of its own, as identifiers do, whatever counts as missing."""
        plain = replace(self.policy, mapping={})
        known = {
            text: n for text, n in self.rows.items() if text and plain.read(text) and not is_missing(text)
        }
        numbers = [parse_decimal(plain.read(text) or "") for text in known] if len(known) >= MANY else []
        alone = bool(numbers) and max(known.values()) == 1
        return alone and all(
            number is not None and number == number.to_integral_value() for number in numbers
        )


def column_texts(
    data: str | Path | Iterable[object], column: str | None, reading: Reading, values: Attribute | None = None
) -> ColumnTexts:
    """Return the texts of a column of a file, or of values, and how they are read.

    Raises:
        ValueError: for dates of which day and month cannot be told apart, unless `values` are no dates.
    """
    if strange := reading.keys() - Reading.__annotations__.keys():
        raise TypeError(f"plan() got an unexpected keyword argument {min(strange)!r}")
    policy, order = Policy(**reading).of(column or ""), ()
    if isinstance(data, str | Path):
        if not column:
            raise ValueError(f"no column of {data} was named: name the one that holds the answers")
        rows, order = distinct(data, column), stated_order(Path(data), column)
    else:
        rows = Counter(None if value is None or str(value) in NOTHING else str(value) for value in data)
        kind: Any = getattr(data, "dtype", None)  # an ordered categorical of pandas states its order
        order = tuple(map(str, kind.categories)) if getattr(kind, "ordered", False) else ()
    if policy.date_format is None and (values is None or values.values.moments):
        known = {text: n for text, n in policy.counted(rows).items() if text and not is_missing(text)}
        policy = replace(policy, date_format=date_order(known, column or ""))
    return ColumnTexts(rows, policy, order)


def _chosen(domain: Domain, columns: Mapping[str, str]) -> list[str]:
    """Return the columns in the order of the attributes."""
    if missing := [name for name in domain.names if name not in columns]:
        raise ValueError(f"attribute {missing[0]!r} has no source: name its column")
    return [columns[name] for name in domain.names]


def _placed(rows: list[tuple], domain: Domain, columns: list[str], policy: Policy) -> PlacedRows:
    """Return the coordinates of all rows; further entries of a row are not read."""
    placed = PlacedRows(np.zeros((len(rows), len(columns)), dtype=np.int64), [""] * len(rows), [], [])
    for position, (attribute, column) in enumerate(zip(domain.attributes, columns, strict=True)):
        reading = policy.of(column).about(attribute.values)
        values = [reading.read(row[position]) for row in rows]
        cells, other = attribute.values.cells(values, clip=policy.clip), attribute.other
        reasons = [(row, f"{column} {why}") for row, why in enumerate(cells.reason) if why]
        if policy.invalid == OTHER and reasons:
            if other is None:
                row, why = reasons[0][0], cells.reason[reasons[0][0]]
                held = (
                    "a row without an answer"
                    if why == ABSENT
                    else f"{values[row]!r:.60}, which is {article(why)}"
                )
                raise ValueError(
                    f"column {column!r} holds {held}, but none of its values is called {OTHER!r} to count such rows: "
                    f"state {OTHER!r} as the last of its edges or labels, or leave such rows out with invalid={DROP!r}"
                )
            placed.others.extend(reasons)
            reasons = []
        placed.coordinates[:, position] = np.where(cells.cell < 0, other or 0, cells.cell)
        for row, why in reasons:
            text = values[row]
            if why.endswith(TEXTS) and text is not None and not placed.reason[row]:
                placed.texts.append((row, text.strip()))
            placed.reason[row] = placed.reason[row] or why
    return placed


def _count(
    rows: list[tuple], domain: Domain, columns: list[str], policy: Policy
) -> tuple[Data, Counter[str]]:
    """Place the distinct rows, each with its multiplicity last; return also the texts that are no values."""
    counts = np.array([row[-1] for row in rows], dtype=np.int64)
    placed = _placed(rows, domain, columns, policy)
    outside, others, texts = (
        tallied(pairs, counts) for pairs in (enumerate(placed.reason), placed.others, placed.texts)
    )
    inside = placed.inside
    kinds = dict(outside.most_common()), dict(others.most_common())
    zones = tuple(
        zones_said(tallied(((i, row[k] or "") for i, row in enumerate(rows)), counts), one.values.zone)
        for k, one in enumerate(domain.attributes)
        if one.values.moments
    )
    return Data(domain, placed.coordinates[inside], counts[inside], *kinds, zones), texts


def tallied(pairs: Iterable[tuple[int, str]], counts: Sequence[int] | np.ndarray) -> Counter[str]:
    """Count texts by the multiplicity of their rows, the empty one not."""
    found: Counter[str] = Counter()
    for row, text in pairs:
        if text:
            found[text] += int(counts[row])
    return found


def _grouped(path: Path, columns: list[str]) -> list[tuple]:
    """Return the distinct rows of the columns as text, NULL as None, each with its count, sorted."""
    parts = batches(path, columns, ", count(*)", "GROUP BY ALL ORDER BY ALL")
    return [row for rows in parts for row in rows]
