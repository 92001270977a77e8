"""The web client and the Python client accept and refuse the same bundles."""

import base64
import copy
import itertools
import json

from handmade import edited, sealed_text
from mechanisms import mechanism
from node import base64_text, run
from stratagem.mechanism.client import exp_below, parse

TWO_LEVEL = "two-level-large-epsilon"


def text_of(case, old=b"", new=b""):
    raw = json.dumps(mechanism(case).bundle).encode()
    assert old in raw
    return raw.replace(old, new, 1)


def broken_promise():
    """Promise 1.49 for a table that holds 1.5, with the certificate that says so."""
    bundle = copy.deepcopy(mechanism("labels").bundle)
    bundle["epsilon"] = ["149", "100"]
    bundle["certificate"]["exp_epsilon"] = str(exp_below(149, 100))
    return sealed_text(bundle)


def many_attributes(_):
    return [{"name": str(k), "size": 1 << 22} for k in range(100_000)]


def first_set_turned(text):
    """Turn the first user type of the first row round."""
    raw = base64.b64decode(text)
    return base64_text(bytes([raw[0] ^ 128]) + raw[1:])


def unit(number):
    return str(int(number) + 1)


ACCEPTED = {
    "unchanged": lambda: mechanism("edges").text,
    "keys in another order": lambda: json.dumps(mechanism("labels").bundle, sort_keys=True).encode(),
    "escaped letters": lambda: json.dumps(mechanism("labels").bundle, ensure_ascii=True).encode(),
    "all four kinds of space": lambda: text_of("labels", b'"format":', b' \t\r\n"format" : '),
    "equal edges in other words": lambda: edited("edges", "domain", 0, "edges", 1, to="0.0"),
    "a unit": lambda: mechanism("unit").text,
    "a value for no answer": lambda: mechanism("no-answer").text,
    "labels and no answer": lambda: edited(
        "labels", "domain", 0, to=lambda a: a | {"labels": ["ja", "other"], "no_answer": True}
    ),
    "numbers and no answer": lambda: edited(TWO_LEVEL, "domain", 0, to=lambda a: a | {"no_answer": True}),
    "whole numbers": lambda: edited("no-answer", "domain", 0, to=lambda a: a | {"whole": True}),
    "a long unit": lambda: edited("edges", "domain", 0, to=lambda a: a | {"unit": "\U0001f600" * 40}),
}
REFUSED = {
    "nothing": lambda: b"",
    "null": lambda: b"null",
    "a list": lambda: b"[]",
    "half of it": lambda: text_of("labels")[:600],
    "a byte order mark": lambda: b"\xef\xbb\xbf" + text_of("labels"),
    "UTF-16": lambda: text_of("labels").decode().encode("utf-16"),
    "not UTF-8": lambda: text_of("labels", b'"ja"', b'"\xff"'),
    "a letter more": lambda: text_of("labels") + b"x",
    "a comma more": lambda: text_of("labels", b'"version": 1,', b'"version": 1,,'),
    "a comma at the end": lambda: text_of("labels", b"]", b",]"),
    "a comment": lambda: text_of("labels", b'"version"', b'/* 1 */ "version"'),
    "single quotes": lambda: text_of("labels", b'"ja"', b"'ja'"),
    "a control letter": lambda: text_of("labels", b'"ja"', b'"j\ta"'),
    "an unknown escape": lambda: text_of("labels", b'"ja"', b'"j\\a"'),
    "half a letter": lambda: text_of("labels", b'"ja"', b'"\\ud83d"'),
    "a no-break space": lambda: text_of("labels", b'"version"', '\u00a0"version"'.encode()),
    "a key twice": lambda: text_of("labels", b'"version": 1', b'"version": 1, "version": 1'),
    "a key twice, once escaped": lambda: text_of(
        "labels", b'"version": 1', b'"version": 1, "\\u0076ersion": 1'
    ),
    "a key twice deep inside": lambda: text_of("labels", b'"outputs":', b'"outputs": 1, "outputs":'),
    "a decimal": lambda: text_of("labels", b'"version": 1', b'"version": 1.0'),
    "an exponent": lambda: text_of("labels", b'"version": 1', b'"version": 1e0'),
    "a leading zero": lambda: text_of("labels", b'"version": 1', b'"version": 01'),
    "a plus": lambda: text_of("labels", b'"version": 1', b'"version": +1'),
    "NaN": lambda: text_of("labels", b'"version": 1', b'"version": NaN'),
    "Infinity": lambda: text_of("labels", b'"version": 1', b'"version": -Infinity'),
    "too long a number": lambda: text_of("labels", b'"version": 1', b'"version": ' + b"1" * 5000),
    "too deep": lambda: b"[" * 100_000 + b"]" * 100_000,
    "too many parts": lambda: b"[" + b"0," * (1 << 22) + b"0]",
    "another format": lambda: edited("labels", "format", to="stratagem"),
    "another version": lambda: edited("labels", "version", to=2),
    "a version as text": lambda: edited("labels", "version", to="1"),
    "a version as truth": lambda: edited("labels", "version", to=True),
    "a version as list": lambda: edited("labels", "version", to={"__proto__": 1}),
    "a key more": lambda: sealed_text(mechanism("labels").bundle | {"extra": 1}),
    "a key less": lambda: sealed_text({k: v for k, v in mechanism("labels").bundle.items() if k != "prior"}),
    "another name, hash left": lambda: edited("labels", "domain", 0, "name", to="x", sealed=False),
    "a hash in capitals": lambda: edited("labels", "sha256", to=str.upper, sealed=False),
    "no hash": lambda: edited("labels", "sha256", to=None, sealed=False),
    "no domain": lambda: edited("labels", "domain", to=[]),
    "another size": lambda: edited("labels", "domain", 0, "size", to=4),
    "a size of truth": lambda: edited(TWO_LEVEL, "domain", 0, "size", to=True),
    "a huge size": lambda: edited(TWO_LEVEL, "domain", 0, "size", to=1 << 53),
    "a size beyond doubles": lambda: edited(TWO_LEVEL, "domain", 0, "size", to=(1 << 60) + 12),
    "a name twice": lambda: edited("labels", "domain", to=lambda d: [*d, {"name": "value", "size": 1}]),
    "a number as name": lambda: edited("labels", "domain", 0, "name", to=3),
    "an attribute's unknown key": lambda: edited("labels", "domain", 0, to=lambda a: a | {"colour": "m"}),
    "no answer false": lambda: edited("no-answer", "domain", 0, "no_answer", to=False),
    "no answer one": lambda: edited("no-answer", "domain", 0, "no_answer", to=1),
    "no answer null": lambda: edited("no-answer", "domain", 0, "no_answer", to=None),
    "no answer as text": lambda: edited("no-answer", "domain", 0, "no_answer", to="no answer"),
    "whole beside a half": lambda: edited("edges", "domain", 0, to=lambda a: a | {"whole": True}),
    "whole beside dates": lambda: edited(
        "labels",
        "domain",
        0,
        to=lambda a: {
            "name": a["name"],
            "size": 3,
            "edges": ["2026-01-01", "2026-01-02", "2026-01-03", "other"],
            "whole": True,
        },
    ),
    "whole beside hours": lambda: edited(
        "labels",
        "domain",
        0,
        to=lambda a: {
            "name": a["name"],
            "size": 3,
            "edges": ["00:00", "01:00", "02:00", "03:00"],
            "whole": True,
        },
    ),
    "whole beside labels": lambda: edited("labels", "domain", 0, to=lambda a: a | {"whole": True}),
    "whole without edges": lambda: edited(TWO_LEVEL, "domain", 0, to=lambda a: a | {"whole": True}),
    "whole false": lambda: edited("no-answer", "domain", 0, to=lambda a: a | {"whole": False}),
    "whole one": lambda: edited("no-answer", "domain", 0, to=lambda a: a | {"whole": 1}),
    "whole as an edge of an exponent": lambda: edited(
        "no-answer",
        "domain",
        0,
        to=lambda a: a | {"edges": ["0", "18", "65", "1e2", "other"], "whole": True},
    ),
    "no answer and an edge too many": lambda: edited(
        "no-answer", "domain", 0, "edges", to=["0", "9", "18", "65", "130", "other"]
    ),
    "no answer and a label too many": lambda: edited(
        "labels", "domain", 0, to=lambda a: a | {"no_answer": True}
    ),
    "no answer and an empty label": lambda: edited(
        "labels", "domain", 0, to=lambda a: a | {"labels": ["ja", " "], "no_answer": True}
    ),
    "no answer twice": lambda: edited(
        "labels", "domain", 0, to=lambda a: a | {"labels": ["ja", "no answer"], "no_answer": True}
    ),
    "no answer alone": lambda: edited(
        "one-output", "domain", to=lambda d: [d[0] | {"size": 4}, {"name": "x", "size": 1, "no_answer": True}]
    ),
    "a unit too long": lambda: edited("edges", "domain", 0, to=lambda a: a | {"unit": "\U0001f600" * 41}),
    "an empty unit": lambda: edited("edges", "domain", 0, to=lambda a: a | {"unit": ""}),
    "a number as unit": lambda: edited("edges", "domain", 0, to=lambda a: a | {"unit": 7}),
    "a unit of labels": lambda: edited("labels", "domain", 0, to=lambda a: a | {"unit": "m"}),
    "a label twice": lambda: edited("labels", "domain", 0, "labels", 1, to="ja"),
    "a label less": lambda: edited("labels", "domain", 0, "labels", to=["ja", "nein"]),
    "a number as label": lambda: edited("labels", "domain", 0, "labels", 1, to=1),
    "labels and edges": lambda: edited("labels", "domain", 0, to=lambda a: a | {"edges": list("0123")}),
    "edges that fall": lambda: edited("edges", "domain", 0, "edges", 1, to="-40"),
    "equal edges": lambda: edited("edges", "domain", 0, "edges", 1, to="-30"),
    "an edge that is no number": lambda: edited("edges", "domain", 0, "edges", 1, to="nan"),
    "an infinite edge": lambda: edited("edges", "domain", 0, "edges", 4, to="inf"),
    "an edge beyond doubles": lambda: edited("edges", "domain", 0, "edges", 4, to="1e999"),
    "a number as edge": lambda: edited("edges", "domain", 0, "edges", 1, to=0),
    "an edge less": lambda: edited("edges", "domain", 0, "edges", to=lambda edges: edges[1:]),
    "edges as a number": lambda: edited("edges", "domain", 0, "edges", to=3),
    "edges as text": lambda: edited("edges", "domain", 0, "edges", to="01234"),
    "an edge with a space": lambda: edited("edges", "domain", 0, "edges", 4, to=" 1000"),
    "an edge with a line break": lambda: edited("edges", "domain", 0, "edges", 4, to="1000\n"),
    "an edge with an underline": lambda: edited("edges", "domain", 0, "edges", 4, to="1_000"),
    "an edge in other digits": lambda: edited("edges", "domain", 0, "edges", 4, to="\u0661\u0660\u0660"),
    "an edge in hexadecimal": lambda: edited("edges", "domain", 0, "edges", 4, to="0x10"),
    "an empty edge": lambda: edited("edges", "domain", 0, "edges", 1, to=""),
    "epsilon zero": lambda: edited("labels", "epsilon", 0, to="0"),
    "epsilon without end": lambda: edited("labels", "epsilon", 1, to="0"),
    "epsilon of 301": lambda: edited("labels", "epsilon", to=["301", "1"]),
    "negative epsilon": lambda: edited("labels", "epsilon", 0, to="-3"),
    "epsilon as numbers": lambda: edited("labels", "epsilon", to=[3, 2]),
    "epsilon of three parts": lambda: edited("labels", "epsilon", to=["3", "2", "1"]),
    "epsilon in other digits": lambda: edited("labels", "epsilon", 0, to="\u0663"),
    "epsilon in 401 digits": lambda: edited("labels", "epsilon", to=["1" * 401, "1" * 401]),
    "a smaller epsilon": lambda: edited("labels", "epsilon", to=["1499999999", "1000000000"]),
    "a larger epsilon": lambda: edited("labels", "epsilon", to=["1500000001", "1000000000"]),
    "an unknown kind": lambda: edited("labels", "table", "kind", to="orbits"),
    "a kind of all objects": lambda: edited("labels", "table", "kind", to="constructor"),
    "a kind that is none": lambda: edited("labels", "table", "kind", to=None),
    "a table that is none": lambda: edited("labels", "table", to=None),
    "the other kind": lambda: edited("labels", "table", "kind", to="two-level"),
    "no outputs": lambda: edited("labels", "table", "outputs", to=0),
    "more outputs": lambda: edited("labels", "table", "outputs", to=4),
    "huge outputs": lambda: edited(TWO_LEVEL, "table", "outputs", to=1 << 28),
    "outputs beyond limits": lambda: edited("labels", "table", "outputs", to=10**30),
    "31 bits": lambda: edited("labels", "table", "bits", to=31),
    "33 bits": lambda: edited("labels", "table", "bits", to=33),
    "53 bits": lambda: edited("fine", "table", "bits", to=53),
    "a lower level less": lambda: edited(TWO_LEVEL, "table", "low", to=lambda low: low - 1),
    "a lower level more": lambda: edited(TWO_LEVEL, "table", "low", to=lambda low: low + 1),
    "a lower level of 0": lambda: edited(TWO_LEVEL, "table", "low", to=0),
    "a lower level above": lambda: edited(TWO_LEVEL, "table", "low", to=(1 << 52) + 1),
    "a line break in base64": lambda: edited(
        TWO_LEVEL, "table", "weights", to=lambda t: t[:8] + "\n" + t[9:]
    ),
    "a space in base64": lambda: edited(TWO_LEVEL, "table", "weights", to=lambda t: t[:-1] + " "),
    "base64 cut off": lambda: edited(TWO_LEVEL, "table", "weights", to=lambda t: t[:-4]),
    "base64 for addresses": lambda: edited(TWO_LEVEL, "table", "weights", to=lambda t: "-_" + t[2:]),
    "base64 beyond ASCII": lambda: edited(TWO_LEVEL, "table", "weights", to=lambda t: "ä" + t[1:]),
    "patterns as a list": lambda: edited(TWO_LEVEL, "table", "patterns", to=[1, 2]),
    "a pattern turned round": lambda: edited(TWO_LEVEL, "table", "patterns", to=lambda t: "///w" + t[4:]),
    "another schema": lambda: edited("labels", "report", "properties", "output", "minimum", to=1),
    "a schema that says 0 for false": lambda: edited("labels", "report", "additionalProperties", to=0),
    "a hundred thousand attributes": lambda: edited("labels", "domain", to=many_attributes),
    "certificate: exp(epsilon)": lambda: edited("labels", "certificate", "exp_epsilon", to=unit),
    "certificate: total": lambda: edited("labels", "certificate", "column_total", to=unit),
    "certificate: high": lambda: edited("labels", "certificate", "worst_high", to=unit),
    "certificate: low": lambda: edited(TWO_LEVEL, "certificate", "worst_low", to=unit),
    "certificate: row": lambda: edited("labels", "certificate", "largest", to=lambda t: "B" + t[1:]),
    "certificate: a number": lambda: edited("labels", "certificate", "worst_low", to=int),
    "certificate: a key more": lambda: edited("labels", "certificate", to=lambda c: c | {"by": "me"}),
    "a table that breaks its epsilon": broken_promise,
    "weights that sum to less": lambda: edited(TWO_LEVEL, "table", "weights", to=lambda t: "AAAA" + t[4:]),
    "a user type covered more often": lambda: edited(TWO_LEVEL, "table", "patterns", to=first_set_turned),
    "no certificate": lambda: edited("labels", "certificate", to=None),
}


