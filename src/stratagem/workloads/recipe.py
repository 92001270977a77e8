"""Recipes of workloads, as the entries of the catalogue and .toml files hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stratagem.domain import Attribute, Codes, bins, labels
from stratagem.domain.policy import Policy, Reading
from stratagem.io.toml import as_table, build, naming
from stratagem.math.privacy import check
from stratagem.workloads import (
    Domain,
    Workload,
    all_marginals,
    all_range,
    histogram,
    kron,
    marginals,
    parity,
    prefix,
    stack,
    total,
    weighted,
)
from stratagem.workloads.explicit import Explicit, power_queries
from stratagem.workloads.question import asked_together


def _numbers(domain: Domain, numbers: Sequence[float] | None) -> Sequence[float]:
    """Return the numbers that the values of one attribute stand for, by default 0, 1, 2, ..., and 0 for no answer."""
    if len(domain.sizes) > 1:
        raise ValueError(
            f"the domain {domain} has {len(domain.sizes)} attributes: name the one that is a number"
        )
    values = domain.attributes[0].values
    rest = len(values.outside) if values.numbers else int(values.no_answer)
    return [*range(domain.size - rest), *[0] * rest] if numbers is None else numbers


def _mean(domain: Domain, numbers: Sequence[float] | None = None) -> Workload:
    return _moments(domain, 1, numbers)


def _moments(domain: Domain, order: int, numbers: Sequence[float] | None = None) -> Workload:
    number = None if numbers is None else f"the bin middles of {domain.names[0]}"
    known = _numbers(domain, numbers)
    sums = power_queries(known, order, domain, number)
    if not (values := domain.attributes[0].values).no_answer:
        return sums
    who = [[k not in values.outside for k in range(values.size)]]
    people = Explicit(np.array(who, float), domain, (f"people with a value of {domain.names[0]}",))
    return stack([sums, weighted(people, float(np.abs(known).max()))])


def _values(domain: Domain) -> list[float] | None:
    """Return what the values of an attribute stand for in a sum: the middles of bins, 0 for other and no answer."""
    (attribute,) = domain.attributes
    values = attribute.values
    if values.numbers:
        return None
    numbers = [0.0 if k in values.outside else values.middle(k) for k in range(values.size)]
    known = [one for one in numbers if one is not None]
    if len(known) < len(numbers):
        raise ValueError(
            f"a mean of {attribute.name} was asked for, but its values are no numbers: ask for its table"
        )
    return known


def mean_of(domain: Domain) -> Workload:
    """Return the sum of the values of one attribute, as a survey asks for it."""
    return _mean(domain, _values(domain))


def moments_of(domain: Domain, order: int = 2) -> Workload:
    """Return the sums of the first powers of the values of one attribute."""
    return _moments(domain, order, _values(domain))


PRIMITIVES: dict[str, Callable[[Domain], Workload]] = {
    "identity": histogram,
    "total": total,
    "prefix": prefix,
    "all-range": all_range,
    "mean": mean_of,
    "moments": moments_of,
    "parity": parity,
}


class Family(NamedTuple):
    """A workload for any domain, and the options that it takes."""

    make: Callable[..., Workload]
    options: tuple[str, ...] = ()


FAMILIES: dict[str, Family] = {
    "histogram": Family(histogram),
    "total": Family(total),
    "prefix": Family(prefix),
    "all-range": Family(all_range, ("width",)),
    "all-marginals": Family(all_marginals),
    "marginals": Family(marginals, ("order",)),
    "parity": Family(parity, ("order",)),
    "mean": Family(_mean, ("numbers",)),
    "moments": Family(_moments, ("order", "numbers")),
}


@dataclass(frozen=True)
class Wanted:
    """What the caller asks for beside the name: a domain, and options of a family."""

    domain: Domain | None = None
    order: int | None = None
    width: int | None = None
    numbers: tuple[float, ...] | None = None
    """Numbers that the values of an attribute stand for; None for the default."""

    def options(self) -> dict[str, Any]:
        """Return the options that were given."""
        given = {"order": self.order, "width": self.width, "numbers": self.numbers}
        return {name: value for name, value in given.items() if value is not None}


ALIKE = ("weight", "alike")
"""What a query states that counts as much as any other."""


def _alike(table: Any) -> tuple[Any, bool]:
    """Return the table of a query without the weight "alike", and whether it had it."""
    match table:
        case {"weight": "alike", **rest}:
            return rest, True
    return table, False


@dataclass(frozen=True)
class QueryEntry:
    """One `[[query]]` of a file: a primitive on each attribute named, the others summed out."""

    on: Mapping[str, str]
    weight: float = 1.0

    def workload(self, domain: Domain, source: str) -> Workload:
        """Return the Kronecker product of the primitives, total on every attribute not named."""
        if not isinstance(self.on, Mapping):
            raise ValueError(
                f'{source}: on = {self.on!r} is not a table: write for example {{ age = "prefix" }}'
            )
        unknown = [name for name in self.on if name not in domain.names]
        if unknown:
            raise ValueError(
                f"{source}: a query asks about {unknown[0]!r}, but the attributes are "
                f"{', '.join(domain.names)}: name one of these"
            )
        factors = [
            _primitive(self.on.get(one.name, "total"), source)(Domain(one)) for one in domain.attributes
        ]
        product = kron(factors)
        return product if self.weight == 1 else weighted(product, self.weight)

    def even(self, domain: Domain, source: str = "the survey") -> QueryEntry:
        """Return it with the weight with which its errors count as much as those of any other question.

        That is 1/p^(1/2) for its p queries, in two digits.
        """
        many = replace(self, weight=1.0).workload(domain, source).queries
        return replace(self, weight=float(f"{1 / math.sqrt(many):.2g}"))


@dataclass(frozen=True)
class FamilyRecipe:
    """A file that leaves the domain to the caller: a family, and defaults of its options."""

    family: str
    order: int | None = None
    width: int | None = None

    def settled(self, request: Wanted, source: str) -> tuple[Callable[..., Workload], Domain, dict[str, Any]]:
        """Return what makes the family, the caller's domain, and the options; the caller's win over the file's."""
        family = FAMILIES.get(self.family) if isinstance(self.family, str) else None
        if family is None:
            raise ValueError(
                f"{source}: family = {self.family!r}, but the families are {', '.join(FAMILIES)}: "
                "use one of them"
            )
        options = Wanted(order=self.order, width=self.width).options() | request.options()
        refuse_options(options, family.options, source)
        if request.domain is None:
            raise ValueError(
                f"{source} was given no domain, but fits any: add for example domain=64, domain='2^6' or "
                "domain='age=100,sex=2'"
            )
        return family.make, request.domain, options


