"""Nothing is lost: no command overwrites a file unasked, and reports of a replaced bundle are named."""

import io
import json

import numpy as np
import pytest

from commands import assert_refused, run
from mechanisms import mechanism

ASKED = ("histogram", "--domain", "4", "--epsilon", "1")
COMMANDS = {
    "optimise a bundle": ("b.ldp.json", ["optimise", *ASKED, "-o"]),
    "optimise a matrix": ("q.npz", ["optimise", *ASKED, "-o"]),
    "tune": ("b.ldp.json", ["tune", "histogram", "randomised-response", *ASKED[1:], "-o"]),
    "import": ("b.ldp.json", ["import", "matrix.csv", "--workload", *ASKED, "-o"]),
    "export": ("q.csv", ["export", "m.ldp.json", "-o"]),
    "summary": ("page.html", ["summary", "m.ldp.json", "--quick", "-o"]),
    "randomise": ("r.jsonl", ["randomise", "m.ldp.json", "--value", "1", "-o"]),
    "aggregate": ("c.json", ["aggregate", "m.ldp.json", "reports.jsonl", "-o"]),
    "compare a table": ("t.csv", ["compare", *ASKED, "-o"]),
    "compare a picture": ("p.svg", ["compare", *ASKED, "--plot"]),
    "bound": ("p.svg", ["bound", *ASKED, "--plot"]),
    "count": ("c.npz", ["count", "--size", "3", "--alpha", "0.5", "-o"]),
    "count a picture": ("p.svg", ["count", "--size", "3", "--alpha", "0.5", "--plot"]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the mechanism of 12 values, and one report of it."""
    monkeypatch.chdir(tmp_path)
    made = mechanism("two-level")
    made.save("m.ldp.json")
    (tmp_path / "reports.jsonl").write_text(json.dumps(made.client.randomise(3)) + "\n")
    np.savetxt(tmp_path / "matrix.csv", np.full((4, 4), 0.2) + 0.2 * np.eye(4), delimiter=",")
    return tmp_path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_overwrites_a_file_unless_it_is_forced_to(capsys, folder, name):
    out, command = COMMANDS[name]
    (folder / out).write_text("mine")
    assert_refused(capsys, [*command, out], f"^stratagem: {out} exists: name another file, or give --force$")
    assert (folder / out).read_text() == "mine"
    assert run(capsys, *command, out, "--force")[0] == 0
    assert (folder / out).read_bytes() != b"mine"


def test_it_is_refused_before_the_work(capsys, folder):
    (folder / "b.ldp.json").write_text("mine")
    asked = [
        "optimise",
        "marginals",
        "--order",
        "2",
        "--domain",
        "2^100",
        "--epsilon",
        "1",
        "--seconds",
        "1e6",
    ]
    assert_refused(capsys, [*asked, "-o", "b.ldp.json"], "b.ldp.json exists")


def test_counts_with_a_state_are_brought_up_to_date(capsys, folder):
    command = ["aggregate", "m.ldp.json", "reports.jsonl", "--state", "s.duckdb", "-o", "c.json"]
    assert run(capsys, *command)[0] == 0
    (folder / "more.jsonl").write_text(json.dumps(mechanism("two-level").client.randomise(3)) + "\n")
    command[2] = "more.jsonl"
    assert run(capsys, *command)[0] == 0
    assert json.loads((folder / "c.json").read_text())["reports"] == 2
    (folder / "c.json").write_text("mine")
    assert_refused(capsys, command, "c.json exists")


def test_a_page_is_not_given_another_bundle_unasked(capsys, folder):
    mechanism("labels").save("other.ldp.json")
    for command, status in (("m", 0), ("m", 0), ("other", 2)):
        assert run(capsys, "export", f"{command}.ldp.json", "--web", "web")[0] == status
    assert run(capsys, "export", "other.ldp.json", "--web", "web", "--force")[0] == 0


def written(folder, kind: str, reports: list[dict]):
    """Write reports as lines, a table of text or Parquet."""
    path = folder / f"sent.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(report) + "\n" for report in reports))
        return path
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(reports)
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    return path


KINDS = [("jsonl", False), ("csv", False), ("parquet", False), ("jsonl", True), ("-", False)]


@pytest.mark.parametrize(("kind", "state"), KINDS)
def test_reports_of_a_replaced_bundle_are_named_and_refused(capsys, folder, monkeypatch, kind, state):
    old, new = mechanism("two-level"), mechanism("labels")
    new.save("m.ldp.json", overwrite=True)
    sent = written(folder, "jsonl" if kind == "-" else kind, [old.client.randomise(3) for _ in range(5)])
    options = ["--state", "s.duckdb"] if state else []
    if kind == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(sent.read_bytes())))
        sent = "-"
    words = f"than {new.identifier[:16]} in m.ldp.json .5 of {old.identifier[:16]}., and none is of this one"
    assert_refused(capsys, ["aggregate", "m.ldp.json", sent, "-o", "c.json", *options], words)
    assert not (folder / "c.json").exists()
    old.save("old.ldp.json")  # the right bundle is welcome with the same names
    if kind != "-":
        assert run(capsys, "aggregate", "old.ldp.json", sent, "-o", "c.json", *options)[0] == 0
        assert json.loads((folder / "c.json").read_text())["reports"] == 5


def test_where_some_reports_are_of_the_bundle_the_others_are_named(capsys, folder):
    own, other = mechanism("two-level"), mechanism("labels")
    reports = [own.client.randomise(3) for _ in range(4)] + [other.client.randomise("ja") for _ in range(3)]
    reports += [reports[-1] | {"mechanism": "made up"}]
    status, out, err = run(capsys, "aggregate", "m.ldp.json", written(folder, "jsonl", reports))
    assert status == 0
    assert json.loads(out)["reports"] == 4
    assert f"4 reports are of another mechanism than {own.identifier[:16]} in m.ldp.json" in err
    assert f"(3 of {other.identifier[:16]}) and not counted" in err


def test_made_up_mechanisms_do_not_fill_the_memory():
    aggregator = mechanism("two-level").aggregator()
    aggregator.add_lines(json.dumps({"mechanism": f"{k:016x}", "id": "", "output": 0}) for k in range(1000))
    assert len(aggregator.foreign) == 64
    assert aggregator.tally().foreign == 1000
