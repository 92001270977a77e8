"""From a file of answers to estimates by the commands that `plan` prints; bad input ends in one sentence."""

import json
import re
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
    assert max(map(len, out.splitlines())) <= 80
    for words in (
        "fewer people than the best published.",
        "73.2 %",
        "0:100:5,no answer",
        "20 of 400 rows count as 'no answer'.",
        "open it in a browser",
    ):
        assert words in " ".join(out.split())
    page = Path("people-age-of-person.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "The possible answers were proposed from example answers" in page
    commands = out.replace("\\\n", " ").split("devices:\n")[1].splitlines()
    assert [shlex.split(command)[1] for command in commands] == ["randomise", "estimate"]
    for command in commands:
        status, out, err = run(capsys, *shlex.split(command)[1:])
        assert status == 0, err
    assert "below 50 years" in Path("answers.csv").read_text(encoding="utf-8")
    assert "quantile 0.5" in out


LONG = {
    "months": [f"2026-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(400)],
    "countries": [f"country-{k % 24}" for k in range(400)],
    "spellings": [["yes", "no", "Y", "N", "TRUE", "FALSE", "1", "0"][k % 8] for k in range(400)],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("column", LONG)
def test_many_values_and_spellings_keep_to_80_columns(capsys, column):
    Path("long.csv").write_text("\n".join([column, *LONG[column]]))
    status, out, _ = run(capsys, "plan", "long.csv", "--column", column, "--seconds", "1")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80


GAPS = "".join(
    f"{18 + (3 * k // 5) * 11 % 49 if k % 5 > 1 else ('', 'n/a', '999', '?')[k % 4]}\n" for k in range(6000)
)
"""3,600 ages from 18 to 66, about alike, and 2,400 gaps: the median is 42, of all people it would be 58."""
TOLD = [int(age) for age in GAPS.splitlines() if age.isdigit() and age != "999"]


@pytest.mark.exhaustive
def test_the_printed_commands_leave_gaps_out_of_the_median(capsys):
    Path("gaps.csv").write_text(f"age\n{GAPS}")
    asked = ["--edges", "15:70:5", "--unit", "years", "--epsilon", "6"]
    commands = run_json(capsys, "plan", "gaps.csv", "--column", "age", *asked)["commands"]
    for command in commands:
        status, out, err = run(capsys, *shlex.split(command)[1:])
        assert status == 0, err
    said = " ".join(out.split())
    assert "quantile 0.5: 40 to below 45 years; 95 % sure: from 40 to below 45 years; of the 3," in said
    assert "shares of the 3," in said
    _, out, _ = run(capsys, *shlex.split(commands[-1])[1:], "--of-all", "--force")
    assert "quantile 0.5: 55 to below 60 years" in " ".join(out.split())
    assert "shares of all:" in out
    asked = ["estimate", "gaps-age.ldp.json", "reports.jsonl", "--quantile", "0.5", "--json"]
    found = json.loads(run(capsys, *asked)[1])  # beside it, what became of the reports
    shares = {one["label"]: one for one in found["shares"]}
    below = shares["age from 15 to below 45 years"]
    assert abs(below["share"] - sum(age < 45 for age in TOLD) / len(TOLD)) < 0.02
    assert abs(below["answered"]["answer"] - 3600) < 5 * below["answered"]["standard_error"]
    assert not any("other" in label for label in shares)
    assert found["quantiles"]["0.5"]["answered"]["label"] == "age said neither 'other' nor 'no answer'"


def test_values_of_one_column_go_by_its_name_or_by_none(capsys):
    asked = ["plan", "people.csv", "--seconds", "2", "--force", "--column", "age of person"]
    plain = run_json(capsys, *asked, "--edges", "0:100:20", "--unit", "years")
    named = run_json(capsys, *asked, "--edges", "age of person=0:100:20", "--unit", "age of person=years")
    assert (named["edges"], named["commands"]) == (plain["edges"], plain["commands"])
    status, _, err = run(capsys, *asked, "--edges", "group=0:100:20")
    assert status == 2
    assert "write --edges age of person=..." in err


def test_one_object_for_programs(capsys):
    found = run_json(capsys, "plan", "people.csv", "--column", "group", "--users", "1000", "-o", "g.ldp.json")
    assert found["labels"] == "a,b"
    assert found["epsilon"] == 1.0
    assert found["users"] == 1000
    assert found["least_standard_error"] <= found["standard_error"]["root_mean_square"]
    assert found["file"] == "g.ldp.json"
    assert json.loads(Path("g.ldp.json").read_text(encoding="utf-8"))
    assert [one.split()[1] for one in found["commands"]] == ["randomise", "estimate"]


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
        (
            ["people.csv", "--column", "group", "--edges", "0:9:1", "--labels", "a,b"],
            "both --edges and --labels",
        ),
    ],
)
def test_bad_input_ends_in_one_sentence(capsys, arguments, words):
    assert_refused(capsys, ["plan", *arguments], words)


def test_files_that_exist_are_kept(capsys):
    Path("people-group.html").write_text("mine")
    assert_refused(capsys, ["plan", "people.csv", "--column", "group"], "people-group.html exists")
    assert Path("people-group.html").read_text() == "mine"
    assert run(capsys, "plan", "people.csv", "--column", "group", "--force")[0] == 0


SURVEY = "".join(
    f"{k},{20 + 7 * k % 50 if k % 10 else ''},{('North', 'South', 'East')[k % 3]},{'yn'[k % 7 > 2]}\n"
    for k in range(600)
)
"""600 people: a number of the row, an age that one in ten leaves out, a region, and whether they smoke."""


def test_a_survey_goes_from_a_file_to_answers_and_back_through_its_file(capsys):
    Path("survey.csv").write_text(f"row,age,region,smokes\n{SURVEY}")
    asked = ["--table", "region,smokes", "--column", "age", "--edges", "age=20:70:10", "--unit", "age=years"]
    status, out, err = run(capsys, "plan", "survey.csv", *asked, "--seconds", "4")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    for words in (
        "600 people, 2 questions, epsilon 1 for the whole survey.",
        "region x smokes",
        "all questions together.",
        "age: 5 bins and 'no answer' (stated): 20:70:10,no answer",
        "survey: survey.toml",
    ):
        assert words in said
    commands = out.replace("\\\n", " ").split("devices:\n")[1].splitlines()
    for command in commands:
        status, out, err = run(capsys, *shlex.split(command)[1:])
        assert status == 0, err
    assert "The intervals of the cells stand in these files: low and high" in " ".join(out.split())
    assert "Per cent of each row, region in rows" in out
    assert sorted(one.name for one in Path("answers").iterdir()) == [
        *("age.csv", "region-smokes-table.csv", "region-smokes.csv"),
    ]
    assert "<h1" in Path("results.html").read_text(encoding="utf-8")
    assert "below 30 years" in Path("answers/age.csv").read_text(encoding="utf-8")
    written = Path("answers/region-smokes.csv").read_text(encoding="utf-8")
    assert written.startswith("region,smokes,people,standard_error,low,high,percent,")
    assert "North,y," in written
    assert "\u00d7" not in out  # weights say how much errors count, and multiply no answer
    again = run_json(
        capsys, "plan", "survey.toml", "--users", "600", "--seconds", "4", "-o", "again.ldp.json"
    )
    status, out, _ = run(
        capsys, "plan", "survey.toml", "--users", "600", "--epsilon=1.5", "--seconds=3", "--force"
    )
    assert status == 0
    for words in (
        "again:  stratagem plan survey.toml --users 600 --epsilon 1.5 --force",
        "stratagem randomise survey.ldp.json --data answers.csv -o reports.jsonl",
        "stratagem estimate survey.ldp.json reports.jsonl --method recommended",
    ):
        assert words in " ".join(out.replace("\\\n", " ").split()).replace("again: ", "again:  ")
    assert [one["question"] for one in again["questions"]] == ["age", "region x smokes"]
    assert (again["columns"], again["commands"]) == ([], [])
    assert Path(again["survey"]).read_text(encoding="utf-8") == Path("survey.toml").read_text(
        encoding="utf-8"
    )
    heading = re.search("<h1>([^<]*)</h1>", Path("again.html").read_text(encoding="utf-8"))
    assert heading is not None
    assert heading[1] == "survey", "the title of the survey file"
    optimised = run_json(capsys, "optimise", "survey.toml", "--seconds", "4")
    assert optimised["epsilon"] == 1.0


@pytest.mark.exhaustive
def test_the_object_of_a_survey_for_programs(capsys):
    Path("survey.csv").write_text(f"row,age,region,smokes\n{SURVEY}")
    found = run_json(capsys, "plan", "survey.csv", "--users", "900", "--seconds", "40")
    assert [one["question"] for one in found["questions"]] == ["age", "region", "smokes"]
    assert [one["column"] for one in found["columns"]] == ["age", "region", "smokes"]
    assert (found["users"], found["epsilon"], found["file"]) == (900, 1.0, "survey.ldp.json")
    assert any("row is left out" in note for note in found["notes"])
    for one in found["questions"]:
        assert set(one["standard_error"]) == {"root_mean_square", "least_accurate"}
        assert {"one_question_each", "split_budget", "usable", "ways"} <= set(one)
    assert all(0 < share <= 1 + 1e-9 for share in found["people_as_a_share_of"].values())
    useless = [one["ways"]["people"] for one in found["questions"] if not one["usable"]]
    assert useless
    assert (found["usable"], found["ways"]["people"]) == (False, max(useless))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--column", "age", "--column", "incme"], "no column 'incme'"),
        (["--table", "region"], "a table of region was asked for"),
        (["--table", "region,nowhere"], "no column 'nowhere'"),
        (["--edges", "18:90:8"], "names no attribute|stated for 'value'"),
        (["--edges", "row=0:600:1", "--table", "row,region,smokes", "--users", "0"], "users is 0"),
        (["--workload", "histogram"], "belong to one"),
        (["--unit", "smokes=cigarettes"], "has labels"),
    ],
)
def test_bad_surveys_end_in_one_sentence(capsys, arguments, words):
    Path("survey.csv").write_text(f"row,age,region,smokes\n{SURVEY}")
    assert_refused(capsys, ["plan", "survey.csv", *arguments], words)


