"""Workloads as plain data, for files that carry no code."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.domain import Domain
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.marginals import Marginals, Parity
from stratagem.workloads.merged import Padded
from stratagem.workloads.product import Product
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.workload import Array, Workload

KINDS: dict[str, type[Workload]] = {
    "identity": Identity,
    "total": Total,
    "prefix": Prefix,
    "all-range": AllRange,
    "marginals": Marginals,
    "parity": Parity,
    "explicit": Explicit,
    "kron": Product,
    "stack": Stack,
    "weighted": Weighted,
    "padded": Padded,
}
OPTIONAL = "names"
"""The field that is left out where it is empty, as in files from before there were names."""
MAX_DEPTH = 50  # nesting, far below Python's recursion limit


def to_data(workload: Workload) -> dict[str, Any]:
    """Return the workload as a dict of JSON values: its kind and the fields of its class.

    Numbers keep every bit; a matrix is its shape and the base64 text of little-endian float64.

    Raises:
        ValueError: for a kind that is not one of `KINDS`, or workloads nested deeper than 50.
    """
    return _encode_workload(workload, MAX_DEPTH)


def from_data(data: object) -> Workload:
    """Return the workload that `to_data` wrote; nothing in the data is ever executed.

    Raises:
        ValueError: for an unknown kind, a missing or unknown key, or values that no workload has.
    """
    return _decode_workload(data, MAX_DEPTH)


def over(workload: Workload, attributes: Sequence[Attribute]) -> Workload:
    """Return the same queries over attributes that are described, in the order of the workload's own."""
    if (got := [one.size for one in attributes]) != list(workload.domain.sizes):
        raise ValueError(
            f"attributes of {got[:20]} values were given, but domain {workload.domain} has others: describe its own"
        )
    match workload:
        case Product():
            rest = iter(attributes)
            parts = [over(one, list(islice(rest, len(one.domain.sizes)))) for one in workload.factors]
            return Product(tuple(parts))
        case Stack():
            return Stack(tuple(over(part, attributes) for part in workload.parts))
        case Weighted():
            return replace(workload, workload=over(workload.workload, attributes))
    described = (replace(new, name=own) for new, own in zip(attributes, workload.domain.names, strict=True))
    return replace(workload, domain=Domain(*described))  # type: ignore[call-arg]


def _encode_workload(workload: Workload, depth: int) -> dict[str, Any]:
    _check_depth(depth)
    kind = next((name for name, leaf in KINDS.items() if type(workload) is leaf), None)
    if kind is None:
        raise ValueError(
            f"{type(workload).__name__} was given as a workload to save, but only {', '.join(KINDS)} can be "
            "saved: build it from these"
        )
    values = {name: getattr(workload, name) for name in _keys(type(workload))}
    if not values.get(OPTIONAL, True):
        del values[OPTIONAL]
    return {"kind": kind, **{name: _encode(value, depth - 1) for name, value in values.items()}}


def _encode(value: Any, depth: int) -> Any:
    match value:
        case Workload():
            return _encode_workload(value, depth)
        case Domain():
            return [[name, size] for name, size in zip(value.names, value.sizes, strict=True)]
        case tuple():
            return [_encode(item, depth) for item in value]
        case np.ndarray():
            raw = np.ascontiguousarray(value, dtype="<f8").tobytes()
            return {"shape": list(value.shape), "float64": base64.b64encode(raw).decode("ascii")}
        case _:
            return value


def _decode_workload(data: object, depth: int) -> Workload:
    _check_depth(depth)
    if not isinstance(data, Mapping) or data.get("kind") not in list(KINDS):
        shown = repr(data.get("kind"))[:60] if isinstance(data, Mapping) else type(data).__name__
        raise ValueError(
            f"{shown} was given as the kind of a workload, but the kinds are {', '.join(KINDS)}: "
            "write workloads with to_data"
        )
    leaf = KINDS[data["kind"]]
    keys = _keys(leaf)
    keys = [key for key in keys if key != OPTIONAL or key in data]
    if set(data) != {"kind", *keys}:
        raise ValueError(
            f"a workload of kind {data['kind']} was given the keys {', '.join(map(repr, data))[:200]}, "
            f"but has exactly {', '.join(['kind', *keys])}: write workloads with to_data"
        )
    return leaf(**{key: DECODERS[key](data[key], depth - 1) for key in keys})


def _keys(leaf: type[Workload]) -> list[str]:
    return [field.name for field in fields(leaf) if field.init]  # type: ignore[arg-type]


def _decode_domain(data: object, depth: int) -> Domain:
    pairs = _list(data, "a domain")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError(
            "a domain was given entries that are not pairs, but is a list of [attribute, size]: "
            "write workloads with to_data"
        )
    return Domain.sized((pair[0] for pair in pairs), (pair[1] for pair in pairs))


def _decode_matrix(data: object, depth: int) -> Array:
    if not isinstance(data, Mapping) or set(data) != {"shape", "float64"}:
        raise ValueError("a matrix was not given as exactly shape and float64: write workloads with to_data")
    p, n = _shape(data["shape"])
    try:
        raw = base64.b64decode(data["float64"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ValueError("a matrix was given text that is not base64: write workloads with to_data") from None
    if len(raw) != 8 * p * n:
        raise ValueError(
            f"a matrix of shape {p} x {n} was given {len(raw)} bytes, but has 8 an entry: "
            "write workloads with to_data"
        )
    return np.frombuffer(raw, dtype="<f8").reshape(p, n)


def _shape(data: object) -> tuple[int, int]:
    shape = _list(data, "the shape of a matrix")
    if len(shape) != 2 or not all(type(size) is int and 0 < size < 2**53 for size in shape):
        raise ValueError(
            f"{repr(shape)[:60]} was given as the shape of a matrix, but it is two positive whole numbers: "
            "write workloads with to_data"
        )
    return shape[0], shape[1]


def _decode_workloads(data: object, depth: int) -> tuple[Workload, ...]:
    return tuple(_decode_workload(item, depth) for item in _list(data, "a group of workloads"))


def _list(data: object, what: str) -> list[Any]:
    if not isinstance(data, list):
        raise ValueError(
            f"{what} was given as {type(data).__name__}, but is a list: write workloads with to_data"
        )
    return data


def _unchanged(data: Any, depth: int) -> Any:
    return data  # the leaf itself refuses what it cannot be


def _check_depth(depth: int) -> None:
    if depth < 0:
        raise ValueError(
            f"workloads were nested deeper than {MAX_DEPTH}, which is the limit: "
            "write them flat, as one stack or one kron"
        )


DECODERS: dict[str, Callable[[Any, int], Any]] = {
    "domain": _decode_domain,
    "rows": _decode_matrix,
    "names": lambda data, depth: tuple(_list(data, "the names of queries")),
    "orders": lambda data, depth: _list(data, "orders"),
    "order": _unchanged,
    "width": _unchanged,
    "weight": _unchanged,
    "factors": _decode_workloads,
    "parts": _decode_workloads,
    "workload": _decode_workload,
}
