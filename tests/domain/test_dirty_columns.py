"""Columns as people have them: missing, misspelt, out of range; what becomes of such values is asked, never guessed."""

import base64
import json
import re
import shlex
from dataclasses import replace
from datetime import date, datetime, time

import numpy as np
import pytest

import adult
import stratagem as st
from commands import assert_refused, run, run_json
from found import found_values
from node import WEB
from node import run as run_node
from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import Bins, edge_text
from stratagem.domain.columns import InvalidValuesError, distinct, read, stream
from stratagem.domain.moment import instant, shortest
from stratagem.domain.policy import Policy
from stratagem.domain.values import Labels
from stratagem.mechanism import client
from stratagem.workloads import Domain

DIRTY = "age,job\n17, clerk\n 30,nurse\n?, ?\n,nurse\n-4,clerk\n120,pilot\n35,clerk\nNA,clerk\n"
JOBS = ("--column", "job", "--labels", "clerk,nurse,other")
AGES = ("--column", "age", "--edges", "0:100:50,other")
FAST = ("--epsilon", "1", "--outputs", "16", "--gap", "0.2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dirty.csv").write_text(DIRTY)
    ages = st.bins([0, 50, 100], other=True)
    made = st.Mechanism.of(st.published.randomised_response(3, 1.0), st.histogram(ages), 1.0)
    made.save("ages.ldp.json")
    plain = st.Mechanism.of(
        st.published.randomised_response(2, 1.0), st.histogram(st.bins([0, 50, 100])), 1.0
    )
    plain.save("plain.ldp.json")
    return tmp_path


POLICIES = {
    "other": (["--invalid", "other"], "8 reports of 8 rows; as other: age missing 2, age not a number 1", 8),
    "drop": (["--invalid", "drop"], "3 reports of 8 rows; left out: age missing 2, age not a number 1", 3),
    "clip and drop": (["--clip", "--invalid", "drop"], "5 reports of 8 rows; left out: age missing 2", 5),
    "clip and other": (["--clip", "--invalid", "other"], "8 reports of 8 rows; as other: age missing 2", 8),
    "missing": (["--missing", "?", "--invalid", "other"], "8 reports of 8 rows; as other: age missing 3,", 8),
}


@pytest.mark.parametrize("name", POLICIES)
def test_every_row_reports_is_left_out_or_is_clipped_as_asked(capsys, folder, name):
    options, words, reports = POLICIES[name]
    asked = ("randomise", "ages.ldp.json", "--data", "dirty.csv", "--column", "age", *options)
    status, out, err = run(capsys, *asked)
    assert status == 0
    assert words in err
    assert len(out.splitlines()) == reports


