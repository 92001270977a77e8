"""From a file of answers to estimates by the commands that `plan` prints; bad input ends in one sentence."""

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

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
        "0:100:5,whole,no answer",
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
    assert "quantile 0.5: 40 to 44 years; 95 % sure: from 40 to 44 years; of the 3," in said
    assert "shares of the 3," in said
    _, out, _ = run(capsys, *shlex.split(commands[-1])[1:], "--of-all", "--force")
    assert "quantile 0.5: 55 to 59 years" in " ".join(out.split())
    assert "shares of all:" in out
    asked = ["estimate", "gaps-age.ldp.json", "reports.jsonl", "--quantile", "0.5", "--json"]
    found = json.loads(run(capsys, *asked)[1])  # beside it, what became of the reports
    shares = {one["label"]: one for one in found["shares"]}
    below = shares["age from 15 to 44 years"]
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
    status, out, err = run(capsys, "plan", "survey.csv", *asked, "--seconds", "2")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    for words in (
        "600 people, 2 questions, epsilon 1 for the whole survey.",
        "region x smokes",
        "a guess of a person's answers to all questions 50 % likely",
        "age: 5 bins and 'no answer' (stated): 20:70:10,whole,no answer",
        "survey: survey.toml",
    ):
        assert words in said
    commands = out.replace("\\\n", " ").split("devices:\n")[1].splitlines()
    for command in commands:
        status, out, err = run(capsys, *shlex.split(command)[1:])
        assert status == 0, err
    assert "The intervals of the cells stand in these files: low and high" in " ".join(out.split())
    assert "Per cent of all 600 people, region in rows" in " ".join(out.split())
    assert "Per cent of each row" not in out, "600 people are too few to share out"
    assert sorted(one.name for one in Path("answers").iterdir()) == [
        *("age.csv", "questions.csv", "region-smokes-table.csv", "region-smokes.csv"),
    ]
    assert commands[-1].endswith(" --questions survey.toml")
    assert "<h1" in Path("results.html").read_text(encoding="utf-8")
    assert "below 30 years" in Path("answers/age.csv").read_text(encoding="utf-8")
    written = Path("answers/region-smokes.csv").read_text(encoding="utf-8")
    assert written.startswith("question,answer,value_1,value_2,people,sum,standard_error,low,high,percent,")
    assert ",North,y," in written
    assert "\u00d7" not in out  # weights say how much errors count, and multiply no answer
    again = run_json(
        capsys, "plan", "survey.toml", "--users", "600", "--seconds", "1", "-o", "again.ldp.json"
    )
    status, out, _ = run(
        capsys, "plan", "survey.toml", "--users", "600", "--epsilon=1.5", "--seconds=1", "--force"
    )
    assert status == 0
    for words in (
        "again:  stratagem plan survey.toml --users 600 --epsilon 1.5 --force",
        "stratagem randomise survey.ldp.json --data survey.csv --questions survey.toml -o reports.jsonl --force",
        "stratagem estimate survey.ldp.json reports.jsonl --method recommended",
    ):
        assert words in " ".join(out.replace("\\\n", " ").split()).replace("again: ", "again:  ")
    assert [one["question"] for one in again["questions"]] == ["age", "region x smokes"]
    assert [one["column"] for one in again["columns"]] == ["age", "region", "smokes"]
    assert Path(again["survey"]).read_text(encoding="utf-8") == Path("survey.toml").read_text(
        encoding="utf-8"
    )
    heading = re.search("<h1>([^<]*)</h1>", Path("again.html").read_text(encoding="utf-8"))
    assert heading is not None
    assert heading[1] == "survey", "the title of the survey file"
    optimised = run_json(capsys, "optimise", "survey.toml", "--seconds", "1")
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


@pytest.mark.exhaustive
def test_columns_that_are_left_out_are_said_once_before_the_search(capsys):
    rows = "".join(f"{20 + k % 50},1,{k % 999:03}.5,{'yn'[k % 2]},C{100 + k}\n" for k in range(300))
    Path("left.csv").write_text(f"age,income,x,smokes,id\n{rows}".replace(",1,", ',"1,012",'))
    words = "income is left out: "
    status, out, err = run(capsys, "plan", "left.csv", "--seconds", "2", "--column", "age")
    assert words not in err + out
    status, out, err = run(capsys, "plan", "left.csv", "--seconds", "2", "--force")
    assert status == 0
    assert err.startswith(words)
    assert "id is left out: nearly every row has another value, as identifiers do.\n" in err
    assert "is left out" not in out
    assert out.splitlines()[-2:] == ["", "left out: income, id"]
    said = [
        "has a value of its own",
        "Whoever answers",
        "were read from the data",
        "Without randomisation",
        "Variance ",
        "saved: ",
    ]
    places = list(map(" ".join(out.split()).index, said))
    assert places == sorted(places), "what may be lost stands before what is proven"
    assert "Whoever answers anything else of age, x, smokes later is refused" in " ".join(out.split())
    assert_refused(
        capsys, ["plan", "left.csv", "--column", "id"], "holds 300 different texts, none of them in 0.5 %"
    )


