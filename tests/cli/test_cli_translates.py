"""Commands on mechanisms of translates: a hundred attributes from a file to counts, an audit, and exports."""

import json

import numpy as np
import pytest

from commands import assert_refused, run, run_json
from mechanisms import mechanism
from stratagem.collection.tally import read_tally
from stratagem.math.vector import SparseCounts

PEOPLE = 3000


@pytest.fixture(scope="module")
def hundred(tmp_path_factory):
    """A bundle over a hundred binary attributes, and a file of people."""
    folder, found = tmp_path_factory.mktemp("hundred"), mechanism("hundred")
    bundle, data = found.save(folder / "hundred.ldp.json"), folder / "people.csv"
    rows = np.random.default_rng(0).integers(0, 2, (PEOPLE, 100)).astype(str)
    data.write_text("\n".join(",".join(row) for row in [found.domain.names, *rows, ["2"] * 100]))
    return bundle, data


def test_a_file_of_a_hundred_attributes_becomes_counts(capsys, hundred, tmp_path):
    bundle, data = hundred
    reports, state, out = tmp_path / "r.jsonl", tmp_path / "s.duckdb", tmp_path / "counts.json"
    columns = [part for name in mechanism("hundred").domain.names for part in ("--column", f"{name}={name}")]
    status, _, err = run(
        capsys, "randomise", bundle, "--data", data, "--invalid", "drop", "-o", reports, *columns
    )
    assert status == 0
    assert f"{PEOPLE:,} reports of {PEOPLE + 1:,} rows; left out: a1 " in err
    status, printed, err = run(capsys, "aggregate", bundle, reports, "--state", state, "--json")
    assert (status, err) == (0, f"{PEOPLE:,} reports counted of {PEOPLE:,} received\n")
    counted = json.loads(printed)
    status, _, _ = run(capsys, "aggregate", bundle, reports, "-o", out)
    assert status == 0
    assert json.loads(out.read_text()) == counted
    outputs = sorted(json.loads(line)["output"] for line in reports.read_text().splitlines())
    tally = read_tally(out, mechanism("hundred").form)
    assert isinstance(tally.counts, SparseCounts)
    assert np.repeat(tally.counts.outputs, tally.counts.counts).tolist() == outputs
    assert counted["reports"] == PEOPLE


def test_a_value_is_an_object_of_a_hundred_numbers(capsys, hundred):
    names = mechanism("hundred").domain.names
    value = json.dumps(dict.fromkeys(names, 1))
    status, out, err = run(capsys, "randomise", hundred[0], "--value", value)
    assert (status, err) == (0, "")
    assert json.loads(out)["output"] < mechanism("hundred").outputs
    assert_refused(capsys, ["randomise", hundred[0], "--value", json.dumps({"a1": 1})], "is asked for")


@pytest.mark.exhaustive
def test_an_audit_at_a_hundred_attributes(capsys, hundred):
    options = ["--client", "python,node", "--samples", "1000", "--types", "2"]
    data = run_json(capsys, "audit", hundred[0], *options)
    assert data["passed"]
    assert data["certificate"]["holds"]
    names = {check["name"] for check in data["clients"]["node"]["checks"]}
    assert {"outputs", "placements", "event share"} <= names
    status, out, _ = run(capsys, "audit", hundred[0], "--client", "python", *options[2:])
    assert status == 0
    assert "1,000 reports of each of 2 of about 10^30 user types; --seed " in out


def test_what_is_too_large_for_a_matrix_stays_a_bundle(capsys, hundred, tmp_path):
    status, out, err = run(capsys, "export", hundred[0], "-o", tmp_path / "again.ldp.json")
    assert (status, err) == (0, "")
    assert "55218886430400 possible reports x about 10^30 values" in out
    assert (tmp_path / "again.ldp.json").read_bytes() == hundred[0].read_bytes()
    for name, words in (("x.npz", "too large"), ("x.csv", "too large")):
        assert_refused(capsys, ["export", hundred[0], "-o", tmp_path / name], words)
    status, _, _ = run(capsys, "export", hundred[0], "--web", tmp_path / "web")
    assert status == 0
    assert (tmp_path / "web" / "translates.js").exists()


def test_what_fits_a_matrix_becomes_one(capsys, tmp_path):
    found = mechanism("mixed-juntas")
    bundle = found.save(tmp_path / "x.ldp.json")
    status, _, _ = run(capsys, "export", bundle, "-o", tmp_path / "x.npz")
    assert status == 0
    with np.load(tmp_path / "x.npz") as stored:
        np.testing.assert_allclose(stored["strategy"], found.strategy.dense().matrix, rtol=1e-15)
