"""`stratagem estimate --synthetic`: a file of people from counts of reports, and what is refused before the work."""

import csv
import json

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from tools import take_away

DOMAIN = {"smokes": st.labels("no", "yes"), "coughs": 2, "runs": st.labels("never", "often")}


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """A bundle over three attributes, two with labels, and the counts of 4,000 reports."""
    folder = tmp_path_factory.mktemp("synthetic")
    solution = st.optimise(st.marginals(DOMAIN, 2), 2.0)
    made = solution.mechanism()
    people = np.random.default_rng(0).choice(8, 4000, p=np.arange(1, 9) / 36)
    outputs = made.randomise(people, np.random.default_rng(1))
    counts = folder / "counts.json"
    tally = {
        "mechanism": made.identifier,
        "reports": 4000,
        "counts": np.bincount(outputs, minlength=made.outputs).tolist(),
    }
    nobody = {"duplicates": 0, "conflicting": 0, "anonymous": 0}
    counts.write_text(json.dumps(tally | {"rejected": {}} | nobody))
    return made.save(folder / "health.ldp.json"), counts


@pytest.mark.exhaustive
def test_it_writes_people_and_says_how_near_their_tables_are(collected, tmp_path, capsys):
    out = tmp_path / "people.csv"
    status, said, err = run(capsys, "estimate", *collected, "--synthetic", out)
    assert (status, err) == (0, "")
    mechanism, tally = st.load_mechanism(collected[0]), json.loads(collected[1].read_text())
    found = st.estimation.synthetic_people(st.estimation.release(mechanism.estimate(tally["counts"]), 2))
    assert plain(str(found)) in plain(said)
    assert f"saved in {out}" in said
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    read = [[one.values.cell(r[one.name]) for one in st.Domain.of(DOMAIN).attributes] for r in rows]
    np.testing.assert_array_equal(read, found.people)
    three = run_json(capsys, "estimate", *collected, "--synthetic", tmp_path / "p.parquet", "--order", 1)[
        "synthetic"
    ]
    assert (three["people"], [one["attributes"] for one in three["tables"]]) == (
        4000,
        [["smokes"], ["coughs"], ["runs"]],
    )


def test_what_is_wrong_is_said_before_the_work(collected, tmp_path, monkeypatch, capsys):
    (tmp_path / "old.csv").write_text("mine")
    asked = ("estimate", *collected, "--synthetic")
    assert_refused(capsys, (*asked, tmp_path / "people.xlsx"), r"suffix must be one of \.csv, \.parquet")
    assert_refused(capsys, (*asked, tmp_path / "old.csv"), "exists: name another file, or give --force")
    assert_refused(capsys, (*asked, tmp_path / "people.csv", "--order", 5), "order of the tables is 5")
    take_away(monkeypatch, "mbi")
    assert_refused(capsys, (*asked, tmp_path / "people.csv"), "need the package mbi")
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
