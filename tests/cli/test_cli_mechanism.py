"""The commands randomise, aggregate and estimate: pipes and files, one object each, one sentence for a mistake."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_cli_simulate import DELAYS

import stratagem as st
from commands import assert_refused, run, run_json
from mechanisms import mechanism
from stratagem.collection.tally import Tally, tally_data
from stratagem.mechanism.mechanism import Mechanism

SCRIPT = Path(sys.executable).with_name("stratagem")


@pytest.fixture
def bundles(tmp_path):
    """Save mechanisms by the name of their case."""
    return lambda case: mechanism(case).save(tmp_path / f"{case}.ldp.json")


def reports_of(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("two-level", "3"),
        ("labels", "nein"),
        ("edges", "0.25"),
        ("several-attributes", '{"age": 20, "sex": "f"}'),
    ],
)
def test_a_value_becomes_a_report(capsys, bundles, case, value):
    status, out, err = run(capsys, "randomise", bundles(case), "--value", value, "--value", value)
    assert (status, err) == (0, "")
    first, second = reports_of(out)
    assert first["id"] != second["id"]
    assert {first["mechanism"], second["mechanism"]} == {mechanism(case).identifier[:16]}
    assert 0 <= first["output"] < mechanism(case).outputs


@pytest.mark.parametrize(
    ("case", "options", "sentence"),
    [
        ("two-level", ["--value", "12"], "whole number from 0 to 11"),
        ("two-level", ["--value", "x"], "whole number"),
        ("two-level", ["--value", "1_0"], "is '1_0' (not a number), but must be a whole number"),
        ("two-level", ["--value", "\u0661"], "(not a number), but must be a whole number"),
        ("edges", ["--value", "1_0"], "is '1_0' (not a number), but must be a number"),
        ("edges", ["--value", "\u0661\u0662"], "(not a number), but must be a number"),
        ("edges", ["--data", "none.csv", "--value", "3"], "--value and --data were given"),
        ("edges", ["--value", "nan"], "number from -30"),
        ("labels", ["--value", "nej"], "must be one of"),
        ("several-attributes", ["--value", "3"], "give a mapping"),
        ("several-attributes", ["--value", "age"], "no JSON object"),
        ("two-level", ["--data", "none.csv", "--column", "x"], "none.csv cannot be read"),
        ("two-level", ["--value", "1", "-o", "x.txt"], "suffix must be one of .jsonl"),
    ],
)
def test_a_wrong_value_is_one_sentence(capsys, bundles, case, options, sentence):
    status, out, err = run(capsys, "randomise", bundles(case), *options)
    assert (status, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("line", ["1_0", "\u0661"])
def test_a_line_of_the_input_is_read_as_an_option_is(capsys, bundles, monkeypatch, line):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{line}\n"))
    assert_refused(capsys, ("randomise", bundles("two-level")), "must be a whole number from 0")


def test_rows_outside_the_domain_are_left_out_and_counted(capsys, bundles, tmp_path):
    data, out = tmp_path / "delays.csv", tmp_path / "reports.jsonl"
    data.write_text(DELAYS)
    options = ["--data", data, "--column", "delay", "--invalid", "drop", "-o", out]
    status, _, err = run(capsys, "randomise", bundles("edges"), *options)
    assert status == 0
    assert "6 reports of 7 rows; left out: delay missing 1" in err
    assert len(reports_of(out.read_text())) == 6


@pytest.mark.exhaustive
def test_a_pipe_goes_from_values_to_answers(bundles):
    """As typed in a shell: values | randomise | aggregate | estimate, each a process of its own."""
    bundle = bundles("labels")
    values = "ja\n" * 300 + "nein\n" * 100
    reports = subprocess.run(
        [SCRIPT, "randomise", bundle], input=values, capture_output=True, text=True, check=True
    )
    counts = subprocess.run(
        [SCRIPT, "aggregate", bundle, "-"],
        input=reports.stdout * 2,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "400 reports counted of 800 received; repeated ids 400" in counts.stderr
    found = subprocess.run(
        [SCRIPT, "estimate", bundle, "-", "--json"],
        input=counts.stdout,
        capture_output=True,
        text=True,
        check=True,
    )
    data = json.loads(found.stdout)
    assert data["users"] == 400
    assert sum(answer["answer"] for answer in data["answers"]) == pytest.approx(400)
    # five standard errors: a false alarm once in 10^6
    for answer, truth in zip(data["answers"], (300, 100, 0), strict=True):
        assert abs(answer["answer"] - truth) <= 5 * answer["standard_error"]


@pytest.fixture
def counted(tmp_path, bundles):
    """A bundle over edges and the counts of 5,000 simulated reports."""
    found, rng = mechanism("edges"), np.random.default_rng(3)
    outputs = found.randomise(rng.choice(4, 5000, p=[0.1, 0.2, 0.6, 0.1]), rng)
    lines = [
        json.dumps({"mechanism": found.identifier[:16], "id": f"{k:032x}", "output": int(y)})
        for k, y in enumerate(outputs)
    ]
    path = tmp_path / "reports.jsonl"
    path.write_text("\n".join(lines) + "\nnonsense\n")
    return bundles("edges"), path


def test_files_are_counted_once_however_often_they_are_given(capsys, counted, tmp_path):
    bundle, reports = counted
    state, out = tmp_path / "s.reports.duckdb", tmp_path / "counts.json"
    for _ in range(2):
        status, said, err = run(capsys, "aggregate", bundle, reports, "--state", state, "-o", out)
        assert (status, err) == (0, "")
    assert "5,000 reports counted of 5,001 received; not a JSON object 1" in said
    data = run_json_after_note(capsys, "aggregate", bundle, reports)
    assert data == json.loads(out.read_text())
    assert sum(data["counts"]) == data["reports"] == 5000


def run_json_after_note(capsys, *arguments):
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    return json.loads(out)


def test_answers_come_with_intervals_quantiles_and_words(capsys, counted, tmp_path):
    bundle, reports = counted
    out = tmp_path / "counts.json"
    run(capsys, "aggregate", bundle, reports, "-o", out)
    status, said, _ = run(capsys, "estimate", bundle, out, "--quantile", "0.5")
    assert status == 0
    assert "quantile 0.5: 0.5 to below 60" in said
    assert "unbiased: the expectation of every answer is the true one" in said
    assert "--method" not in said, "answers of a data vector need no other"
    _, said, _ = run(capsys, "estimate", bundle, out, "--method", "recommended")
    assert "biased: adjusted so that they are possible together (no negative counts, parts" in said
    assert "--method" not in said, "advice is for who has not taken it"
    status, said, err = run(capsys, "estimate", bundle, out, "--method", "norm-sub")
    assert (status, said) == (2, "")
    assert "norm-sub was asked for, but fits" in err
    assert "use wnnls, which is recommended here" in err
    data = run_json(
        capsys, "estimate", bundle, out, "--workload", "histogram", "--method", "norm-sub", "--top", "2"
    )
    assert data["answers"][0]["query"] == 2
    assert (data["unbiased"], data["method"], data["workload"]) == (False, "norm-sub", "histogram")


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda data: data | {"mechanism": "0" * 64}, "counts reports of mechanism 0000"),
        (lambda data: data | {"counts": data["counts"][1:]}, "needs 4 counts"),
        (lambda data: data | {"counts": [-1, *data["counts"][1:]]}, "a count in"),
        (lambda data: data | {"counts": [0.5, *data["counts"][1:]]}, "a count in"),
        (lambda data: data | {"counts": [0, *data["counts"][1:]]}, "sum to another"),
        (lambda data: data | {"more": 1}, "is no tally"),
        (lambda data: [data], "is no tally"),
        (lambda data: data | {"counts": [0] * 4, "reports": 0}, "counts"),
        (lambda data: data | {"reports": float(data["reports"])}, "must be a whole number"),
        (lambda data: data | {"reports": True}, "must be a whole number"),
    ],
)
def test_counts_that_do_not_belong_are_refused(capsys, counted, tmp_path, edit, sentence):
    bundle, reports = counted
    out = tmp_path / "counts.json"
    run(capsys, "aggregate", bundle, reports, "-o", out)
    out.write_text(json.dumps(edit(json.loads(out.read_text()))))
    status, said, err = run(capsys, "estimate", bundle, out)
    assert (status, said) == (2, "")
    assert sentence in err


def test_counts_that_name_a_key_twice_are_refused(capsys, counted, tmp_path):
    bundle, reports = counted
    out = tmp_path / "counts.json"
    run(capsys, "aggregate", bundle, reports, "-o", out)
    out.write_text(out.read_text().replace("{", '{"reports": 1, ', 1))
    status, _, err = run(capsys, "estimate", bundle, out)
    assert status == 2
    assert "is not JSON with every key once" in err


SUMS = {
    "middles": (st.bins([0, 50, 100]), [30, 10], "mean", 1500),
    "other adds nothing": (st.bins([0, 50, 100], other=True), [30, 10, 60], "mean", 1500),
    "squares in units of the largest": (st.bins([0, 50, 100], other=True), [30, 10, 60], "moments", 1000),
    "values themselves": (3, [0, 30, 10], "mean", 50),
}
"""Sums over people with these values, by bins of middles 25 and 75: 30 x 25 + 10 x 75, and of squares over 75."""


@pytest.mark.parametrize("case", SUMS)
def test_sums_are_of_what_the_bins_hold(capsys, tmp_path, case):
    """At epsilon 40 a report is the value, but for one in 10^17."""
    values, people, workload, truth = SUMS[case]
    n = len(people)
    made = Mechanism.of(st.published.randomised_response(n, 40.0), st.histogram({"age": values}), 40.0)
    bundle, counts = made.save(tmp_path / "m.ldp.json"), tmp_path / "c.json"
    tally = Tally(np.array(people), {}, 0, 0, 0)
    counts.write_text(json.dumps(tally_data(tally, made.identifier)))
    found = run_json(capsys, "estimate", bundle, counts, "--workload", workload)
    assert found["answers"][-1]["answer"] == pytest.approx(truth)
    if made.attributes[0].other is not None:
        one = found["shares"][-1]
        assert one["share"] == pytest.approx(truth / 40)
        assert one["answered"]["answer"] == pytest.approx(40)
        _, said, _ = run(capsys, "estimate", bundle, counts, "--workload", workload)
        assert "averages of the 40 (interval 39 to 41) who gave another answer than 'other'" in said.replace(
            "\n", " "
        )
        assert "%" not in said.partition("averages")[2]
        _, said, _ = run(capsys, "estimate", bundle, counts, "--workload", workload, "--of-all")
        assert "averages of all, where no answer and other count 0" in said


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (st.labels("tea", "coffee"), "mean asks about numbers, but the values of age are texts"),
        (st.bins("08:00,12:00,18:00"), "mean asks about numbers, but dates and times are none"),
    ],
)
def test_what_has_no_sum_is_refused(capsys, tmp_path, values, words):
    made = Mechanism.of(st.published.randomised_response(2, 1.0), st.histogram({"age": values}), 1.0)
    counts = tmp_path / "c.json"
    counts.write_text(json.dumps(tally_data(Tally(np.array([5, 5]), {}, 0, 0, 0), made.identifier)))
    asked = ("estimate", made.save(tmp_path / "m.ldp.json"), counts, "--workload", "mean")
    assert_refused(capsys, asked, words)


def test_reading_the_terminal_is_not_mistaken_for_values(capsys, bundles, monkeypatch):
    terminal = io.StringIO("")
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    status, _, err = run(capsys, "randomise", bundles("labels"))
    assert status == 2
    assert "no value was given" in err
