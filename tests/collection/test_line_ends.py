"""Line ends of files of reports: of one kind that is read, or told in a sentence."""

import io

import pytest

from report_files import IDENTIFIER, MECHANISM, OUTPUTS, collected
from stratagem.collection.collection import Collection, _refusing
from stratagem.collection.reports import lines
from stratagem.collection.tally import Aggregator

FIRST, SECOND = "a" * 32, "b" * 32
CSV = ("id,output", f"{FIRST},1", f"{SECOND},2")
JSON = tuple(f'{{"mechanism": "{MECHANISM}", "id": "{one}", "output": 1}}' for one in (FIRST, SECOND))


def written(lines, ends):
    return "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "a.csv",
            written(CSV, ("\r\n", "\n", "\n")),
            r"several kinds \(LF 2, CR LF 1\): write it with one kind",
        ),
        (
            "a.csv",
            written(CSV, ("\n", "\r\n", "\n")),
            r"several kinds \(LF 2, CR LF 1\): write it with one kind",
        ),
        ("a.csv", written(CSV, ("\n", "\r", "\n")), "several kinds"),
        ("a.csv", written(CSV, ("\r", "\n", "\r")), "several kinds"),
        ("a.csv", written(CSV, "\r\r\r"), "CR alone: write it with LF, or CR LF"),
        ("a.jsonl", written(JSON, "\r\r"), "CR alone: write it with LF, or CR LF"),
        ("a.jsonl", written(JSON, ("\r", "")), "CR alone: write it with LF, or CR LF"),
    ],
)
def test_line_ends_that_cannot_be_read_are_named(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} has line ends of {words}"):
        collected(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", written(CSV, "\n\n\n")),
        ("a.csv", written(CSV, ("\r\n", "\r\n", ""))),
        ("a.jsonl", written(JSON, ("\r\n", "\n"))),
        ("a.jsonl", written(JSON, ("\n", "\r"))),
    ],
)
def test_other_line_ends_are_read(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    tally = collected(tmp_path / name)
    assert (tally.reports, tally.received) == (2, 2)


BOM = b"\xef\xbb\xbf"
BLANK = {
    "the last line": (written(JSON, ("\n", "\n\n")), 2, {}),
    "many last lines": (written(JSON, ("\n", "\n" * 5000)), 2, {}),
    "between, of CR LF": (written(JSON, ("\r\n\r\n", "\r\n\r\n")), 2, {}),
    "the first line": (b"\n" + written(JSON, "\n\n"), 2, {}),
    "blanks and tabs": (written((*JSON, " \t "), ("\n", "\n", "\n")), 2, {}),
    "a mark alone": (BOM, 0, {}),
    "a mark and a line end": (BOM + b"\n" + written(JSON, "\n\n"), 2, {}),
    "no line": (b"", 0, {}),
    "what is no blank line": (
        written((JSON[0], "x", "", "\0"), "\n\n\n\n") + BOM + b"\n",
        1,
        {"not a JSON object": 3},
    ),
    "blanks beyond the limit": (b" " * 5000, 0, {"line too long": 1}),
}
"""Content of a file of JSON lines, its reports and what is rejected."""


@pytest.mark.parametrize("name", BLANK)
def test_blank_lines_are_no_reports(name, tmp_path):
    content, reports, rejected = BLANK[name]
    (tmp_path / "a.jsonl").write_bytes(content)
    aggregator = Aggregator(IDENTIFIER, OUTPUTS)
    aggregator.add_lines(lines(io.BytesIO(content)))
    for tally in (collected(tmp_path / "a.jsonl"), aggregator.tally()):
        assert (tally.reports, tally.rejected) == (reports, rejected)
        assert tally.received == reports + sum(rejected.values())


def test_memory_is_advised_where_it_was_short_and_nowhere_else(tmp_path):
    import duckdb

    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"x" * 100)
    with (
        Collection(None, IDENTIFIER, OUTPUTS) as collection,
        pytest.raises(ValueError, match=r"cannot be taken \(.*\): give a whole file$"),
    ):
        collection.add(tmp_path / "a.parquet")
    with (
        pytest.raises(ValueError, match=r"give more memory$"),
        _refusing("it cannot be taken", "give a whole file"),
        duckdb.connect(config={"memory_limit": "10MB", "temp_directory": ""}) as connection,
    ):
        connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(100_000_000)")
