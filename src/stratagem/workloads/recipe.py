"""Recipes of workloads, as the entries of the catalogue and .toml files hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stratagem.io.toml import build
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
from stratagem.workloads.explicit import power_queries

PRIMITIVES: dict[str, Callable[[Domain], Workload]] = {
    "identity": histogram,
    "total": total,
    "prefix": prefix,
    "all-range": all_range,
}


def _numbers(domain: Domain, numbers: Sequence[float] | None) -> Sequence[float]:
    """Return the numbers that the values of one attribute stand for, by default 0, 1, 2, ...

    Raises:
        ValueError: for a domain of several attributes.
    """
    if len(domain.sizes) > 1:
        raise ValueError(
            f"the domain {domain} has {len(domain.sizes)} attributes: name the one that is a number"
        )
    return range(domain.size) if numbers is None else numbers


def _mean(domain: Domain, numbers: Sequence[float] | None = None) -> Workload:
    return _moments(domain, 1, numbers)


def _moments(domain: Domain, order: int, numbers: Sequence[float] | None = None) -> Workload:
    number = None if numbers is None else f"the bin middles of {domain.attributes[0]}"
    return power_queries(_numbers(domain, numbers), order, domain, number)


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
class Request:
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


@dataclass(frozen=True)
class Query:
    """One `[[query]]` of a file: a primitive on each attribute named, the others summed out."""

    on: Mapping[str, str]
    weight: float = 1.0

    def workload(self, domain: Domain, source: str) -> Workload:
        """Return the Kronecker product of the primitives, total on every attribute not named.

        Raises:
            ValueError: for an attribute outside the domain or an unknown primitive.
        """
        if not isinstance(self.on, Mapping):
            raise ValueError(
                f'{source}: on = {self.on!r} is not a table: write for example {{ age = "prefix" }}'
            )
        unknown = [name for name in self.on if name not in domain.attributes]
        if unknown:
            raise ValueError(
                f"{source}: a query asks about {unknown[0]!r}, but the attributes are "
                f"{', '.join(domain.attributes)}: name one of these"
            )
        factors = [
            _primitive(self.on.get(name, "total"), source)(Domain((name,), (size,)))
            for name, size in zip(domain.attributes, domain.sizes, strict=True)
        ]
        product = kron(factors)
        return product if self.weight == 1 else weighted(product, self.weight)


@dataclass(frozen=True)
class FamilyRecipe:
    """A file that leaves the domain to the caller: a family, and defaults of its options."""

    family: str
    order: int | None = None
    width: int | None = None

    def workload(self, request: Request, source: str) -> Workload:
        """Return the family's workload on the caller's domain; the caller's options win over the file's.

        Raises:
            ValueError: for no domain, an unknown family, or an option that it does not take.
        """
        family = FAMILIES.get(self.family) if isinstance(self.family, str) else None
        if family is None:
            raise ValueError(
                f"{source}: family = {self.family!r}, but the families are {', '.join(FAMILIES)}: "
                "use one of them"
            )
        options = Request(order=self.order, width=self.width).options() | request.options()
        refuse_options(options, family.options, source)
        if request.domain is None:
            raise ValueError(
                f"{source} was given no domain, but fits any: add for example domain=64, domain='2^6' or "
                "domain='age=100,sex=2'"
            )
        return family.make(request.domain, **options)


@dataclass(frozen=True)
class QueryRecipe:
    """A file that fixes its domain: a table of sizes, and one `[[query]]` or more."""

    domain: Mapping[str, int]
    query: list[Mapping[str, Any]]

    def workload(self, request: Request, source: str) -> Workload:
        """Return the stack of the queries.

        Raises:
            ValueError: for another domain than the file's, any option, or queries that do not fit the domain.
        """
        refuse_options(request.options(), (), source)
        domain = Domain.of(self.domain)
        if request.domain not in (None, domain):
            raise ValueError(
                f"{source} fixes its domain {domain}, but was given {request.domain}: leave the domain out"
            )
        if not isinstance(self.query, list) or not self.query:
            raise ValueError(f"{source}: query = {self.query!r}, but at least one is needed: write [[query]]")
        parts = [build(Query, table, f"{source}, [[query]]").workload(domain, source) for table in self.query]
        return parts[0] if len(parts) == 1 else stack(parts)


def refuse_options(given: Mapping[str, Any], taken: tuple[str, ...], source: str) -> None:
    """Refuse options that a workload does not take.

    Raises:
        ValueError: naming the first such option and those that are taken.
    """
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
