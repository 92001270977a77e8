"""The commands `simulate` and `export`: saved strategies at work, and files that do not fit."""

import re
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run, run_json
from stratagem.mechanism.export.saved import StoredStrategy, load, save

DELAYS = "delay,day\n-3,mon\n0,tue\n12,mon\n39,tue\n40,mon\n,tue\n7.5,mon\n"


@pytest.fixture
def delays(tmp_path) -> Path:
    path = tmp_path / "delays.csv"
    path.write_text(DELAYS)
    return path


@pytest.fixture
def saved(tmp_path) -> Path:
    workload = st.prefix(4)
    return save(
        tmp_path / "prefix.npz",
        StoredStrategy(st.published.randomised_response(4, 1.0), 1.0, workload, "prefix"),
    )


def test_simulate_json(capsys, saved, delays):
    options = [
        "--data",
        delays,
        "--column",
        "delay",
        "--edges=0:40:10",
        "--invalid",
        "drop",
        "--repetitions",
        "5",
    ]
    data = run_json(capsys, "simulate", saved, *options)
    assert data["users"] == 4
    assert data["outside"] == {"delay below 0": 1, "delay 40 or above": 1, "delay missing": 1}
    assert [row["true"] for row in data["answers"]] == [2, 3, 3, 4]
    assert [row["label"] for row in data["answers"]] == [f"value below {edge}" for edge in (10, 20, 30, 40)]
    assert "value below 20" in run(capsys, "simulate", saved, *options)[1]
    assert data["ratio"] == pytest.approx(data["observed"] / data["predicted"])
    again = run_json(capsys, "simulate", saved, *options)
    assert again == data


def test_simulate_draws_the_errors(capsys, saved, delays, tmp_path):
    plot = tmp_path / "errors.svg"
    columns = (
        "--data",
        delays,
        "--column",
        "delay",
        "--edges=0:40:10",
        "--invalid",
        "drop",
        "--repetitions",
        "5",
    )
    options = (*columns, "--plot", plot)
    status, out, _ = run(capsys, "simulate", saved, *options)
    assert status == 0
    assert str(plot) in out
    assert "root mean square error" in plot.read_text()
    plot.write_text("mine")
    assert_refused(capsys, ["simulate", saved, *options], "exists: name another file, or give --force")
    assert plot.read_text() == "mine"
    run_json(capsys, "simulate", saved, *options, "--force")
    assert plot.read_text() != "mine"
    assert_refused(capsys, ["simulate", saved, *columns, "--plot", "errors.txt"], r"\.svg, \.png, \.pdf")


def test_simulate_says_when_answers_are_exact(capsys, tmp_path, delays):
    path, day = tmp_path / "total.npz", tmp_path / "days.csv"
    day.write_text("day\n0\n1\n1\n")
    run(capsys, "optimise", "total", "--domain", "2", "--epsilon", "1", "-o", path)
    asked = ("simulate", path, "--data", day, "--column", "day")
    assert "no error that double precision can show" in run(capsys, *asked)[1]
    assert run_json(capsys, *asked)["ratio"] is None


def test_simulate_reads_several_attributes(capsys, tmp_path, delays):
    workload = st.kron([st.prefix({"delay": 2}), st.histogram({"day": 2})])
    file = save(
        tmp_path / "s.npz", StoredStrategy(st.published.randomised_response(4, 1.0), 1.0, workload, "both")
    )
    options = [
        "--column",
        "delay=delay",
        "--column",
        "day=day",
        "--edges",
        "delay=0:40:20",
        "--labels",
        "day=mon,tue",
        "--invalid",
        "drop",
    ]
    status, out, _ = run(capsys, "simulate", file, "--data", delays, *options)
    assert status == 0
    assert "4 of 7 rows counted" in out
    assert "observed / predicted" in out
    root, least = (
        float(re.search(words + r".*?: ([\d,.]+)\speople", out)[1])
        for words in (r"\(root mean square\)", "least accurate")
    )
    assert least > root > 0


def test_simulate_reads_a_survey_by_its_own_names(capsys, tmp_path, delays):
    workload = st.kron([st.prefix({"delay": 2}), st.histogram({"day": 2})])
    strategy = StoredStrategy(st.published.randomised_response(4, 1.0), 1.0, workload, "both")
    file = save(tmp_path / "s.npz", strategy)
    options = ("--edges", "delay=0:40:20", "--labels", "day=mon,tue")
    status, out, _ = run(capsys, "simulate", file, "--data", delays, *options, "--invalid", "drop")
    assert status == 0
    assert "4 of 7 rows counted" in out


def test_export_writes_the_other_formats(capsys, saved, tmp_path):
    assert run(capsys, "export", saved, "-o", tmp_path / "s.csv")[0] == 0
    assert (
        np.loadtxt(tmp_path / "s.csv", delimiter=",", skiprows=1)[:, 1:] == load(saved).strategy.matrix
    ).all()


DATA_MISTAKES = {
    "absent column": (["--column", "dealy"], "did you mean delay"),
    "no column": ([], "--column"),
    "text with edges": (["--column", "day", "--edges=0:4:1"], "'(mon|tue)'"),
    "too few bins": (["--column", "delay", "--edges=0:3:1"], "edges make 3 bins, but the attribute has 4"),
    "edges out of order": (["--column", "delay", "--edges=4,3,2,1,0"], "increase"),
    "edges and labels": (["--column", "delay", "--edges=0:4:1", "--labels=a,b,c,d"], "both"),
    "two columns": (["--column", "delay", "--column", "day"], "twice"),
    "nothing inside": (["--column", "delay", "--edges=1000:1004:1", "--invalid", "drop"], "no row inside"),
    "one repetition": (["--column", "delay", "--repetitions", "1"], "repetitions"),
}


@pytest.mark.parametrize("name", DATA_MISTAKES)
def test_data_that_does_not_fit_is_refused(capsys, saved, delays, name):
    options, words = DATA_MISTAKES[name]
    assert_refused(capsys, ["simulate", saved, "--data", delays, *options], words)


@pytest.mark.parametrize("command", ["simulate", "export"])
def test_files_that_are_no_strategies_are_refused(capsys, tmp_path, delays, command):
    rest = ["--data", delays, "--column", "delay"] if command == "simulate" else ["-o", tmp_path / "s.csv"]
    assert_refused(capsys, [command, delays, *rest], "is a .csv file, but a saved mechanism")
    assert_refused(capsys, [command, tmp_path / "absent.npz", *rest], "cannot be read")


def test_an_attribute_must_be_named_when_there_are_several(capsys, tmp_path, delays):
    file = save(
        tmp_path / "s.npz",
        StoredStrategy(st.published.randomised_response(4, 1.0), 1.0, st.histogram("a=2,b=2"), "h"),
    )
    assert_refused(capsys, ["simulate", file, "--data", delays, "--column", "delay"], "--column a=")
