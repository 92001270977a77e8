"""HTML from templates that escape every value, and tables of results for a screen, a page and a file."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, BinaryIO, final

from stratagem.io.screen import ROWS, WIDTH, columns, visible
from stratagem.io.target import check_target, written_atomically

if TYPE_CHECKING:
    from jinja2 import Environment
    from pandas import DataFrame


def render(name: str, **values: object) -> str:
    """Return a template of the package, named by its path there, with these values; a missing value is an error."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("stratagem", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return found


NAME, WORDS = 32, 16
"""Least numbers of characters to which the first column and other columns of words are narrowed: no name of a
mechanism is longer than the first."""


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; the first `words` columns hold words, the others numbers."""

    headings: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    words: int = 1
    bold: int | None = None
    """The row that stands out; None for none."""
    caption: str = ""
    """What the table shows, above it on a page."""

    def without(self, *headings: str) -> Table:
        """Return the table without some columns."""
        kept = [place for place, heading in enumerate(self.headings) if heading not in headings]
        head, *rows = (tuple(line[place] for place in kept) for line in (self.headings, *self.rows))
        return replace(self, headings=head, rows=rows, words=sum(place < self.words for place in kept))

    def beside(self, columns: Mapping[str, Iterable[str]]) -> Table:
        """Return the table with more columns on its right."""
        rows = [
            (*row, *more) for row, more in zip(self.rows, zip(*columns.values(), strict=True), strict=True)
        ]
        return replace(self, headings=(*self.headings, *columns), rows=rows)

    def best(self, most: int) -> Table:
        """Return the first `most` rows; where the bold one comes later, it takes the place of the last of them."""
        if self.bold is None or self.bold < most:
            return replace(self, rows=self.rows[:most])
        return replace(self, rows=[*self.rows[: most - 1], self.rows[self.bold]], bold=most - 1)

    def lines(self, width: int = WIDTH, stress: Callable[[str], str] = str) -> list[str]:
        """Return the lines of the table, words aligned left and numbers right; `stress` is applied to the bold row.

        Headings of numbers take several lines where they would be longer than `width`. Where that is not enough, words
        take several lines too, and then columns of numbers follow below the others.
        """
        cells = [[visible(cell) for cell in line] for line in (self.headings, *self.rows)]
        widths = self._widths(cells, width)
        fitting = sum(end - 2 <= width for end in accumulate(size + 2 for size in widths))
        shown = max(fitting, self.words + 1)
        if shown < len(widths):
            return [
                *self.without(*self.headings[shown:]).lines(width, stress),
                "",
                *self.without(*self.headings[self.words : shown]).lines(width, stress),
            ]
        head, *rows = (_drawn(line, widths, self.words) for line in cells)
        stressed = [[*map(stress, row)] if place == self.bold else row for place, row in enumerate(rows)]
        return [
            *head,
            "-" * (sum(widths) + 2 * (len(widths) - 1)),
            *(line for row in stressed for line in row),
        ]

    def fits(self, width: int = WIDTH) -> bool:
        """Return whether all columns stand beside each other in lines of so many characters."""
        cells = [[visible(cell) for cell in line] for line in (self.headings, *self.rows)]
        return sum(size + 2 for size in self._widths(cells, width)) - 2 <= width

    def _widths(self, cells: Sequence[Sequence[str]], width: int) -> list[int]:
        """Return the width of every column, narrowed as far as it may be where the table is too wide."""
        widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
        gaps = 2 * (len(widths) - 1)
        if sum(widths) + gaps > width:
            for place, (heading, *rest) in list(enumerate(zip(*cells, strict=True)))[self.words :]:
                widths[place] = max(columns(part) for part in (*heading.split(), *rest, ""))
        for least, some in ((WORDS, range(1, self.words)), (NAME, range(min(1, self.words)))):
            while sum(widths) + gaps > width and any(widths[place] > least for place in some):
                widths[max(some, key=widths.__getitem__)] -= 1
        return widths

    def text(self, most: int = ROWS) -> str:
        """Return the table as text that fits a screen, with its first rows alone where it has more than `most`."""
        more = len(self.rows) - most
        return "\n".join([*self.best(most).lines(), *([f"... {more} more rows"] if more > 0 else [])])

    def __str__(self) -> str:
        """Lay the table out as text."""
        return self.text()

    def html(self, caption: str) -> str:
        """Return the table as HTML for a notebook, every text escaped, the colours those of the page around it."""
        left = f" (the first {ROWS} of {len(self.rows):,})" if len(self.rows) > ROWS else ""
        shown = replace(self, caption=f"{caption}{left}", rows=self.rows[:ROWS])
        return render("io/table.html", of=shown)


def _drawn(cells: Sequence[str], widths: Sequence[int], words: int) -> list[str]:
    """Return the lines of one row; a cell that is too long takes several."""
    parts = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    lines = []
    for k in range(max(map(len, parts))):
        texts = [part[k] if k < len(part) else "" for part in parts]
        blanks = [" " * (width - columns(text)) for text, width in zip(texts, widths, strict=True)]
        both = zip(texts, blanks, strict=True)
        aligned = [
            text + blank if place < words else blank + text for place, (text, blank) in enumerate(both)
        ]
        lines.append("  ".join(aligned).rstrip())
    return lines


def _folded(cell: str, width: int) -> list[str]:
    """Return a cell in lines of at most `width` columns, words whole where they fit."""
    if columns(cell) <= width:
        return [cell]
    room = width if columns(cell) == len(cell) else width // 2
    return wrap(cell, max(1, room), break_on_hyphens=False)


SUFFIXES = (".csv", ".json")
"""Suffixes of files that hold records."""


def save_records(
    path: str | Path, records: Sequence[Mapping[str, object]], *, overwrite: bool = False, **about: object
) -> Path:
    """Write records of named values to a .csv file, or to a .json file under `records`, beside `about`.

    In the .csv the entry `key` of an inner record `name` is called name_key; values that a record lacks are empty.

    Raises:
        ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
    """
    target = check_target(path, SUFFIXES, overwrite=overwrite)
    with written_atomically(target) as file:
        if target.suffix.lower() == ".json":
            write_json(file, {**about, "records": records})
        else:
            flat = [_flat(record) for record in records]
            names = list(flat[0])
            write_csv(file, names, ([record.get(name, "") for name in names] for record in flat))
    return target


def write_json(file: BinaryIO, data: Mapping[str, object]) -> None:
    """Write an object as JSON, which has no NaN and no infinity.

    Raises:
        ValueError: for NaN or infinity.
    """
    file.write((json.dumps(data, indent=1, allow_nan=False) + "\n").encode("utf-8"))


def write_csv(file: BinaryIO, names: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a line of names, and a line for every row."""
    with io.TextIOWrapper(file, "utf-8", newline="", write_through=True) as page:
        writer = csv.writer(page, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


class Recorded(ABC):
    """A result that can be told as named values."""

    @abstractmethod
    def records(self) -> list[dict[str, object]]:
        """Return the result as records of named values."""

    @final
    def to_frame(self) -> DataFrame:
        """Return the records as a pandas data frame, with the columns that `save_records` writes.

        Raises:
            ValueError: if pandas is not installed.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise ValueError(
                "pandas is not installed, but holds data frames: install it, or use records()"
            ) from None
        return DataFrame([_flat(record) for record in self.records()])


def _flat(record: Mapping[str, object]) -> dict[str, object]:
    flat = {}
    for name, value in record.items():
        inner = value if isinstance(value, dict) else None
        flat |= {name: value} if inner is None else {f"{name}_{key}": one for key, one in inner.items()}
    return flat
