"""Broken and hostile files of reports and of data: a result or one sentence each, in bounded time and memory."""

import gzip
import json
import os
import random
import resource
import signal
from pathlib import Path

import pytest

from commands import fault, run
from mechanisms import mechanism

REPORT_FILES = int(float(os.environ.get("STRATAGEM_REPORT_FILES", "60")))
DATA_FILES = int(float(os.environ.get("STRATAGEM_DATA_FILES", "40")))
SEED = 17
LIMIT = 20
"""Seconds after which a file counts as one that hangs."""
MEMORY = 2 << 20
"""Kilobytes that the process may come to hold."""
GIANT = 1 << 26


def flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 3, 30))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def spliced(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data))
    junk = (
        b"\0" * 9,
        b'"',
        b"\r",
        b"\xff\xfe",
        b",,,,",
        b"[" * 9000,
        b'{"a":' * 3000,
        b"9" * 4000,
        b"\x1b[2J",
    )
    return data[:place] + draw.choice(junk) + data[place:]


MUTATIONS = {
    "whole": lambda data, draw: data,
    "cut": lambda data, draw: data[: draw.randrange(len(data))],
    "flipped": flipped,
    "spliced": spliced,
    "noise": lambda data, draw: draw.randbytes(draw.choice((1, 100, 10_000))),
    "doubled": lambda data, draw: data + data,
    "two ends of lines": lambda data, draw: data.replace(b"\n", b"\r\n", 3),
    "old ends of lines": lambda data, draw: data.replace(b"\n", b"\r"),
    "marked": lambda data, draw: b"\xef\xbb\xbf" + data,
    "wide": lambda data, draw: data.decode("latin-1").encode("utf-16"),
    "shuffled": lambda data, draw: b"\n".join(draw.sample(data.split(b"\n"), data.count(b"\n") + 1)),
    "empty": lambda data, draw: b"",
    "ends of lines": lambda data, draw: b"\n" * 5000,
    "zeros": lambda data, draw: bytes(GIANT),
    "one line": lambda data, draw: b"9" * GIANT,
    "many columns": lambda data, draw: b",".join(b"c%d" % k for k in range(3000)) + b"\n" + data,
    "packed": lambda data, draw: gzip.compress(data),
    "footer that lies": lambda data, draw: data[:-8] + draw.randbytes(4) + b"PAR1",
}
"""What is done to a good file."""
ODD = ("pipe", "device", "folder", "loop", "absent", "broken link")
"""What may stand in the place of a file."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Good files of reports and of data, in a folder where no command before left anything."""
    import duckdb

    monkeypatch.chdir(tmp_path)
    made = mechanism("edges")
    made.save("m.ldp.json")
    reports = [made.client.randomise(0.25) for _ in range(30)]
    (tmp_path / "good.jsonl").write_text("".join(json.dumps(each) + "\n" for each in reports))
    rows = "".join(f"{each['mechanism']},{each['id']},{each['output']}\n" for each in reports)
    (tmp_path / "good.csv").write_text(f"mechanism,id,output\n{rows}")
    duckdb.sql("COPY (FROM read_csv('good.csv', all_varchar = true)) TO 'good.parquet'")
    (tmp_path / "data.csv").write_text(
        "name,delay\n" + "".join(f"p{k},{k * 7 % 40 - 5.5}\n" for k in range(60))
    )
    duckdb.sql("COPY (FROM read_csv('data.csv')) TO 'data.parquet'")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress((tmp_path / "data.csv").read_bytes()))
    return tmp_path


def place(path: Path, good: Path, kind: str, draw: random.Random) -> None:
    """Put a changed copy of a good file, or something odd, under a name."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to(draw.choice(("/dev/zero", "/dev/urandom", "/dev/full", "/dev/null")))
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path.name)
        case "broken link":
            path.symlink_to("nowhere")
        case "absent":
            pass
        case _:
            path.write_bytes(MUTATIONS[kind](good.read_bytes(), draw))


def cases(kind: str, count: int, names: tuple[str, ...]):
    """Return numbers, good files and what to do to them: everything once before anything twice."""
    draw = random.Random(f"{SEED} {kind}")
    pairs = [(name, how) for name in names for how in (*MUTATIONS, *ODD)]
    draw.shuffle(pairs)
    return [(number, *pairs[number % len(pairs)]) for number in range(count)]


def ended(capsys, arguments) -> tuple[str, int]:
    """Run a command under a watch; return what is wrong with how it ended, and its exit status."""

    def stop(number, frame):
        pytest.fail(f"the command still runs after {LIMIT} s")

    before, held = signal.signal(signal.SIGALRM, stop), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.alarm(LIMIT)
    try:
        found = run(capsys, *arguments)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > max(held, MEMORY):
        return "it needs more than 2 GB", found[0]
    return fault(*found, json_asked="--json" in arguments), found[0]


@pytest.mark.sampled(14, 3)
@pytest.mark.parametrize(
    ("number", "name", "how"), cases("reports", REPORT_FILES, ("jsonl", "csv", "parquet"))
)
def test_any_file_of_reports_is_counted_or_refused_in_one_sentence(capsys, folder, number, name, how):
    path = folder / f"given[1]*.{name}"
    place(path, folder / f"good.{name}", how, random.Random(SEED + number))
    for options in (["--anonymous", "count"], ["--first", "--state", "s.duckdb"]):
        wrong, status = ended(capsys, ["aggregate", "m.ldp.json", path, *options, "--json"])
        assert not wrong
        assert status == 0 or how != "whole"
    left = {each.name for each in folder.iterdir()} - {path.name, "s.duckdb"}
    assert left == {
        "m.ldp.json",
        "good.jsonl",
        "good.csv",
        "good.parquet",
        "data.csv",
        "data.parquet",
        "data.csv.gz",
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("number", "name", "how"), cases("data", DATA_FILES, ("csv", "parquet", "csv.gz")))
def test_any_file_of_data_is_read_or_refused_in_one_sentence(capsys, folder, number, name, how):
    path = folder / f"given[1]*.{name}"
    place(path, folder / f"data.{name}", how, random.Random(SEED + number))
    options = ["--column", "delay", "--invalid", "drop", "-o", "r.jsonl"]
    wrong, status = ended(capsys, ["randomise", "m.ldp.json", "--data", path, *options])
    assert not wrong
    assert status == 0 or how != "whole"
    assert (folder / "r.jsonl").exists() == (status == 0)
    assert not [each for each in folder.iterdir() if each.name.startswith(".")]


def test_both_results_and_refusals_are_among_them(capsys, folder):
    """What only ever refuses, or never does, would test nothing."""
    for how, expected in (("whole", 0), ("noise", 2), ("marked", 0), ("pipe", 2)):
        path = folder / f"{how}.csv"
        place(path, folder / "good.csv", how, random.Random(SEED))
        assert ended(capsys, ["aggregate", "m.ldp.json", path, "--json"]) == ("", expected)
