"""What a device keeps of its permanent reports: whole or not at all, for its owner alone, and never drawn twice."""

import errno
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from commands import assert_refused, run
from mechanisms import mechanism
from memos import Device, memoised
from node import run as run_node
from stratagem.mechanism.client import Client, load

BROKEN = [
    "",
    "x",
    "1 2 3\n",
    "1 2 3 4",
    "1 2 3 0",
    "1 2 3\n4\n",
    "1 2 3 99\n",
    "1 2 3 -1\n",
    "é 2 3 4\n",
    "² 2 3 4\n",
    "1 2 3 4 5\n",
    "1 2 3 0\n\n",
    "1 2 3 0\n1 2 3 0\n",
    f"1 2 3 {2**64}\n",
    f"1 2 3 {2**64 - 1}\n",
    f"1 2 3 {'9' * 5000}\n",
    "1 2 3 0" + " " * 100_000 + "\n",
]
"""Contents that are no memo of four values: cut off, too long, or with other reports than there are."""
NO_LINKS = [PermissionError(errno.EPERM, "no links here"), OSError(errno.EOPNOTSUPP, "no links here")]
ENDLESS = """
import resource, sys
from stratagem.mechanism.client import load
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    load(sys.argv[1], memo=sys.argv[2]).randomise(1)
except ValueError as error:
    print(error)
"""
KILLED = """
import os, signal, sys
from stratagem.mechanism.client import load
os.link = lambda draft, path: os.kill(os.getpid(), signal.SIGKILL)
load(sys.argv[1], memo=sys.argv[2]).randomise(1)
"""


@pytest.fixture
def bundle(tmp_path):
    """A bundle for repeated reports, and the folder of one person."""
    (tmp_path / "anna").mkdir()
    return memoised("pairs").save(tmp_path / "memo.ldp.json"), tmp_path / "anna"


def memo_of(bundle):
    path, folder = bundle
    return folder / f"{json.loads(path.read_text('utf-8'))['sha256']}.memo"


def without_links(monkeypatch, error):
    def refused(draft, path):
        raise error

    monkeypatch.setattr(os, "link", refused)


def test_of_two_processes_that_draw_first_both_use_what_the_first_keeps(tmp_path, monkeypatch):
    bundle = memoised("sizes").bundle
    other = Device(tmp_path, bundle, b"other")
    real = os.link

    def late(draft, path):
        monkeypatch.setattr(os, "link", real)
        other.outputs(1, 1)
        real(draft, path)

    monkeypatch.setattr(os, "link", late)
    device = Device(tmp_path, bundle, b"device")
    device.outputs(1, 1)
    assert device.client._memo.reports == other.client._memo.reports
    assert [file.suffix for file in tmp_path.iterdir()] == [".memo"]


@pytest.mark.parametrize("error", NO_LINKS, ids=lambda error: errno.errorcode[error.errno])
def test_a_file_system_without_links_keeps_the_memo_too_and_no_draft_stays(error, tmp_path, monkeypatch):
    without_links(monkeypatch, error)
    bundle = memoised("pairs").bundle
    first, second = Device(tmp_path, bundle), Device(tmp_path, bundle, b"again")
    first.outputs(0, 3)
    second.outputs(1, 3)
    assert first.client._memo.reports == second.client._memo.reports
    assert [file.suffix for file in tmp_path.iterdir()] == [".memo"]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("room", [0, 3])
def test_a_full_disk_leaves_nothing_and_the_memo_is_drawn_once_there_is_room(
    room, links, tmp_path, monkeypatch
):
    """A limit on the size of files stands for the disk: the system itself cuts the write off, here after 3 bytes."""
    if not links:
        without_links(monkeypatch, NO_LINKS[0])
    device, most = Device(tmp_path, memoised("pairs").bundle), resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, most[1]))
    try:
        with pytest.raises(ValueError, match=r"cannot be kept or read .* mend that first"):
            device.outputs(0, 1)
        left = list(tmp_path.iterdir())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        signal.signal(signal.SIGXFSZ, handler)
    assert left == []
    assert len(device.outputs(0, 3)) == 3