@pytest.mark.parametrize(
    "values", [[], ["--edges", "age=20:60:10"], ["--column", "region", "--edges", "age=0:9:3"]]
)
def test_each_of_several_columns_has_its_own_option(capsys, values):
    Path("survey.csv").write_text(f"row,age,region,smokes\n{SURVEY}")
    words = "survey.csv has no column 'age, smokes': each column has its own, so write --column age --column smokes"
    assert_refused(capsys, ["plan", "survey.csv", "--column", "age, smokes", *values], words)
    assert_refused(
        capsys, ["plan", "survey.csv", "--column", "age,smoke", *values], "has no column 'age,smoke': did"
    )


def test_the_last_line_names_the_columns_that_are_left_out_with_the_options_that_read_them(capsys):
    rows = "".join(f'{"yn"[k % 2]},{"NSW"[k % 3]},"{k % 9},5","{1 + k % 9},012"\n' for k in range(90))
    Path("left.csv").write_text(f"smokes,region,a wage,rent\n{rows}")
    command = ["plan", "left.csv", "--seconds", "1", "--force"]
    status, out, err = run(capsys, *command)
    assert status == 0
    assert "which --decimal 'a wage=,' reads as 0.5" in " ".join(err.split())
    assert max(map(len, out.splitlines())) <= 80
    _, last = " ".join(out.split()).split("left out: ")
    said = (
        "a wage (ask about it with --decimal 'a wage=,'), "
        "rent (ask about it with --decimal rent=, or --decimal rent=.)"
    )
    assert last == said
    status, out, err = run(capsys, *command, "--decimal", "a wage=,", "--decimal", "rent=.")
    assert (status, err, "left out" in out) == (0, "", False)


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


DOUBT = "don't know"
MESSY = "id;Age (years);Income, monthly;born;seen;region;smokes\n" + "".join(
    f"{k + 1};{DOUBT if k % 30 == 1 else 'N/A' if k % 40 == 2 else 20 + 7 * k % 50};"
    f"{'999' if k % 25 == 3 else f'{1 + k % 4}.{k % 900 + 100},50'};{1 + k % 28:02}/{1 + k % 12:02}/{1950 + k % 40};"
    f"{1 + k % 12:02}/{1 + k % 7:02}/2024;{('North', 'north', 'South ', 'East')[k % 4]};{'yn'[k % 7 > 2]}\n"
    for k in range(1200)
)
"""1,200 people: ids, one of them 999; words among ages; decimal commas; dates of which one column tells the order."""
READ = (
    *("--missing", "Income, monthly=999", "--missing", "Age (years)=don't know"),
    *("--decimal", "Income, monthly=,", "--date-format", "seen=day-first", "--map", "region=East=West"),
)


def typed(out):
    """Return the commands that stand in what `plan` writes, in their order."""
    said = out.replace("\\\n", " ").splitlines()
    found = [re.sub(r"^(again|ask): +", "", line) for line in said]
    return [shlex.split(line)[1:] for line in found if line.startswith("stratagem ")]


