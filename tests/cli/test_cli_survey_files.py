"""A survey of 2,000 people through real files: both clients, every format of reports, the same counts and estimates."""

import json
import os
import re
from html import unescape

import duckdb
import numpy as np
import pytest

import stratagem as st
from broken_surveys import promising, shared
from commands import assert_refused, plain, run
from mechanisms import mechanism
from node import run as node
from stratagem.workloads.survey import ABOUT

FOUND = mechanism("german-survey")
PEOPLE = 2000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The answers of the people as a CSV file, and the mechanism."""
    path = tmp_path_factory.mktemp("survey")
    FOUND.save(path / "s.ldp.json")
    rng = np.random.default_rng(2)
    columns = {
        "Alter": rng.integers(18, 90, PEOPLE).tolist(),
        "Größe": rng.choice(["übergroß", "mittel", "nö"], PEOPLE, p=[0.2, 0.5, 0.3]).tolist(),
        "Ort": rng.integers(0, 7, PEOPLE).tolist(),
        "Tür & Tor": rng.choice(["auf", "zu"], PEOPLE, p=[0.7, 0.3]).tolist(),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = [",".join(columns), *(",".join(map(str, row.values())) for row in rows)]
    (path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, rows


def test_the_same_reports_have_the_same_counts_and_estimates_in_all_formats(folder, capsys):
    path, rows = folder
    file = path / "s.ldp.json"
    assert run(capsys, "randomise", file, "--data", path / "people.csv", "-o", path / "python.jsonl")[0] == 0
    values = [json.dumps(row) for row in rows]
    for name in ("steps", "reports"):  # the web client, with and without drawing the part first
        made = node(name, bundle=FOUND.text, stream=os.urandom(1 << 18), values=values)["reports"]
        lines = "".join(json.dumps(one) + "\n" for one in made)
        (path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    given = [path / f"{name}.jsonl" for name in ("python", "steps", "reports")]
    with duckdb.connect() as connection:
        table = f"read_json({[str(one) for one in given]}, format = 'newline_delimited')"
        for kind in ("csv", "parquet"):
            connection.execute(f"COPY (SELECT * FROM {table}) TO '{path / kind}.{kind}' (FORMAT {kind})")
    sources = {
        "lines": given,
        "csv": [path / "csv.csv"],
        "parquet": [path / "parquet.parquet"],
        "duckdb": [*given, "--state", path / "state.duckdb"],
    }
    counts, estimates = [], []
    for name, source in sources.items():
        out = path / f"{name}.json"
        assert run(capsys, "aggregate", file, *source, "-o", out)[0] == 0
        counts.append(out.read_bytes())
        status, said, _ = run(capsys, "estimate", file, out, "--method", "recommended", "--json")
        assert status == 0
        estimates.append(json.loads(said))
    assert run(capsys, "estimate", file, path / "state.duckdb", "--method", "recommended")[0] == 0
    assert counts == counts[:1] * 4
    assert estimates == estimates[:1] * 4
    assert estimates[0]["users"] == 3 * PEOPLE
    truth = {f"Tür & Tor = {one}": sum(row["Tür & Tor"] == one for row in rows) for one in ("auf", "zu")}
    for one in estimates[0]["answers"]:
        if one["label"] in truth:
            assert abs(one["answer"] - 3 * truth[one["label"]]) < 5 * one["standard_error"]


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (promising(999_999, 1_000_000), "breaks its epsilon"),
        (shared(-1, 1 << 31, (1 << 31) + 1), "a share is -1, but must be a whole number"),
        (shared(0, 1 << 31, 1 << 31), "a share is 0, but must be a whole number"),
    ],
)
def test_a_broken_survey_is_neither_served_nor_counted(raw, sentence, tmp_path, capsys):
    file = tmp_path / "broken.ldp.json"
    file.write_bytes(raw)
    for command in (["collect", file, "--port", 0], ["aggregate", file, "-"], ["estimate", file, file]):
        assert_refused(capsys, command, sentence)


WORDS = """title = "How people live"
[attributes.region]
labels = ["North", "South"]
question = "Where do you live?"
[attributes.smokes]
labels = ["no", "yes"]
question = "Do you smoke?"
[[query]]
on = { region = "identity" }
[[query]]
on = { smokes = "identity" }
"""


def test_the_words_of_a_survey_go_from_its_file_to_the_page(tmp_path, capsys):
    asked, file, site = tmp_path / "live.toml", tmp_path / "live.ldp.json", tmp_path / "site"
    asked.write_text(WORDS, encoding="utf-8")
    status, said, _ = run(capsys, "optimise", asked, "--epsilon", 1, "-o", file)
    assert status == 0
    assert f"ask: stratagem collect {file} --questions {asked}" in plain(said.replace("\\\n", ""))
    assert run(capsys, "export", file, "--web", site, "--questions", asked)[0] == 0
    page = unescape((site / "index.html").read_text(encoding="utf-8"))
    assert ">How people live</h1>" in page
    assert '"region": "Where do you live?", "smokes": "Do you smoke?"' in page
    titled = ["--web", site, "--questions", asked, "--question", "Short"]
    assert run(capsys, "export", file, *titled, "--force")[0] == 0
    assert ">Short</h1>" in (site / "index.html").read_text(encoding="utf-8")
    reports, results = tmp_path / "reports.jsonl", tmp_path / "results.html"
    people = tmp_path / "people.csv"
    people.write_text("region,smokes\n" + "North,yes\n" * 50, encoding="utf-8")
    assert run(capsys, "randomise", file, "--data", people, "-o", reports)[0] == 0
    assert run(capsys, "estimate", file, reports, "--summary", results, "--workload", asked)[0] == 0
    shown = unescape(results.read_text(encoding="utf-8"))
    assert re.findall("<h[12][^>]*>(?:<[^>]*>)?([^<]*)", shown)[0] == "How people live"
    page = tmp_path / "report.html"
    assert run(capsys, "report", asked, "--epsilon", 1, "--over", "epsilon=1", "--quick", "-o", page)[0] == 0
    assert "<title>How people live at ε = 1: " in page.read_text("utf-8")
    assert "Where do you live?" in shown
    alone = ["export", file, "-o", tmp_path / "x.npz", "--questions", asked]
    assert_refused(capsys, alone, "only the page of --web asks any")
    asked.write_text(WORDS.replace("question", "# question"), encoding="utf-8")
    for command in (["estimate", file, reports], ["export", file, "--web", tmp_path / "none"]):
        status, _, err = run(capsys, *command, "--questions", asked)
        assert status == 0
        assert err.startswith(f'{asked} states no question yet: write question = "..." below')
    asked.write_text(WORDS.replace("smokes", "drinks"), encoding="utf-8")
    assert_refused(
        capsys,
        ["collect", file, "--port", 0, "--questions", asked],
        "asks for drinks, but the mechanism for region, smokes: name these",
    )


LIVES = WORDS.replace(
    "[[query]]", '[attributes.age]\nbins = "0:60:20"\n[[query]]\non = { age = "prefix" }\n[[query]]', 1
)
OTHERS = {
    "a label": ('["North", "South"]', '["North", "West"]'),
    "a label more": ('["no", "yes"]', '["no", "yes", "often"]'),
    "other": ('["no", "yes"]', '["no", "yes"]\nother = true'),
    "no answer": ('["no", "yes"]', '["no", "yes"]\nno_answer = true'),
    "bins": ('bins = "0:60:20"', 'bins = "0:60:30"'),
    "edges": ('bins = "0:60:20"', 'bins = "0,30,40,60"'),
}


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    path = tmp_path_factory.mktemp("planned")
    (path / "live.toml").write_text(LIVES, encoding="utf-8")
    st.optimise(path / "live.toml", 1).mechanism().save(path / "live.ldp.json")
    return path


@pytest.mark.parametrize("name", OTHERS)
def test_words_about_other_values_than_those_of_the_mechanism_are_refused(name, planned, capsys):
    """Otherwise people read the new words above the former values."""
    file, asked = planned / "live.ldp.json", planned / "changed.toml"
    known, other = OTHERS[name]
    asked.write_text(LIVES.replace(known, other), encoding="utf-8")
    column = "smokes" if "no" in known else "age" if "bins" in known else "region"
    said = (
        f"{asked} asks for other values of {column} than {file}: plan it again with stratagem plan {asked} -o {file} "
        "--force, or take the file that it was planned from"
    )
    for command in (
        ["collect", file, "--port", 0],
        ["export", file, "--web", planned / "none"],
        ["estimate", file, file],
    ):
        assert_refused(capsys, [*command, "--questions", asked], said)
    assert not (planned / "none").exists()


def test_words_about_the_same_values_are_taken_however_these_are_written(planned, capsys):
    asked = planned / "same.toml"
    asked.write_text(
        LIVES.replace("0:60:20", "0,20,40.0,60").replace("Where", "In which part"), encoding="utf-8"
    )
    command = ["export", planned / "live.ldp.json", "--web", planned / "site", "--questions", asked]
    assert run(capsys, *command)[0] == 0
    assert "In which part do you live?" in (planned / "site/index.html").read_text(encoding="utf-8")


def test_the_example_of_who_asks_is_noted_before_people_read_it(planned, capsys):
    """As where somebody only takes the # away."""
    asked, file, said = planned / "asked.toml", planned / "live.ldp.json", "about is still the example"
    example = next(line for line in ABOUT if "about = " in line).removeprefix("# ")
    for about, told in ((example, True), (example.replace("library", "town"), False), ("", False)):
        asked.write_text(f"{about}\n{LIVES}", encoding="utf-8")
        command = ["export", file, "--web", planned / "who", "--questions", asked, "--force"]
        status, _, err = run(capsys, *command)
        assert (status, said in err) == (0, told)
        (planned / "none.duckdb").write_text("no file of reports", encoding="utf-8")
        command = ["collect", file, "--port", 0, "--questions", asked, "--state", planned / "none.duckdb"]
        status, _, err = run(capsys, *command)
        assert (status, said in err) == (2, told)


def test_a_file_of_reports_is_counted_where_it_is_estimated(folder, capsys):
    """The same as by way of its counts; what is no report is said, and reports of another mechanism are refused."""
    path, _ = folder
    file, reports, counts = path / "s.ldp.json", path / "given.jsonl", path / "given.json"
    assert run(capsys, "randomise", file, "--data", path / "people.csv", "-o", reports)[0] == 0
    first = reports.read_text(encoding="utf-8").splitlines()[0]
    with reports.open("a", encoding="utf-8") as opened:
        opened.write(f"{first}\nno report\n")
    assert run(capsys, "aggregate", file, reports, "-o", counts)[0] == 0
    status, out, err = run(capsys, "estimate", file, reports, "--json")
    assert status == 0
    assert out == run(capsys, "estimate", file, counts, "--json")[1]
    assert "2,000 reports counted of 2,002 received" in plain(err)
    other = path / "other.ldp.json"
    mechanism("labels").save(other)
    assert_refused(capsys, ["estimate", other, reports], "none is of this one")
