"""Workloads: what is asked of the data, as an algebra of linear queries.

A domain is given as 64, "2^6", "age=100,sex=2", a dict of sizes, or a `Domain`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from stratagem.domain import Attribute as Attribute
from stratagem.domain import Bin as Bin
from stratagem.domain import Bins as Bins
from stratagem.domain import Codes as Codes
from stratagem.domain import Domain
from stratagem.domain import Labels as Labels
from stratagem.math.number import array
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.explicit import Explicit, power_queries
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.marginals import Marginals, Parity
from stratagem.workloads.merged import answered, padded
from stratagem.workloads.product import Product
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.workload import OPERATIONS, Workload

DomainLike = Domain | Attribute | int | str | Mapping[str, Any] | Sequence[int]


def histogram(domain: DomainLike) -> Workload:
    """Count the users in every cell.

    >>> histogram(8).queries
    8
    """
    return Identity(Domain.of(domain))


def total(domain: DomainLike) -> Workload:
    """Count all users: one query."""
    return Total(Domain.of(domain))


def prefix(domain: DomainLike) -> Workload:
    """Count the users at or below each value of one ordered attribute.

    Where a last value stands for no answer, it and the value "other" count in no query: the last prefix counts
    those who gave one of the others.

    >>> prefix(4).answer([5, 0, 2, 1]).tolist()
    [5.0, 5.0, 7.0, 8.0]
    """
    domain = Domain.of(domain)
    return padded(Prefix(answered(domain)), domain)


def all_range(domain: DomainLike, width: int | None = None) -> Workload:
    """Count the users in every range of at most `width` consecutive values, by default in every range.

    Values for no answer count as `prefix` says.

    >>> all_range(4096).queries
    8390656
    """
    domain = Domain.of(domain)
    ordered = answered(domain)
    return padded(AllRange(ordered, ordered.sizes[0] if width is None else width), domain)


def marginals(domain: DomainLike, order: int) -> Workload:
    """Ask for the table of every set of exactly `order` attributes.

    >>> marginals("2^100", 3).queries
    1293600
    """
    return Marginals(Domain.of(domain), (order,))


def all_marginals(domain: DomainLike) -> Workload:
    """Ask for the table of every set of attributes, from the total to the full table."""
    domain = Domain.of(domain)
    return Marginals(domain, tuple(range(len(domain.sizes) + 1)))


def parity(domain: DomainLike, order: int | None = None) -> Workload:
    """Ask for every character of the domain that touches at most `order` attributes, by default for all."""
    domain = Domain.of(domain)
    return Parity(domain, len(domain.sizes) if order is None else order)


def explicit(rows: ArrayLike, domain: DomainLike | None = None) -> Workload:
    """Ask the rows of a p x n matrix, dense or sparse; a predicate is a row of 0 and 1.

    >>> explicit([[1, 1, 0], [0, 1, 1]]).domain_size
    3
    """
    return Explicit.of(rows, None if domain is None else Domain.of(domain))


def mean(values: ArrayLike, domain: DomainLike | None = None) -> Workload:
    """Ask the sum of one number a user, in the units of the values: over the number of users it is their mean.

    `values` (n,) are finite numbers, the one of each user type; a constant added to all of them changes no
    variance. The domain names the types; by default it is one attribute `value`.

    >>> mean([18.0, 35.0, 60.0]).answer([1, 0, 1]).tolist()
    [78.0]

    Raises:
        ValueError: for values that are not finite numbers, one for each user type, or all zero.
    """
    return moments(values, 1, domain)


def moments(values: ArrayLike, order: int, domain: DomainLike | None = None) -> Workload:
    """Ask the sums of the first `order` powers of one number a user, each in the units of the values.

    Query j is sum_u x_u v_u^j/M^(j - 1) with M = max |v|: every power is divided by powers of the largest value,
    so that none outweighs the others. The mean of v^j is the answer times M^(j - 1) over the number of users.

    >>> moments([1.0, 2.0, 4.0], 2).matrix().tolist()
    [[1.0, 2.0, 4.0], [0.25, 1.0, 4.0]]

    Raises:
        ValueError: as `mean`, and for an order that is no whole number from 1 to 8.
    """
    return power_queries(values, order, None if domain is None else Domain.of(domain))


def kron(factors: Iterable[Workload | ArrayLike]) -> Workload:
    """Ask every combination of one query from each factor, over the factors' attributes together.

    A factor is a workload or a matrix (p x n), dense or sparse.

    >>> kron([prefix({"age": 100}), histogram({"sex": 2})]).queries
    200
    """
    return Product(tuple(map(_part, factors)))


def stack(parts: Iterable[Workload | ArrayLike]) -> Workload:
    """Ask the queries of every part, a workload or a matrix (p x n), all over one domain."""
    return Stack(tuple(map(_part, parts)))


def weighted(workload: Workload | ArrayLike, weight: float) -> Workload:
    """Multiply every query of a workload or a matrix (p x n) by a weight."""
    return Weighted(_part(workload), weight)


def _part(given: Any) -> Any:
    """Return the workload of a matrix, and anything else as it is."""
    return given if isinstance(given, Workload) or array(given).ndim != 2 else explicit(given)


OPERATIONS |= {"stack": stack, "weighted": weighted}

__all__ = [
    "Domain",
    "DomainLike",
    "Workload",
    "all_marginals",
    "all_range",
    "explicit",
    "histogram",
    "kron",
    "marginals",
    "mean",
    "moments",
    "parity",
    "prefix",
    "stack",
    "total",
    "weighted",
]


def along(domain: Domain, attributes: Iterable[str], kind: Callable[..., Workload]) -> Workload:
    """Return the workload that asks `kind` of each named attribute together and sums out the others."""
    chosen = list(attributes)
    for name in chosen:
        if name not in domain.names:
            raise ValueError(
                f"{name!r} was given as an attribute, but the domain has {', '.join(domain.names[:20])}: "
                "name one of these"
            )
        if chosen.count(name) > 1:
            raise ValueError(f"attribute {name!r} was given {chosen.count(name)} times: name it once")
    return kron((kind if one.name in chosen else total)(Domain(one)) for one in domain.attributes)
