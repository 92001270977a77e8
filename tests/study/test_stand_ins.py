"""What may stand for a workload and a solver: names, matrices, limits; and what a solution gives back."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import stratagem as st
from commands import run_json
from stratagem import counts
from stratagem.mechanism.export.saved import read_saved
from stratagem.mechanism.matrix_input import read_probabilities
from stratagem.study.preset import load_solver, solver_of
from stratagem.workloads.given import names
from stratagem.workloads.serial import over

RUNS = {"solver": "certified", "gap": 0.02}
STAND_INS = {
    "matrix": (np.tri(4), {}, st.explicit(np.tri(4))),
    "lists": ([[1, 0], [1, 1]], {}, st.explicit(np.tri(2))),
    "predicates": (np.tri(3, dtype=bool), {}, st.explicit(np.tri(3))),
    "matrix with names": (np.eye(4), {"domain": "a=2,b=2"}, st.explicit(np.eye(4), "a=2,b=2")),
    "name": ("prefix", {"domain": 5}, st.prefix(5)),
    "name on attributes": ("all-marginals", {"domain": {"a": 2, "b": 3}}, st.all_marginals("a=2,b=3")),
    "name with its own domain": ("hour-by-weekday", {}, st.load("hour-by-weekday")),
    "workload": (st.histogram(4), {}, st.histogram(4)),
}


@pytest.mark.parametrize("name", STAND_INS)
def test_bounds_are_those_of_the_workload_itself(name):
    given, options, workload = STAND_INS[name]
    assert st.lower_bounds(given, 1.0, **options) == st.lower_bounds(workload, 1.0)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [name for name in STAND_INS if name != "name with its own domain"])
def test_what_stands_for_a_workload_is_optimised_and_compared(name):
    given, options, workload = STAND_INS[name]
    solution = st.optimise(given, 1.0, **RUNS, **options)
    assert solution.workload.domain == workload.domain
    assert np.array_equal(solution.workload.matrix(), workload.matrix())
    assert solution.objective == st.optimise(workload, 1.0, load_solver("certified", gap=0.02)).objective
    assert st.compare(given, 1.0, **RUNS, **options).rows == st.compare(workload, 1.0, **RUNS).rows


def test_a_file_stands_for_its_queries(tmp_path):
    np.save(tmp_path / "W.npy", np.tri(4))
    assert st.lower_bounds(tmp_path / "W.npy", 1.0) == st.lower_bounds(np.tri(4), 1.0)


@pytest.mark.parametrize("name", names("solvers"))
def test_a_name_is_the_solver_of_the_catalogue(name):
    assert solver_of(name) == load_solver(name)
    assert solver_of(name, gap=0.5) == load_solver(name, gap=0.5)
    if name != "few-queries":  # which takes no time to speak of
        assert solver_of(name, seconds=3) == load_solver(name, max_seconds=3)


def test_limits_are_those_of_the_command_line(capsys):
    found = run_json(capsys, "optimise", "prefix", "--domain=8", "--epsilon=1", "--gap=0.3", "--seconds=9")
    solution = st.optimise("prefix", 1.0, domain=8, gap=0.3, seconds=9)
    assert (found["objective"], found["status"]) == (solution.objective, str(solution.status))
    assert solution.status is st.solvers.Status.OPTIMAL
    assert solver_of(None, gap=0.3, seconds=9) == st.Auto(gap=0.3, max_seconds=9)
    assert solver_of(st.Certified(seed=4), gap=0.3) == st.Certified(seed=4, gap=0.3)


def test_seconds_end_a_search():
    solution = st.optimise("prefix", 1.0, "projected-gradient", domain=8, seconds=1e-9)
    assert len(solution.history) <= 2 * st.ProjectedGradient().restarts


W = st.prefix(4)
REFUSED = {
    "unknown name": (lambda: st.optimise("prefx", 1.0, domain=4), "did you mean prefix"),
    "name without a domain": (lambda: st.compare("prefix", 1.0), "domain"),
    "domain beside a workload": (lambda: st.lower_bounds(W, 1.0, domain=4), "over domain 4: leave it out"),
    "number": (lambda: st.optimise(4, 1.0), "shape ()"),
    "nothing": (lambda: st.optimise(None, 1.0), "workload"),
    "vector": (lambda: st.lower_bounds(np.ones(3), 1.0), r"shape \(3,\)"),
    "texts": (lambda: st.optimise([["a"]], 1.0), "<U1"),
    "matrix of another domain": (lambda: st.optimise(np.eye(3), 1.0, domain=4), "3 columns for domain 4"),
    "unknown solver": (lambda: st.optimise(W, 1.0, "quik"), "did you mean quick"),
    "solver of another kind": (lambda: st.compare(W, 1.0, np.tri(3)), "was given as the solver"),
    "class of a solver": (lambda: st.optimise(W, 1.0, st.Auto), "was given as the solver"),
    "gap": (lambda: st.optimise(W, 1.0, gap=-1), "gap is -1"),
    "gap text": (lambda: st.optimise(W, 1.0, gap="x"), "gap is 'x'"),
    "seconds": (lambda: st.compare(W, 1.0, seconds=0), "^seconds is 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_stands_for_nothing_is_one_sentence(name):
    call, words = REFUSED[name]
    with pytest.raises(ValueError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def solution():
    return st.optimise(st.prefix(6), 1.0, "quick")


def test_the_matrix_of_a_solution(solution):
    matrix = solution.matrix
    assert isinstance(matrix, np.ndarray)
    assert matrix.shape == (solution.strategy.outputs, 6)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(6), abs=1e-12)
    objective = st.evaluate(solution.workload, st.strategies.MatrixStrategy(matrix)).objective
    assert objective == pytest.approx(solution.objective)


def test_a_strategy_too_large_for_a_matrix_is_refused(tmp_path):
    large = st.optimise(st.marginals("2^100", 1), 1.0, seconds=0.5)
    for call in (lambda: large.matrix, lambda: large.save(tmp_path / "s.npz")):
        with pytest.raises(ValueError, match=r"too large: save it as a mechanism file, \*\.ldp\.json"):
            call()
    assert list(tmp_path.iterdir()) == []
    assert st.load_mechanism(large.save(tmp_path / "s.ldp.json")).outputs == large.strategy.outputs


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".mat", ".parquet"])
def test_a_saved_matrix_comes_back(solution, tmp_path, suffix):
    path = solution.save(tmp_path / f"s{suffix}", name="ages")
    assert np.array_equal(read_probabilities(path), solution.matrix)


def test_a_saved_bundle_holds_name_and_labels(solution, tmp_path):
    found = replace(solution.problem, workload=over(solution.workload, [st.bins([0, 1, 2, 3, 4, 5, 6.5])]))
    described = replace(solution, problem=found)
    made = st.load_mechanism(described.save(tmp_path / "s.ldp.json", name="ages"))
    assert (made.name, made.client.cell(6.25)) == ("ages", 5)
    kept = read_saved(solution.save(tmp_path / "s.npz", name="ages"))
    assert (kept.name, kept.epsilon, kept.workload.queries) == ("ages", 1.0, 6)


def test_it_is_what_the_command_line_saves(capsys, tmp_path):
    asked = ("optimise", "prefix", "--domain=6", "--epsilon=1", "--solver=quick")
    run_json(capsys, *asked, "-o", tmp_path / "a.ldp.json")
    st.optimise("prefix", 1.0, "quick", domain=6).save(tmp_path / "b.ldp.json", name="prefix")
    one, other = (json.loads((tmp_path / f"{name}.ldp.json").read_text()) for name in "ab")
    assert one == other


def _answered(made: st.Mechanism) -> st.Estimate:
    return made.estimate([9] * made.outputs)


SAVED = {
    "a solution as a matrix": ("s.npz", lambda one: one.save),
    "a solution as a bundle": ("s.ldp.json", lambda one: one.save),
    "a mechanism": ("m.ldp.json", lambda one: one.mechanism().save),
    "answers": ("a.csv", lambda one: _answered(one.mechanism()).save),
    "a sweep": ("t.json", lambda one: st.sweep(one.workload, [1.0], "quick").save),
    "a count mechanism": ("g.count.json", lambda one: partial(counts.save, counts.geometric(3, 0.5))),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_file_that_exists_is_not_overwritten_unasked(solution, tmp_path, name):
    file, of = SAVED[name]
    path, save = tmp_path / file, of(solution)
    path.touch()
    save(path)  # an empty file holds nothing that could be lost
    path.write_text("mine")
    with pytest.raises(ValueError, match=f"{file} exists: name another file, or give overwrite=True$"):
        save(path)
    assert path.read_text() == "mine"
    assert save(path, overwrite=True) == path
    assert path.read_bytes() != b"mine"
    assert list(tmp_path.iterdir()) == [path]


SAVES = {
    "suffix": (lambda one, path: one.save(path / "s.pkl"), r"\.npz, \.csv, \.mat, \.parquet, \.ldp\.json"),
    "folder": (lambda one, path: one.save(path / "absent" / "s.npz"), "does not exist"),
    "no path": (lambda one, path: one.save(3), "is no path"),
}


@pytest.mark.parametrize("name", SAVES)
def test_what_cannot_be_saved_is_one_sentence(solution, tmp_path, name):
    call, words = SAVES[name]
    with pytest.raises(ValueError, match=words):
        call(solution, tmp_path)
    assert list(tmp_path.iterdir()) == []
