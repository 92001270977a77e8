"""Files that are written: complete or absent, private until then, with the permissions of what they replace."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import stratagem.io.target as room
from commands import assert_refused, run
from mechanisms import mechanism
from stratagem.io.target import check_target, written_atomically
from stratagem.mechanism.export.saved import save, to_stored

SCRIPT = Path(sys.executable).with_name("stratagem")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def mode(path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def beside(folder) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("mask", "usual"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_is_private_until_it_is_complete(folder, mask, usual):
    os.umask(mask)
    with written_atomically(folder / "a.json") as file:
        file.write(b"half")
        (partial,) = beside(folder)
        assert mode(partial) == 0o600
        assert not (folder / "a.json").exists()
    assert (mode("a.json"), beside(folder)) == (usual, [])


@pytest.mark.parametrize("held", [0o600, 0o640, 0o666, 0o444, 0o755])
@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv"])
def test_it_keeps_the_permissions_of_what_it_replaces(folder, held, suffix):
    path = folder / f"q{suffix}"
    path.touch()
    path.chmod(held)
    save(path, to_stored(mechanism("two-level")))
    assert mode(path) == held
    assert path.stat().st_size > 0
    assert beside(folder) == []


def test_it_is_on_the_disk_before_it_has_its_name(folder, monkeypatch):
    steps, fsync, replace = [], os.fsync, Path.replace

    def synchronise(number):
        steps.append("folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file")
        fsync(number)

    def rename(path, target):
        steps.append("name")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synchronise)
    monkeypatch.setattr(Path, "replace", rename)
    with written_atomically(folder / "a.json") as file:
        file.write(b"whole")
    assert steps == ["file", "name", "folder"]


def test_a_failure_leaves_what_was_there(folder):
    (folder / "a.json").write_text("old")
    with pytest.raises(TypeError), written_atomically(folder / "a.json") as file:
        file.writelines([b"new", None])
    assert (folder / "a.json").read_text() == "old"
    assert beside(folder) == []


@pytest.mark.parametrize("names", [("a.jsonl",), ("a.jsonl", "b.jsonl")])
def test_links_that_lead_back_to_themselves_are_a_sentence(folder, names):
    for name, to in zip(names, (*names[1:], names[0]), strict=True):
        (folder / name).symlink_to(to)
    with pytest.raises(
        ValueError, match=r"a.jsonl is a symbolic link that leads back to itself: name a file$"
    ):
        check_target(folder / "a.jsonl", (".jsonl",))


LIMITED = """
import resource, sys, numpy
from pathlib import Path
from stratagem.io.npz import write_parquet
from stratagem.io.target import written_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with written_atomically(Path("x.parquet")) as file:
    write_parquet(file, {"a": numpy.random.default_rng(0).random(100_000)})
