"""Writes tests/vectors: bundles, random bytes and the reports that every client makes of them.

Run with: python tests/helper/write_vectors.py. Existing files change only where draws or the format do.
"""

import hashlib
import io
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from broken_surveys import broken
from handmade import bundle_of, one_of, text_of, translates, two_level
from mechanisms import mechanism
from stratagem.domain.attribute import Attribute, value_of
from stratagem.mechanism.client import CEILING, DEPTH, HIGH, Client, fingerprint

FOLDER = Path(__file__).parents[1] / "vectors"
REPORTS = 16
CASES = [
    *("randomised", "fine", "labels", "edges", "several-attributes", "one-output"),
    *("two-level-large-epsilon", "two-level-huge-epsilon"),
    *("cycle", "window", "torus-window", "binary-juntas", "mixed-juntas", "hundred"),
    *("survey", "overlapping-survey", "large-survey"),
]


def many_rows():
    """Return a table of so many rows that their sums stand in blocks."""
    inside = np.array([np.roll(np.arange(30) < size, k) for size in (1, 4, 9, 15) for k in range(30)])
    weights = np.repeat([1 << 20, 3 << 22, 1 << 18, 5], 30)
    spare = (1 << 32) - int(weights.sum())
    return two_level(np.vstack([inside, np.zeros(30, bool)]), [*weights.tolist(), spare], HIGH // 20)


HANDMADE: dict[str, Any] = {
    "many-rows": lambda: bundle_of(many_rows(), (3, 1)),
    "empty-sets": lambda: bundle_of(two_level(np.zeros((3, 5)), [1 << 31, 1 << 30, 1 << 30], 1)),
    "large-cycle": lambda: bundle_of(
        translates([1 << 16], [0], [((0,), 1 << 32, one_of(1 << 16))], math.ceil(HIGH / math.exp(15)) + 1),
        (15, 1),
    ),
    "dates": lambda: dated(["2026-01-01", "2026-07-01T12:00:00", "2027-01-01", "other"]),
    "times": lambda: dated(["00:00", "06:30", "12:00", "24:00"]),
}


def dated(edges):
    """Return the bundle of a columns table of three values whose edges are dates or times."""
    bundle = dict(mechanism("labels").bundle)
    bundle["domain"] = [{"name": "when", "size": 3, "edges": edges}]
    return bundle | {"sha256": fingerprint(bundle)}


def vector(name: str, bundle: dict[str, Any], text: bytes) -> dict[str, Any]:
    """Return a bundle, and for some values the random bytes that a draw takes and the report made of them."""
    stream = io.BytesIO(hashlib.shake_256(name.encode()).digest(1 << 16))
    client, reports = Client(bundle, stream.read), []
    attributes = tuple(map(Attribute.of, bundle["domain"]))
    cells, rng = math.prod(attribute["size"] for attribute in bundle["domain"]), Random(0)
    for _ in range(REPORTS):
        before, value = stream.tell(), value_of(attributes, rng.randrange(cells))
        report = client.randomise(value)
        used = stream.getbuffer()[before : stream.tell()].hex()
        reports.append({"value": value, "bytes": used, "report": report})
    return {"bundle": text.decode(), "reports": reports}


def nested(depth: int) -> bytes:
    """Return a bundle with lists inside each other, the innermost at this depth."""
    deep: list[Any] = []
    for _ in range(depth - 1):
        deep = [deep]
    bundle = mechanism("labels").bundle | {"utility": deep}
    return text_of(bundle | {"sha256": fingerprint(bundle)})


def sealed(bundle: dict[str, Any], epsilon: dict[str, str]) -> dict[str, Any]:
    """Return a bundle whose memo states other epsilons, with the hash that belongs to them."""
    changed = bundle | {"memo": bundle["memo"] | {"epsilon": epsilon}}
    return changed | {"sha256": fingerprint(changed)}


def judged() -> dict[str, dict[str, bytes]]:
    """Return bundles that clients accept and bundles that they refuse."""
    good = text_of(mechanism("labels").bundle)
    above = f"{CEILING * 10 + 1}"
    equal = two_level(np.zeros((2, 3)), [1 << 31] * 2, HIGH)
    memo = mechanism("cycle").memoised(CEILING).bundle
    return {
        "accepted": {
            "as stratagem writes it": good,
            f"lists at depth {DEPTH}": nested(DEPTH),
            f"epsilon {CEILING}": text_of(bundle_of(equal, (CEILING, 1))),
            "a memo": text_of(memo),
        },
        "refused": {
            f"lists at depth {DEPTH + 1}": nested(DEPTH + 1),
            f"epsilon {CEILING}.1": text_of(bundle_of(equal, (int(above), 10))),
            "a key twice": good.replace(b'"version": 1', b'"version": 1, "version": 1'),
            "a decimal": good.replace(b'"version": 1', b'"version": 1.0'),
            "another hash": good.replace(b"nein", b"Nein"),
            "a letter more": good + b"x",
            "a later version": good.replace(b'"version": 1', b'"version": 2'),
            "a memo that states too little": text_of(sealed(memo, memo["memo"]["epsilon"] | {"10": "0.2"})),
            "a memo of more epsilon than a client takes": text_of(
                mechanism("cycle").memoised(CEILING + 0.1).bundle
            ),
            "half a letter": good.replace(b"nein", b"\\ud800"),
        },
    }


def main() -> None:
    """Write all files."""
    for name in CASES:
        write(name, vector(name, mechanism(name).bundle, text_of(mechanism(name).bundle)))
    for name, make in HANDMADE.items():
        bundle = make()
        write(name, vector(name, bundle, text_of(bundle)))
    write("refused-surveys", {why: raw.decode() for why, _, raw in broken()})
    for verdict, bundles in judged().items():
        write(verdict, {why: raw.decode() for why, raw in bundles.items()})


def write(name: str, data: dict[str, Any]) -> None:
    """Write one file."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / f"{name}.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
