"""Files of reports counted through DuckDB: like the aggregator, and whatever interrupts them."""

import gc
import itertools
import re
import weakref
from collections import Counter

import numpy as np
import pytest

from report_files import (
    IDENTIFIER,
    MECHANISM,
    OUTPUTS,
    collected,
    facts,
    write_csv,
    write_jsonl,
    write_parquet,
    write_quoted_csv,
)
from stratagem.collection import report_file
from stratagem.collection.collection import Collection
from stratagem.collection.report_table import aggregate
from stratagem.collection.reports import AnonymousReportsError
from stratagem.collection.tally import Aggregator


def drawn(rng, size, ids=10**9, outputs=OUTPUTS):
    """Reports (id, output) that agree on the output of an id, except for those with a multiple of 11."""
    names = rng.integers(ids, size=size)
    noise = np.where(names % 11 == 0, rng.integers(outputs, size=size), 0)
    return [
        (f"{name:x}".rjust(32, "5"), int(output))
        for name, output in zip(names, (names + noise) % outputs, strict=True)
    ]


WRITERS = {
    "jsonl": (write_jsonl, ".jsonl"),
    "csv": (write_csv, ".csv"),
    "quoted csv": (write_quoted_csv, ".csv"),
    "parquet": (write_parquet, ".parquet"),
    "parquet with UUIDs": (lambda path, reports: write_parquet(path, reports, "UUID", "UBIGINT"), ".parquet"),
    "parquet with text": (lambda path, reports: write_parquet(path, reports, output="VARCHAR"), ".PARQUET"),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_file_is_counted_as_the_aggregator_counts(kind, tmp_path, rng):
    write, suffix = WRITERS[kind]
    reports = [*drawn(rng, 400, ids=300), ("0" * 32, OUTPUTS), ("f" * 32, OUTPUTS + 1)]
    aggregator = Aggregator(IDENTIFIER, OUTPUTS)
    for name, output in reports:
        aggregator.add({"mechanism": MECHANISM, "id": name, "output": output})
    write(tmp_path / f"a{suffix}", reports)
    tally = collected(tmp_path / f"a{suffix}")
    assert facts(tally) == facts(aggregator.tally())
    assert tally.conflicting > 0
    assert tally.duplicates > 0
    assert tally.rejected == {"output out of range": 2}


def test_a_table_is_counted_where_it_lies(tmp_path, rng):
    import ibis

    write_csv(tmp_path / "a.csv", drawn(rng, 300, ids=200))
    connection = ibis.duckdb.connect()
    table = connection.read_csv(tmp_path / "a.csv", all_varchar=True)
    whole = facts(collected(tmp_path / "a.csv"))
    assert facts(aggregate(table, IDENTIFIER, OUTPUTS)) == whole
    assert facts(aggregate(table.cast({"output": "int16"}), IDENTIFIER, OUTPUTS)) == whole
    with pytest.raises(AnonymousReportsError, match="the table has no column 'id'"):
        aggregate(table.drop("id"), IDENTIFIER, OUTPUTS)
    anonymous = aggregate(table.drop("id"), IDENTIFIER, OUTPUTS, anonymous="count")
    assert anonymous.anonymous == anonymous.reports == 300
    connection.disconnect()


def test_files_and_folders_are_one_collection(tmp_path, rng):
    reports = drawn(rng, 600, ids=400)
    (tmp_path / "deep" / "er=1").mkdir(parents=True)
    for number, (write, suffix) in enumerate(WRITERS.values()):
        write(tmp_path / "deep" / "er=1" / f"[{number}]*{suffix}", reports[100 * number : 100 * number + 100])
    (tmp_path / "deep" / "_SUCCESS").touch()
    (tmp_path / "deep" / ".hidden.csv").touch()
    write_csv(tmp_path / "all.csv", reports)
    steps = []
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        collection.add([tmp_path / "deep"], steps.append)
        parts = collection.tally()
    assert [(step.done, step.files, step.rows, step.copy_of) for step in steps] == [
        (k, 6, 100, None) for k in range(1, 7)
    ]
    assert collection.skipped == []
    assert facts(parts) == facts(collected(tmp_path / "all.csv"))


def test_a_file_given_again_changes_nothing_and_a_copy_counts_as_repeats(tmp_path, rng):
    reports = drawn(rng, 100)
    for name in ("a.csv", "b.csv"):
        write_csv(tmp_path / name, reports)
    write_jsonl(tmp_path / "c.jsonl", reports)
    state = tmp_path / "s.reports.duckdb"
    with Collection(state, IDENTIFIER, OUTPUTS) as collection:
        assert collection.add(tmp_path / "a.csv")[0].rows == 100
        once = collection.tally()
        again = collection.add([tmp_path / "a.csv", tmp_path / "a.csv"])
        assert [(taken.rows, taken.before) for taken in again] == [(0, True)] * 2
        assert facts(collection.tally()) == facts(once)
    with Collection(state, IDENTIFIER, OUTPUTS) as collection:
        assert facts(collection.tally()) == facts(once)
        (copy,) = collection.add(tmp_path / "b.csv")
        assert (copy.rows, copy.before, copy.copy_of) == (100, False, str(tmp_path / "a.csv"))
        collection.add(tmp_path / "c.jsonl")
        tally = collection.tally()
    assert tally.counts.tolist() == once.counts.tolist()
    assert (tally.received, tally.duplicates) == (300, once.duplicates + 200)


def test_ids_in_several_passes_are_told_apart_alike(tmp_path, rng, monkeypatch):
    reports = [
        (f"{(name * 0x9E3779B97F4A7C15F39CC0605CEDC835) % (1 << 128):032x}", name % 7) for name in range(900)
    ]
    write_csv(tmp_path / "a.csv", reports + reports[:90] + [(name, 0) for name, _ in reports[:5]])
    write_csv(tmp_path / "ends.csv", [("0" * 32, 1), ("f" * 32, 1), ("8" + "0" * 31, 1), ("7" + "f" * 31, 1)])
    whole = facts(collected(tmp_path))
    monkeypatch.setattr("stratagem.collection.collection.PASS", 100)
    assert facts(collected(tmp_path)) == whole


def test_hostile_rows_are_counted_by_reason(tmp_path):
    good = "a" * 32
    rows = [
        (good, "3"),
        (good.upper(), "3"),
        (good[1:], "3"),
        ("", "3"),
        ("x\0" * 16, "3"),
        ("b" * 32, ""),
        ("b" * 32, "1.0"),
        ("b" * 32, "01"),
        ("b" * 32, "+1"),
        ("b" * 32, " 1"),
        ("b" * 32, "1e0"),
        ("b" * 32, "nan"),
        ("b" * 32, "true"),
        ("b" * 32, "-1"),
        ("b" * 32, "7"),
        ("b" * 32, "9" * 40),
        ('"' + "b" * 32, "1"),
    ]
    body = b"".join(f"{name},{output}\n".encode() for name, output in rows)
    lost = [b"one", b"1,2,3", b"\xff\xfe,3", b"", b"z" * 5_000_000 + b",3"]
    (tmp_path / "a.csv").write_bytes(b"id,output\n" + body + b"\n".join(lost) + b"\n" + b"c" * 32 + b",5")
    tally = collected(tmp_path / "a.csv")
    assert tally.counts.tolist() == [0, 0, 0, 1, 0, 1, 0]
    assert tally.rejected == {
        "output not a whole number": 8,
        "malformed id": 5,
        "row that does not fit the columns": 5,
        "output out of range": 3,
    }
    assert tally.received == len(rows) + len(lost) + 1


IDS = [
    *(
        "a" * 32,
        "A" * 32,
        "a" * 31,
        "a" * 33,
        "g" * 32,
        "{" + "a" * 30 + "}",
        "{" + "a" * 32 + "}",
        "a" * 31 + "-",
    ),
    *(
        "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa",
        "a" * 31 + " ",
        "a" * 31 + "\0",
        "٣" * 32,
        "ａ" * 32,
        "ß" * 32,
        "",
        None,
    ),
]
NUMBERS = [
    *(
        "0",
        "6",
        "7",
        "-1",
        "-0",
        "00",
        "01",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "1.0",
        "1.",
        "1e0",
        "1_0",
        "0x1",
        "٣",
        "true",
    ),
    *(
        "9" * 18,
        "9" * 19,
        str((1 << 63) - 1),
        str(1 << 63),
        "9" * 40,
        "-" + "9" * 40,
        "--1",
        "-",
        "1-",
        "",
        None,
    ),
]


def test_ids_and_numbers_of_a_table_are_judged_by_their_patterns(tmp_path):
    """The engine casts them, and its casts take more than the patterns do."""
    import pyarrow as pa
    import pyarrow.parquet

    rows = [*((name, "1") for name in IDS), *((f"{k:032x}", text) for k, text in enumerate(NUMBERS))]
    pyarrow.parquet.write_table(
        pa.table(dict(zip(("id", "output"), zip(*rows, strict=True), strict=True))), tmp_path / "a.parquet"
    )
    expected, counts = Counter(), [0] * OUTPUTS
    for name, text in rows:
        if not re.fullmatch("[0-9a-f]{32}", name or ""):
            expected["malformed id"] += 1
        elif not re.fullmatch("-?(0|[1-9][0-9]*)", text or "", re.ASCII):
            expected["output not a whole number"] += 1
        elif not 0 <= int(text) < OUTPUTS:
            expected["output out of range"] += 1
        else:
            counts[int(text)] += 1
    tally = collected(tmp_path / "a.parquet")
    assert tally.rejected == expected
    assert tally.counts.tolist() == counts == [2, 1, 0, 0, 0, 0, 1]


def test_one_pair_of_quotes_is_removed():
    import ibis

    texts = ["".join(each) for size in range(5) for each in itertools.product('"aé\n', repeat=size)] + [None]
    table = ibis.memtable({"text": texts}, schema={"text": "string"})
    found = ibis.duckdb.connect().to_pyarrow(table.select(table.text, bare=report_file._unquoted(table.text)))
    expected = [text and re.sub(r'\A"([^"]*)"\Z', r"\1", text) for text in found["text"].to_pylist()]
    assert len(expected) == 342
    assert found["bare"].to_pylist() == expected


def test_an_open_quote_swallows_nothing(tmp_path):
    (tmp_path / "a.csv").write_text('note,output\n"never closed,1\n' + "fine,2\n" * 50)
    assert collected(tmp_path / "a.csv", anonymous="count").counts.tolist() == [0, 1, 50, 0, 0, 0, 0]


QUOTED = {
    "a comma": ('"Berlin, DE"', True),
    "several": ('"a,b,,c"', True),
    "quotes inside": ('"he said ""yes, often"""', True),
    "a comma alone": ('","', True),
    "no comma": ('"Berlin"', True),
    "none": ("Berlin", True),
    "never closed": ('"Berlin, DE', False),
    "closed too often": ('"Berlin, DE""', True),
    "not at the beginning": ('x"Berlin, DE"', False),
    "a comma outside": ("Berlin, DE", False),
}


@pytest.mark.parametrize("name", QUOTED)
@pytest.mark.parametrize("place", ["first", "between", "last"])
def test_quoted_commas_in_other_columns_count_and_what_is_not_closed_swallows_nothing(name, place, tmp_path):
    """Every line is a report or is rejected, whatever stands in the one among them."""
    note, whole = QUOTED[name]
    order = {"first": [2, 0, 1], "between": [0, 2, 1], "last": [0, 1, 2]}[place]

    def line(*parts):
        return ",".join(parts[k] for k in order) + "\n"

    others = [line(f"{k:032x}", "2", "fine") for k in range(40)]
    odd = line("f" * 32, "1", note)
    path = tmp_path / "a.csv"
    path.write_text("".join([line("id", "output", "note"), *others[:20], odd, *others[20:]]))
    tally = collected(path)
    assert tally.counts.tolist() == [0, int(whole), 40, 0, 0, 0, 0]
    assert tally.received == 41
    assert sum(tally.rejected.values()) == 1 - whole


def test_other_columns_may_be_called_anything(tmp_path):
    (tmp_path / "a.csv").write_text(
        f",output,Output,t,t,a b'\",id\n0,1,,x,y,z,{'a' * 32}\n1,2,3,x,y,z,{'b' * 32}\n"
    )
    assert facts(collected(tmp_path / "a.csv")) == ([0, 1, 1, 0, 0, 0, 0], {}, 0, 0, 0, 2)


def test_reports_of_another_mechanism_are_rejected(tmp_path, rng):
    write_jsonl(tmp_path / "a.jsonl", drawn(rng, 10))
    write_parquet(tmp_path / "b.parquet", drawn(rng, 10))
    (tmp_path / "c.csv").write_text("mechanism,output\n,1\n" + f"{MECHANISM} ,1\n")
    with Collection(None, "f" * 64, OUTPUTS, anonymous="count") as collection:
        collection.add(tmp_path)
        assert facts(collection.tally()) == ([0] * OUTPUTS, {"another mechanism": 22}, 0, 0, 0, 22)


def test_no_reports_are_a_tally_of_zeros(tmp_path):
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "b.csv").write_text("id,output")
    write_parquet(tmp_path / "c.parquet", [("0" * 32, OUTPUTS)])
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        assert collection.tally().received == 0
        collection.add(tmp_path)
        assert collection.tally().reports == 0


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "has no header"),
        ("a.csv", b"\xff\xfe\x00", "has no header"),
        ("a.csv", b"x" * 100_000, "has no header"),
        ("a.csv", b"3\n4\n", "no column 'output'"),
        ("a.csv", b"id;output\n1;2\n", "no column 'output'"),
        ("a.csv", b"outputs,id\n1,2\n", "no column 'output': did you mean outputs"),
        ("a.csv", b"output,output\n1,2\n", "two columns 'output'"),
        ("a.parquet", b"PAR1 and not much else", "cannot be taken"),
        ("a.parquet", b"", "cannot be taken"),
        ("a.xlsx", b"x", "is not a .csv, .jsonl or .parquet file"),
        ("a.csv.gz", b"x", "is not a .csv, .jsonl or .parquet file"),
    ],
)
def test_files_that_cannot_hold_reports_are_refused(tmp_path, name, content, words):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(content)
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        for source in (tmp_path / "in", tmp_path / "in" / name):
            with pytest.raises(ValueError, match=words) as caught:
                collection.add(source)
            assert str(tmp_path) in str(caught.value)
            assert "\n" not in str(caught.value)
        assert collection.tally().received == 0


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"output": "DOUBLE"}, "'output' has type float64, but must be integer or string"),
        ({"output": "BOOLEAN"}, "'output' has type boolean"),
        ({"name": "BIGINT"}, "'id' has type int64, but must be string or uuid"),
    ],
)
def test_columns_of_another_type_are_refused(tmp_path, columns, words):
    write_parquet(tmp_path / "a.parquet", [], **columns)
    with pytest.raises(ValueError, match=words):
        collected(tmp_path / "a.parquet")