@dataclass(frozen=True)
class Stated:
    """One `[attributes.NAME]` of a file: bins, labels or a number of values, and what people are asked."""

    bins: str | None = None
    labels: list[str] | None = None
    size: int | None = None
    ordered: bool = False
    other: bool = False
    no_answer: bool = False
    zone: str = ""
    whole: bool = False
    unit: str = ""
    question: str = ""
    column: str = ""
    """The column of a file of answers that holds it, where that has another name."""
    missing: list[str] | None = None
    """Texts of this column that stand for no value; what follows says more on how it is read (see `Policy`)."""
    map: Mapping[str, str] | None = None
    decimal: str | None = None
    date_format: str | None = None

    def reading(self, source: str) -> Reading:
        """Return how the column is read, as far as the file says."""
        texts = [*as_table(self.map or {}, source).values(), *(self.missing or [])]
        known = [self.decimal, self.date_format, self.column]
        if type(self.missing or []) is not list or any(
            type(one) is not str for one in (*texts, *filter(None, known))
        ):
            raise ValueError(
                f'{source}: missing, map, decimal, date_format and column hold texts: write missing = ["999"]'
            )
        given = {"missing": self.missing, "mapping": self.map}
        given |= {"decimal": self.decimal, "date_format": self.date_format}
        found: Reading = {name: value for name, value in given.items() if value}  # type: ignore[assignment]
        with naming(source):
            Policy(**found)
        return found

    def attribute(self, source: str) -> Attribute | int:
        """Return the attribute, which the domain names."""
        given = {"bins": self.bins, "labels": self.labels, "size": self.size}
        known = [name for name, values in given.items() if values is not None]
        texts = isinstance(self.labels, list) and all(isinstance(text, str) for text in self.labels)
        if len(known) != 1 or not (
            texts if self.labels is not None else self.size or isinstance(self.bins, str)
        ):
            raise ValueError(
                f"{source}: bins, labels and size are {', '.join(known) or 'not given'}, but an attribute has one of "
                'them: write for example bins = "18:80:5" or labels = ["no", "yes"]'
            )
        if self.zone and self.bins is None:
            raise ValueError(f"{source}: zone = {self.zone!r}, but is for bins of dates: leave it out")
        if self.whole and self.bins is None:
            raise ValueError(f"{source}: whole = true, but is for bins of whole numbers: leave it out")
        asked: dict[str, Any] = {"no_answer": self.no_answer, "question": self.question}
        if self.bins is not None:
            asked |= {"other": self.other, "zone": self.zone, "whole": self.whole, "unit": self.unit}
            return bins(self.bins, **asked)
        if self.labels is not None:
            return labels(*self.labels, ordered=self.ordered, other=self.other, **asked)
        (one,) = Domain.of(self.size or 0).attributes
        codes = Codes(one.size + self.no_answer + self.other, self.no_answer, self.other)
        return replace(one, values=codes, unit=self.unit, question=self.question)