def python_refuses(raw):
    try:
        parse(raw)
    except ValueError:
        return True
    return False


def test_python_and_the_web_refuse_the_same_bundles():
    raws = {name: make() for name, make in (ACCEPTED | REFUSED).items()}
    web = run("parse", bundles=[base64_text(raw) for raw in raws.values()])
    for (name, raw), sentence in zip(raws.items(), web, strict=True):
        assert python_refuses(raw) == (name in REFUSED), f"Python: {name}"
        assert (sentence is not None) == (name in REFUSED), f"the web: {name}"
        if sentence is not None:
            assert sentence.startswith("RangeError: "), f"{name}: {sentence}"
            assert "\n" not in sentence
            assert len(sentence) < 400


def test_the_canonical_form_is_the_same_for_any_text():
    """Keys in the order of code points, not of UTF-16; whole numbers of any size; every escape."""
    strange = {
        "\uff5e": '\x7f\x1f\u2028"\\/',
        "\U0001f600": 10**30,
        "": -(2**53),
        "__proto__": [],
        "\U0001f601": "",
        "\uff5e\uff5e": 1,
        "2": 0,
        "10": 1,
    }
    raw = edited("labels", "utility", to=strange)
    assert (
        run("parse", bundles=[base64_text(raw), base64_text(raw.replace(b'"2": 0', b'"2": -0'))])
        == [None] * 2
    )


def test_a_table_changed_by_one_unit_is_refused():
    """Every entry of a table, one unit up or down, with a new hash: all refused."""
    found, raws = mechanism("randomised"), []
    for place, step in itertools.product(range(found.table.entries.size), (-1, 1)):
        entries = found.table.entries.copy()
        entries.ravel()[place] += step
        text = base64_text(entries.astype("<u4").tobytes())
        raws.append(edited("randomised", "table", "entries", to=text))
    assert all(run("parse", bundles=[base64_text(raw) for raw in raws]))


def test_random_changes_are_judged_alike(rng):
    """Bytes of a bundle overwritten at random: whatever Python says, the web says."""
    text, raws = bytearray(mechanism("edges").text), []
    for _ in range(300):
        raw = text.copy()
        raw[rng.integers(len(raw))] = rng.choice(list(b' \t"\\,:0129{}[]aZ\x80'))
        raws.append(bytes(raw))
    web = run("parse", bundles=[base64_text(raw) for raw in raws])
    assert [sentence is not None for sentence in web] == [python_refuses(raw) for raw in raws]
    assert {sentence is None for sentence in web} == {True, False}
