"""Checks of arguments that several workloads share, each ending in one sentence."""

from typing import TYPE_CHECKING

from stratagem.math.number import integer

if TYPE_CHECKING:
    from stratagem.workloads.domain import Domain


def order(value: object, domain: "Domain") -> int:
    """Return the order (how many attributes a query may touch), 0 <= order <= attributes of the domain.

    Raises:
        ValueError: when the domain has fewer attributes than the order asks for.
    """
    advice = f"lower the order, or name more attributes than {domain} has, for example domain='2^6'"
    return integer(value, "the order", 0, len(domain.sizes), advice)


def one_attribute(domain: "Domain", what: str) -> int:
    """Return the size of the only attribute of `domain`.

    Raises:
        ValueError: when there are several, because an order along the cells would be arbitrary.
    """
    size, *others = domain.sizes
    if others:
        raise ValueError(
            f"{what} was given the {len(domain.sizes)} attributes of domain {domain}, but is defined along "
            "one attribute: name one attribute, or combine one workload an attribute with kron"
        )
    return size
