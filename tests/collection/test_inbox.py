"""Every report that is given is counted or named: copies, files that grew, and what folders hold beside files."""

import json
import os
import socket
from pathlib import Path

import pytest

from commands import assert_refused, run
from mechanisms import mechanism
from report_files import IDENTIFIER, MECHANISM, OUTPUTS, collected, write_csv, write_jsonl
from stratagem.collection.collection import Collection
from stratagem.collection.report_file import Left
from stratagem.collection.tally import Aggregator

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_equal_files_without_ids_are_refused_or_all_counted(folder):
    """The defect was that of 1,000 files with one report each 29 were counted."""
    (folder / "in").mkdir()
    for number in range(20):
        (folder / "in" / f"{number:02}.csv").write_text(f"output\n{number % OUTPUTS}\n")
    with pytest.raises(ValueError, match=r"00\.csv has no column 'id', .* say anonymous=.count.") as caught:
        collected("in")
    assert "--" not in str(caught.value)
    with Collection("s.duckdb", IDENTIFIER, OUTPUTS, anonymous="count") as collection:
        for _ in range(2):  # a second time as after a kill
            taken = collection.add("in")
            tally = collection.tally()
            assert (tally.received, tally.reports, tally.anonymous) == (20, 20, 20)
    assert all(each.before for each in taken)
    assert tally.counts.tolist() == [3, 3, 3, 3, 3, 3, 2]


@pytest.mark.parametrize("word", ["maybe", "", None, 3])
def test_a_rule_that_does_not_exist_is_refused(word):
    with pytest.raises(ValueError, match=r"anonymous is .*: say refuse or count"):
        Collection(None, IDENTIFIER, OUTPUTS, anonymous=word)


def test_a_file_without_ids_that_grew_is_refused_or_named(folder):
    (folder / "a.csv").write_text("output\n1\n2\n")
    (folder / "renamed.csv").write_text("output\n1\n2\n3\n")
    (folder / "other.csv").write_text("output\n1\n3\n3\n")
    with Collection("s.duckdb", IDENTIFIER, OUTPUTS, anonymous="count") as collection:
        taken = collection.add(["a.csv", "renamed.csv", "other.csv"])
        assert [each.copy_of for each in taken] == [None, str(folder / "a.csv"), None]
        assert collection.tally().received == 8
        (folder / "a.csv").write_text("output\n1\n2\n3\n")
        with pytest.raises(ValueError, match=r"a\.csv has changed since it was taken, and without ids"):
            collection.add("a.csv")
        write_csv(folder / "d.csv", [("d" * 32, 3)])
        collection.add("d.csv")
        write_csv(folder / "d.csv", [("d" * 32, 3), ("e" * 32, 4)])  # with ids they are told apart
        collection.add("d.csv")
        assert collection.tally().counts.tolist() == [0, 3, 2, 4, 1, 0, 0]


def strange(folder):
    """Fill a folder with one good file and one of everything that is left out, and of what goes unmentioned."""
    folder.mkdir()
    write_csv(folder / "good.csv", [("a" * 32, 3)])
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    write_csv(elsewhere / "lost.csv", [("b" * 32, 3)])
    (folder / "linked").symlink_to(elsewhere)
    (folder / "loop").symlink_to(folder)
    (folder / "broken.csv").symlink_to("nowhere.csv")
    os.mkfifo(folder / "pipe.csv")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket.csv"))
    (folder / ".hidden.csv").write_text("id,output\n")
    (folder / "_temporary").mkdir()
    (folder / "_SUCCESS").touch()
    (folder / ".good.csv.crc").write_bytes(b"crc\0")
    return {
        "linked": Left.LINKED,
        "loop": Left.LINKED,
        "broken.csv": Left.BROKEN,
        "pipe.csv": Left.ENDLESS,
        "zero.jsonl": Left.ENDLESS,
        "socket.csv": Left.ENDLESS,
        ".hidden.csv": Left.HIDDEN,
        "_temporary": Left.HIDDEN,
    }


def test_what_is_left_out_of_a_folder_is_listed(folder):
    expected = strange(folder / "in")
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        for _ in range(2):
            collection.add("in")
        assert {one.path.name: one.reason for one in collection.skipped} == expected
        assert len(collection.skipped) == len(expected)
        assert collection.tally().received == 1


def test_a_folder_that_cannot_be_read_is_listed(folder, monkeypatch):
    (folder / "in" / "closed").mkdir(parents=True)
    write_csv(folder / "in" / "good.csv", [("a" * 32, 3)])
    real = Path.iterdir

    def iterdir(path):
        if path.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        collection.add("in")
    (one,) = collection.skipped
    assert str(one) == "in/closed was left out: the folder cannot be read (Permission denied)"