def test_sources_that_are_not_there_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        for sources, words in [
            (tmp_path / "absent.csv", "does not exist"),
            (tmp_path / "empty", "holds no files"),
            ([], "no files were given"),
        ]:
            with pytest.raises(ValueError, match=words):
                collection.add(sources)


def test_a_file_that_fails_leaves_those_before_it(tmp_path, rng):
    write_csv(tmp_path / "a.csv", drawn(rng, 10))
    (tmp_path / "b.csv").write_text("no\n")
    write_csv(tmp_path / "c.csv", drawn(rng, 10))
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        with pytest.raises(ValueError, match=r"b\.csv"):
            collection.add(tmp_path)
        assert collection.tally().received == 10
        (tmp_path / "b.csv").unlink()
        assert len(collection.add(tmp_path, lambda taken: True)) == 1
        collection.add(tmp_path)
        assert collection.tally().received == 20


def test_blocks_of_lines_are_let_go_once_they_are_stored(tmp_path, rng, monkeypatch):
    """What a transaction kept to its end would make memory grow with the number of reports."""
    monkeypatch.setattr("stratagem.collection.reports.CHUNK", 1 << 12)
    monkeypatch.setattr("stratagem.collection.report_file.TOGETHER", 1)
    write_jsonl(tmp_path / "a.jsonl", drawn(rng, 2_000))
    kept, alive, append = [], [], Collection._append

    def watched(collection, number, ids, outputs):
        gc.collect()
        alive.append(sum(one() is not None for one in kept))
        kept.append(weakref.ref(ids))
        append(collection, number, ids, outputs)

    monkeypatch.setattr(Collection, "_append", watched)
    gc.freeze()  # what other tests hold is not looked through again and again
    try:
        assert collected(tmp_path / "a.jsonl").reports == 2_000
    finally:
        gc.unfreeze()
    assert len(alive) > 20
    assert max(alive) <= 1
