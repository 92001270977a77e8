"""All marginal tables of a given number of attributes, consistent and without negative cells, and synthetic people.

These are a table with a row a person, whose marginal tables are near to the released ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from stratagem.estimation.estimate import Estimate
from stratagem.estimation.marginal_table import (
    MarginalTable,
    consistent_marginals,
    ripple,
    shared_sizes,
    without_debt,
)
from stratagem.io.npz import write_parquet
from stratagem.io.screen import brief
from stratagem.io.table import Table, write_csv
from stratagem.io.target import check_target, written_atomically
from stratagem.math.computing import working_in
from stratagem.math.number import integer
from stratagem.workloads import Attribute, marginals

ROUNDS = 20
"""Largest number of rounds of `ripple` and `consistent_marginals`."""
CLOSE = 0.01
"""Negative amount in a cell at which the rounds stop, as a share of its standard error."""


@dataclass(frozen=True, eq=False)
class Release:
    """Consistent marginal tables of all sets of attributes of one size, and their standard errors.

    Tables agree on all attributes they share, have no negative cell and sum to the number of users. They are
    biased where cells are rare; the standard errors are those of the unbiased estimates that they were made from.
    """

    __repr__ = brief

    estimate: Estimate
    """The unbiased estimates of all tables."""
    tables: tuple[MarginalTable, ...]
    """Tables in lexicographic order of their attributes, each with the mean variance of its cells."""

    def table(self, *attributes: str) -> MarginalTable:
        """Return the table of some attributes, summed from a larger one where they are fewer.

        Raises:
            ValueError: if no table holds them all.
        """
        for one in self.tables:
            if set(attributes) <= set(one.attributes):
                return replace(one, attributes=attributes, counts=one.onto(attributes))
        raise ValueError(
            f"a table of {', '.join(attributes)} was asked for, but none was released that holds them all: "
            "release tables of more attributes"
        )

    def standard_errors(self, *attributes: str) -> np.ndarray:
        """Return the standard errors of the unbiased table of some attributes, in the shape of that table."""
        marginal = self.estimate.marginal(*attributes)
        domain = self.estimate.workload.domain
        sizes = [a for a, name in zip(domain.sizes, domain.names, strict=True) if name in attributes]
        return marginal.standard_errors.reshape(sizes)


def release(estimate: Estimate, order: int = 2) -> Release:
    """Return all marginal tables of `order` attributes: consistent, without negative cells, of N users each.

    The unbiased tables are made consistent (`consistent_marginals`). Then negative cells are raised at the expense
    of others (`ripple`) and the tables made consistent again, as in PriView, until hardly a negative cell is left.
    At last all tables are mixed with even ones, (1 - t) T + t N/cells, which keeps them consistent. The tables
    returned have both properties exactly, up to rounding.

    Args:
        estimate: An estimate of any workload, from a strategy that answers these tables. Its post-processing is
            ignored.
        order: The number of attributes of each table, from 1.

    Raises:
        UnsupportedWorkloadError: if the strategy does not determine these tables.
        ValueError: for an order below 1 or above the number of attributes.

    Reference:
        Qardaji, Yang, Li, SIGMOD 2014.
    """
    domain = estimate.workload.domain
    integer(order, "the order of the tables", 1, len(domain.sizes), "name how many attributes each has")
    raw = estimate.raw().ask(marginals(domain, order))
    tables = consistent_marginals(_tables(raw), float(raw.users))
    for _ in range(ROUNDS):
        if all(table.counts.min() >= -CLOSE * table.variance**0.5 for table in tables):
            break
        paid = [replace(one, counts=ripple(one.counts, CLOSE * one.variance**0.5)) for one in tables]
        tables = consistent_marginals(paid, float(raw.users))
    return Release(raw, without_debt(tables, raw.users))


def _tables(estimate: Estimate) -> list[MarginalTable]:
    domain, tables = estimate.workload.domain, []
    variances = np.square(estimate.standard_errors)
    for margin in estimate.workload.margins():
        part = domain.part(margin.attributes)
        counts = estimate.answers[margin.places].reshape(part.sizes)
        variance = max(float(variances[margin.places].mean()), np.finfo(float).tiny)
        tables.append(MarginalTable(part.names, counts, variance))
    return tables


SUFFIXES = (".csv", ".parquet")
"""Suffixes of files that hold synthetic people."""
STEPS = 1000
"""Steps of mirror descent: on tables of Adult, further ones came nearer to the noise and not to the truth."""
CELLS = 100_000
"""Largest number of cells of a model: seconds for nine attributes, a minute or two for 32."""
MOST_ATTRIBUTES = 32
"""Most attributes of a person: the choice of tables takes time that grows with their fourth power."""
MOST_PEOPLE = 10**7


class Distance(NamedTuple):
    """How far the table of synthetic people is from a released one, scaled to as many users."""

    attributes: tuple[str, ...]
    users: float
    """sum |S - T|/2 over the cells: the released users who would have to move to another cell."""
    standard_errors: float
    """(mean (S - T)^2 / variance)^(1/2): the root mean square over the cells, in standard errors of the table."""
    fitted: bool
    """Whether the model was fitted to this table."""


@dataclass(frozen=True, eq=False)
class SyntheticPeople:
    """A table of people who do not exist, made from released tables alone.

    Post-processing: it tells no more about anybody than the released tables, and no budget is spent. Biased: as
    the released tables are, and by the model, which knows of no dependence beyond the tables it was fitted to.
    """

    __repr__ = brief

    release: Release
    """The tables that the people were made from."""
    people: np.ndarray
    """The number of every person's value, shape (people, attributes), in the order of `attributes`."""
    attributes: tuple[Attribute, ...]
    """The columns: attributes that a released table holds, with the names of their values where these are known."""
    fitted: tuple[tuple[str, ...], ...]
    """The attributes of every table that the model was fitted to, those first that depend most clearly."""

    def counts(self, *attributes: str) -> np.ndarray:
        """Return how many synthetic people have each combination of values, shape (a_1, ..., a_k).

        Raises:
            ValueError: for an attribute that is unknown or named twice.
        """
        names = [one.name for one in self.attributes]
        if not set(attributes) <= set(names) or len(set(attributes)) != len(attributes):
            raise ValueError(
                f"a table of {', '.join(attributes)} was asked for, but the columns are {', '.join(names)}: "
                "name some of them, each once"
            )
        places = [names.index(name) for name in attributes]
        sizes = tuple(self.attributes[place].size for place in places)
        cells = np.ravel_multi_index(tuple(self.people[:, places].T), sizes)
        return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes)

    @cached_property
    def distances(self) -> list[Distance]:
        """How far each released table is from that of the synthetic people, in the order of the release."""
        found = []
        for table in self.release.tables:
            scaled = self.counts(*table.attributes) * (table.counts.sum() / len(self.people))
            users = float(np.abs(scaled - table.counts).sum() / 2)
            apart, fitted = _apart(table, scaled), table.attributes in self.fitted
            found.append(Distance(table.attributes, users, apart, fitted))
        return found

    def data(self) -> dict[str, Any]:
        """Return the number of people and the distances as JSON values."""
        return {"people": len(self.people), "tables": [one._asdict() for one in self.distances]}

    def summary(self) -> str:
        """Return sentences on what the records were made from, and how far they are from it on average."""
        users = np.mean([one.users for one in self.distances])
        errors = np.mean([one.standard_errors for one in self.distances])
        left = len(self.release.tables) - len(self.fitted)
        return (
            f"{len(self.people):,} synthetic records from {len(self.fitted)} of {len(self.release.tables)} released "
            f"tables, {left} left out for the size of the model. On average a table of theirs has {users:,.0f} of "
            f"{self.release.estimate.users:,} people in other cells than the released table, and its cells differ by "
            f"{errors:.2g} standard errors. They are biased and cost no privacy: they are made from the released "
            "tables alone."
        )

    def __str__(self) -> str:
        """Return the summary, and the distance from every released table."""
        rows = [
            (
                ", ".join(one.attributes),
                f"{one.users:,.0f}",
                f"{one.standard_errors:.2f}",
                "yes" if one.fitted else "no",
            )
            for one in self.distances
        ]
        return f"{self.summary()}\n\n{Table(('table', 'people apart', 'standard errors', 'fitted'), rows)}"

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a row for every person to a .csv or .parquet file; the file appears complete or not at all.

        A column holds labels, whole numbers, or the numbers, dates or times at which the bins start.

        Raises:
            ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
        """
        target = check_target(path, SUFFIXES, overwrite=overwrite)
        columns = {one.name: _values(one)[self.people[:, k]] for k, one in enumerate(self.attributes)}
        with written_atomically(target) as file:
            if target.suffix.lower() == ".parquet":
                write_parquet(file, columns)
            else:
                write_csv(file, columns, zip(*(column.tolist() for column in columns.values()), strict=True))
        return target


def synthetic_people(
    release: Release, people: int | None = None, *, seed: int = 0, steps: int = STEPS, cells: int = CELLS
) -> SyntheticPeople:
    """Return people whose tables are near to released ones: post-processing, which costs no privacy.

    The distribution p is sought by mirror descent from the uniform one: argmin sum ||N p_T - T||^2 / variance_T
    over the tables T, p_T the marginal of p. Its limit is that of most entropy among all minima. p is the product of
    a function for each table, kept as tables on a junction tree. Where the tree of all tables would have more than
    `cells` cells, tables are taken as long as they fit, those first that are most standard errors away from
    independence. People are then drawn along the tree, by systematic rounding and not independently, so their tables
    differ less from N p_T than those of a sample.

    Args:
        release: The tables; with fewer of them, `dataclasses.replace(release, tables=...)`, for fewer columns.
        people: Number of rows, the number of users by default.
        seed: Makes the people repeatable.
        steps: Number of steps; few leave the people nearer to uniform, many bring them nearer to the noise.
        cells: Largest number of cells of the junction tree.

    Raises:
        ValueError: without the package mbi, for no tables, more than 32 attributes, tables that are all larger than
            `cells`, or numbers out of range.

    Reference:
        McKenna, Sheldon, Miklau, ICML 2019.
    """
    if not isinstance(release, Release):
        raise ValueError(
            f"{release!r:.60} was given, but synthetic records are made of what st.estimation.release returned"
        )
    sizes, users = shared_sizes(release.tables), release.estimate.users
    rows = integer(
        users if people is None else people, "the number of people", 1, MOST_PEOPLE, "give one of these"
    )
    integer(seed, "the seed", 0, 2**32 - 1, "give a smaller one")
    integer(steps, "the number of steps", 1, 10**6, "give some hundreds")
    integer(cells, "the largest number of cells", 1, 2**27, "give for example 100000")
    described = release.estimate.naming.attributes
    attributes = tuple(one for one in described if one.name in sizes)
    if len(attributes) > MOST_ATTRIBUTES:
        raise ValueError(
            f"synthetic records of {len(attributes)} attributes were asked for, but {MOST_ATTRIBUTES} are the most: "
            "keep the tables of fewer, dataclasses.replace(release, tables=...)"
        )
    mbi = check_mbi()
    from jax import block_until_ready

    numbers = {one.name: k for k, one in enumerate(attributes)}  # sets of texts have another order every time
    domain = mbi.Domain(tuple(numbers.values()), tuple(one.size for one in attributes))
    fitted = _fitting(release.tables, numbers, domain, cells)
    measured = [
        mbi.LinearMeasurement(
            table.counts.ravel(), tuple(numbers[name] for name in table.attributes), table.variance**0.5
        )
        for table in [*fitted, *_alone(release.tables, fitted)]
    ]
    fit = mbi.estimation.MirrorDescent().estimate
    with working_in("float64"):  # steps that are waited for can be interrupted
        model = fit(domain, measured, float(users), iters=steps, callback_fn=block_until_ready)
        with _seeded(seed):
            drawn = model.synthetic_data(rows).to_dict()
    values = np.stack([drawn[k] for k in numbers.values()], axis=1).astype(np.int64)
    return SyntheticPeople(release, values, attributes, tuple(table.attributes for table in fitted))


def check_mbi() -> ModuleType:
    """Return the package that fits the model; asked before the work.

    Raises:
        ValueError: without it, naming the extra that installs it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of 32 bits, which `working_in` changes, and of cached code
            import mbi
    except ImportError:
        raise ValueError(
            "synthetic records need the package mbi: install it with pip install 'stratagem[synthetic]'"
        ) from None
    return mbi


