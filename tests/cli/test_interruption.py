"""Ctrl-C: the exit status is 130, what was found is saved, and every file that can says that it was interrupted."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

import stratagem as st
from mechanisms import mechanism
from node import WEB, run
from stratagem.cli.interruption import interrupted, interruptions, keeping
from stratagem.mechanism import client
from stratagem.mechanism.export.saved import read_saved, write_saved

SEARCH = """
import os, signal, sys
from contextlib import contextmanager
import stratagem.cli.{command} as command
from stratagem.cli import main

@contextmanager
def impatient(task, limit=None):
    def interrupt(step):
        if step.step == 2:
            os.kill(os.getpid(), signal.SIGINT)
    yield interrupt

command.progress = impatient
main(sys.argv[1:])
"""
"""A command whose search gets a real SIGINT at its third step, however fast the machine is."""
SAVING = """
import os, signal, sys
import stratagem.study.solution as solution
from stratagem.cli import main

whole = solution.Solution.mechanism
def slow(self, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return whole(self, **options)

solution.Solution.mechanism = slow
main(sys.argv[1:])
"""
"""A command that gets its SIGINT between the search and the file."""
ASKED = ("all-range", "--domain", "12", "--epsilon", "1")
LONG = ("--solver", "certified", "--seconds", "600", "--gap", "1e-12")


def killed(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("out", ["s.ldp.json", "s.npz", "s.mat", "s.csv"])
def test_an_interrupted_search_is_saved_and_marked(tmp_path, out):
    done = killed(SEARCH.format(command="optimise"), tmp_path, "optimise", *ASKED, *LONG, "-o", out)
    assert done.returncode == 130, done.stderr
    assert "\nInterrupted" in done.stdout
    path = tmp_path / out
    if out == "s.csv":
        assert np.loadtxt(path, delimiter=",", skiprows=1).shape[1] == 13
        assert "the search was interrupted, which s.csv cannot say" in done.stderr
    elif out == "s.mat":
        assert loadmat(path)["status"].tolist() == ["interrupted"]
    else:
        assert done.stderr == ""
        assert read_saved(path).interrupted
        for other in ("t.npz", "t.ldp.json"):  # the mark goes where the strategy goes
            assert read_saved(write_saved(tmp_path / other, read_saved(path))).interrupted
        if out == "s.ldp.json":
            page = st.load_mechanism(path).report(tmp_path / "p.html")
            assert (
                "ε and the numbers hold, but a longer search may find a better mechanism"
                in page.read_text("utf-8")
            )


@pytest.mark.exhaustive
def test_the_page_of_an_interrupted_search_says_so(tmp_path):
    script = SEARCH.format(command="summary")
    done = killed(script, tmp_path, "summary", *ASKED, *LONG, "--quick", "-o", "p.html")
    assert done.returncode == 130, done.stderr
    page = (tmp_path / "p.html").read_text("utf-8")
    assert "ε and the numbers hold, but a longer search may find a better mechanism" in page
    assert "The computation was ended by hand" in page


@pytest.mark.exhaustive
def test_the_table_of_an_interrupted_comparison_says_so(tmp_path):
    script = SEARCH.format(command="compare")
    done = killed(script, tmp_path, "compare", *ASKED, *LONG, "-o", "t.csv")
    assert done.returncode == 130, done.stderr
    with (tmp_path / "t.csv").open() as file:
        rows = {row["mechanism"]: row["parameters"] for row in csv.DictReader(file)}
    assert rows["optimised"].endswith(", interrupted")
    assert sum("interrupted" in words for words in rows.values()) == 1


def test_ctrl_c_while_it_is_saved_loses_nothing(tmp_path):
    done = killed(SAVING, tmp_path, "optimise", *ASKED, "--solver", "quick", "-o", "s.ldp.json")
    assert done.returncode == 130, done.stderr
    assert st.load_mechanism(tmp_path / "s.ldp.json").outputs > 1
    assert "saved: s.ldp.json (" in done.stdout


def test_ctrl_c_before_there_is_a_result_leaves_no_file(tmp_path):
    command = [sys.executable, "-m", "stratagem.cli", "randomise", "m.ldp.json", "-o", "r.jsonl"]
    mechanism("labels").save(tmp_path / "m.ldp.json")
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        process.stdin.write("ja\n")
        process.stdin.flush()
        while not list(tmp_path.glob(".r.jsonl.*")):  # it is at work
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "stratagem: interrupted: there was no result to keep yet\n"
    assert [path.name for path in tmp_path.iterdir()] == ["m.ldp.json"]


def test_clients_take_a_marked_bundle_and_no_other_words(tmp_path):
    plain = mechanism("two-level")
    marked = replace(plain, utility={**plain.utility, "search": "interrupted"})
    assert marked.bundle["certificate"] == plain.bundle["certificate"]
    assert marked.bundle["utility"] == plain.bundle["utility"] | {"search": "interrupted"}
    path = marked.save(tmp_path / "m.ldp.json")
    assert client.load(path).randomise(3)["mechanism"] == marked.identifier[:16]
    assert st.load_mechanism(path).interrupted
    assert not st.load_mechanism(plain.save(tmp_path / "plain.ldp.json")).interrupted
    data = json.loads(marked.text)
    data["utility"]["search"] = "done"
    data["sha256"] = client.fingerprint(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="utility"):
        st.load_mechanism(path)


def test_the_web_client_takes_a_marked_bundle():
    plain = mechanism("labels")
    marked = replace(plain, utility={**plain.utility, "search": "interrupted"})
    job = {"bundle": marked.text, "stream": bytes(24), "values": ['"ja"']}
    reports = run("reports", module=(WEB / "client.js").as_uri(), **job)["reports"]
    assert reports[0]["mechanism"] == marked.identifier[:16]


def test_the_first_ctrl_c_lets_a_result_be_kept_and_the_second_ends_it():
    with interruptions():
        assert not interrupted()
        with keeping():
            os.kill(os.getpid(), signal.SIGINT)
            assert interrupted()
        with keeping():
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with interruptions():
        assert not interrupted()
