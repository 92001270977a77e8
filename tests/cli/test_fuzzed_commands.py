"""Random command lines over all commands: one sentence for whatever is wrong, never a traceback, nothing hangs."""

import io
import os
import random
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest

from command_lines import COMMANDS, command_lines, copied, make_folder
from commands import ended_at_once, fault, run

COUNT = int(float(os.environ.get("STRATAGEM_COMMAND_LINES", "600")))
SEED = 16
LIMIT = 60
"""Seconds after which a command counts as hanging: the slowest, audits by new processes, take 9 of a processor."""
MEMORY = 3 << 19
"""Kilobytes that a command may need beyond what the process holds when it begins: 2 GB of one that held half of one."""


def held() -> int:
    """Return the most kilobytes that the process held since `forget_peak`."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def forget_peak():
    """Make the process begin to measure what it holds anew: other tests may have held more."""
    Path("/proc/self/clear_refs").write_text("5")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    make_folder(folder, random.Random(SEED))
    return folder


@pytest.fixture
def watched():
    """Let a command that hangs fail."""

    def stop(number, frame):
        pytest.fail(f"the command still runs after {LIMIT} s")

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.sampled(20, 3)
@pytest.mark.parametrize("command", COMMANDS)
def test_any_command_line_ends_in_a_result_or_one_sentence(
    capsys, monkeypatch, whole, tmp_path, watched, command
):
    monkeypatch.setattr("stratagem.cli.serve.server.Server.run", ended_at_once)
    for words in command_lines(SEED, command, -(-COUNT // len(COMMANDS))):
        monkeypatch.chdir(copied(whole, tmp_path / "here"))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\nja\n\n")))
        forget_peak()
        before = held()
        signal.alarm(LIMIT)
        try:
            ended = run(capsys, *words)
            wrong = fault(*ended, json_asked="--json" in words)
        except BaseException as error:
            error.add_note(shlex.join(words))
            raise
        assert not wrong, f"{shlex.join(words)}: {wrong}\n{ended[2][-500:]}"
        assert held() - before <= MEMORY, f"{shlex.join(words)}: it needs more than 1.5 GB"


@pytest.mark.exhaustive
def test_they_reach_both_results_and_refusals(capsys, monkeypatch, whole, tmp_path):
    """What only ever refuses, or never does, would test nothing."""
    ends = set()
    for words in command_lines(SEED, "export", 120):
        monkeypatch.chdir(copied(whole, tmp_path / "here"))
        ends.add(run(capsys, *words)[0])
    assert ends == {0, 2}


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ((3, "", "stratagem: no\n"), "status"),
        ((2, "", ""), "sentence"),
        ((2, "", "stratagem: a\nstratagem: b\n"), "sentence"),
        ((2, "", "stratagem: a\nmore\n"), "sentence"),
        ((2, "", "stratagem: invalid literal for int()\n"), "invalid literal"),
        ((1, "Traceback (most recent call last)", ""), "Traceback"),
        ((2, "", f"stratagem: {'long ' * 200}\n"), "characters"),
    ],
)
def test_what_it_looks_for_is_found(ended, words):
    assert words in fault(*ended, json_asked=False)
