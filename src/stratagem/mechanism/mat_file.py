"""Matrices in MATLAB's files of level 5 (versions 5 to 7), read without trust.

SciPy's reader crashes the process at some damaged files; this one reads matrices of numbers alone.

Reference:
    MathWorks, "MAT-File Format", level 5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""NumPy data types of the number types in a file."""
MATRIX, COMPRESSED = 14, 15
NUMERIC_CLASSES = range(6, 16)
"""Classes of arrays of numbers: double, single and the integers."""
IMAGINARY = 0x0800
HEADER = 128


class Variable(NamedTuple):
    """An array of a file, whose numbers are not parsed yet."""

    numeric: bool
    """Whether it is a real matrix of numbers; `numbers` reads no other kind."""
    shape: tuple[int, ...]
    kind: int
    data: bytes

    def numbers(self, order: str) -> np.ndarray:
        """Return the matrix of doubles.

        Raises:
            ValueError: for anything but a real matrix of numbers, all of them there.
        """
        if not self.numeric or self.kind not in NUMBERS or len(self.shape) != 2:
            raise ValueError("it is no real matrix of numbers")
        flat = np.frombuffer(self.data, dtype=order + NUMBERS[self.kind])
        return flat.reshape(self.shape, order="F").astype(float)


def read_mat(raw: bytes, limit: int) -> tuple[dict[str, Variable], str]:
    """Return the variables of a file by name and its byte order, < or >; at most `limit` bytes unpacked.

    Raises:
        ValueError: for another format or a damaged file; the reason alone.
    """
    order = {b"IM": "<", b"MI": ">"}.get(raw[126:HEADER])
    if order is None or struct.unpack(order + "H", raw[124:126]) != (0x0100,):
        raise ValueError("it is no MATLAB file of version 5 to 7")
    try:
        found = dict(_variables(raw[HEADER:], order, limit))
    except (struct.error, zlib.error, IndexError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is damaged") from None
    return found, order


def _variables(raw: bytes, order: str, limit: int) -> Iterator[tuple[str, Variable]]:
    for kind, data in _elements(raw, order):
        if kind == COMPRESSED:
            unpacked = zlib.decompressobj().decompress(data, limit)
            limit -= len(unpacked)
            if limit <= 0:
                raise ValueError("it unpacks to more than fits into memory")
            yield from _variables(unpacked, order, limit)
        elif kind == MATRIX:
            parts = list(_elements(data, order))
            flags = struct.unpack(order + "I", parts[0][1][:4])[0]
            shape = struct.unpack(f"{order}{len(parts[1][1]) // 4}i", parts[1][1])
            numeric = flags & 0xFF in NUMERIC_CLASSES and not flags & IMAGINARY and min(shape, default=0) > 0
            name = parts[2][1].decode("ascii")
            yield name, Variable(numeric and len(parts) == 4, shape, *parts[3 if numeric else 2])


def _elements(raw: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield type and data of the elements that follow one another; all but compressed ones fill 8 bytes."""
    place = 0
    while place < len(raw):
        kind, size = struct.unpack_from(order + "II", raw, place)
        begin = place + 8
        if kind >> 16:  # a small element: its size in the upper half, its data where the size would be
            kind, size, begin = kind & 0xFFFF, kind >> 16, place + 4
            place += 8
        else:
            place = begin + size + (-size % 8 if kind != COMPRESSED else 0)
        if begin + size > len(raw):
            raise ValueError("it is cut short")
        yield kind, raw[begin : begin + size]
