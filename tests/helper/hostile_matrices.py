"""Files of matrices whose headers lie, or hold anything but numbers; and whole ones, cut and changed by chance."""

import io
import random
import struct
import zipfile
from pathlib import Path

import numpy as np

SUFFIXES = (".npy", ".npz", ".mat", ".csv", ".parquet")


def npy(
    shape: str = "(4, 4)",
    kind: str = "'<f8'",
    *,
    columns: bool = False,
    data: bytes = bytes(128),
    version: tuple[int, int] = (1, 0),
    header: str | None = None,
) -> bytes:
    """Return a .npy file with any header."""
    text = header or f"{{'descr': {kind}, 'fortran_order': {columns}, 'shape': {shape}, }}"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes(version) + length + text.encode("latin-1") + b"\n" + data


HEADERS = {
    "huge": npy(f"({2**62}, {2**62})"),
    "beyond 64 bits": npy(f"({10**30},)"),
    "beyond 64 bits and empty": npy(f"(0, {10**30})"),
    "many rows of nothing": npy(f"({2**40}, 0)"),
    "product beyond 64 bits": npy(f"({2**33}, {2**33})"),
    "negative": npy("(-4, -4)"),
    "cut short": npy(data=bytes(17)),
    "objects": npy(kind="'|O'"),
    "pickled": npy(kind="'|O'", data=b"cos\nsystem\n(S'false'\ntR."),
    "records": npy(kind="[('a', '<f8'), ('b', '<f8')]"),
    "arrays in arrays": npy("(1,)", "('<f8', (10000000, 10000000))"),
    "nothing, very often": npy("(10000000000000,)", "'|V0'"),
    "empty texts, very often": npy("(10000000000, 4)", "'|S0'"),
    "an item of 10 GB": npy(kind="'<U9999999999'"),
    "times": npy(kind="'<M8[s]'"),
    "no shape": npy("'ab'"),
    "fractions of rows": npy("(4.0, 4)"),
    "a power": npy("(9**9**9, 4)"),
    "deep": npy(header="(" * 400 + ")" * 400),
    "long": npy(f"({'1,' * 40_000})", version=(2, 0)),
    "length beyond the file": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
    "unknown version": npy(version=(9, 0)),
    "zero bytes": npy(header="{'descr': '<f8\0'}"),
    "many axes": npy(f"({'1,' * 5000})", data=bytes(8)),
}
"""No array of numbers: every reader refuses it."""


def npz(member: bytes, name: str = "strategy.npy") -> bytes:
    """Return an archive of one member."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, member)
    return packed.getvalue()


def whole(suffix: str) -> bytes:
    """Return a file of a good matrix."""
    from scipy.io import savemat

    matrix, file = np.full((4, 4), 0.2) + 0.2 * np.eye(4), io.BytesIO()
    match suffix:
        case ".npy":
            np.save(file, matrix)
        case ".npz":
            np.savez(file, strategy=matrix)
        case ".mat":
            savemat(file, {"strategy": matrix}, do_compression=True)
        case ".csv":
            np.savetxt(file, matrix, delimiter=",")
        case _:
            return _parquet(matrix)
    return file.getvalue()


def _parquet(matrix: np.ndarray) -> bytes:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    file = pa.BufferOutputStream()
    write_table(pa.table({f"u{k}": column for k, column in enumerate(matrix.T)}), file)
    return file.getvalue().to_pybytes()


def lying_mat(draw: random.Random) -> bytes:
    """Return a .mat file whose sizes, kinds and names are changed by chance."""
    from scipy.io import savemat

    file = io.BytesIO()
    savemat(file, {"strategy": np.eye(4)})
    raw = bytearray(file.getvalue())
    place = draw.randrange(128, 200, 4)
    raw[place : place + 4] = struct.pack("<I", draw.choice((0, 2**31, 2**32 - 1, 2**28, 15, 14, 7)))
    return bytes(raw)


def matrices(seed: int, count: int) -> list[tuple[str, str, bytes]]:
    """Return names, suffixes and contents of hostile files of matrices: the named ones come first."""
    draw = random.Random(f"{seed} matrices")
    found = [(name, suffix, body) for name, body in HEADERS.items() for suffix in (".npy", ".npz")]
    draw.shuffle(found)
    found = found[: count // 2]
    while len(found) < count:
        suffix, number = draw.choice(SUFFIXES), len(found)
        body = bytearray(lying_mat(draw) if suffix == ".mat" and draw.random() < 0.6 else whole(suffix))
        for _ in range(draw.choice((0, 1, 4))):
            body[draw.randrange(len(body))] ^= 1 << draw.randrange(8)
        kept = draw.choice((len(body), draw.randrange(len(body))))
        found.append((f"chance {number}", suffix, bytes(body[:kept])))
    return [
        (name, suffix, npz(body) if name in HEADERS and suffix == ".npz" else body)
        for name, suffix, body in found
    ]


def write(folder: Path, suffix: str, body: bytes) -> Path:
    path = folder / f"hostile{suffix}"
    path.write_bytes(body)
    return path
