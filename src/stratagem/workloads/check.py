"""Checks of arguments that several workloads share, each ending in one sentence."""

import math
import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stratagem.workloads.domain import Domain


def integer(value: object, what: str, low: int, high: int, advice: str) -> int:
    """Return `value` as a Python int when it is a whole number with low <= value <= high.

    Raises:
        ValueError: for anything else, booleans included; `advice` is the end of the sentence.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        shown = repr(value) if number is None else count_text(number)
        raise ValueError(f"{what} is {shown}, but must be a whole number from {low} to {high}: {advice}")
    return number


def order(value: object, domain: "Domain") -> int:
    """Return the order (how many attributes a query may touch), 0 <= order <= attributes of the domain.

    Raises:
        ValueError: when the domain has fewer attributes than the order asks for.
    """
    advice = f"lower the order, or name more attributes than {domain} has, for example --domain 2^6"
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


def as_float(count: int, what: str) -> float:
    """Return a count as a float.

    Raises:
        ValueError: when it exceeds the largest float64, about 1.8e308.
    """
    try:
        return float(count)
    except OverflowError:
        raise ValueError(
            f"{what} is {count_text(count)}, above the largest float64 (about 10^308): "
            "work per user type, or use fewer attributes"
        ) from None


def entries(count: int, limit: int, what: str, advice: str) -> None:
    """Refuse to allocate more than `limit` numbers at once.

    Raises:
        ValueError: when count > limit.
    """
    if count > limit:
        raise ValueError(
            f"{what} would hold {count_text(count)} numbers, above the limit of {limit}: {advice}"
        )


def count_text(count: int) -> str:
    """Write a count out, or as a power of ten when nobody would read the digits."""
    return str(count) if abs(count) < 10**15 else f"about {'-' * (count < 0)}10^{math.log10(abs(count)):.0f}"