"""


def test_a_parquet_file_without_room_is_named(folder):
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "OSError: [Errno 27] File too large: 'x.parquet'"
    assert list(folder.glob("*.parquet*")) == []


@pytest.mark.parametrize("to", ["there.jsonl", "nowhere.jsonl"])
def test_a_symbolic_link_is_neither_replaced_nor_followed(capsys, folder, to):
    (folder / "there.jsonl").write_text("mine")
    (folder / "link.jsonl").symlink_to(to)
    mechanism("two-level").save("m.ldp.json")
    command = ["randomise", "m.ldp.json", "--value", "1", "-o", "link.jsonl", "--force"]
    assert_refused(
        capsys, command, f"link.jsonl .* is a symbolic link to {folder / to}: name that file itself"
    )
    assert (folder / "link.jsonl").is_symlink()
    assert (folder / "there.jsonl").read_text() == "mine"
    assert not (folder / "nowhere.jsonl").exists()
    with (
        pytest.raises(ValueError, match="is a symbolic link"),
        written_atomically(folder / "link.jsonl"),
    ):
        pytest.fail("it was opened")


def test_a_pipe_is_not_replaced(folder):
    os.mkfifo("a.json")
    with pytest.raises(ValueError, match=r"a\.json was given to write, but is a device, a pipe or a socket"):
        check_target("a.json", (".json",))


def test_what_a_killed_run_left_is_removed_by_the_next(folder):
    """The partial file of a living run is locked, and stays."""
    ours = [folder / f".a.json.{tag}" for tag in ("0123abcd", "deadbeef")]
    others = [
        folder / name for name in (".a.json.notours1", ".b.json.0123abcd", ".a.json.0123abcdef", "a.json.tmp")
    ]
    for path in [*ours, *others]:
        path.write_text("left")
    os.mkfifo(folder / ".a.json.00000000")
    with written_atomically(folder / "a.json") as living:
        assert not any(path.exists() for path in ours)
        partial = Path(living.name)
        living.write(b"first")
        with written_atomically(folder / "a.json") as second:
            second.write(b"second")
        assert partial.exists()
    assert (folder / "a.json").read_text() == "first"
    assert all(path.exists() for path in others)


def test_without_locks_nothing_is_taken_for_abandoned(folder, monkeypatch):
    import fcntl

    def refused(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refused)
    (folder / ".a.json.0123abcd").write_text("left")
    with written_atomically(folder / "a.json") as file:
        file.write(b"whole")
    assert (folder / "a.json").read_text() == "whole"
    assert (folder / ".a.json.0123abcd").exists()


def test_two_runs_that_begin_at_once_both_end(folder, monkeypatch):
    """One that finds its new file taken for abandoned makes another."""
    real, stolen = room.locked, []

    def locked(file):
        if not stolen and file.writable():
            stolen.append(file.name)
            Path(file.name).unlink()
        return real(file)

    monkeypatch.setattr(room, "locked", locked)
    with written_atomically(folder / "a.json") as file:
        file.write(b"whole")
    assert stolen
    assert (folder / "a.json").read_text() == "whole"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_randomise_that_is_killed_leaves_nothing_that_others_read(capsys, folder, how):
    """The reports of half a file: nobody else may read them, and the next run removes them."""
    mechanism("two-level").save("m.ldp.json")
    command = [SCRIPT, "randomise", "m.ldp.json", "-o", "r.jsonl"]
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what nohup ignores, commands would ignore too
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGHUP, before)
        process.stdin.write("3\n" * 5)
        process.stdin.flush()
        for _ in range(1200):
            if beside(folder):
                break
            time.sleep(0.05)
        (partial,) = beside(folder)
        assert re.fullmatch(r"\.r\.jsonl\.[0-9a-f]{8}", partial.name)
        assert mode(partial) == 0o600
        process.send_signal(how)
        process.wait(timeout=60)
        assert process.returncode == (-how if how == signal.SIGKILL else 128 + how)
    assert not (folder / "r.jsonl").exists()
    assert len(beside(folder)) == (how == signal.SIGKILL)
    assert run(capsys, *command[1:], "--value", "3")[0] == 0
    assert len([json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]) == 1
    assert beside(folder) == []


def test_it_is_private_from_the_first_moment(folder, monkeypatch):
    """Nobody may open it before its permissions are taken away."""
    monkeypatch.setattr(Path, "chmod", lambda path, mode: None)
    before = os.umask(0)
    try:
        with written_atomically(folder / "r.jsonl"):
            (partial,) = beside(folder)
            assert mode(partial) == 0o600
    finally:
        os.umask(before)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_aggregate_that_is_killed_leaves_nothing(folder, how):
    made = mechanism("two-level")
    made.save("m.ldp.json")
    scratch = folder / "scratch"
    scratch.mkdir()
    (folder / "in").mkdir()
    for number in range(300):
        (folder / "in" / f"{number}.jsonl").write_text(json.dumps(made.client.randomise(3)) + "\n")
    command = [SCRIPT, "aggregate", "m.ldp.json", "in", "-o", "c.json"]
    with subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(scratch)}, stderr=subprocess.DEVNULL
    ) as process:
        for _ in range(1200):
            if list(scratch.glob("*/state.duckdb")):
                break
            time.sleep(0.05)
        process.send_signal(how)
        process.wait(timeout=60)
        assert process.returncode == (-how if how == signal.SIGKILL else 128 + how)
    for _ in range(1200):
        if not list(scratch.iterdir()):
            break
        time.sleep(0.05)
    assert list(scratch.iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == ["in", "m.ldp.json", "scratch"]