def test_the_command_lists_what_it_leaves_out_and_its_status_says_so(capsys, folder):
    made = mechanism("two-level")
    made.save("m.ldp.json")
    expected = strange(folder / "in")
    write_jsonl(folder / "in" / "own.jsonl", [])
    (folder / "in" / "own.jsonl").write_text(json.dumps(made.client.randomise(3)) + "\n")
    (folder / "in" / "good.csv").unlink()
    status, out, err = run(capsys, "aggregate", "m.ldp.json", "in", "-o", "c.json")
    assert status == 1
    assert "1 report counted of 1 received; left out of folders 9" in out  # the checksum has lost its file
    for name, why in (expected | {".good.csv.crc": Left.HIDDEN}).items():
        assert f"in/{name} was left out: {why}\n" in err
    assert json.loads((folder / "c.json").read_text())["reports"] == 1
    assert run(capsys, "aggregate", "m.ldp.json", "in/own.jsonl")[0] == 0


def test_where_nothing_is_a_report_the_status_says_so(capsys, folder):
    (folder / "b.jsonl").write_text("id,output\n1,2\n")
    made = mechanism("two-level").save(folder / "m.ldp.json")
    status, out, err = run(capsys, "aggregate", made, folder / "b.jsonl")
    assert (status, json.loads(out)["reports"]) == (1, 0)
    assert "0 reports counted of 2 received" in err


def test_the_command_has_a_rule_for_reports_without_ids(capsys, folder):
    mechanism("two-level").save("m.ldp.json")
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("output\n1\n2\n")
    files = ["aggregate", "m.ldp.json", "a.csv", "b.csv"]
    assert_refused(
        capsys, files, "a.csv has no column 'id', .* with --anonymous count if no report is in two files"
    )
    assert_refused(capsys, [*files, "--anonymous", "no"], "anonymous is 'no'")
    status, out, err = run(capsys, *files, "--anonymous", "count")
    assert (status, json.loads(out)["reports"]) == (0, 4)
    assert "4 reports counted of 4 received; without an id, so repeats cannot be found 4" in err
    assert f"b.csv begins with all that {folder / 'a.csv'} holds: its reports without ids count again" in err
    status, _, err = run(capsys, *files, "a.csv", "--anonymous", "count")
    assert "4 reports counted of 4 received" in err
    assert "files taken before 1" in err


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ""])
def test_what_never_ends_is_one_sentence(capsys, folder, kind, suffix):
    """Each of these hung, or filled the memory."""
    mechanism("two-level").save("m.ldp.json")
    name = f"endless{suffix}"
    if kind == "device":
        (folder / name).symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(name)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(name)
    assert_refused(capsys, ["aggregate", "m.ldp.json", name], f"{name} is a device, a pipe or a socket")
    assert_refused(capsys, ["aggregate", "m.ldp.json", "/dev/zero"], "/dev/zero is a device")


