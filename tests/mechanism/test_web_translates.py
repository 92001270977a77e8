"""Tables of translates on the web: the same sentences as Python for what is wrong, the same reports at any size."""

import base64
import hashlib
import io
import json

import numpy as np
from test_mechanism import leaves_of
from test_web_bundles import edited, sealed_text, unit

from mechanisms import mechanism
from node import base64_text, run
from stratagem.mechanism.client import MOST, Client, parse

JUNTAS, WINDOW = "mixed-juntas", "window"


def bits(case, change, *, pattern=0):
    """Return a bundle with other bits of one pattern."""

    def changed(text):
        return base64_text(bytes(change(bytearray(base64.b64decode(text)))))

    return edited(case, "table", "patterns", pattern, "bits", to=changed)


def first_turned(raw):
    raw[0] ^= 128
    return raw


def last_turned(raw):
    raw[-1] ^= 1
    return raw


def twice(patterns):
    """Return the patterns with half of the first in a place of its own."""
    first, half = patterns[0], patterns[0]["weight"] // 2
    return [first | {"weight": first["weight"] - half}, *patterns[1:], first | {"weight": half}]


def in_another_order():
    """Return a table whose patterns are numbered otherwise: another mechanism, as private as the first."""
    bundle = dict(mechanism(JUNTAS).bundle)
    bundle["table"] = bundle["table"] | {"patterns": bundle["table"]["patterns"][::-1]}
    return sealed_text(bundle)


ACCEPTED = {
    "unchanged": lambda: mechanism(JUNTAS).text,
    "at a hundred attributes": lambda: mechanism("hundred").text,
    "patterns in another order": in_another_order,
    "multiples": lambda: mechanism("multiples").text,
    "a table on one cycle": lambda: mechanism("table-on-one-cycle").text,
}
MULTIPLES, MERGED = "multiples", "table-on-one-cycle"


def pattern(case, **changes):
    """Return a bundle whose first pattern has other entries, or lacks those that are None."""

    def changed(entry):
        return {key: value for key, value in (entry | changes).items() if value is not None}

    return edited(case, "table", "patterns", 0, to=changed)


REFUSED = {
    "multiples without a root": lambda: pattern(MULTIPLES, root=None),
    "a root without multiples": lambda: pattern(MULTIPLES, multiples=None),
    "one multiple": lambda: pattern(MULTIPLES, multiples=1),
    "a multiple less": lambda: pattern(MULTIPLES, multiples=2),
    "multiples of truth": lambda: pattern(MULTIPLES, multiples=True),
    "as many multiples as make 2^53 outputs": lambda: pattern(MULTIPLES, multiples=1 << 51),
    "a root of 0": lambda: pattern(MULTIPLES, root=0),
    "a root of 1": lambda: pattern(MULTIPLES, root=1),
    "a root that divides the cycle": lambda: pattern(MULTIPLES, root=6),
    "multiples of a table": lambda: pattern(JUNTAS, multiples=3, root=5),
    "a cycle shorter than the cells": lambda: edited(MERGED, "table", "cycles", 0, to=5),
    "two cycles of three": lambda: edited(JUNTAS, "table", "cycles", to=lambda c: c[:2]),
    "no cycles": lambda: edited(JUNTAS, "table", "cycles", to=[]),
    "a cycle less": lambda: edited(JUNTAS, "table", "cycles", to=lambda c: c[1:]),
    "a cycle shorter than its attribute": lambda: edited(JUNTAS, "table", "cycles", 1, to=2),
    "a cycle unlike those of its group": lambda: edited(JUNTAS, "table", "cycles", 1, to=4),
    "a longer window": lambda: edited(WINDOW, "table", "cycles", 0, to=7),
    "a cycle of truth": lambda: edited(JUNTAS, "table", "cycles", 0, to=True),
    "a huge cycle": lambda: edited(WINDOW, "table", "cycles", 0, to=1 << 40),
    "cycles as text": lambda: edited(JUNTAS, "table", "cycles", to="23232"),
    "a group less": lambda: edited(JUNTAS, "table", "groups", to=lambda g: g[1:]),
    "a group beyond": lambda: edited(JUNTAS, "table", "groups", 0, to=5),
    "a group of nobody": lambda: edited(JUNTAS, "table", "groups", 0, to=3),
    "a negative group": lambda: edited(JUNTAS, "table", "groups", 0, to=-1),
    "a group of others": lambda: edited(JUNTAS, "table", "groups", 0, to=1),
    "groups as text": lambda: edited(JUNTAS, "table", "groups", to="01010"),
    "no patterns": lambda: edited(JUNTAS, "table", "patterns", to=[]),
    "patterns that are none": lambda: edited(JUNTAS, "table", "patterns", to=None),
    "a pattern that is none": lambda: edited(JUNTAS, "table", "patterns", 0, to=[]),
    "a pattern less": lambda: edited(JUNTAS, "table", "patterns", to=lambda p: p[:-1]),
    "a pattern twice": lambda: edited(JUNTAS, "table", "patterns", to=twice),
    "a pattern's unknown key": lambda: edited(JUNTAS, "table", "patterns", 0, to=lambda p: p | {"x": 1}),
    "a weight more": lambda: edited(JUNTAS, "table", "patterns", 0, "weight", to=lambda w: w + 1),
    "a weight of 0": lambda: edited(JUNTAS, "table", "patterns", 0, "weight", to=0),
    "a weight above 2^32": lambda: edited(JUNTAS, "table", "patterns", 0, "weight", to=(1 << 32) + 1),
    "no axes": lambda: edited(JUNTAS, "table", "patterns", 0, "axes", to=[]),
    "an axis less": lambda: edited(JUNTAS, "table", "patterns", 0, "axes", to=lambda a: a[1:]),
    "an axis of no group": lambda: edited(JUNTAS, "table", "patterns", 0, "axes", 0, to=2),
    "more axes than attributes": lambda: edited(JUNTAS, "table", "patterns", 0, "axes", to=[1, 1, 1]),
    "more outputs than 2^53": lambda: edited("hundred", "table", "patterns", 0, "axes", to=[0] * 9),
    "axes in another order": lambda: edited(JUNTAS, "table", "patterns", 1, "axes", to=[0, 0, 0]),
    "a bit turned": lambda: bits(JUNTAS, first_turned),
    "a bit beyond the last cell": lambda: bits(JUNTAS, last_turned, pattern=1),
    "all bits off": lambda: bits(JUNTAS, lambda raw: bytes(len(raw))),
    "all bits on": lambda: bits("binary-juntas", lambda raw: b"\xff" * len(raw)),
    "a byte less": lambda: bits(JUNTAS, lambda raw: raw[1:]),
    "a byte more": lambda: bits(JUNTAS, lambda raw: raw + b"\0"),
    "an output more": lambda: edited(JUNTAS, "table", "outputs", to=lambda m: m + 1),
    "2^53 outputs": lambda: edited(JUNTAS, "table", "outputs", to=MOST + 1),
    "a lower level less": lambda: edited(JUNTAS, "table", "low", to=lambda low: low - 1),
    "a lower level more": lambda: edited(JUNTAS, "table", "low", to=lambda low: low + 1),
    "a lower level of 0": lambda: edited(JUNTAS, "table", "low", to=0),
    "a key more": lambda: edited(JUNTAS, "table", to=lambda table: table | {"user_types": 72}),
    "a larger domain": lambda: edited(WINDOW, "domain", 0, to={"name": "value", "size": 9}),
    "a smaller domain": lambda: edited(JUNTAS, "domain", to=lambda domain: domain[:-1]),
    "certificate: total": lambda: edited(JUNTAS, "certificate", "column_total", to=unit),
    "certificate: unit": lambda: edited(JUNTAS, "certificate", "column_unit", to=unit),
    "certificate: no unit": lambda: edited(
        JUNTAS, "certificate", to=lambda c: {key: c[key] for key in c if key != "column_unit"}
    ),
}


