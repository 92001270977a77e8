"""The domain of a user's value: named attributes and their sizes."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stratagem.io.screen import brief
from stratagem.math.number import integer

MAX_SIZE = 2**53  # whole numbers up to here are exact in float64
MAX_ATTRIBUTES = 100_000
FORMS = "write a domain as 64, as 2^6 (six binary attributes) or as age=100,sex=2"


@dataclass(frozen=True)
class Domain:
    """All combinations of values of named attributes; a cell is one combination.

    Cells are numbered in row-major (C) order: the last attribute varies fastest.
    `size` is the number of cells, a Python int without any limit.

    >>> Domain.of("age=100,sex=2").size
    200

    Raises:
        ValueError: for no attributes, a repeated or unusable name, or a size outside 1..2^53.
    """

    attributes: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self):
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not 1 <= len(self.attributes) <= MAX_ATTRIBUTES or len(self.attributes) != len(self.sizes):
            raise ValueError(
                f"a domain was given {len(self.attributes)} attributes and {len(self.sizes)} sizes, but "
                f"needs one size for each of 1 to {MAX_ATTRIBUTES} attributes: {FORMS}"
            )
        _check_names(self.attributes)
        sizes = (_size(name, size) for name, size in zip(self.attributes, self.sizes, strict=True))
        object.__setattr__(self, "sizes", tuple(sizes))

    @staticmethod
    def of(value: "Domain | int | str | Mapping[str, int] | Sequence[int]") -> "Domain":
        """Read a domain from a number of cells, a mapping from names to sizes, a list of sizes, or text.

        An int n gives one attribute named `value`; the sizes [7, 16] give a1 and a2, the text `2^6` a1, ..., a6.

        Raises:
            ValueError: for anything that is not one of these forms.
        """
        if isinstance(value, Domain):
            return value
        if isinstance(value, Mapping):
            return Domain(tuple(value.keys()), tuple(value.values()))
        if isinstance(value, str):
            return _parse(value)
        if isinstance(value, Sequence):
            return Domain(_numbered(len(value)), tuple(value))
        return Domain(("value",), (value,))

    @property
    def size(self) -> int:
        """The number of cells, prod(sizes)."""
        return math.prod(self.sizes)

    def part(self, places: Sequence[int]) -> "Domain":
        """Return the domain of some of the attributes, by their places."""
        return Domain(tuple(self.attributes[i] for i in places), tuple(self.sizes[i] for i in places))

    __repr__ = brief

    def __str__(self) -> str:
        """The shortest text that `Domain.of` reads back."""
        if self.attributes == ("value",):
            return str(self.sizes[0])
        if len(set(self.sizes)) == 1 and self.attributes == _numbered(len(self.sizes)):
            return f"{self.sizes[0]}^{len(self.sizes)}"
        return ",".join(f"{name}={size}" for name, size in zip(self.attributes, self.sizes, strict=True))


def _size(name: str, size: object) -> int:
    return integer(size, f"the size of attribute {name!r}", 1, MAX_SIZE, FORMS)


def _check_names(attributes: tuple[str, ...]) -> None:
    for name in attributes:
        usable = isinstance(name, str) and name and name.isprintable() and name == name.strip()
        if not usable or "=" in name or "," in name:
            raise ValueError(
                f"{name!r} was given as the name of an attribute, but a name is printable text without "
                "'=', ',' or outer spaces: rename it"
            )
    name, times = Counter(attributes).most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"attribute {name!r} was named {times} times, but names must differ: rename all but one"
        )


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"a{i}" for i in range(1, count + 1))


def _parse(text: str) -> Domain:
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,16}", text):
        return Domain(("value",), (int(text),))
    if power := re.fullmatch(r"([0-9]{1,16})\s*\^\s*([0-9]{1,9})", text):
        count = integer(int(power[2]), "the number of attributes", 1, MAX_ATTRIBUTES, FORMS)
        return Domain(_numbered(count), (int(power[1]),) * count)
    pairs = [re.fullmatch(r"\s*([^=]*[^=\s])\s*=\s*([0-9]{1,16})\s*", part) for part in text.split(",")]
    if all(pairs):
        return Domain(tuple(pair[1] for pair in pairs if pair), tuple(int(pair[2]) for pair in pairs if pair))
    shown = text if len(text) <= 60 else text[:57] + "..."
    raise ValueError(f"{shown!r} was given as a domain, but is not one: {FORMS}")
