"""The catalogue of workloads and solvers: entries by name, and the recipes that they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from stratagem.io.toml import build, naming, nearest, read_table
from stratagem.workloads import (
    Domain,
    DomainLike,
    Workload,
    all_marginals,
    all_range,
    explicit,
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
from stratagem.workloads.matrix_file import read_matrix

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


KINDS = ("workloads", "solvers")
MATRIX_SUFFIXES = (".npy", ".csv")
HEADER = ("title", "reference")


@dataclass(frozen=True)
class Entry:
    """One file of a catalogue: its header, and `settings`, the keys that its kind reads."""

    source: str
    title: str
    reference: str
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
    """Return one entry of a catalogue.

    Raises:
        ValueError: for an unknown name, with the nearest ones.
    """
    if name not in (known := names(kind)):
        raise ValueError(f"{name!r} is not in the catalogue of {kind}: {nearest(name, known)}")
    return read_entry(folder(kind) / f"{name}.toml", f"{kind.removesuffix('s')} {name}")


def read_entry(path: Path, source: str) -> Entry:
    """Read a TOML file as an entry; `source` is how errors name it.

    Raises:
        ValueError: for a file that is not TOML, or a title or reference that is not text.
    """
    table = read_table(path)
    header = {key: table.pop(key, "") for key in HEADER}
    for key, text in header.items():
        if not isinstance(text, str):
            raise ValueError(f"{source}: {key} = {text!r} is not text: put it in quotation marks")
    return Entry(source, header["title"], header["reference"], table)


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
    request = Request(None if domain is None else Domain.of(domain), order, width, stood)
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


def _entry_of(name: str | Path) -> Entry | None:
    """Return the entry of a name in the catalogue or of a .toml file, None for anything else."""
    if isinstance(name, str) and name in names("workloads"):
        return entry("workloads", name)
    path = Path(name)
    return read_entry(path, str(path)) if path.suffix.lower() == ".toml" else None


def _from_entry(entry: Entry, request: Request) -> Workload:
    recipe = FamilyRecipe if "family" in entry.settings else QueryRecipe
    with naming(entry.source):
        return build(recipe, entry.settings, entry.source, also=HEADER).workload(request, entry.source)


def _from_matrix(path: Path, request: Request) -> Workload:
    refuse_options(request.options(), (), str(path))
    with naming(str(path)):
        return explicit(read_matrix(path), request.domain)


def folder(kind: str) -> Path:
    """Return the folder of a catalogue: inside the installed package, or at the root of a checkout.

    Raises:
        ValueError: for an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(
            f"{kind!r} was given as a catalogue, but there are {' and '.join(KINDS)}: use one of them"
        )
    package = Path(__file__).resolve().parents[1]
    installed = package / "_catalogue" / kind
    return installed if installed.is_dir() else package.parents[1] / kind


WorkloadLike = Workload | str | Path | ArrayLike
"""A workload, its name in the catalogue, the path of a .toml, .npy or .csv file, or queries as a matrix (p x n)."""


def workload_of(given: WorkloadLike, domain: DomainLike | None = None) -> Workload:
    """Return the workload itself, the one of a name or path as `load` reads it, or the one of a matrix.

    `domain` is that of a name which fits any, or names the columns of a matrix.

    >>> workload_of("prefix", 8).queries, workload_of([[1, 0], [1, 1]]).domain_size
    (8, 2)

    Raises:
        ValueError: for a workload with a domain beside its own; and as `load` and `explicit`.
    """
    if isinstance(given, str | Path):
        return load(given, domain=domain)
    if not isinstance(given, Workload):
        return explicit(given, domain)  # type: ignore[arg-type]
    if domain is not None:
        raise ValueError(
            f"domain {domain} was given with a workload over domain {given.domain}: leave it out"
        )
    return given