def _apart(table: MarginalTable, other: np.ndarray) -> float:
    """Return the root mean square over the cells of the difference, in standard errors of the table."""
    return float(np.sqrt(np.square(other - table.counts).mean() / table.variance))


def _independent(table: MarginalTable) -> np.ndarray:
    """Return the table N prod T_i / N of the same attributes if they were independent."""
    shares = [table.onto(name) / table.counts.sum() for name in table.attributes]
    return reduce(np.multiply.outer, shares) * table.counts.sum()


def _fitting(
    tables: Sequence[MarginalTable], numbers: dict[str, int], domain: Any, most: int
) -> list[MarginalTable]:
    """Return tables whose junction tree has at most so many cells, those first that depend most clearly."""
    from mbi.junction_tree import make_junction_tree

    chosen: list[MarginalTable] = []
    cliques: list[tuple[int, ...]] = []
    for table in sorted(tables, key=lambda table: -_apart(table, _independent(table))):
        more = [*cliques, tuple(numbers[name] for name in table.attributes)]
        if table.counts.size <= most and sum(map(domain.size, make_junction_tree(domain, more)[0])) <= most:
            chosen, cliques = [*chosen, table], more
    if not chosen:
        least = min(table.counts.size for table in tables)
        raise ValueError(
            f"the smallest table has {least:,} cells, but a model at most {most:,}: release tables of fewer attributes"
        )
    return chosen


def _alone(tables: Sequence[MarginalTable], fitted: Sequence[MarginalTable]) -> Iterator[MarginalTable]:
    """Yield the table of each attribute that no fitted table holds, summed from a released one."""
    held = {name for table in fitted for name in table.attributes}
    for name in (name for name in shared_sizes(tables) if name not in held):
        table = next(table for table in tables if name in table.attributes)
        variance = table.variance * table.merged([name])
        yield replace(table, attributes=(name,), counts=table.onto(name), variance=variance)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generator of NumPy, the one that mbi draws from, and give it back as it was."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _values(attribute: Attribute) -> np.ndarray:
    """Return what a file holds for every value (size,): the label, the number, or where the bin starts."""
    found = np.array([attribute.values.member(place) for place in range(attribute.size)])
    return found.astype(object) if found.dtype.kind == "U" else found
