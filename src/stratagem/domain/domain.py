"""The domain of a user's value: attributes that know their values."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import Bins
from stratagem.domain.values import Codes, Labels
from stratagem.io.screen import WIDTH
from stratagem.math.number import integer

ALONE = "value"
"""Name of an attribute that nobody names."""
MAX_SIZE = 2**53  # whole numbers up to here are exact in float64
MAX_ATTRIBUTES = 100_000
SHOWN = 20
"""Attributes that a line can hold."""
FORMS = "write a domain as 64, as 2^6 (six binary attributes) or as age=100,sex=2"


@dataclass(frozen=True, init=False)
class Domain:
    """All combinations of values of named attributes; a cell is one combination.

    Cells are numbered in row-major (C) order: the last attribute varies fastest.
    `size` is the number of cells, a Python int without any limit.

    >>> Domain.of("age=100,sex=2").size
    200
    >>> Domain(delay=Bins.parse("0:60:20"), day=Labels(("Monday", "Tuesday"))).sizes
    (3, 2)

    Raises:
        ValueError: for no attributes, or others in their place, a repeated or unusable name, a size outside 1..2^53.
    """

    attributes: tuple[Attribute, ...]

    def __init__(self, *attributes: Attribute, **values: int | Codes | Labels | Bins | Attribute) -> None:
        """Take attributes, and after them others by name, each with its values or their number."""
        named = (_attribute(name, given) for name, given in values.items())
        object.__setattr__(self, "attributes", (*attributes, *named))
        if not 1 <= len(self.attributes) <= MAX_ATTRIBUTES:
            raise ValueError(
                f"a domain was given {len(self.attributes)} attributes, but needs 1 to {MAX_ATTRIBUTES}: {FORMS}"
            )
        try:
            name, times = Counter(self.names).most_common(1)[0]
        except AttributeError:
            raise ValueError(
                f"a domain was given {attributes}, but takes attributes: call Domain.of for a text, a list of sizes or "
                "a mapping"
            ) from None
        if times > 1:
            raise ValueError(
                f"attribute {name!r} was named {times} times, but names must differ: rename all but one"
            )

    @staticmethod
    def sized(names: Iterable[str], sizes: Iterable[Any]) -> Domain:
        """Return the domain of attributes with these names, and numbers of values or values.

        Raises:
            ValueError: as the constructor, or for a size outside 1..2^53.
        """
        pairs = zip(names, sizes, strict=True)
        return Domain(*(_attribute(name, values) for name, values in pairs))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(one.name for one in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(one.size for one in self.attributes)

    @staticmethod
    def of(value: Domain | Attribute | int | str | Mapping[str, Any] | Sequence[int]) -> Domain:
        """Read a domain from a number of cells, a mapping from names to sizes or values, a list of sizes, or text.

        An int n gives one attribute named `value`; the sizes [7, 16] give a1 and a2, the text `2^6` a1, ..., a6.

        Raises:
            ValueError: for anything that is not one of these forms.
        """
        if isinstance(value, Domain):
            return value
        if isinstance(value, Attribute):
            return Domain(value)
        if isinstance(value, Mapping):
            return Domain.sized(value.keys(), value.values())
        if isinstance(value, str):
            return _parse(value)
        if isinstance(value, Sequence):
            return Domain.sized(_numbered(len(value)), value)
        return Domain.sized((ALONE,), (value,))

    @property
    def size(self) -> int:
        """The number of cells, prod(sizes)."""
        return math.prod(self.sizes)

    @property
    def described(self) -> bool:
        """Whether anything is known of the values beside their numbers."""
        return any(one.values.entry() or one.unit for one in self.attributes)

    def part(self, places: Sequence[int]) -> Domain:
        """Return the domain of some of the attributes, by their places."""
        return Domain(*(self.attributes[i] for i in places))

    def __repr__(self) -> str:
        """Return the attributes with what their values are, in a line."""
        text = ", ".join(map(str, self.attributes[:SHOWN])) if self.described else str(self)
        return f"Domain({text if len(text) <= WIDTH else f'{text[: WIDTH - 3]}...'})"

    def __str__(self) -> str:
        """The shortest text that `Domain.of` reads back."""
        if self.names == (ALONE,):
            return str(self.sizes[0])
        if len(set(self.sizes)) == 1 and self.names == _numbered(len(self.sizes)):
            return f"{self.sizes[0]}^{len(self.sizes)}"
        return ",".join(f"{name}={size}" for name, size in zip(self.names, self.sizes, strict=True))


def _attribute(name: str, given: object) -> Attribute:
    """Return the attribute of a name, whose values may be given by their number."""
    if isinstance(given, Attribute):
        return replace(given, name=name)
    if not isinstance(given, Codes | Labels | Bins):
        given = Codes(integer(given, f"the size of attribute {name!r}", 1, MAX_SIZE, FORMS))
    return Attribute(name, given)


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in range(1, count + 1))


def _parse(text: str) -> Domain:
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,16}", text):
        return Domain.sized((ALONE,), (int(text),))
    if power := re.fullmatch(r"([0-9]{1,16})\s*\^\s*([0-9]{1,9})", text):
        count = integer(int(power[2]), "the number of attributes", 1, MAX_ATTRIBUTES, FORMS)
        return Domain.sized(_numbered(count), (int(power[1]),) * count)
    pairs = [re.fullmatch(r"\s*([^=]*[^=\s])\s*=\s*([0-9]{1,16})\s*", part) for part in text.split(",")]
    if all(pairs):
        return Domain.sized((pair[1] for pair in pairs if pair), (int(pair[2]) for pair in pairs if pair))
    shown = text if len(text) <= 60 else text[:57] + "..."
    raise ValueError(f"{shown!r} was given as a domain, but is not one: {FORMS}")


def check_order(value: object, domain: Domain) -> int:
    """Return the order (how many attributes a query may touch), 0 <= order <= attributes of the domain.

    Raises:
        ValueError: when the domain has fewer attributes than the order asks for.
    """
    advice = f"lower the order, or name more attributes than {domain} has, for example domain='2^6'"
    return integer(value, "the order", 0, len(domain.sizes), advice)


def check_one_attribute(domain: Domain, what: str) -> int:
    """Return the size of the only attribute of `domain`."""
    size, *others = domain.sizes
    if others:
        raise ValueError(
            f"{what} was given the {len(domain.sizes)} attributes of domain {domain}, but is defined along "
            "one attribute: name one attribute, or combine one workload an attribute with kron"
        )
    return size
