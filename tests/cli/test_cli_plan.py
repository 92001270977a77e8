"""From a file of answers to estimates by the commands that `plan` prints; bad input ends in one sentence."""

import json
import shlex
from pathlib import Path

import pytest

from commands import assert_refused, run, run_json

ROWS = "".join(f"p{k},{k * k % 97 if k % 20 else ''},{'ab'[k % 2]}\n" for k in range(400))


@pytest.fixture(autouse=True)
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(f"name,age of person,group\n{ROWS}")


def test_a_newcomer_walks_from_a_file_to_answers(capsys):
    status, out, err = run(capsys, "plan", "people.csv", "--column", "age of person", "--unit", "years")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    for words in ("best published mechanism", "74 %", "0:100:5,other", "missing 20", "open it in a browser"):
        assert words in " ".join(out.split())
    assert Path("people-age-of-person.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    commands = out.replace("\\\n", " ").split("devices:\n")[1].splitlines()
    assert [shlex.split(command)[1] for command in commands] == ["randomise", "aggregate", "estimate"]
    for command in commands:
        status, out, err = run(capsys, *shlex.split(command)[1:])
        assert status == 0, err
    assert "below 50 years" in Path("answers.csv").read_text(encoding="utf-8")
    assert "quantile 0.5" in out


def test_one_object_for_programs(capsys):
    found = run_json(capsys, "plan", "people.csv", "--column", "group", "--users", "1000", "-o", "g.ldp.json")
    assert found["labels"] == "a,b,other"
    assert found["epsilon"] == 1.0
    assert found["users"] == 1000
    assert found["least_standard_error"] <= found["standard_error"]["root_mean_square"]
    assert found["file"] == "g.ldp.json"
    assert json.loads(Path("g.ldp.json").read_text(encoding="utf-8"))
    assert len(found["commands"]) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "--column", "group"], "nowhere.csv"),
        (["people.csv", "--column", "grp"], "no column 'grp'.*group"),
        (["people.csv", "--column", "name"], "400 different texts"),
        (["people.csv", "--column", "group", "--users", "0"], "users is 0"),
        (["people.csv", "--column", "group", "--error", "2"], "error is 2.0"),
        (["people.csv", "--column", "group", "--epsilon", "-1"], "epsilon is -1.0"),
        (["people.csv", "--column", "group", "-o", "plan.csv"], "ldp.json"),
        (["people.csv", "--column", "group", "--report", "plan.txt"], "html"),
        (["people.csv", "--column", "group", "--edges", "0:9:1", "--labels", "a,b"], "one of them"),
    ],
)
def test_bad_input_ends_in_one_sentence(capsys, arguments, words):
    assert_refused(capsys, ["plan", *arguments], words)


def test_files_that_exist_are_kept(capsys):
    Path("people-group.html").write_text("mine")
    assert_refused(capsys, ["plan", "people.csv", "--column", "group"], "people-group.html exists")
    assert Path("people-group.html").read_text() == "mine"
    assert run(capsys, "plan", "people.csv", "--column", "group", "--force")[0] == 0
