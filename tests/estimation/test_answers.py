"""Answers in the words of whoever owns the data: labels, bounds, files, quantiles, and what cannot be true."""

import csv
import json

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run, run_json
from stratagem.collection.tally import Tally, tally_data
from stratagem.domain.attribute import Bin
from stratagem.estimation.impossibility import _falling
from stratagem.mechanism.mechanism import Mechanism

DELAY = st.bins([-30, -5, 0, 15, 290], unit="minutes")
USERS = np.array([40, 700, 200, 60])


def delays(epsilon=1.0, workload=None):
    """Return a mechanism of randomised response over bins of minutes."""
    W = st.prefix({"dep_delay": DELAY}) if workload is None else workload
    return Mechanism.of(st.published.randomised_response(4, epsilon), W, epsilon, name="prefix")


def estimated(found, x=USERS, seed=1, **options):
    return found.estimate(found.strategy.histogram(x, np.random.default_rng(seed)), **options)


@pytest.fixture
def saved(tmp_path):
    """A bundle with edges and a unit, and counts of its reports, as files."""
    found = delays()
    counts = found.strategy.histogram(USERS, np.random.default_rng(1))
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(tally_data(Tally(counts, {}, 0, 0, 0), found.identifier)))
    return found.save(tmp_path / "delays.ldp.json"), path


def test_rows_and_largest_answers_carry_their_labels():
    found = estimated(delays())
    rows = found.table()
    assert [row.label for row in rows] == [f"dep_delay below {edge} minutes" for edge in (-5, 0, 15, 290)]
    assert [row.answer for row in rows] == found.answers.tolist()
    assert [(row.low, row.high) for row in rows] == list(zip(found.low, found.high, strict=True))
    assert found.table([2])[0] == rows[2]
    largest = found.top(2)
    assert [one.query for one in largest] == found.largest(2)
    assert all(one.label == rows[one.query].label for one in largest)
    assert largest[0].low == found.together().low[largest[0].query], "chosen answers need all intervals"
    assert found.ask(st.histogram(4)).table()[1].label == "dep_delay = -5 to below 0 minutes"
    with pytest.raises(ValueError, match="the query is 4"):
        found.table([4])


def test_tables_of_several_attributes_read_like_words():
    domain = st.Domain(age=st.bins([0, 35, 130], unit="years"), sex=st.labels("F", "M"))
    W = st.stack([st.marginals(domain, 2), st.total(domain)])
    found = estimated(Mechanism.of(st.published.randomised_response(4, 2.0), W, 2.0))
    assert found.table([2])[0].label == "age = 35 to below 130 years, sex = F"
    assert found.table()[-1].label == "everybody"
    assert found.marginal("sex").table()[1].label == "sex = M"
    assert found.quantile(0.5, "age").value in (Bin(0.0, 35.0), Bin(35.0, 130.0))
    assert found.quantile(0.9, "sex").value in ("F", "M")


def test_a_quantile_is_the_users_value():
    sharp = delays(40.0)
    median = estimated(sharp).quantile(0.5)
    assert (median.value, median.low, median.high) == (Bin(-5.0, 0.0), -5.0, 0.0)
    assert (median.bin, median.low_bin, median.high_bin) == (1, 1, 1)
    assert str(median) == "-5 to below 0 minutes; 95 % sure: from -5 to below 0 minutes"
    whole = st.estimate(
        st.published.randomised_response(4, 40.0),
        USERS,
        st.prefix({"children": st.bins("0:4:1", whole=True)}),
    ).quantile(0.5)
    assert (str(whole), whole.value) == ("1; 95 % sure: 1", Bin(1.0, 2.0))
    codes = st.estimate(st.published.randomised_response(4, 40.0), USERS, st.prefix(4)).quantile(0.5)
    assert (codes.value, codes.low, codes.high, str(codes)) == (1, 1, 1, "1; 95 % sure: 1")


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_files_hold_every_answer_with_its_label(tmp_path, suffix):
    found = estimated(delays(), simultaneous=True)
    path = found.save(tmp_path / f"answers{suffix}")
    rows = READERS[suffix](path)
    assert [row["label"] for row in rows] == [row.label for row in found.table()]
    for key in ("answer", "standard_error", "low", "high"):
        assert [float(row[key]) for row in rows] == [getattr(row, key) for row in found.table()], key
    assert [int(row["query"]) for row in rows] == [0, 1, 2, 3]
    assert {str(row["simultaneous"]) for row in rows} == {"True"}
    assert {float(row["confidence"]) for row in rows} == {0.95}


def _parquet(path):
    from pyarrow.parquet import read_table

    return read_table(path).to_pylist()


def _json(path):
    data = json.loads(path.read_text())
    common = {key: data[key] for key in ("confidence", "simultaneous")}
    return [answer | common for answer in data["answers"]]


def _csv(path):
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


READERS = {".csv": _csv, ".json": _json, ".parquet": _parquet}


