"""Files are read by their very names: no character of a name reads another file, and no name leads elsewhere."""

import gzip
import os
from pathlib import Path

import duckdb
import numpy as np
import pytest

from commands import assert_refused, run
from mechanisms import mechanism
from report_files import IDENTIFIER, OUTPUTS, write_csv, write_jsonl, write_parquet
from stratagem.collection.collection import Collection
from stratagem.domain.columns import distinct, read, stream
from stratagem.io import literal as literal_room
from stratagem.io.literal import EndlessFileError, literal, open_regular
from stratagem.mechanism.export.saved import save, to_stored
from stratagem.mechanism.matrix_input import read_probabilities
from stratagem.workloads import Domain

NAMES = [
    "people[1]",
    "a*",
    "a?",
    "[!a]",
    "[a-z]",
    "it's",
    'a"b',
    "back\\slash",
    "[1]\\*",
    "hive=1/x",
    "a[1]/x",
    "-x",
    "--help",
    "s3:/bucket/x",
    "http:/host/x",
    "~/x",
    "{a,b}",
    "$HOME",
    "%41",
    " ",
    "two\nlines",
    "é",
    "x.csv.gz/x",
    "/proc/self/fd/0"[1:],
    os.fsdecode(b"\xff\xfe"),
]
DECOYS = ["people1", "ab", "aa", "b", "back/slash", "1/xx", "x", "a1/x", "bucket/x", "a", "A"]
"""Names that the patterns among those would match, or that a reader who strips something would open."""


