"""Lines that are read together have the outcome that each has alone, by `ReportFormat.parse`."""

import io
import itertools
import json
import random
from collections import Counter

import numpy as np
import pytest

from report_files import IDENTIFIER, MECHANISM, OUTPUTS, collected, facts
from stratagem.collection import report_file, reports
from stratagem.collection import reports as rooms
from stratagem.collection.collection import Collection
from stratagem.collection.reports import (
    LINE_LIMIT,
    Report,
    ReportFormat,
    alike,
    blocks,
    is_blank,
    lines,
    mechanism_named,
    read,
)
from stratagem.collection.tally import Aggregator

FORM = ReportFormat(IDENTIFIER, OUTPUTS)
LARGE = ReportFormat(IDENTIFIER, 1 << 62)
NAME = "00ff" * 8
GOOD = f'{{"mechanism": "{MECHANISM}", "id": "{NAME}", "output": 3}}'
NUMBERS = [
    *("0", "6", "7", "-0", "-1", "+1", "00", "03", "3.0", "3.", ".3", "3e0", "3E0", "0x3", "1_0", "٣", "3 3"),
    *("12", "07", "99", "1" * 17, "9" * 18, "9" * 19, "1" + "0" * 17, "1" + "0" * 18, str(1 << 62), "9" * 40),
    *(str((1 << 62) - 1), str(1 << 63), str(1 << 64), '"3"', '"7"', "true", "null", "NaN", "Infinity", "[3]"),
    *("", "{}", "3/0", "3:0", "3;0", "2\\u0033", "3\0", "\0003", "９", "3,4", "3}", "1e400"),
]
"""What stands for the output: about half of it is no whole number of JSON."""
IDS = [
    *(
        NAME.upper(),
        NAME[1:],
        NAME + "0",
        "g" * 32,
        "0" * 31 + "`",
        "0" * 31 + "/",
        "0" * 31 + ":",
        "0" * 31 + "@",
    ),
    *(
        "0" * 31 + "G",
        "F" + "0" * 31,
        "0" * 32,
        "f" * 32,
        "9a" * 16,
        "0" * 31 + "\0",
        " " + NAME[1:],
        "٣" * 32,
    ),
    *(r"\u0030" + NAME[1:], r"\u0066" * 32, NAME[:-2] + r"\n", NAME[:-1] + '"', NAME[:-1] + "\\", ""),
    *(
        "00000000-0000-0000-0000-000000000000",
        "{" + NAME[2:] + "}",
        "0" * 8 + "-" + "0" * 23,
        "0" * 31 + "\x7f",
    ),
]
MECHANISMS = [
    IDENTIFIER,
    MECHANISM.upper(),
    MECHANISM[:-1],
    "f" * 16,
    "",
    "\\u0030" + MECHANISM[1:],
    "x" * 16,
]


def mutated(seed, number):
    """Good lines of which one to three bytes are replaced, put in or left out."""
    rng = random.Random(seed)
    for _ in range(number):
        line = bytearray(GOOD.encode())
        for _ in range(rng.choice((1, 1, 2, 3))):
            place, byte = (
                rng.randrange(len(line)),
                rng.choice((*b'{}[]:,"\\ \t\r\0/09:;`afgAF-+.e_', 128, 255, 195)),
            )
            line[place : place + rng.choice((0, 1, 1, 1))] = bytes([byte])[: rng.choice((0, 1, 1, 1, 1))]
        yield bytes(line).replace(b"\n", b" ")


def shaped():
    """Objects of the three fields in every order and several spacings, and with a field more or less."""
    fields = f'"mechanism"~:~"{MECHANISM}"', f'"id"~:~"{NAME}"', '"output"~:~3'
    objects = [*itertools.permutations(fields), *itertools.permutations(fields, 2)]
    objects += [(*fields, extra) for extra in (*fields, '"output": 4', '"id": 7', '"Id": 7', '"output ": 3')]
    objects += [(fields[1], fields[2], fields[2]), (fields[1], fields[1], fields[2]), fields[1:], fields[::2]]
    objects += [(f'"mechanism": {{"id": "{NAME}", "output": 3}}', *fields[1:])]
    objects += [(f'"mechanism": "\\"id\\": \\"{NAME}\\""', *fields[1:]), ('"i\\u0064": "x"', *fields[1:])]
    for chosen, space in itertools.product(
        objects, ("", " ", "\t", "\r", "\f", "\v", "\u00a0", "\x1c", " \r\t ")
    ):
        yield ("{~" + "~,~".join(chosen) + "~}~").replace("~", space).encode()