def test_counts_and_states_are_files_that_end(capsys, folder):
    mechanism("two-level").save("m.ldp.json")
    os.mkfifo("pipe.json")
    (folder / "zero.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "zero.json"):
        assert_refused(capsys, ["estimate", "m.ldp.json", name], f"{name} is a device, a pipe or a socket")
        with pytest.raises(ValueError, match=f"{name} is a device, a pipe or a socket"):
            Aggregator.load(name)


def test_names_for_a_terminal_to_obey_are_written_out(capsys, folder):
    made = mechanism("two-level")
    made.save("m.ldp.json")
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_text(json.dumps(made.client.randomise(3)) + "\n")
    (folder / "in" / ".\x1b[2J\nstratagem: all is well").write_text("x")
    status, _, err = run(capsys, "aggregate", "m.ldp.json", "in")
    assert status == 1
    assert "in/.\\x1b[2J\\nstratagem: all is well was left out" in err


def test_an_input_that_never_ends_is_one_sentence(capsys, folder, monkeypatch):
    from stratagem.collection import reports

    mechanism("two-level").save("m.ldp.json")
    with Path("/dev/zero").open("rb") as zero, Path("/dev/zero").open() as text:
        monkeypatch.setattr("sys.stdin", text)
        assert_refused(capsys, ["aggregate", "m.ldp.json", "-"], "the standard input is a device")
        monkeypatch.setattr(reports, "ENDLESS", 1 << 24)
        with pytest.raises(ValueError, match="a line does not end within"):
            list(reports.lines(zero))


def test_a_mark_of_the_byte_order_costs_no_report(folder):
    line = json.dumps({"mechanism": MECHANISM, "id": "a" * 32, "output": 3}).encode()
    (folder / "a.jsonl").write_bytes(BOM + line + b"\n")
    (folder / "b.csv").write_bytes(BOM + f"id,output\n{'b' * 32},3\n".encode())
    (folder / "c.csv").write_bytes(BOM + f'"output","id"\n3,{"c" * 32}\n'.encode())
    tally = collected("a.jsonl", "b.csv", "c.csv")
    assert (tally.counts.tolist(), tally.received) == ([0, 0, 0, 3, 0, 0, 0], 3)
    (folder / "d.jsonl").write_bytes(BOM + line + b"\n" + BOM + line + b"\n")
    assert collected("d.jsonl").rejected == {"not a JSON object": 1}


COPIED = [("a" * 32, 1), ("b" * 32, 2), ("b" * 32, 4), ("c" * 32, 3), ("c" * 32, 3)]


def test_a_copied_id_suppresses_its_report_unless_the_first_counts(folder):
    """Whoever sees the id of a report can send another with it; files in their order, rows in theirs."""
    write_csv(folder / "victims.csv", COPIED)
    write_jsonl(folder / "thief.jsonl", [("a" * 32, 6), ("d" * 32, 6)])
    with Collection("s.duckdb", IDENTIFIER, OUTPUTS) as collection:
        collection.add(["victims.csv", "thief.jsonl"])
        none, first = collection.tally(), collection.tally(first=True)
        named = {each.id: [path.rsplit("/", 1)[1] for path in each.files] for each in collection.contested()}
    assert none.counts.tolist() == [0, 0, 0, 1, 0, 0, 1]
    assert (none.conflicting, none.duplicates, none.overruled, none.received) == (2, 3, 0, 7)
    assert first.counts.tolist() == [0, 1, 1, 1, 0, 0, 1]
    assert (first.conflicting, first.duplicates, first.overruled, first.received) == (0, 3, 2, 7)
    assert named == {"a" * 32: ["victims.csv", "thief.jsonl"], "b" * 32: ["victims.csv"]}


def test_the_first_of_many_rows_is_the_first_in_the_file(folder, rng, monkeypatch):
    """100,000 rows are read by several threads at once; every id comes with several outputs."""
    ids = rng.integers(20_000, size=100_000).tolist()
    outputs = rng.integers(OUTPUTS, size=100_000).tolist()
    reports = [(f"{name:032x}", output) for name, output in zip(ids, outputs, strict=True)]
    first = dict(reversed(reports))
    expected = [list(first.values()).count(output) for output in range(OUTPUTS)]
    write_csv(folder / "a.csv", reports)
    import duckdb

    duckdb.sql("COPY (FROM read_csv('a.csv')) TO 'a.parquet' (ROW_GROUP_SIZE 5000)")
    for name in ("a.csv", "a.parquet"):
        with Collection(None, IDENTIFIER, OUTPUTS) as collection:
            collection.add(name)
            assert collection.tally(first=True).counts.tolist() == expected
            assert collection.tally().counts.tolist() != expected
            assert len(collection.contested()) == 64


def test_an_aggregator_may_count_the_first_too(folder):
    def aggregated(reports, **options):
        aggregator = Aggregator(IDENTIFIER, OUTPUTS, **options)
        for name, output in reports:
            aggregator.add({"mechanism": MECHANISM, "id": name, "output": output})
        return aggregator

    aggregator = aggregated(COPIED, first=True)
    assert aggregator.tally().counts.tolist() == [0, 1, 1, 1, 0, 0, 0]
    aggregator.merge(aggregated([("a" * 32, 6)], first=True))
    aggregator.save("held.json")
    for held in (aggregator, Aggregator.load("held.json")):
        tally = held.tally()
        assert (tally.counts.tolist(), tally.overruled, tally.duplicates) == ([0, 1, 1, 1, 0, 0, 0], 2, 3)
        assert sorted(held.contested()) == ["a" * 32, "b" * 32]
    with pytest.raises(ValueError, match="make both alike"):
        aggregator.merge(aggregated(COPIED))
    assert aggregated(COPIED).contested() == ["b" * 32]


@pytest.mark.parametrize("piped", [False, True])
def test_the_command_names_the_ids_that_were_copied(capsys, folder, monkeypatch, piped):
    made = mechanism("two-level")
    made.save("m.ldp.json")
    report = made.client.randomise(3)
    other = report | {"output": (report["output"] + 1) % made.outputs}
    (folder / "a.jsonl").write_text(json.dumps(report) + "\n" + json.dumps(other) + "\n")
    command = ["aggregate", "m.ldp.json", "-" if piped else "a.jsonl"]
    where = "" if piped else f" in {folder / 'a.jsonl'}"
    for options, counted, rule in [([], 0, "none of them counts"), (["--first"], 1, "the first one counts")]:
        with Path("a.jsonl").open() as opened:
            monkeypatch.setattr("sys.stdin", opened)
            status, out, err = run(capsys, *command, *options)
        assert (status, json.loads(out)["reports"]) == (0, counted)
        assert f"several outputs came with the id {report['id']}{where}: {rule}" in err
        (folder / "c.json").write_text(out)
        if counted:
            assert json.loads(out)["counts"][report["output"]] == 1
            assert run(capsys, "estimate", "m.ldp.json", "c.json")[0] == 0


def test_ids_that_repeat_are_named_in_the_collection_of_the_mechanism(folder):
    made = mechanism("two-level")
    with made.collection(anonymous="count") as collection:
        (folder / "a.csv").write_text("output\n1\n")
        collection.add("a.csv")
        assert collection.tally().anonymous == 1
        assert collection.contested() == []
    assert made.aggregator(first=True).first
