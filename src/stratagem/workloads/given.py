"""Workloads as people give them: by the name of an entry of a catalogue, as a file, as a matrix, or made before."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stratagem.domain.attribute import Attribute
from stratagem.io.literal import EndlessFileError, open_regular
from stratagem.io.npz import UNREADABLE, check_header
from stratagem.io.toml import build, naming, nearest, read_table
from stratagem.workloads import Domain, DomainLike, Workload, explicit
from stratagem.workloads.recipe import FAMILIES, FamilyRecipe, QueryRecipe, Wanted, refuse_options
from stratagem.workloads.survey import Survey, SurveyFile
from stratagem.workloads.workload import Array


def read_matrix(path: Path) -> Array:
    """Read a matrix, such as p x n queries with one row a query, from a .npy or a .csv file.

    A .csv file holds comma-separated numbers; empty lines are skipped, and so is a first line in
    which no cell is a number (a header). Pickled objects in a .npy file are never loaded.
    """
    readers = {".npy": _read_npy, ".csv": lambda path: read_csv(path)[1]}
    if path.suffix.lower() not in readers:
        raise ValueError(
            f"{path} was given as a matrix, but only .npy and .csv are read: save the matrix as one of them"
        )
    try:
        return readers[path.suffix.lower()](path)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}): give the path of a readable file"
        ) from None


def _read_npy(path: Path) -> Array:
    try:
        with open_regular(path) as file:
            check_header(file, os.fstat(file.fileno()).st_size)
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
    except EndlessFileError:
        raise
    except UNREADABLE:
        raise ValueError(
            f"{path} is not an array of numbers in NumPy's .npy format: "
            "write it with numpy.save(path, matrix)"
        ) from None


def read_csv(path: Path) -> tuple[list[str], Array]:
    """Return the names in the header of a .csv file, none without one, and its numbers, one row a line.

    Raises:
        OSError: for a file that cannot be read.
        ValueError: as `read_matrix`.
    """
    rows: list[list[float]] = []
    names: list[str] = []
    try:
        with io.TextIOWrapper(open_regular(path), newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            for cells in reader:
                if reader.line_num == 1 and len(cells) > 1 and not cells[0].strip() and any(cells):
                    raise ValueError(
                        f"{path} has a first column without a name, an index: write the file without it (in pandas "
                        "with index=False)"
                    )
                if reader.line_num == 1 and all(_parsed(cell) is None for cell in cells):
                    names = [cell.strip() for cell in cells]
                    continue
                if not any(cell.strip() for cell in cells):
                    continue
                rows.append([_number(cell, path, reader.line_num) for cell in cells])
                _check_length(rows, path, reader.line_num)
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(
            f"{path} is not comma-separated text in UTF-8: write numbers separated by commas, one row a line"
        ) from None
    if not rows:
        raise ValueError(f"{path} holds no numbers, but needs at least one row: write one row a line")
    return names, np.array(rows)


def _parsed(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)  # float reads 1_000 as 1000
    except ValueError:
        return None


def _number(cell: str, path: Path, line: int) -> float:
    number = _parsed(cell)
    if number is None or not math.isfinite(number):
        raise ValueError(
            f"{path}, line {line}: {cell[:40]!r} is not a finite number: correct that cell (only the first "
            "line may be a header, and then no cell of it is a number)"
        )
    return number


def _check_length(rows: list[list[float]], path: Path, line: int) -> None:
    if len(rows[-1]) != len(rows[0]):
        raise ValueError(
            f"{path}, line {line}: {len(rows[-1])} cells where the first row has {len(rows[0])}: "
            "give every row as many numbers"
        )


KINDS = ("workloads", "solvers")
HEADER = ("title", "reference", "about")


@dataclass(frozen=True)
class Entry:
    """One file of a catalogue: its header, and `settings`, the keys that its kind reads."""

    source: str
    title: str
    reference: str
    about: str
    """Who asks, why, and whom to contact, for people who are asked."""
    settings: dict[str, Any]


def names(kind: str) -> tuple[str, ...]:
    """Return the names in a catalogue, sorted: the file names without .toml.

    >>> "prefix" in names("workloads")
    True

    Raises:
        ValueError: for a kind other than workloads and solvers.
    """
    return tuple(sorted(path.stem for path in folder(kind).glob("*.toml")))


def entry(kind: str, name: str) -> Entry:
    """Return one entry of a catalogue."""
    if name not in (known := names(kind)):
        raise ValueError(f"{name!r} is not in the catalogue of {kind}: {nearest(name, known)}")
    return read_entry(folder(kind) / f"{name}.toml", f"{kind.removesuffix('s')} {name}")


def read_entry(path: Path, source: str) -> Entry:
    """Read a TOML file as an entry; `source` is how errors name it."""
    table = read_table(path)
    header = {key: table.pop(key, "") for key in HEADER}
    for key, text in header.items():
        if not isinstance(text, str):
            raise ValueError(f"{source}: {key} = {text!r} is not text: put it in quotation marks")
    return Entry(source, header["title"], header["reference"], header["about"], table)


def folder(kind: str) -> Path:
    """Return the folder of a catalogue: inside the installed package, or at the root of a checkout."""
    if kind not in KINDS:
        raise ValueError(
            f"{kind!r} was given as a catalogue, but there are {' and '.join(KINDS)}: use one of them"
        )
    package = Path(__file__).resolve().parents[1]
    installed = package / "_catalogue" / kind
    return installed if installed.is_dir() else package.parents[1] / kind


MATRIX_SUFFIXES = (".npy", ".csv")
ORDERED = ("prefix", "all-range")
"""Families of queries along the order of the values."""


def load(
    name: str | Path,
    *,
    domain: DomainLike | None = None,
    order: int | None = None,
    width: int | None = None,
    numbers: Iterable[float] | None = None,
) -> Workload:
    """Return a workload from its name in the catalogue, or from the path of a .toml, .npy or .csv file.

    An entry that names a family needs a domain and may take an order, a width, or the numbers that the values
    of its attribute stand for (mean and moments; by default 0, 1, 2, ...). One that fixes its domain takes none
    of them, nor does a matrix of queries (except a domain that names its columns).

    >>> load("marginals", domain="2^6", order=3).queries
    160

    Raises:
        ValueError: for an unknown name, with the nearest ones, an unreadable file, or what does not fit.
    """
    stood = None if numbers is None else tuple(numbers)
    request = Wanted(None if domain is None else Domain.of(domain), order, width, stood)
    found = _entry_of(name)
    if found is not None:
        return _from_entry(found, request)
    path = Path(name)
    if path.suffix.lower() in MATRIX_SUFFIXES:
        return _from_matrix(path, request)
    raise ValueError(
        f"{str(name)!r} is neither a workload of the catalogue nor a .toml, .npy or .csv file: "
        f"{nearest(str(name), names('workloads'))}"
    )


def read_survey(path: str | Path) -> SurveyFile:
    """Return the title, the attributes, the queries and the epsilon that a .toml file of queries states.

    Raises:
        ValueError: for a file that names no queries of its own, or as `load`.
    """
    entry = read_entry(Path(path), str(path))
    if "family" in entry.settings:
        raise ValueError(f"{path} names a family, but a survey has queries of its own: write [[query]]")
    with naming(entry.source):
        recipe = build(QueryRecipe, entry.settings, entry.source, also=HEADER)
        domain = recipe.fixed(entry.source)
        queries = tuple(recipe.entries(entry.source, domain))
        readings = recipe.readings(entry.source)
    return SurveyFile(entry.title, domain, queries, recipe.epsilon, data=str(recipe.data), readings=readings)


def stated_epsilon(name: str | Path) -> float | None:
    """Return the epsilon that a .toml file of queries states, None without one."""
    found = _entry_of(name)
    return None if found is None or "epsilon" not in found.settings else read_survey(name).epsilon


def leaves_domain(name: str | Path) -> bool:
    """Return whether a workload of the catalogue or a .toml file fits any domain, so that one must be named.

    >>> leaves_domain("prefix"), leaves_domain("ages-by-sex")
    (True, False)
    """
    found = _entry_of(name)
    return found is not None and "family" in found.settings


def takes_numbers(name: str | Path) -> bool:
    """Return whether a workload asks about the numbers that the values of an attribute stand for.

    >>> takes_numbers("mean"), takes_numbers("prefix")
    (True, False)
    """
    found = _entry_of(name)
    family = None if found is None else FAMILIES.get(str(found.settings.get("family")))
    return family is not None and "numbers" in family.options


def check_order(name: str | Path, found: Iterable[Attribute]) -> None:
    """Refuse queries along an order over labels that were found in data without one."""
    entry = _entry_of(name)
    if entry is None or entry.settings.get("family") not in ORDERED:
        return
    for one in found:
        if not one.values.ordered and one.size > 1:
            shown = ", ".join(map(repr, one.values.texts[:4])) + ", ..." * (one.size > 4)
            raise ValueError(
                f"{name} asks about values in their order, but none is known for the labels of {one.name} ({shown}): "
                "state them from first to last with values=st.labels('a', 'b', ...), or ask for histogram"
            )


def _entry_of(name: str | Path) -> Entry | None:
    """Return the entry of a name in the catalogue or of a .toml file, None for anything else."""
    if isinstance(name, str) and name in names("workloads"):
        return entry("workloads", name)
    path = Path(name)
    return read_entry(path, str(path)) if path.suffix.lower() == ".toml" else None


def _from_entry(entry: Entry, request: Wanted) -> Workload:
    with naming(entry.source):
        if "family" not in entry.settings:
            asked = build(QueryRecipe, entry.settings, entry.source, also=HEADER)
            return asked.workload(request, entry.source)
        recipe = build(FamilyRecipe, entry.settings, entry.source, also=HEADER)
        make, domain, options = recipe.settled(request, entry.source)
        return make(domain, **options)


def _from_matrix(path: Path, request: Wanted) -> Workload:
    refuse_options(request.options(), (), str(path))
    with naming(str(path)):
        return explicit(read_matrix(path), request.domain)


WorkloadLike = Workload | Survey | str | Path | ArrayLike
"""A workload, a survey, a name in the catalogue, the path of a .toml, .npy or .csv file, or a matrix (p x n)."""


def workload_of(
    given: WorkloadLike, domain: DomainLike | None = None, default: Callable[[], DomainLike] | None = None
) -> Workload:
    """Return the workload itself, the one of a name or path as `load` reads it, or the one of a matrix.

    `domain` is that of a name which fits any, or names the columns of a matrix, dense or sparse; without it these
    are over the `default`, which is looked at only then.

    >>> workload_of("prefix", 8).queries, workload_of([[1, 0], [1, 1]]).domain_size
    (8, 2)
    """
    if isinstance(given, Survey):
        given = given.workload
    if isinstance(given, Workload):
        if domain is not None:
            raise ValueError(
                f"domain {domain} was given with a workload over domain {given.domain}: leave it out"
            )
        return given
    named = isinstance(given, str | Path)
    if domain is None and default is not None and not (named and not leaves_domain(given)):
        domain = default()
    return load(given, domain=domain) if named else explicit(given, domain)  # type: ignore[arg-type]