def odd():
    """Some hundred lines that differ a little from a report, or a lot."""
    yield from (GOOD.replace("3}", f"{number}}}").encode() for number in NUMBERS)
    yield from (GOOD.replace(NAME, name).encode() for name in IDS)
    yield from (GOOD.replace(MECHANISM, mechanism).encode() for mechanism in MECHANISMS)
    yield from shaped()
    yield from (GOOD[:end].encode() for end in range(0, len(GOOD), 7))
    yield from (
        end.encode() for end in ("", " ", "\0", "{}", "[]", "null", "3", GOOD * 2, f"[{GOOD}]", GOOD + ",")
    )
    yield from (
        GOOD.encode() + end
        for end in (b"\r", b"\r\r", b" \r", b"\0", b"\xff", b"\xc2\xa0", b"}", b",", b"//")
    )
    yield from (
        b"\xef\xbb\xbf" + GOOD.encode(),
        b"\xff\xfe" + GOOD.encode("utf-16-le"),
        GOOD.encode("utf-16"),
    )
    for size in (LINE_LIMIT - 1, LINE_LIMIT, LINE_LIMIT + 1, LINE_LIMIT + 2, LINE_LIMIT + 3, 2000):
        yield from (GOOD.encode().ljust(size), GOOD.encode().rjust(size), GOOD.encode().ljust(size, b"\r"))
    yield from mutated(1, 600)


ODD = list(odd())


def usual(rng, number):
    """Reports as clients write them, in Python and in JavaScript, with some of other mechanisms and out of range."""
    for _ in range(number):
        report = {
            "mechanism": rng.choice((MECHANISM,) * 9 + ("e" * 16,)),
            "id": f"{rng.getrandbits(128):032x}",
            "output": rng.choice((*range(OUTPUTS), 9, 10, 12, 99)),
        }
        yield json.dumps(report, separators=rng.choice((None, (",", ":")))).encode()


def one_by_one(raw, form):
    """The reports and reasons of a file by the slow path."""
    found = [form.parse(line) for line in lines(io.BytesIO(raw)) if not is_blank(line)]
    rejected = Counter(one for one in found if not isinstance(one, Report))
    return [one for one in found if isinstance(one, Report)], rejected


def together(raw, form):
    found, rejected = [], Counter()
    for block in blocks(io.BytesIO(raw)):
        ids, outputs, others = read(block, form)
        rejected += others
        found += [Report(bytes(name).hex(), int(output)) for name, output in zip(ids, outputs, strict=True)]
    return found, +rejected


def test_the_odd_lines_are_many_and_of_every_kind():
    assert len(ODD) > 900
    accepted, rejected = one_by_one(b"\n".join(ODD), FORM)
    assert len(accepted) > 50
    assert {str(reason) for reason in rejected} == {
        *("line too long", "not a JSON object", "wrong keys", "another mechanism"),
        *("malformed id", "output not a whole number", "output out of range"),
    }


@pytest.mark.parametrize("form", [FORM, LARGE, ReportFormat(IDENTIFIER, 1)], ids=["7", "2^62", "1"])
def test_every_odd_line_alone(form):
    for line in ODD:
        assert together(line, form) == one_by_one(line, form), line


@pytest.mark.parametrize("chunk", [1000, 1 << 22])
@pytest.mark.parametrize("tries", [0, 1, 8, 40])
def test_odd_lines_among_usual_ones(tries, chunk, monkeypatch):
    """In every order of the file, which decides what lines are compared with."""
    monkeypatch.setattr(rooms, "TRIES", tries)
    monkeypatch.setattr(reports, "CHUNK", chunk)
    for seed, form in enumerate((FORM, LARGE)):
        rng = random.Random(seed)
        many = [*ODD, *ODD, *usual(rng, 1000)]
        rng.shuffle(many)
        raw = b"\n".join(many)
        assert together(raw, form) == one_by_one(raw, form)