def test_a_disk_that_is_full_for_the_second_write_alone_leaves_nothing(tmp_path, monkeypatch):
    """Without links the memo is written again under its name, which must not stay empty."""
    without_links(monkeypatch, NO_LINKS[0])
    real, synced = os.fsync, []

    def full(handle):
        synced.append(handle)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    device = Device(tmp_path, memoised("pairs").bundle)
    with pytest.raises(ValueError, match="No space left on device"):
        device.outputs(0, 1)
    assert not list(tmp_path.glob("*.memo"))
    assert len(device.outputs(0, 3)) == 3
    assert [file.suffix for file in tmp_path.iterdir()] == [".memo"]


def test_what_a_killed_run_left_is_removed_and_files_of_others_stay(bundle):
    path, folder = bundle
    done = subprocess.run([sys.executable, "-c", KILLED, path, folder])
    assert done.returncode == -signal.SIGKILL
    (draft,) = folder.iterdir()
    assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    others = [folder / ".keep", folder / f".{'0' * 64}.memo.12345678"]
    for other in others:
        other.write_text("mine")
    load(path, memo=folder).randomise(1)
    assert sorted(folder.iterdir()) == sorted([*others, memo_of(bundle)])


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:20])
def test_a_damaged_memo_is_refused_in_a_sentence(text, bundle, capsys):
    path, folder = bundle
    memo_of(bundle).write_text(text, "utf-8")
    assert_refused(capsys, ("randomise", path, "--value", 1, "--memo", folder), "damaged: put back a copy")
    assert memo_of(bundle).read_text("utf-8") == text