def ran(capsys, command):
    """Run a command; of a server, the first that it says."""
    if command[0] != "collect":
        command = [*command, *["--seconds", "1"] * (command[0] == "plan")]
        status, _, err = run(capsys, *command)
        assert status == 0, (command, err)
        return
    served = [sys.executable, "-m", "stratagem.cli", *command, "--port", "0"]
    with subprocess.Popen(served, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = list(iter(process.stdout.readline, "Ctrl-C ends the server.\n"))
        with urlopen(said[0].split()[1]) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0, said


@pytest.mark.exhaustive
def test_every_printed_command_runs_and_reads_as_the_plan_did_also_after_planning_again(capsys):
    Path("messy.csv").write_text(MESSY)
    status, first, err = run(capsys, "plan", "messy.csv", *READ, "--seconds", "2")
    assert status == 0
    assert "id is left out: every row has a number of its own" in " ".join(err.split())
    placed = r"[\d,]+ of 1,200 rows count as '[^']*'"
    rows = re.findall(placed, " ".join(first.split()))
    assert rows[:1] == ["70 of 1,200 rows count as 'no answer'"]
    for command in typed(first):
        ran(capsys, command)
    file = Path("messy.toml").read_text(encoding="utf-8")
    for line in (
        'data = "messy.csv"',
        'column = "Income, monthly"\nmissing = ["999"]\ndecimal = ","',
        'missing = ["don\'t know"]',
        'date_format = "day-first"',
        'map = { East = "West", north = "North" }',
    ):
        assert line in file
    assert file.count('date_format = "day-first"') == 1 + file.count("[attributes.born]")
    Path("messy.toml").write_text(
        file.replace("# other", "#  other").replace('"20:70:', '"10:80:'), encoding="utf-8"
    )
    status, again, _ = run(capsys, "plan", "messy.toml", "--users", "1200", "--seconds", "1", "--force")
    assert status == 0
    assert re.findall(placed, " ".join(again.split())) == rows
    commands = typed(again)
    assert [one[0] for one in commands] == ["plan", "collect", "randomise", "estimate"]
    assert not {"--missing", "--map", "--decimal"} & {word for one in commands for word in one}
    for command in commands:
        ran(capsys, command)
    status, _, err = run(
        capsys,
        "randomise",
        "messy.ldp.json",
        "--data",
        "messy.csv",
        "--questions",
        "messy.toml",
        "-o",
        "more.jsonl",
    )
    assert (status, err) == (0, "1,200 reports of 1,200 rows\n")


def test_codes_for_gaps_make_no_question_of_a_number_of_the_row(capsys):
    rows = [line.split(";") for line in MESSY.splitlines()]
    Path("messy.csv").write_text("".join(f"{row[0]};{row[-1]}\n" for row in rows))
    for missing in ("999", "id=7", "1"):
        asked = ("--missing", missing, "--map", "5=yes", "--seconds", "1", "--force")
        status, _, err = run(capsys, "plan", "messy.csv", *asked)
        assert status == 0
        assert "id is left out" in err


@pytest.mark.exhaustive
def test_values_of_a_survey_file_that_names_its_answers_may_be_from_these(capsys):
    """Whoever plans it again does not know whether somebody wrote its values or a plan read them."""
    rows = "".join(f"{20 + k % 50},{'yn'[k % 2]}\n" for k in range(400))
    Path("told.csv").write_text(f"age,smokes\n{rows}")
    assert run(capsys, "plan", "told.csv", "--seconds", "1")[0] == 0
    said = "The values in told.toml may have been read from told.csv and then tell something about its people"
    for data, told in (("told.csv", True), ("", False)):
        file = Path("told.toml").read_text(encoding="utf-8").replace('data = "told.csv"\n', "")
        Path("told.toml").write_text(f'data = "{data}"\n{file}' if data else file, encoding="utf-8")
        command = ["plan", "told.toml", "--users", "400", "--seconds", "1", "--force"]
        status, out, _ = run(capsys, *command)
        assert (status, said in " ".join(out.split())) == (0, told)
        assert ("if they were proposed from example answers" in Path("told.html").read_text("utf-8")) == told
        assert (said in " ".join(run_json(capsys, *command)["notes"])) == told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--column", "seen"],
            "do not tell the order of day and month: say --date-format seen=day-first or ",
        ),
        (["--column", "seen", "--date-format", "dmy"], "there are day-first, month-first, year-first: write"),
        (["--column", "smokes", "--decimal", ";"], "it is a comma or a point"),
        (["--column", "smokes", "--decimal", "id=,", "--decimal", "id=."], "keep one of them"),
    ],
)
def test_what_dates_and_decimals_mean_is_never_guessed(capsys, arguments, words):
    Path("messy.csv").write_text(MESSY)
    assert_refused(capsys, ["plan", "messy.csv", *arguments], words)


def test_words_among_numbers_are_named_with_what_to_type(capsys):
    Path("messy.csv").write_text(MESSY)
    status, out, _ = run(capsys, "plan", "messy.csv", "--column", "Age (years)", "--seconds", "1")
    assert status == 0
    said = " ".join(out.split())
    assert "with the rows of each: \"don't know\" 40. If they stand for no answer, --missing 'Age" in said
    rows = "".join(f"{20 + k % 9 if k % 4 else 'refused'},{'yn'[k % 2]}\n" for k in range(400))
    Path("many.csv").write_text(f"age,smokes\n{rows}")
    status, out, _ = run(capsys, "plan", "many.csv", "--seconds", "1")
    said = " ".join(out.split())
    assert "age: 300 rows hold numbers, and 100 texts, with the rows of each: texts 'refused' 100" in said
    assert "--missing age=refused says so" in said


def test_lost_answers_are_named_with_what_reads_them(capsys):
    """Those of a column that is mostly read: they must not be advised away as no answers."""
    days = "".join(
        f"{f'{13 + k % 9}/0{1 + k % 9}/2022' if k % 25 == 3 else f'2022-0{1 + k % 9}-{10 + k % 19}'},"
        f"{'five' if k % 30 == 4 else 1 + k % 5}\n"
        for k in range(400)
    )
    Path("lost.csv").write_text(f"joined,scored\n{days}")
    status, out, _ = run(capsys, "plan", "lost.csv", "--seconds", "1")
    said = " ".join(out.replace("\\\n", " ").split())
    assert status == 0
    read = "joined: 16 rows with dates such as [0-9/]+, which --date-format joined=day-first reads as 2022-"
    assert re.search(read, said)
    assert "--missing joined" not in said
    assert (
        "If they stand for no answer, --missing scored=five says so; if they are answers, --map scored=five=5 does."
        in said
    )


def test_a_label_that_nobody_knows_is_refused_in_a_sentence(capsys):
    Path("messy.csv").write_text(MESSY)
    assert (
        run(capsys, "plan", "messy.csv", "--column", "region", "--column", "smokes", "--seconds", "1")[0] == 0
    )
    Path("more.csv").write_text("region,smokes\nNrth,y\nNorth,n\n")
    command = ["randomise", "messy.ldp.json", "--data", "more.csv", "--invalid", "other"]
    assert_refused(
        capsys,
        command,
        "column 'region' holds 'Nrth', which is an unknown label, but none of its values is called",
    )