REFUSED = {
    "nothing said": (
        ["ages", "age"],
        (
            "dirty.csv has 5 of 8 rows outside the domain .age missing 2, age below 0 1, age 100 or above 1, "
            "age not a number 1; "
        ),
    ),
    "examples": (
        ["ages", "age"],
        "; texts '.' 1.: --clip counts numbers beyond the edges in the nearest bin",
    ),
    "drop named": (
        ["ages", "age"],
        "--invalid drop leaves such rows out, --invalid other reports them as the value other$",
    ),
    "other to be made": (
        ["plain", "age"],
        "the value other, which --edges ...,other or --labels ...,other adds",
    ),
    "other not made": (
        ["plain", "age", "--invalid", "other"],
        "column 'age' holds '-4', which is below 0, but none of its values is called 'other'",
    ),
    "no clip for texts": (
        ["ages", "job"],
        "outside the domain .job not a number 8; texts 'clerk' 4, 'nurse' 2",
    ),
    "an unknown word": (
        ["ages", "age", "--invalid", "ignore"],
        "'ignore' was given .* fail, drop, other: choose one",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_decided_is_refused_before_the_first_report(capsys, folder, name):
    (bundle, column, *options), words = REFUSED[name]
    asked = ["randomise", f"{bundle}.ldp.json", "--data", "dirty.csv", "--column", column, *options]
    assert_refused(capsys, asked, words)


def test_a_policy_without_a_file_is_refused(capsys, folder):
    assert_refused(
        capsys, ["randomise", "ages.ldp.json", "--value", "1", "--clip"], "none was given: add --data"
    )
    assert_refused(
        capsys,
        ["randomise", "ages.ldp.json", "--value", "1,5", "--decimal", "."],
        "^stratagem: (?!.*as-is).*--clip",
    )
    assert_refused(
        capsys,
        ["compare", "prefix", *AGES[2:], *FAST, "--missing", "?"],
        "--as-is, .* none was given: add --data",
    )


def test_simulate_and_compare_take_the_same_words(capsys, folder):
    options = ("--data", "dirty.csv", "--column", "age", "--invalid", "other", "--clip")
    data = run_json(capsys, "simulate", "ages.ldp.json", *options, "--repetitions", "5")
    assert (data["users"], data["outside"]) == (8, {})
    assert data["others"] == {"age missing": 2, "age not a number": 1}
    assert [row["true"] for row in data["answers"]] == [4, 1, 3]
    data = run_json(capsys, "compare", "histogram", *options, *AGES[2:], *FAST)
    assert (data["users"], data["domain"]) == (8, "value=3") or data["domain"] == "age=3"
    found = run_json(
        capsys, "compare", "histogram", "--data", "dirty.csv", *JOBS, "--invalid", "other", *FAST
    )
    assert (found["users"], found["others"]) == (8, {"job unknown label": 2})


@pytest.mark.exhaustive
def test_numbers_with_texts_among_them_are_never_sorted_as_texts(capsys, folder):
    asked = ["compare", "prefix", "--data", "dirty.csv", "--column", "age", *FAST]
    words = r"column 'age' holds 7 different texts, .* if '\?' stands for no value, say so with --missing 'age=\?'"
    assert_refused(capsys, asked, words)
    (folder / "few.csv").write_text("score\n1\n2\n?\n3\n\n2\n")
    asked = ["compare", "prefix", "--data", "few.csv", "--column", "score", "--missing", "?", *FAST]
    for policy, found in (
        ((), ("score=4", 6, {})),
        (("--invalid", "drop"), ("score=3", 4, {"score missing": 2})),
    ):
        data = run_json(capsys, *asked, *policy)
        assert (data["domain"], data["users"], data["outside"]) == found


def test_blanks_around_labels_mean_nothing(tmp_path):
    """As in Adult, whose cells begin with a blank."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1, x\n2,x \n3,y\n")
    for labels in (("x", "y"), (" x", "y ")):
        assert read(path, Domain(value=Labels(labels)), {"value": "b"}).x.tolist() == [2, 1]


def test_missing_work_classes_of_adult_report_other(tmp_path):
    """The work class of 2,799 of 48,842 people is a question mark, 31 more are rare; every cell begins with a blank."""
    path = tmp_path / "adult.csv"
    path.write_text("age,workclass\n" + "".join(f"{row[0]}, {row[1]}\n" for row in adult.lines()))
    policy = Policy(invalid="other", missing=("?",))
    found = found_values(path, "workclass", policy)
    assert isinstance(found, Labels)
    assert (len(found.texts), found.texts[-1], found.no_answer) == (7, "other", True)
    labels = replace(found, no_answer=False)
    assert "?" not in labels.texts
    domain, source = Domain(value=labels), {"value": "workclass"}
    data = read(path, domain, source, policy)
    assert (data.users, data.others, data.x[-1]) == (
        48_842,
        {"workclass missing": 2_799, "workclass unknown label": 31},
        2_830,
    )
    for refused in (
        lambda: read(path, domain, source),
        lambda: next(stream(path, domain, source)),
    ):
        with pytest.raises(
            InvalidValuesError, match=r"2,830 of 48,842 rows .* unknown label 2,830; texts '\?' 2,799"
        ):
            refused()


MOMENTS = {
    "months": ("2026-01-01:2027-01-01:1mo", 12, "2026-03-31 23:59:59", 2, "2026-12"),
    "days": ("2024-02-27:2024-03-02:1d", 4, "2024-02-29", 2, "2024-03-01"),
    "weeks": ("2026-01-05:2026-02-02:1w", 4, "2026-01-12T00:00:00", 1, "2026-01-26 to 2026-02-01"),
    "quarters of an hour": ("00:00:24:00:15min", 96, "09:29:59", 37, "23:45 to below 24:00"),
    "hours": ("06:00:22:00:1h", 16, "06:00", 0, "21:00 to below 22:00"),
    "moments": (
        "2026-01-01T06:00:2026-01-02T06:00:6h",
        4,
        "2026-01-02 00:00:00",
        3,
        "2026-01-02 to below 2026-01-02T06:00",
    ),
    "a list": ("2020-01-01,2024-01-01,2026-07-01", 2, "2024-01-01", 1, "2024-01 to 2026-06"),
    "years": ("2000-06-15:2004-06-15:2y", 2, "2002-06-14", 0, "2002-06-15 to 2004-06-14"),
    "seconds": ("00:00:00:00:01:30:30s", 3, "00:01:00.250", 2, "00:01 to below 00:01:30"),
}


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("name", MOMENTS)
def test_dates_and_times_are_edges_in_files_and_in_both_clients(name, other):
    text, bins, value, place, last = MOMENTS[name]
    edges = Bins.parse(text + ",other" * other)
    assert edges.size == bins + other
    outside = "1999-01-01" if "-" in value else "23:59:59" if name in ("hours", "seconds") else "noon"
    cells = edges.cells([value, outside, None, "17"])
    assert cells.cell.tolist() == [place, -1, -1, -1]
    assert cells.reason[3] == "not a date" if "-" in value else "not a time of day"
    mechanism = st.Mechanism.of(
        st.published.randomised_response(edges.size, 1.0), st.histogram(Domain(value=edges)), 1.0
    )
    iso = value.replace(" ", "T")
    assert mechanism.client.cell(iso) == place
    job = {"bundle": mechanism.text, "stream": bytes(24), "values": [json.dumps(iso)]}
    report = run_node("reports", module=(WEB / "client.js").as_uri(), **job)["reports"][0]
    replayed = client.Client(mechanism.bundle, lambda count: bytes(count)).randomise(iso)
    assert report == replayed
    with pytest.raises(ValueError, match="must be a date or time from"):
        mechanism.client.cell(17)
    words = mechanism.attributes[0].values_text(bins - 1, bins - 1)
    assert words == last


def test_python_dates_and_times_are_values_and_edges():
    edges = [date(2026, 1, 1), datetime(2026, 2, 1, 12), "2026-03-01", "other"]
    assert [edge_text(edge) for edge in edges] == ["2026-01-01", "2026-02-01T12:00", "2026-03-01", "other"]
    made = st.Mechanism.of(st.published.randomised_response(3, 1.0), st.histogram(st.bins(edges)), 1.0)
    values = (date(2026, 2, 1), datetime(2026, 2, 1, 12, 0, 1), "2026-02-28", "other")
    assert [made.client.cell(value) for value in values] == [0, 1, 1, 2]
    assert made.attributes[0].values_text(2, 2) == "other"
    clock = st.Mechanism.of(
        st.published.randomised_response(2, 1.0), st.histogram(st.bins([time(0), "12:00", "24:00"])), 1.0
    )
    assert clock.client.cell(time(12, 30)) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-01-31:2026-05-31:1mo", "begin at day 28 or before"),
        ("2026-01-01:2026-02-01:0d", "steps above zero"),
        ("2026-02-01:2026-01-01:1d", "steps above zero"),
        ("2026-01-01:2027-01-01:1fortnight", "units are s, min, h, d, w, mo, y"),
        ("00:00:24:00:1mo", "units are s, min, h, d, w: write"),
        ("2026-13-01:2027-01-01:1mo", "no date that exists"),
        ("25:00:26:00:1h", "no time of day"),
        ("2026-01-01,12:00", "neither START:STOP:STEP"),
        ("2026-02-01,2026-01-01", "increase"),
        ("0:10:5,0ther", "neither"),
        ("other", "neither"),
        ("5,other", "a bin lies between two"),
    ],
)
def test_edges_that_are_none_are_one_sentence(text, words):
    with pytest.raises(ValueError, match=words) as error:
        Bins.parse(text)
    assert "\n" not in str(error.value)


BUNDLES = [
    ["0", "5", "other"],
    ["other", "0", "5"],
    ["0", "other", "5"],
    ["2026-01-01", "2026-02-01", "12:00"],
    ["2026-02-01", "2026-01-01", "2025-01-01"],
    ["2026-01-01", "5", "6"],
    ["0", "other"],
    ["other"],
]


@pytest.mark.parametrize("edges", BUNDLES)
def test_both_clients_take_the_same_edges(edges):
    """The table has two values: ["0", "5", "other"] is the one list of these that names two."""
    plain = st.Mechanism.of(st.published.randomised_response(2, 1.0), st.histogram(2), 1.0)
    data = json.loads(plain.text)
    data["domain"][0]["edges"] = edges
    data["sha256"] = client.fingerprint(data)
    text = json.dumps(data).encode()
    (refused,) = run_node("parse", bundles=[base64.b64encode(text).decode()])
    if edges != ["0", "5", "other"]:
        assert "needs 3 edges that increase" in refused
        with pytest.raises(ValueError, match="needs 3 edges that increase"):
            client.parse(text)
        return
    assert refused is None
    accepted = client.Client(client.parse(text))
    assert [accepted.cell(value) for value in (3, "3", "other")] == [0, 0, 1]
    words = "a number from 0 to below 5, or .other."
    for found in run_node("refusals", bundle=text, values=["9", "null", '"three"', "true", "NaN"]):
        assert re.search(words, found)
    for value in (9, None, "three", True, np.nan):
        with pytest.raises(ValueError, match=words):
            accepted.cell(value)


def test_texts_of_one_moment_sort_by_time():
    rng, begin = np.random.default_rng(5), np.datetime64("2026-01-01")
    drawn = np.sort(begin + rng.integers(0, 10**8, 200).astype("timedelta64[s]"))
    texts = [instant(str(one)) for one in drawn]
    assert None not in texts
    assert texts == sorted(texts)
    assert [instant(shortest(text)) for text in texts] == texts


def test_answers_call_the_last_value_other():
    delay = Attribute("delay", Bins(("0", "5", "10", "other")), unit="minutes")
    assert delay.text(None, 1) == "delay from 0 to below 10 minutes"
    assert delay.text(None, 2) == "delay from 0 to below 10 minutes or other"
    assert delay.text(1, 2) == "delay = 5 to below 10 minutes or other"
    assert (delay.text(2, 2), delay.value(2)) == ("delay = other", "other")
    assert delay.bounds(2, 2) == {"attribute": "delay", "value": "other", "unit": "minutes"}
    assert delay.bounds(0, 2) == {
        "attribute": "delay",
        "from": 0,
        "below": 10,
        "or": "other",
        "unit": "minutes",
    }
    day = Attribute("day", Bins(("2026-01-01", "2026-02-01", "2026-03-01")))
    assert day.value(1) == ("2026-02-01", "2026-03-01")
    assert day.text(0, 1) == "day from 2026-01 to 2026-02"
    assert day.text(None, 1) == "day below 2026-03"


@pytest.mark.exhaustive
@pytest.mark.parametrize("edges", ["0:3:1,other", "2026-01-01:2026-01-05:1d"])
def test_pictures_and_files_of_answers_name_dates_and_other(capsys, folder, edges):
    """Every command from the mechanism to the picture, on edges that are not all numbers."""
    made, asked = folder / "m.ldp.json", ("--edges", edges, "--epsilon", "1")
    assert run(capsys, "optimise", "prefix", *asked, "--outputs", "12", "--gap", "0.2", "-o", made)[0] == 0
    value = "2026-01-02" if "-" in edges else "other"
    assert run(capsys, "randomise", made, *["--value", value] * 200, "-o", "r.jsonl")[0] == 0
    assert run(capsys, "aggregate", made, "r.jsonl", "-o", "c.json")[0] == 0
    options = ("--quantile", "0.5", "-o", "answers.csv", "--plot", "answers.svg")
    status, out, err = run(capsys, "estimate", made, "c.json", *options)
    assert (status, err) == (0, "")
    assert ("2026-01-02" if "-" in edges else "or other") in out
    assert run(capsys, "report", made, "--quick", "-o", "page.html")[0] == 0
    assert_refused(capsys, ["optimise", "mean", *asked], "asks about numbers")


def test_a_column_of_which_no_answer_is_a_value_is_refused_and_not_all_other(capsys, folder):
    (folder / "price.csv").write_text("price;age\n" + "".join(f'"{k},5";{k}\n' for k in range(9)))
    asked = [
        "randomise",
        "ages.ldp.json",
        "--data",
        "price.csv",
        "--column",
        "value=price",
        "--invalid",
        "other",
    ]
    words = r"none of the 9 answers in column 'price' of price.csv is a value of .* --decimal , reads as"
    assert_refused(capsys, [*asked, "-o", "r.jsonl"], words)
    assert not (folder / "r.jsonl").exists()
    status, _, err = run(capsys, *asked, "--decimal", ",", "-o", "r.jsonl")
    assert (status, err) == (0, "9 reports of 9 rows\n")


def test_whole_numbers_beside_gaps_in_parquet_are_what_people_write(tmp_path):
    """A column of whole numbers with gaps is one of doubles in pandas and Parquet."""
    pd = pytest.importorskip("pandas")
    path = tmp_path / "q.parquet"
    ages = [-1.0, 999.0, None, *map(float, range(18, 80))]
    pd.DataFrame({"age": ages, "dose": [None, 0.5, *([1.0] * 63)]}).to_parquet(path)
    counts = distinct(path, "age", Policy(missing=("-1", "999")))
    assert (counts[None], counts["18"], counts["18.0"]) == (3, 1, 0)
    assert distinct(path, "dose") == {None: 1, "0.5": 1, "1": 63}


NEXT = {
    "values found": ("--column region", "--column region --map north=North"),
    "two columns": (
        "--column region --column a='my age' --edges 'a=20:40:10,no answer'",
        "--column region=region --column 'a=my age' --map",
    ),
    "rows left out": (
        "--column 'my age' --edges 20:30:5 --invalid drop --clip",
        "--column 'my age' --invalid drop --clip",
    ),
    "rows as other": (
        "--column 'my age' --edges 20:30:5,other --invalid other",
        "--column 'my age' --invalid other",
    ),
}


@pytest.mark.parametrize("name", NEXT)
def test_the_command_that_optimise_prints_next_reads_the_same_file(name, capsys, folder):
    options, words = NEXT[name]
    (folder / "my file.csv").write_text("my age,region\n" + "21,North\n22,north\n,South\n31,South\n" * 5)
    read = ("--data", "my file.csv", *shlex.split(options))
    status, out, err = run(
        capsys, "optimise", "histogram", *read, *FAST, "--seconds", "1", "-o", "m.ldp.json"
    )
    assert status == 0, err
    command = re.search(r"next: +stratagem (simulate .*?)\n\w", out.replace("\\\n", " "), re.DOTALL)[1]
    assert f"--data 'my file.csv' {words}" in " ".join(command.split())
    assert run_json(capsys, *shlex.split(command), "--repetitions", "2")["users"] == (
        15 if "drop" in words else 20
    )


@pytest.mark.exhaustive
def test_every_command_says_what_plan_says_of_placeholders_and_of_values_read_from_data(capsys, folder):
    """And the options to state where the mechanism runs read the file as it was read here."""
    rows = [str(18 + k % 60) for k in range(300)] + ["999"] * 20 + ["-1"] * 20 + ["?"] * 9
    (folder / "ages.csv").write_text("age\n" + "\n".join(rows) + "\n")
    asked = ("compare", "histogram", "--data", "ages.csv", "--column", "age", "--missing", "?", *FAST)
    status, out, _ = run(capsys, *asked)
    said = " ".join(out.split())
    assert status == 0
    assert "look like placeholders for no answer (rows with '-1' 20, '999' 20)" in said
    assert "were read from the data and tell something about them" in said
    assert "--missing '?'" in said.split("state the values:")[1]
    assert "nothing of the data goes into them but the values" in said
