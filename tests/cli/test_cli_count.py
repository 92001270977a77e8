"""The command `count`: what it prints and writes, and what it refuses."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from commands import assert_refused, run, run_json
from stratagem import counts

EIGHT = ("count", "--size", "8", "--alpha", "0.9")
FOUR = ("count", "--size", "4", "--alpha", "10/11")


def test_the_command_of_the_design(capsys):
    data = run_json(capsys, *EIGHT, "--loss", "L0", "--properties", "WH,RM,CM")
    found = counts.design(8, 0.9, "L0", "WH,RM,CM")
    assert set(data) == {
        *("name", "size", "alpha", "epsilon", "epsilon_realised", "loss", "cost", "bound", "gap"),
        *("requested", "properties", "route", "status", "matrix", "file"),
    }
    assert (data["name"], data["size"], data["alpha"], data["loss"]) == ("programmed", 8, 0.9, "L0")
    assert (data["cost"], data["bound"], data["gap"]) == (found.cost, found.bound, found.gap)
    assert data["requested"] == ["RM", "CM", "WH"]
    assert data["properties"] == ["RH", "RM", "CH", "CM", "WH", "S"]
    assert data["status"].startswith("Optimal")
    assert data["file"] is None


@pytest.mark.parametrize(("loss", "properties", "cost"), [
    ("L0", "", 20 / 21),
    ("L0", "WH", 0.968000),
    ("L0", "wh,rm,cm", 0.969000),
    ("L0", "F", 0.970425),
    ("L1", "", 1.200000),
    ("L1", "WH", 1.432672),
    ("L2", "all", 3.513738),
])  # fmt: skip
def test_the_golden_costs(capsys, loss, properties, cost):
    data = run_json(capsys, *FOUR, "--loss", loss, "--properties", properties)
    assert data["cost"] == pytest.approx(cost, abs=1e-5)
    P = np.array(data["matrix"])
    assert P.shape == (5, 5)
    assert P.sum(axis=0) == pytest.approx(np.ones(5))
    assert (np.maximum(P[:, :-1], P[:, 1:]) <= (1.1 + 1e-12) * np.minimum(P[:, :-1], P[:, 1:])).all()
    assert data["epsilon"] == pytest.approx(math.log(1.1))
    assert data["epsilon_realised"] <= data["epsilon"] + 1e-12


def test_epsilon_instead_of_alpha(capsys):
    data = run_json(capsys, "count", "--size", "4", "--epsilon", "0.5")
    assert (data["epsilon"], data["name"]) == (0.5, "geometric")
    assert data["alpha"] == pytest.approx(math.exp(-0.5))
    assert data["epsilon_realised"] == pytest.approx(0.5)


WEIGHTS, LOSSES = np.array([4.0, 3, 2, 1]), np.abs(np.subtract.outer(range(4), range(4))) ** 1.5
OPTIONS = {
    "prior": (["--prior", "p.csv"], {"prior": WEIGHTS}),
    "loss": (["--loss", "C.npy"], {"loss": LOSSES}),
    "worst count": (["--max"], {"aggregate": "max"}),
    "reach": (["--reach", "3"], {"reach": 3}),
    "column ratio": (["--column-ratio", "9/10"], {"column_ratio": "9/10"}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_reaches_the_program(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    np.savetxt("p.csv", WEIGHTS, delimiter=",")
    np.save("C.npy", LOSSES)
    written, meant = OPTIONS[name]
    plain = counts.design(3, 0.6, "L1", "CH")
    loss = () if name == "loss" else ("--loss", "L1")
    data = run_json(capsys, "count", "--size", "3", "--alpha", "0.6", "--properties", "CH", *loss, *written)
    assert data["cost"] == counts.design(3, 0.6, **{"loss": "L1", "properties": "CH"} | meant).cost
    assert data["cost"] != pytest.approx(plain.cost)


def test_the_solvers_agree(capsys):
    asked = (*FOUR, "--loss", "L1", "--properties", "F")
    one, other = (run_json(capsys, *asked, "--solver", solver) for solver in ("highs", "clarabel"))
    assert np.array(one["matrix"]) == pytest.approx(np.array(other["matrix"]), abs=1e-5)


def test_people_see_the_matrix_of_a_small_group_only(capsys):
    status, out, err = run(capsys, *FOUR, "--loss", "L2")
    assert (status, err) == (0, "")
    assert "L2 2.000000, bound 2.000000" in out
    assert "Optimal: no mechanism" in out
    assert [line.split() for line in out.splitlines()][-3] == ["2", *["1.0000"] * 5]
    status, out, _ = run(capsys, "count", "--size", "30", "--alpha", "0.9", "--properties", "F")
    assert status == 0
    assert "explicit fair mechanism for counts 0 to 30" in out
    assert len(out.splitlines()) == 5


def test_a_closed_form_needs_no_matrix(capsys):
    data = run_json(capsys, "count", "--size", "1000000", "--alpha", "0.9")
    assert data["matrix"] is None
    assert data["cost"] == pytest.approx(18 / 19)


def test_files_and_plots(capsys, tmp_path):
    found = counts.design(4, "10/11", "L1", "RM")
    asked = (*FOUR, "--loss", "L1", "--properties", "RM")
    status, out, _ = run(capsys, *asked, "-o", tmp_path / "m.csv", "--plot", tmp_path / "m.svg")
    assert status == 0
    assert f"drawn in {tmp_path / 'm.svg'}\nsaved in {tmp_path / 'm.csv'}\n" in out
    assert (np.loadtxt(tmp_path / "m.csv", delimiter=",") == found.mechanism.matrix).all()
    assert ElementTree.parse(tmp_path / "m.svg").getroot().tag.endswith("svg")
    assert run_json(capsys, *asked, "-o", tmp_path / "m.npz")["file"] == str(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert (arrays["matrix"] == found.mechanism.matrix).all()
        assert (arrays["alpha"], arrays["loss"], arrays["cost"]) == (10 / 11, "L1", found.cost)
        assert {*arrays["properties"]} == {kind.name for kind in found.mechanism.properties}


MISTAKES = {
    "nobody": (("count", "--size", "0", "--alpha", "0.9"), "size is 0"),
    "half a person": (("count", "--size", "2.5", "--alpha", "0.9"), "--size"),
    "no size": (("count", "--alpha", "0.9"), "--size"),
    "no budget": (("count", "--size", "4"), "either alpha"),
    "two budgets": ((*FOUR, "--epsilon", "1"), "either alpha"),
    "alpha 1": (("count", "--size", "4", "--alpha", "1"), "between 0 and 1"),
    "alpha no number": (("count", "--size", "4", "--alpha", "x"), "between 0 and 1"),
    "alpha below all": (("count", "--size", "4", "--alpha", "1e-400"), "between 0 and 1"),
    "epsilon 0": (("count", "--size", "4", "--epsilon", "0"), "epsilon is 0.0"),
    "loss": ((*FOUR, "--loss", "L3"), "L0, L1, L2"),
    "no such error": ((*FOUR, "--loss", "L1,4"), "errors above 4"),
    "absent loss": ((*FOUR, "--loss", "absent.npy"), "absent.npy cannot be read"),
    "property": ((*FOUR, "--properties", "WH,XX"), "'XX' is unknown"),
    "absent prior": ((*FOUR, "--prior", "absent.csv"), "absent.csv cannot be read"),
    "reach": ((*FOUR, "--reach", "5"), "from 1 to 4"),
    "column ratio": ((*FOUR, "--column-ratio", "2"), "column_ratio is '2'"),
    "solver": ((*FOUR, "--solver", "simplex"), "HIGHS or CLARABEL"),
    "suffix": ((*FOUR, "-o", "m.txt"), r"\.npz, \.csv"),
    "plot suffix": ((*FOUR, "--plot", "m.txt"), r"\.svg"),
    "program too large": (("count", "--size", "100000", "--alpha", "0.9", "--loss", "L1"), "huge"),
    "matrix too large": (("count", "--size", "100000", "--alpha", "0.9", "-o", "m.csv"), "huge"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_end_in_one_sentence(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    arguments, words = MISTAKES[name]
    assert_refused(capsys, arguments, words)
    assert list(tmp_path.iterdir()) == []


def test_files_that_do_not_fit_are_refused(capsys, tmp_path):
    np.save(tmp_path / "three.npy", np.ones(3))
    assert_refused(capsys, (*FOUR, "--prior", tmp_path / "three.npy"), "5 weights")
    assert_refused(capsys, (*FOUR, "--loss", tmp_path / "three.npy"), "5 x 5")


def test_a_solver_that_fails_is_one_sentence_too(capsys, monkeypatch):
    def failing(*_):
        raise RuntimeError("HIGHS ended with status unbounded; try the other of HIGHS, CLARABEL.")

    monkeypatch.setattr("stratagem.counts.optimum.solve", failing)
    assert_refused(capsys, (*FOUR, "--loss", "L1"), "try the other")