def sentence(raw):
    """Return what Python says against a bundle, None if nothing."""
    try:
        parse(raw)
    except ValueError as error:
        return str(error)
    return None


def test_both_clients_refuse_the_same_tables_with_the_same_sentences():
    raws = {name: make() for name, make in (ACCEPTED | REFUSED).items()}
    web = run("parse", bundles=[base64_text(raw) for raw in raws.values()])
    for (name, raw), found in zip(raws.items(), web, strict=True):
        said = sentence(raw)
        assert (said is None) == (name in ACCEPTED), name
        assert found == (None if said is None else f"RangeError: {said.replace('True', 'true')}"), name


def test_a_hundred_attributes_make_the_same_reports_as_in_python():
    found, rng = mechanism("hundred"), np.random.default_rng(0)
    people = rng.integers(0, 2, (100, 100)).tolist()
    names = found.domain.names
    values = [dict(zip(names, one, strict=True)) for one in people]
    stream = hashlib.shake_256(b"hundred").digest(1 << 16)
    drawn = io.BytesIO(stream)
    client = Client(found.bundle, drawn.read)
    expected = [client.randomise(value) for value in values]
    job = {"bundle": found.text, "stream": stream, "values": [json.dumps(value) for value in values]}
    assert run("reports", **job) == {"reports": expected, "used": drawn.tell()}
    assert max(report["output"] for report in expected) > 1 << 40


def test_random_changes_are_judged_alike(rng):
    """One number, text or byte of a table changed at random and the hash made good: Python's words on the web."""
    raws = []
    for number in range(300):
        case = ("mixed-juntas", "window", "torus-window", "hundred")[number % 4]
        leaves = [path for path, _ in leaves_of(mechanism(case).bundle["table"], ("table",))]
        path = leaves[rng.integers(len(leaves))]
        raws.append(edited(case, *path, to=lambda value: changed(value, rng)))
    web = run("parse", bundles=[base64_text(raw) for raw in raws])
    said = [sentence(raw) for raw in raws]
    assert web == [None if one is None else f"RangeError: {one}" for one in said]
    assert len(set(said)) > 15


def changed(value, rng):
    """Return another number or text, near or far."""
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value, int(rng.integers(0, 8)), 1 << 60][rng.integers(5)]
    place = rng.integers(len(value))
    return value[:place] + "A/k=-"[rng.integers(5)] + value[place + 1 :]