@pytest.mark.parametrize("line", [b"", b"\r", b"\0", b"{}", b" "])
def test_lines_without_reports(line):
    for raw in (line, line + b"\n", b"\n" + line, line * 3 + b"\n" * 3, (line + b"\n") * 40):
        assert together(raw, FORM) == one_by_one(raw, FORM)


@pytest.mark.parametrize("fault", ["HEX", "ZERO"])
def test_a_fault_of_the_comparison_would_be_seen(fault, monkeypatch):
    """The control: upper-case digits taken for lower-case ones, or numbers that begin with zero."""
    if fault == "HEX":
        monkeypatch.setattr(
            rooms, "HEX", bytes(rooms.HEX[ord(chr(byte).lower()) % 256] for byte in range(256))
        )
    else:
        monkeypatch.setattr(rooms, "ZERO", ord("/"))
    raw = b"\n".join([GOOD.encode(), *ODD])
    assert together(raw, FORM) != one_by_one(raw, FORM)


def test_a_collection_counts_odd_lines_as_the_aggregator_does(tmp_path):
    rng, path = random.Random(5), tmp_path / "a.jsonl"
    many = [*ODD, *usual(rng, 2000), *usual(random.Random(5), 500)]
    rng.shuffle(many)
    path.write_bytes(b"\n".join(many))
    aggregator = Aggregator(IDENTIFIER, OUTPUTS)
    with path.open("rb") as file:
        aggregator.add_lines(lines(file))
    assert facts(collected(path)) == facts(aggregator.tally())


def test_the_first_output_of_an_id_is_that_of_the_first_line(tmp_path):
    """Lines of several lengths in turn, so that groups of lines alike come in another order."""
    rng, path, ids = random.Random(6), tmp_path / "a.jsonl", [f"{number:032x}" for number in range(40)]
    report = '{{"output":{}{}, "id": "{}", "mechanism": "{}"}}'
    path.write_text(
        "\n".join(
            report.format(" " * rng.randrange(5), rng.randrange(OUTPUTS), rng.choice(ids), MECHANISM)
            for _ in range(400)
        )
    )
    aggregator = Aggregator(IDENTIFIER, OUTPUTS, first=True)
    with path.open("rb") as file:
        aggregator.add_lines(lines(file))
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        collection.add(path)
        tally = collection.tally(first=True)
    assert tally.overruled > 20
    assert facts(tally) == facts(aggregator.tally())


def test_mechanisms_are_named_as_line_by_line(tmp_path):
    path, raw = tmp_path / "a.jsonl", b"\n".join([*ODD, *usual(random.Random(7), 500)])
    path.write_bytes(raw)
    named = Counter()
    for name, times in report_file.named(None, path):
        named[name] += times
    asked = [line for line in lines(io.BytesIO(raw)) if not is_blank(line)]
    assert named == Counter(map(mechanism_named, asked))


@pytest.mark.parametrize("kind", ["reports", "another mechanism", "output out of range", "no JSON"])
def test_lines_alike_are_parsed_once(kind, monkeypatch):
    """Each length of line in a block costs one call, so that work is that of the arrays."""
    calls, parse = [], ReportFormat.parse
    monkeypatch.setattr(ReportFormat, "parse", lambda form, line: calls.append(line) or parse(form, line))
    rng = np.random.default_rng(8)
    form = ReportFormat(
        "e" * 64 if kind == "another mechanism" else IDENTIFIER, 1 if "range" in kind else 1024
    )
    text = "x" if kind == "no JSON" else '{"id":"%s","mechanism":"%s","output":%d}'
    values = [
        (rng.bytes(16).hex(), MECHANISM, output) for output in rng.integers(1, 1024, size=5000).tolist()
    ]
    raw = "\n".join(text % each if len(text) > 1 else text for each in values).encode()
    ids, _, rejected = read(raw, form)
    assert len(ids) + rejected.total() == 5000
    assert len(calls) == len(list(alike(raw))) == (1 if kind == "no JSON" else 4)
