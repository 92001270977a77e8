"""Bundles whose tables are written by hand: what a hostile server may send, and what no solver makes."""

import copy
import json
from typing import Any

import numpy as np

from mechanisms import mechanism
from stratagem.mechanism.client import certificate, fingerprint
from stratagem.mechanism.table import encode


def two_level(inside, weights, low: int) -> dict[str, Any]:
    """Return a table of sets (m x n), whole weights (m,) and a lower level."""
    inside = np.asarray(inside, dtype=bool)
    return {
        "kind": "two-level",
        "outputs": inside.shape[0],
        "user_types": inside.shape[1],
        "weights": encode(np.asarray(weights), "<u4"),
        "patterns": encode(np.packbits(inside, axis=1), "u1"),
        "low": low,
    }


def translates(cycles, groups, patterns, low: int) -> dict[str, Any]:
    """Return a table of patterns, each its axes, its weight and its cells as an array of truths over their cycles."""
    outputs = 0
    for axes, _, inside in patterns:
        left, ways = list(groups), 1
        for group in axes:
            ways *= left.count(group)
            left.remove(group)
        outputs += ways * np.size(inside)
    return {
        "kind": "translates",
        "outputs": outputs,
        "cycles": list(cycles),
        "groups": list(groups),
        "patterns": [
            {"axes": list(axes), "weight": weight, "bits": encode(np.packbits(np.ravel(inside)), "u1")}
            for axes, weight, inside in patterns
        ],
        "low": low,
    }


def bundle_of(table: dict[str, Any], epsilon: tuple[int, int] = (300, 1), sizes=None) -> dict[str, Any]:
    """Return a sealed bundle of a table, over attributes of these sizes."""
    sizes = sizes or table.get("cycles") or [table["user_types"]]
    promised = [str(part) for part in epsilon]
    bundle = mechanism("randomised").bundle | {
        "domain": [{"name": f"a{k}", "size": int(size)} for k, size in enumerate(sizes)],
        "epsilon": promised,
        "table": table,
        "certificate": certificate(table, promised),
    }
    return bundle | {"sha256": fingerprint(bundle)}


def text_of(bundle: dict[str, Any]) -> bytes:
    """Return a bundle as a file holds it."""
    return json.dumps(bundle).encode()


def one_of(n):
    """Return the pattern of one cell of n."""
    return np.arange(n) == n // 3


def placements(axes, left):
    """Yield the attributes of all axes, in the order of their outputs."""
    if not axes:
        yield ()
        return
    for attribute in left[axes[0]]:
        others = [[i for i in group if i != attribute] for group in left]
        yield from ((attribute, *rest) for rest in placements(axes[1:], others))


def edited(case, *path, to, sealed=True):
    """Return a bundle with one value replaced (or computed by `to` from the old one), and its hash made good."""
    bundle = copy.deepcopy(mechanism(case).bundle)
    place = bundle
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to(place[path[-1]]) if callable(to) else to
    return sealed_text(bundle) if sealed else json.dumps(bundle).encode()


def sealed_text(bundle):
    return json.dumps(bundle | {"sha256": fingerprint(bundle)}).encode()
