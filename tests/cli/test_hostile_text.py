"""What bundles and readers of the output do to a terminal and to a command: nothing but one sentence."""

import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from command_lines import ODD, UNEVENTFUL, hostile_mechanism, make_folder
from commands import run
from handmade import edited
from mechanisms import mechanism
from stratagem.io.screen import visible

COMMANDS = {
    "estimate": ["estimate", "hostile.ldp.json", "hostile.json"],
    "estimate one": ["estimate", "hostile.ldp.json", "hostile.json", "--top", "2", "--json"],
    "aggregate": ["aggregate", "hostile.ldp.json", "hostile.jsonl"],
    "audit": ["audit", "hostile.ldp.json", "--samples", "100", "--client", "python"],
    "simulate": ["simulate", "hostile.ldp.json", "--data", "people.csv", "--column", "sex"],
    "randomise": ["randomise", "hostile.ldp.json", "--value", f"no{ODD}"],
    "randomise data": ["randomise", "hostile.ldp.json", "--data", "people.csv", "--column", "sex"],
    "another name": ["audit", f"{ODD}.ldp.json".replace("\0", "")],
    "a workload": ["bound", ODD, "--domain", "4", "--epsilon", "1"],
    "a labels' list": ["optimise", "histogram", "--labels", f"{ODD},{ODD}", "--epsilon", "1"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    import random

    found = tmp_path_factory.mktemp("hostile")
    make_folder(found, random.Random(0))
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_text_of_a_bundle_commands_no_terminal(capsys, monkeypatch, folder, name):
    monkeypatch.chdir(folder)
    status, out, err = run(capsys, *COMMANDS[name])
    assert status in (0, 1, 2)
    assert out or err
    odd = {each for each in out + err if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp", "Cs")} - {
        "\n"
    }
    assert not odd
    own = [line for line in (out + err).split("\n") if line.startswith("stratagem: ")]
    assert not [line for line in own if line.startswith("stratagem: all is well")]
    assert "Traceback" not in err


def test_the_texts_are_shown_all_the_same(capsys, monkeypatch, folder):
    monkeypatch.chdir(folder)
    assert r"\x1b[2J" in run(capsys, *COMMANDS["estimate"])[1]
    assert visible("weiß nicht ☂, 100 000") == "weiß nicht ☂, 100 000"
    assert visible("a\nb\u202e\ud800\U000e0001") == r"a\nb\u202e\ud800\U000e0001"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["simulate", "audit", "estimate", "summary"])
def test_what_a_bundle_states_of_its_accuracy_is_not_repeated(capsys, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    raw = edited(
        "labels", "utility", to={"objective": "1.23456e-77", "unrounded": "6.54e-77", "loss": "4.5e-66"}
    )
    Path("m.ldp.json").write_bytes(raw)
    identifier = json.loads(raw)["sha256"]
    Path("people.csv").write_text("value\n" + "ja\nnein\n" * 20)
    tally = {"mechanism": identifier, "reports": 6, "counts": [1, 2, 3], **UNEVENTFUL}
    Path("counts.json").write_text(json.dumps(tally))
    words = {
        "simulate": ["--data", "people.csv", "--column", "value", "--json"],
        "audit": ["--samples", "100", "--client", "python"],
        "estimate": ["counts.json", "--json"],
        "summary": ["--quick", "--over", "epsilon=1"],
    }
    status, out, err = run(capsys, command, "m.ldp.json", *words[command])
    assert status in (0, 1), err
    told = out + err + (Path("summary.html").read_text() if command == "summary" else "")
    assert not re.search(r"e-77|e-66", told)


CLOSED = {
    "closed": ("exec >&-; ", 2, "standard output is closed"),
    "full": ("exec > /dev/full; ", 2, "cannot be (written|used)"),
    "unread": ("exec > >(exec true); wait $!; ", 141, None),
    "closed errors": ("exec 2>&-; ", 0, None),
    "closed input": ("exec <&-; ", 0, ""),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", CLOSED)
def test_streams_that_take_nothing_end_in_one_sentence(kind):
    before, status, words = CLOSED[kind]
    command = f"{before}{sys.executable} -m stratagem.cli list"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert ended.returncode == status
    if words:
        assert re.fullmatch(f"stratagem: [^\n]*{words}[^\n]*\n", ended.stderr)
    else:
        assert ended.stderr == ""
        assert ("prefix" in ended.stdout) == (kind != "unread")


def test_reports_that_nobody_reads_end_quietly(tmp_path):
    mechanism("labels").save(tmp_path / "m.ldp.json")
    command = (
        f"yes ja | {sys.executable} -m stratagem.cli randomise m.ldp.json | head -1; exit ${{PIPESTATUS[1]}}"
    )
    ended = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (141, "")
    assert ended.stdout.count("\n") == 1


def test_a_line_of_values_that_does_not_end_is_refused(tmp_path):
    mechanism("labels").save(tmp_path / "m.ldp.json")
    command = f"head -c 20000000 /dev/zero | {sys.executable} -m stratagem.cli randomise m.ldp.json"
    ended = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert re.fullmatch("stratagem: a line of the input[^\n]*\n", ended.stderr)


def test_the_hostile_mechanism_is_one_that_loads():
    assert hostile_mechanism().name.endswith("\0")