def test_labels_with_commas_and_quotes_survive_a_csv_file(tmp_path):
    strange = ['one, "two"', "drei\n☂"]
    found = Mechanism.of(
        st.published.randomised_response(2, 1.0), st.histogram({"x": st.labels(*strange)}), 1.0
    )
    path = estimated(found, np.array([10, 20])).save(tmp_path / "a.csv")
    with path.open(encoding="utf-8", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == [f"x = {label}" for label in strange]


def test_the_command_line_speaks_of_minutes(capsys, saved, tmp_path):
    bundle, counts = saved
    status, said, err = run(capsys, "estimate", bundle, counts, "--quantile", "0.5")
    assert (status, err) == (0, "")
    assert "dep_delay below 15 minutes" in said
    assert "95 % intervals, each on its own" in said
    assert "quantile 0.5: -5 to below 0 minutes; 95 % sure: from -5 to below" in said
    _, said, _ = run(capsys, "estimate", bundle, counts, "--simultaneous")
    assert "95 % intervals, all together" in said
    _, said, _ = run(capsys, "estimate", bundle, counts, "--top", "2")
    assert "95 % intervals, all together" in said, "the largest answers were chosen after they were seen"
    data = run_json(capsys, "estimate", bundle, counts, "--quantile", "0.5", "--top", "4")
    assert data["simultaneous"]
    answer = next(one for one in data["answers"] if one["query"] == 2)
    assert answer["label"] == "dep_delay below 15 minutes"
    assert answer["where"] == [{"attribute": "dep_delay", "from": None, "below": 15.0, "unit": "minutes"}]
    median = data["quantiles"]["0.5"]
    assert (median["label"], median["from"], median["below"]) == ("-5 to below 0 minutes", -5.0, 0.0)
    assert median["bin"] == 1


def test_the_command_line_writes_and_draws_answers(capsys, saved, tmp_path):
    bundle, counts = saved
    for name in ("a.csv", "a.parquet", "a.json"):
        status, said, _ = run(capsys, "estimate", bundle, counts, "-o", tmp_path / name)
        assert (status, f"written in {tmp_path / name}" in said) == (0, True)
        row = READERS[(tmp_path / name).suffix](tmp_path / name)[0]
        told = f"{row['question']} {row['answer']}" if name == "a.csv" else row["label"]
        assert told == "dep_delay below -5 minutes"
    plot = tmp_path / "a.svg"
    status, said, _ = run(capsys, "estimate", bundle, counts, "--plot", plot)
    assert (status, f"drawn in {plot}" in said) == (0, True)
    assert "dep_delay" in plot.read_text()
    assert_refused(capsys, ["estimate", bundle, counts, "-o", tmp_path / "a.csv"], "exists.*--force")
    assert_refused(capsys, ["estimate", bundle, counts, "--plot", plot], "exists.*--force")
    assert run(capsys, "estimate", bundle, counts, "-o", tmp_path / "a.csv", "--force")[0] == 0
    assert_refused(
        capsys, ["estimate", bundle, counts, "-o", tmp_path / "a.xls"], r"\.csv, \.json, \.parquet"
    )
    assert_refused(capsys, ["estimate", bundle, counts, "--plot", tmp_path / "a.gif"], r"\.svg, \.png, \.pdf")


UNITS = {
    "of no attribute": (["--unit", "height=cm"], "--unit height=cm names no attribute|height"),
    "twice": (["--unit", "dep_delay=m", "--unit", "dep_delay=s"], "--unit twice"),
    "empty": (["--unit", "dep_delay="], "must be a word"),
    "of labels": (["--labels", "dep_delay=a,b,c,d", "--unit", "m"], "has labels"),
}


@pytest.mark.parametrize("command", ["optimise", "tune", "import"])
def test_units_are_given_on_the_command_line(capsys, tmp_path, command):
    out, matrix = tmp_path / "u.ldp.json", tmp_path / "Q.csv"
    np.savetxt(matrix, st.published.randomised_response(4, 1.0).matrix, delimiter=",", fmt="%.17g")
    asked = ["--domain", "dep_delay=4", "--epsilon", "1", "-o", out]
    edges = ["--edges", "dep_delay=-30,-5,0,15,290"]
    start = {
        "optimise": ["optimise", "prefix"],
        "tune": ["tune", "prefix", "randomised-response"],
        "import": ["import", matrix, "--workload", "prefix"],
    }[command]
    status, _, err = run(capsys, *start, *asked, *edges, "--unit", "minutes")
    assert (status, err) == (0, "")
    assert st.load_mechanism(out).attributes[0].text(None, 2) == "dep_delay below 15 minutes"
    for given, words in UNITS.values():
        own = [] if "--labels" in given else edges
        assert_refused(capsys, [*start, *asked, "--force", *own, *given], words)


@pytest.mark.parametrize(
    ("workload", "answers", "kinds"),
    [
        (st.prefix(4), [10.0, 50, 90, 100], (0, 0, 0, 0)),
        (st.prefix(4), [-1.0, 50, 40, 100], (2, 1, 0, 1)),
        (st.prefix(4), [10.0, 101, 100, 100], (2, 0, 1, 1)),
        (st.histogram(4), [30.0, -5, 110, 0], (2, 1, 1, 0)),
        (st.weighted(st.prefix(4), -2.0), [-20.0, -10, -180, 4], (2, 0, 1, 2)),
        (st.stack([st.total(4), st.prefix(4)]), [100.0, 20, 10, 50, 100], (1, 0, 0, 1)),
        (st.kron([st.prefix(2), st.histogram(2)]), [30.0, 20, 25, 20], (1, 0, 0, 1)),
        (st.explicit([[1.0, -1, 0, 0], [0, 0, 2, 1]]), [-101.0, 201], (2, 1, 1, 0)),
        (st.explicit([[1.0, -1, 0, 0], [0, 0, 2, 1]]), [-99.0, 199], (0, 0, 0, 0)),
        (st.parity(4), [100.0, -500, 500, 3], (0, 0, 0, 0)),
    ],
)
def test_impossible_answers_are_counted(workload, answers, kinds):
    from dataclasses import replace

    found = st.estimate(st.published.randomised_response(4, 1.0), [25] * 4, workload)
    made = replace(found, processed=np.zeros(4))
    made.__dict__["answers"] = np.array(answers)
    wrong = made.impossible
    assert (wrong.answers, wrong.low, wrong.high, wrong.falling) == kinds
    assert bool(str(wrong)) == bool(wrong.answers)


def test_prefixes_beside_a_hundred_attributes_may_not_fall():
    """Arrays have at most 64 axes."""
    asked = st.kron([st.prefix(4), *[st.total(2)] * 100])
    assert _falling(asked, np.array([10.0, 60, 50, 100]), 0.0).tolist() == [False, False, True, False]


def test_the_method_that_mends_is_named_and_mends():
    found = delays()
    raw = next(e for e in (estimated(found, seed=seed) for seed in range(50)) if e.impossible.answers)
    assert "cannot be true" in str(raw.impossible)
    assert raw.impossible.method in str(raw.impossible)
    assert "--" not in str(raw.impossible), "a library names no option of the command line"
    for seed in range(50):
        mended = estimated(found, seed=seed, method=raw.impossible.method)
        assert mended.impossible.answers == 0
        assert str(mended.impossible) == ""


def test_the_command_line_points_to_the_option_that_mends(capsys, tmp_path):
    found = delays(0.1)
    for counts in ([40, 80, 12_000, 28_000], [10_000, 10_000, 10_000, 10_000]):
        path = tmp_path / "c.json"
        path.write_text(json.dumps(tally_data(Tally(np.array(counts), {}, 0, 0, 0), found.identifier)))
        _, said, _ = run(capsys, "estimate", _saved(found, tmp_path), path)
        assert ("answers cannot be true" in said) == (counts[0] == 40)
        assert ("`--method recommended` mends them" in " ".join(said.split())) == (counts[0] == 40)
        data = run_json(capsys, "estimate", _saved(found, tmp_path), path)
        assert bool(data["impossible"]["answers"]) == (counts[0] == 40)
        assert data["impossible"]["method"] == ("recommended" if counts[0] == 40 else "")


ADVISED = {
    "a mean": (st.mean([0, 1, 2, 5]), [900, 20, 30, 900], False),
    "a mean out of range": (st.mean([0, 1, 2, 5]), [2000, 0, 0, 0], True),
    "a mean and the total": (st.stack([st.mean([0, 1, 2, 5]), st.total(4)]), [900, 20, 30, 900], False),
    "mean and variance": (st.moments([0, 1, 2, 5], 2), [900, 20, 30, 900], True),
    "even cells": (st.histogram(4), [500, 500, 500, 500], False),
    "prefixes that rise": (st.prefix(4), [500, 500, 500, 500], False),
    "ranges that contradict": (st.all_range(4), [900, 20, 30, 900], True),
}


@pytest.mark.parametrize("name", ADVISED)
def test_a_method_is_advised_where_it_changes_an_answer_only(name):
    workload, counts, helps = ADVISED[name]
    raw, mended = (
        st.estimate(st.published.randomised_response(4, 1.0), counts, workload, method=method)
        for method in ("unbiased", "recommended")
    )
    assert bool(raw.impossible.method) == helps
    assert np.allclose(raw.answers, mended.answers, rtol=1e-9) != helps


def test_the_command_line_advises_a_method_for_answers_that_do_not_fit_together(capsys, tmp_path):
    for name, counts in (("a mean", [900, 20, 30, 900]), ("mean and variance", [900, 20, 30, 900])):
        found = st.Mechanism.of(st.published.randomised_response(4, 1.0), ADVISED[name][0], 1.0)
        path = tmp_path / "c.json"
        path.write_text(json.dumps(tally_data(Tally(np.array(counts), {}, 0, 0, 0), found.identifier)))
        _, said, _ = run(capsys, "estimate", _saved(found, tmp_path), path)
        assert ("`--method recommended` gives answers that fit together" in said) == ADVISED[name][2]


def _saved(found, folder):
    return found.save(folder / "x.ldp.json", overwrite=True)
