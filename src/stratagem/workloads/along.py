"""Queries about some attributes of a domain, the others summed out."""

from collections.abc import Callable, Iterable

from stratagem.workloads import Domain, Workload, kron, total


def along(domain: Domain, attributes: Iterable[str], kind: Callable[..., Workload]) -> Workload:
    """Return the workload that asks `kind` of each named attribute together and sums out the others.

    Raises:
        ValueError: for an attribute that is unknown or named twice.
    """
    chosen = list(attributes)
    for name in chosen:
        if name not in domain.attributes:
            raise ValueError(
                f"{name!r} was given as an attribute, but the domain has {', '.join(domain.attributes[:20])}: "
                "name one of these"
            )
        if chosen.count(name) > 1:
            raise ValueError(f"attribute {name!r} was given {chosen.count(name)} times: name it once")
    return kron(
        (kind if name in chosen else total)({name: size})
        for name, size in zip(domain.attributes, domain.sizes, strict=True)
    )
