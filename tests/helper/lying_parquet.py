"""Parquet files whose statistics say something else than their values."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

LAST = slice(-8, -4)
"""Place of the length of the footer, which ends 8 bytes before the file."""


def write(path: Path, columns: Mapping[str, pa.Array], lies: Sequence[tuple[pa.Scalar, pa.Scalar]]) -> Path:
    """Write columns, then put in the footer what is stated of them: of each pair the second in place of the first."""
    options = {"use_dictionary": False, "compression": "none", "store_schema": False}
    pyarrow.parquet.write_table(pa.table(dict(columns)), path, **options)
    raw = bytearray(path.read_bytes())
    footer = slice(len(raw) - 8 - struct.unpack("<I", raw[LAST])[0], len(raw) - 8)
    stated = bytes(raw[footer])
    for true, false in lies:
        old, new = (stored(one) for one in (true, false))
        assert len(old) == len(new)
        assert old in stated, f"the file states nothing about {true}"
        stated = stated.replace(old, new)
    raw[footer] = stated
    path.write_bytes(raw)
    return path


def stored(value: pa.Scalar) -> bytes:
    """Return a value as statistics hold it: a text as it is, a number of at least 32 bits in little-endian bytes."""
    if pa.types.is_string(value.type):
        return value.as_py().encode()
    return value.as_py().to_bytes(8 if value.type.bit_width == 64 else 4, "little", signed=True)