@pytest.mark.parametrize("kind", ["folder", "link to nothing"])
def test_what_the_system_says_of_a_memo_has_no_number(kind, bundle, capsys):
    path, folder = bundle
    memo_of(bundle).mkdir() if kind == "folder" else memo_of(bundle).symlink_to(folder / "none")
    said = "Is a directory" if kind == "folder" else "No such file or directory"
    words = ("randomise", path, "--value", 1, "--memo", folder)
    assert_refused(capsys, words, rf"\.memo cannot be kept or read \({said}\): mend that first$")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_never_ends_is_no_memo(kind, bundle):
    path, folder = bundle
    os.mkfifo(memo_of(bundle)) if kind == "pipe" else memo_of(bundle).symlink_to("/dev/zero")
    command = [sys.executable, "-c", ENDLESS, path, folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert re.search(r"\.memo is a device, a pipe or a socket: put the memo there$", done.stdout.rstrip())


@pytest.mark.parametrize(
    ("file", "folder", "refused"),
    [
        (0o600, 0o755, False),
        (0o644, 0o700, False),
        (0o644, 0o755, True),
        (0o640, 0o755, True),
        (0o640, 0o705, True),
        (0o604, 0o710, True),
        (0o604, 0o711, True),
        (0o622, 0o755, True),
        (0o620, 0o755, True),
        (0o602, 0o755, True),
        (0o622, 0o700, False),
        (0o600, 0o777, True),
        (0o600, 0o775, True),
        (0o600, 0o773, True),
        (0o600, 0o1777, False),
        (0o600, 0o772, True),
        (0o600, 0o766, False),
    ],
)
def test_a_memo_that_others_can_read_or_change_is_refused(file, folder, refused, bundle, capsys):
    """Others reach a file where they may enter all folders on the way; they replace it where one takes their files.

    Folders and files may be of several groups: who enters as one of a group may read as one of all others. A folder
    with the sticky bit lets nobody take the files of others away.
    """
    path, outer = bundle[0], Path(tempfile.mkdtemp())
    owner = outer / "anna"
    owner.mkdir(mode=0o755)
    outer.chmod(folder)
    bundle = path, owner
    memo_of(bundle).write_text("1 2 3 0\n")
    memo_of(bundle).chmod(file)
    arguments = ("randomise", path, "--value", 1, "--memo", owner)
    if refused:
        assert_refused(capsys, arguments, "let its owner alone do so, as by chmod 600")
    else:
        assert run(capsys, *arguments)[0] == 0
    shutil.rmtree(outer)


@pytest.mark.parametrize(("file", "folder"), [(0o600, 0o777), (0o600, 0o733), (0o666, 0o755)])
def test_a_memo_in_a_folder_that_takes_the_files_of_others_is_refused(file, folder, bundle):
    """A memo of such a folder may be that of somebody else; the folder on the way to it is the control."""
    path, outer = bundle[0], Path(tempfile.mkdtemp())
    (owner := outer / "anna").mkdir()
    made = memo_of((path, owner))
    made.write_text("1 2 3 0\n")
    made.chmod(file)
    owner.chmod(folder)
    outer.chmod(0o755)
    with pytest.raises(ValueError, match=r"others can read or change .* chmod go-w for all folders"):
        load(path, memo=owner).randomise(1)
    outer.chmod(0o700)
    assert load(path, memo=owner).randomise(1)["output"] in range(6)
    shutil.rmtree(outer)


@pytest.mark.skipif(os.name != "posix", reason="files have no owners here")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_memo_that_somebody_else_owns_is_refused(what, bundle, monkeypatch):
    """It may have come there by a link that was exchanged: whoever owns it or its folder chooses the reports."""
    path, outer = bundle[0], Path(tempfile.mkdtemp())
    (owner := outer / "anna").mkdir(mode=0o700)
    (link := outer / "link").symlink_to(owner)
    made = memo_of((path, owner))
    made.write_text("1 2 3 0\n")
    made.chmod(0o600)
    assert load(path, memo=link).randomise(1)["output"] in range(6)
    seen = os.stat

    def foreign(given, *rest, **options):
        found = seen(given, *rest, **options)
        theirs = Path(given).name == (made if what == "file" else owner).name
        return os.stat_result((*found[:4], 7002, *found[5:10])) if theirs else found

    monkeypatch.setattr(os, "stat", foreign)
    with pytest.raises(ValueError, match="others can read or change"):
        load(path, memo=link).randomise(1)
    monkeypatch.undo()
    shutil.rmtree(outer)


def test_a_folder_behind_a_closed_one_is_refused_in_a_sentence(bundle, monkeypatch):
    """The system says no by an error (the superuser, who may do all, is told so here)."""

    def closed(path, **options):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    path, folder = bundle
    made = json.loads(path.read_text("utf-8"))
    monkeypatch.setattr(os, "stat", closed)
    with pytest.raises(ValueError, match="is no folder that opens: make one"):
        Client(made, memo=folder)


@pytest.mark.parametrize("given", ["", "missing", "x" * 5000])
def test_what_is_no_folder_is_refused(given, bundle, capsys, monkeypatch):
    path, folder = bundle
    monkeypatch.chdir(folder)
    assert_refused(capsys, ("randomise", path, "--value", 1, "--memo", given), f"memo '{given}' is no folder")
    with pytest.raises(ValueError, match=f"memo '{given}' is no folder that opens: make one"):
        load(path, memo=given)
    assert list(folder.iterdir()) == []


def test_the_web_client_refuses_a_memo_that_was_cut_off():
    """A last number that lost a digit is still a report; the end mark tells."""
    found = mechanism("cycle").memoised(2 * float(mechanism("cycle").epsilon))
    whole = " ".join(["1"] * (found.domain.size - 1) + ["12"]) + "\n"
    cut = [whole[:-1], whole[:-2], whole[:-3], *BROKEN, whole + "\n", f"{whole[:-3]}{10**17}\n"]
    kept = run_node("memos", bundle=found.text, texts=[whole, *cut])
    assert kept[0]["output"] in range(found.outputs)
    assert all("damaged: put back a copy" in told for told in kept[1:])


def test_the_web_client_writes_the_end_mark_and_reads_what_it_wrote():
    first, again = run_node("again", bundle=memoised("pairs").text)
    assert first.endswith("\n")
    assert again == first
