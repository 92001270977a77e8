"""A report is exactly one thing; everything else is rejected by name, in bounded work."""

import codecs
import io
import json
import random
import time

import pytest

from stratagem.collection import reports
from stratagem.collection.collection import Collection
from stratagem.collection.reports import LINE_LIMIT, Reason, Report, ReportFormat, lines

pytestmark = pytest.mark.smoke

IDENTIFIER = "0123456789abcdef" * 4
FORM = ReportFormat(IDENTIFIER, 8)
NAME = "00ff" * 8


def text(**changes):
    return json.dumps({"mechanism": FORM.mechanism, "id": NAME, "output": 3} | changes)


@pytest.mark.parametrize("output", [0, 3, 7])
@pytest.mark.parametrize("form", [str, str.encode])
def test_a_report_is_read_back(output, form):
    assert FORM.parse(form(text(output=output))) == Report(NAME, output)


def test_order_of_keys_and_spaces_mean_nothing():
    line = f' {{"output" :3,\t"id":"{NAME}","mechanism":"{FORM.mechanism}"}} \r'
    assert FORM.parse(line) == FORM.parse(line.encode()) == Report(NAME, 3)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", Reason.SYNTAX),
        ("3", Reason.SYNTAX),
        ("null", Reason.SYNTAX),
        ("[]", Reason.SYNTAX),
        ("{", Reason.SYNTAX),
        (text() + text(), Reason.SYNTAX),
        (text() + "\0", Reason.SYNTAX),
        (b"\xff\xfe" + text().encode("utf-16-le"), Reason.SYNTAX),
        (b"\xef\xbb\xbf" + text().encode(), Reason.SYNTAX),
        (text().encode().replace(b"00ff", b"\xff\xff\xff\xff", 1), Reason.SYNTAX),
        ("[" * LINE_LIMIT, Reason.SYNTAX),
        ('{"a":' * 100, Reason.SYNTAX),
        ("9" * LINE_LIMIT, Reason.SYNTAX),
        (text() + " " * LINE_LIMIT, Reason.LONG),
        ("{}", Reason.KEYS),
        (text(extra=1), Reason.KEYS),
        (text()[:-1] + ', "output": 3}', Reason.KEYS),
        (text(mechanism=IDENTIFIER), Reason.MECHANISM),
        (text(mechanism=FORM.mechanism.upper()), Reason.MECHANISM),
        (text(mechanism=None), Reason.MECHANISM),
        (text(id=NAME.upper()), Reason.ID),
        (text(id=NAME[1:]), Reason.ID),
        (text(id=NAME + "\n"), Reason.ID),
        (text(id="٣" * 32), Reason.ID),
        (text(id=7), Reason.ID),
        (text(id=None), Reason.ID),
        (text(output=True), Reason.WHOLE),
        (text(output=1.0), Reason.WHOLE),
        (text(output=float("nan")), Reason.WHOLE),
        (text(output="3"), Reason.WHOLE),
        (text(output=None), Reason.WHOLE),
        (text(output=[3]), Reason.WHOLE),
        (text(output=8), Reason.RANGE),
        (text(output=-1), Reason.RANGE),
        (text(output=10**300), Reason.RANGE),
    ],
)
def test_what_is_no_report_is_named(line, reason):
    assert FORM.parse(line) is reason


def test_a_decoded_report_is_checked_alike():
    assert FORM.check(json.loads(text())) == Report(NAME, 3)
    assert FORM.check("text") is Reason.SYNTAX
    assert FORM.check(json.loads(text(output=8))) is Reason.RANGE


@pytest.mark.parametrize("identifier", ["", "0" * 63, "A" * 64, "0" * 16, None, "0" * 64 + "\n"])
def test_an_identifier_is_a_hash(identifier):
    with pytest.raises(ValueError, match="64 lower-case hex digits"):
        ReportFormat(identifier, 8)


@pytest.mark.parametrize("outputs", [0, -1, True, 1.5, "8", 1 << 80])
def test_outputs_are_counted(outputs):
    with pytest.raises(ValueError, match="the number of outputs"):
        ReportFormat(IDENTIFIER, outputs)


def test_lines_are_cut_but_none_is_lost():
    long = b"x" * 300_000
    file = io.BytesIO(b"one\r\n\n" + long + b"\n" + b"y" * LINE_LIMIT + b"\nlast")
    found = list(lines(file))
    assert [found[0], found[1], found[4]] == [b"one", b"", b"last"]
    assert found[3] == b"y" * LINE_LIMIT
    assert LINE_LIMIT < len(found[2]) <= LINE_LIMIT + 2
    assert list(lines(io.BytesIO())) == []


@pytest.mark.parametrize("chunk", [1, 2, 7, 600, 1 << 22])
def test_lines_are_found_wherever_the_file_is_cut(chunk, monkeypatch):
    """Against a line of the file after the other, whatever pieces the file comes in."""
    rng = random.Random(1)
    parts = [
        b"",
        b"\r",
        b"\r\r",
        b" ",
        b"x" * LINE_LIMIT,
        b"y" * (LINE_LIMIT + 1),
        b"z" * 2000,
        codecs.BOM_UTF8,
        b"{}",
    ]
    monkeypatch.setattr(reports, "CHUNK", chunk)
    for end in (b"", b"\n", b"last"):
        for mark in (b"", codecs.BOM_UTF8):
            raw = mark + b"\n".join(rng.choices(parts, k=60)) + end
            expected = [
                line[: LINE_LIMIT + 2].removeprefix(codecs.BOM_UTF8 if first else b"").rstrip(b"\r\n")
                for first, line in zip([True] + [False] * 99, io.BytesIO(raw), strict=False)
            ]
            assert list(lines(io.BytesIO(raw))) == expected


def test_empty_lines_cost_next_to_nothing(tmp_path):
    """20 MB of them took over two minutes; 5 MB take about a second of one processor."""
    path, number = tmp_path / "a.jsonl", 5_000_000
    path.write_bytes(text().encode() + b"\n" * number)
    with Collection(None, IDENTIFIER, 8) as collection:
        start = time.process_time()
        collection.add(path)
        tally = collection.tally()
        assert time.process_time() - start < 8
    assert (tally.reports, tally.rejected, tally.received) == (1, {}, 1)