@pytest.fixture(params=NAMES, ids=ascii)
def name(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(request.param).parent.mkdir(parents=True, exist_ok=True)
    return request.param


def decoyed(suffix, write):
    """Write other content under the names that must not be read."""
    for decoy in DECOYS:
        path = Path(f"{decoy}{suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write(path)


def parquet(path, query):
    """Write a Parquet file by a name of the test's own, and give it its name."""
    duckdb.sql(f"COPY ({query}) TO 'made.tmp' (FORMAT parquet)")
    Path("made.tmp").rename(path)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz"])
def test_a_column_is_read_from_the_file_of_that_name(name, suffix):
    def write(path, value=2):
        text = f"k,hive\n{value},2\n".encode()
        if suffix == ".parquet":
            parquet(path, f"SELECT {value} AS k, 2 AS hive")
        else:
            path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)

    decoyed(suffix, write)
    path = Path(f"{name}{suffix}")
    write(path, 1)
    source = {"value": "k"}
    assert read(path, Domain.of(3), source).x.tolist() == [0, 1, 0]
    assert distinct(path, "k") == {"1": 1}
    assert distinct(path, "hive") == {"2": 1}  # not what the folder hive=1 says
    assert [rows.coordinates.tolist() for rows, _ in stream(path, Domain.of(3), source)] == [[[1]]]


def test_a_matrix_is_read_from_the_file_of_that_name(name):
    decoyed(".parquet", lambda path: parquet(path, "SELECT 0.5 AS u0, 0.5 AS u1"))
    decoyed(".csv", lambda path: path.write_text("0.5,0.5\n"))
    decoyed(".npy", lambda path: np.save(path, np.full((1, 2), 0.5)))
    parquet(Path(f"{name}.parquet"), "SELECT 1.0 AS u0, 1.0 AS u1")
    Path(f"{name}.csv").write_text("1.0,1.0\n")
    np.save(Path(f"{name}.npy"), np.ones((1, 2)))
    for suffix in (".parquet", ".csv", ".npy"):
        assert read_probabilities(f"{name}{suffix}").tolist() == [[1.0, 1.0]]


@pytest.mark.sampled(18)
def test_reports_are_read_from_the_file_of_that_name(name):
    writers = {".csv": write_csv, ".jsonl": write_jsonl, ".parquet": write_by_rename}
    for number, (suffix, write) in enumerate(writers.items()):
        decoyed(suffix, lambda path, write=write: write(path, [("f" * 32, 6)]))
        write(Path(f"{name}{suffix}"), [(f"{number:032x}", 1)])
        with Collection(None, IDENTIFIER, OUTPUTS) as collection:
            collection.add(f"{name}{suffix}")
            assert collection.foreign([f"{name}{suffix}"]) == {}
            assert collection.tally().counts.tolist() == [0, 1, 0, 0, 0, 0, 0]


def write_by_rename(path, reports):
    write_parquet(Path("made.tmp"), reports)
    Path("made.tmp").rename(path)


def test_a_matrix_is_written_to_the_file_of_that_name(name):
    stored = to_stored(mechanism("two-level"))
    decoyed(".parquet", lambda path: path.write_bytes(b"decoy"))
    save(f"{name}.parquet", stored)
    assert np.array_equal(read_probabilities(f"{name}.parquet"), stored.strategy.matrix)
    assert all(Path(f"{decoy}.parquet").read_bytes() == b"decoy" for decoy in DECOYS if decoy != name)


@pytest.mark.parametrize("name", [each for each in NAMES if "\\" not in each and each.isprintable()])
def test_without_names_of_descriptors_patterns_are_escaped(name, tmp_path, monkeypatch):
    """As on systems other than Linux, where names with a backslash mean folders or cannot be had."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(literal_room, "DESCRIPTORS", tmp_path / "absent")
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    decoyed(".csv", lambda path: path.write_text("k\n2\n"))
    Path(f"{name}.csv").write_text("k\n1\n")
    assert distinct(f"{name}.csv", "k") == {"1": 1}


def test_files_of_one_size_and_time_are_told_apart(tmp_path):
    """They have one name after the other, the descriptor's; nothing may remember what was under it."""
    for value in (1, 2):
        path = tmp_path / f"{value}.parquet"
        duckdb.sql(f"COPY (SELECT {value} AS k FROM range(1000)) TO '{path}'")
        os.utime(path, ns=(10**18, 10**18))
    assert len({(tmp_path / f"{value}.parquet").stat().st_size for value in (1, 2)}) == 1
    with duckdb.connect() as connection:
        for value in (1, 2, 1):
            with literal(tmp_path / f"{value}.parquet") as name:
                assert connection.execute("SELECT min(k) FROM read_parquet(?)", [name]).fetchall() == [
                    (value,)
                ]


def test_a_command_reads_the_file_that_was_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mechanism("two-level").save("m.ldp.json")
    Path("people1.csv").write_text("k\n" + "2\n" * 50)
    Path("people[1].csv").write_text("k\n3\n3\n")
    command = ["randomise", "m.ldp.json", "--data", "people[1].csv", "--column", "k"]
    status, out, err = run(capsys, *command)
    assert (status, len(out.splitlines())) == (0, 2)
    assert "2 reports of 2 rows" in err
    command[3] = "people[2].csv"
    assert_refused(capsys, command, r"people\[2\].csv cannot be read .No such file")
    Path("broken[1].parquet").write_bytes(b"PAR1 and not much else")
    command[3] = "broken[1].parquet"
    assert_refused(capsys, command, r"broken\[1\].parquet cannot be read as PARQUET .*'broken\[1\].parquet'")


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz", ".mat", ".csv.gz"])
def test_what_never_ends_is_no_table(capsys, tmp_path, monkeypatch, kind, suffix):
    monkeypatch.chdir(tmp_path)
    mechanism("two-level").save("m.ldp.json")
    path = Path(f"endless{suffix}")
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    with pytest.raises(EndlessFileError):
        open_regular(path)
    words = f"endless{suffix} is a device, a pipe or a socket"
    assert_refused(capsys, ["randomise", "m.ldp.json", "--data", path, "--column", "k"], words)
    if suffix != ".csv.gz":
        asked = ["--workload", "histogram", "--domain", "4", "--epsilon", "1", "-o", "b.ldp.json"]
        assert_refused(capsys, ["import", path, *asked], words)


def test_an_interrupted_stream_lets_go_of_its_file(tmp_path):
    (tmp_path / "a.csv").write_text("k\n1\n")
    before = len(list(Path("/proc/self/fd").iterdir()))
    rows = stream(tmp_path / "a.csv", Domain.of(3), {"value": "k"})
    next(rows)
    rows.close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