@dataclass(frozen=True)
class QueryRecipe:
    """A file that fixes its domain: sizes or `[attributes.NAME]`, and one `[[query]]` or more."""

    domain: Mapping[str, int] | None = None
    attributes: Mapping[str, Mapping[str, Any]] | None = None
    query: list[Mapping[str, Any]] | None = None
    epsilon: float | None = None
    """The privacy budget of one person for all queries, where the file states one."""
    data: str = ""
    """The file of answers from which it was planned."""

    def readings(self, source: str) -> dict[str, tuple[str, Reading]]:
        """Return the column of every attribute, and how it is read; an own one names no column of another name."""
        tables = {name: f"{source}, [attributes.{name}]" for name in self.attributes or {}}
        found = {name: build(Stated, (self.attributes or {})[name], at) for name, at in tables.items()}
        return {name: (one.column or name, one.reading(tables[name])) for name, one in found.items()}

    def fixed(self, source: str) -> Domain:
        """Return the domain of the file."""
        if (self.domain is None) == (self.attributes is None):
            raise ValueError(
                f"{source}: the key domain is missing: add it, or state [attributes.NAME] in place of it, not both"
            )
        if self.attributes is None:
            return Domain.of(self.domain)  # type: ignore[arg-type]
        stated = as_table(self.attributes, source, "write [attributes.NAME] for each attribute")
        tables = {name: f"{source}, [attributes.{name}]" for name in stated}
        return Domain.of({name: build(Stated, stated[name], at).attribute(at) for name, at in tables.items()})

    def workload(self, request: Wanted, source: str) -> Workload:
        """Return the stack of the queries."""
        refuse_options(request.options(), (), source)
        domain = self.fixed(source)
        if request.domain is not None and str(request.domain) != str(domain):
            raise ValueError(
                f"{source} fixes its domain {domain}, but was given {request.domain}: leave the domain out"
            )
        return asked_together([one.workload(domain, source) for one in self.entries(source, domain)])

    def entries(self, source: str, domain: Domain) -> list[QueryEntry]:
        """Return the queries, one or more; an epsilon that is none is refused here.

        Of several those of the weight "alike" count as much as any other, whatever they ask.
        """
        if self.epsilon is not None:
            check(self.epsilon)
        if self.query is None:
            raise ValueError(f"{source}: the key query is missing: add one [[query]] or more")
        if not isinstance(self.query, list) or not self.query:
            raise ValueError(f"{source}: query = {self.query!r}, but at least one is needed: write [[query]]")
        tables = list(map(_alike, self.query))
        found = [build(QueryEntry, table, f"{source}, [[query]]") for table, _ in tables]
        both = zip(found, tables, strict=True)
        return [one.even(domain, source) if alike and len(found) > 1 else one for one, (_, alike) in both]


def refuse_options(given: Mapping[str, Any], taken: tuple[str, ...], source: str) -> None:
    """Refuse options that a workload does not take."""
    extra = [name for name in given if name not in taken]
    if extra:
        takes = f"takes {' and '.join(taken)} only" if taken else "takes no options"
        raise ValueError(
            f"{source} was given {extra[0]} = {given[extra[0]]}, but {takes}: leave {extra[0]} out"
        )


def _primitive(name: object, source: str) -> Callable[[Domain], Workload]:
    make = PRIMITIVES.get(name) if isinstance(name, str) else None
    if make is None:
        raise ValueError(
            f"{source}: a query asks for {name!r}, but the primitives are {', '.join(PRIMITIVES)}: "
            "use one of them"
        )
    return make