def test_a_survey_file_that_exists_is_kept(capsys):
    Path("survey.csv").write_text(f"row,age,region,smokes\n{SURVEY}")
    Path("survey.toml").write_text("mine")
    assert_refused(capsys, ["plan", "survey.csv"], "survey.toml exists")
    assert Path("survey.toml").read_text() == "mine"


def test_columns_that_are_left_out_are_said_before_the_search(capsys):
    rows = "".join(f"{20 + k % 50},1,{k % 999:03}.5,{'yn'[k % 2]}\n" for k in range(300))
    Path("left.csv").write_text(f"age,income,x,smokes\n{rows}".replace(",1,", ',"1,012",'))
    words = "income is left out: "
    status, out, err = run(capsys, "plan", "left.csv", "--seconds", "2", "--column", "age")
    assert words not in err + out
    status, out, err = run(capsys, "plan", "left.csv", "--seconds", "2", "--force")
    assert status == 0
    assert err.startswith(words)
    assert words in out


def test_rows_outside_have_a_line_a_column(capsys):
    Path("survey.csv").write_text(
        "age,region\n" + "".join(f"{20 + k % 40},{'NS'[k % 2]}\n" for k in range(90))
    )
    asked = ["--edges", "age=20:60:10", "--labels", "region=N,S", "--only", "--seconds", "2"]
    assert run(capsys, "plan", "survey.csv", *asked)[0] == 0
    Path("more.csv").write_text("age,region\n90,N\n30,X\n30,S\n")
    status, out, err = run(capsys, "randomise", "survey.ldp.json", "--data", "more.csv")
    assert (status, out) == (2, "")
    *lines, sentence = err.splitlines()
    assert lines == ["age: 60 or above 1", "region: unknown label 1"]
    assert sentence.startswith("stratagem: more.csv has 2 of 3 rows outside the domain: ")
