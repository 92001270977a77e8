"""The command line: what it prints, the JSON it promises, and one sentence for every mistake."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from stratagem.collection.tally import tally_data
from stratagem.mechanism.export.saved import load
from stratagem.workloads.given import names

SMALL = ["prefix", "--domain", "8", "--epsilon", "1"]
FAST = ["--solver", "quick", "--outputs", "32"]


def test_help_comes_from_the_installed_command_without_heavy_imports():
    script = Path(sys.executable).with_name("stratagem")
    done = subprocess.run([script, "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert all(
        name in done.stdout
        for name in ("list", "optimise", "bound", "compare", "simulate", "export", "import")
    )
    code = "import sys, stratagem.cli; assert not {'jax', 'numpy', 'duckdb', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_counting_and_estimating_load_no_compiler(tmp_path):
    """Neither designing a count mechanism nor estimating searches for a strategy."""
    mechanism = st.Mechanism.of(st.published.randomised_response(3, 1.0), st.histogram(3), 1.0)
    mechanism.save(tmp_path / "one.ldp.json")
    aggregator = mechanism.aggregator()
    for value in (0, 1, 2, 0, 1, 0):
        aggregator.add(mechanism.client.randomise(value))
    counted = tally_data(aggregator.tally(), mechanism.identifier)
    (tmp_path / "counts.json").write_text(json.dumps(counted), "utf-8")
    code = "import sys; from stratagem.cli import main\ntry:\n    main()\nfinally:\n    assert 'jax' not in sys.modules"
    for arguments in (
        ["count", "--size", "4", "--alpha", "0.9"],
        ["estimate", tmp_path / "one.ldp.json", tmp_path / "counts.json"],
    ):
        command = [sys.executable, "-c", code, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["optimise", "--help"], ["estimate", "--help"]])
def test_light_commands_load_no_compiler_and_no_modelling_language(arguments):
    code = """
import sys
from stratagem.cli import main
try:
    main()
finally:
    assert not {"jax", "cvxpy"} & set(sys.modules)
"""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_mistake_in_a_real_process_is_one_sentence_and_status_2():
    code = "from stratagem.cli import main; main()"
    command = [sys.executable, "-c", code, "bound", "prefx", "--domain", "8", "--epsilon", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "did you mean prefix" in done.stderr


OPTIMISE_TYPES = {
    "workload": str,
    "domain": str,
    "epsilon": float,
    "epsilon_realised": float,
    "outputs": int,
    "objective_kind": str,
    "prior": type(None),
    "objective": float,
    "lower_bound": float,
    "bound": str,
    "gap": float,
    "average_variance": float,
    "worst_case_variance": float,
    "sample_complexity": float,
    "users_for_one_percent": dict,
    "status": str,
    "solver": str,
    "reason": str,
    "seconds": float,
    "file": str,
}


def test_optimise_json_has_the_promised_keys_and_types(capsys, tmp_path):
    data = run_json(capsys, "optimise", *SMALL, *FAST, "-o", tmp_path / "s.npz")
    assert {key: type(value) for key, value in data.items()} == OPTIMISE_TYPES
    assert data["lower_bound"] <= data["objective"]
    users = data["users_for_one_percent"]
    needed = 100 * 8 / 7 * data["sample_complexity"]  # of eight prefixes the last is known exactly
    assert needed <= users["root_mean_square"] < needed + 1
    assert users["least_accurate"] > users["root_mean_square"]
    assert data["gap"] == pytest.approx(data["objective"] / data["lower_bound"] - 1)
    stored = load(data["file"])
    assert data["epsilon_realised"] == pytest.approx(stored.strategy.epsilon, rel=1e-12)
    assert max(data["epsilon_realised"], stored.strategy.epsilon) <= 1
    assert data["objective"] == pytest.approx(st.evaluate(stored.workload, stored.strategy).objective)
    assert data["outputs"] == stored.strategy.outputs


def test_optimise_tells_a_person_what_was_found_and_what_to_type_next(capsys, tmp_path):
    status, out, err = run(capsys, "optimise", *SMALL, *FAST, "-o", tmp_path / "s.npz")
    assert (status, err) == (0, "")
    words = (
        "people: answers are typically off by 1 % of them (standard error).",
        "and every one of the 8 answers is that exact.",
        "Stratagem",
        "hierarchical (published)",
        "proven minimum",
        "above the proven minimum, on average over the values.",
        "saved: ",
        "possible reports, epsilon 1 verified)",
        "stratagem simulate",
    )
    assert all(word in plain(out) for word in words)


def test_without_a_file_json_says_null_and_people_are_told(capsys):
    assert run_json(capsys, "optimise", *SMALL, *FAST)["file"] is None
    out = run(capsys, "optimise", *SMALL, *FAST)[1]
    assert "saved:" not in out
    assert "next: add -o prefix.ldp.json to save it" in plain(out)


@pytest.mark.exhaustive
def test_a_gap_asked_for_is_met_or_the_status_says_no(capsys):
    asked = ("optimise", "prefix", "--domain", "16", "--epsilon", "1")
    met = run_json(capsys, *asked, "--gap", "0.05")
    assert met["gap"] <= 0.05
    assert met["status"] == str(st.solvers.Status.OPTIMAL)
    missed = run_json(capsys, *asked, "--gap", "1e-9", "--seconds", "2")
    assert missed["gap"] > 1e-9
    assert missed["status"] == str(st.solvers.Status.GAP_MISSED)


def test_ctrl_c_keeps_prints_and_saves_the_best_so_far(capsys, tmp_path, monkeypatch):
    @contextmanager
    def impatient(task, limit=None):
        def interrupt(step):
            if step.step == 3:
                raise KeyboardInterrupt

        yield interrupt

    monkeypatch.setattr("stratagem.cli.optimise.progress", impatient)
    data = run_json(capsys, "optimise", *SMALL, "-o", tmp_path / "s.npz")
    assert data["status"].startswith("Interrupted")
    assert load(data["file"]).strategy.outputs == data["outputs"]


def test_ctrl_c_before_there_is_anything_exits_quietly(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("stratagem.solvers.problem.problem.lower_bounds", interrupted)
    status, out, err = run(capsys, "bound", *SMALL)
    assert (status, out) == (130, "")
    assert err.count("\n") == 1


def test_bound_json(capsys):
    data = run_json(capsys, "bound", *SMALL)
    assert list(data) == ["svd", "closed", "integer", "weighted", "exact", "noiseless", "best"]
    assert data["best"] == max(data.values())
    assert data["best"] == pytest.approx(st.lower_bounds(st.prefix(8), 1.0).best)


def test_bound_of_a_domain_that_nobody_can_count(capsys):
    command = ["bound", "marginals", "--order", "3", "--domain", "2^100", "--epsilon", "1"]
    data = run_json(capsys, *command)
    assert list(data) == ["svd", "closed", "delsarte", "noiseless", "best", "per_type"]
    assert data["per_type"] is True
    assert data["best"] / data["closed"] == pytest.approx(1.0228, abs=1e-4)
    status, out, err = run(capsys, *command, "--details")
    assert status == 0
    assert all(f"\n{name} " in out for name in list(data)[:-2])
    assert "This holds for every mechanism with unbiased estimates from one report per person." in plain(out)
    assert "per value" in err


def test_bound_of_a_long_attribute(capsys):
    data = run_json(capsys, "bound", "prefix", "--domain", "65536", "--epsilon", "1")
    assert list(data) == ["svd", "closed", "integer", "noiseless", "best"]
    assert data["closed"] / 65536**2 == pytest.approx(53.25, abs=0.02)


@pytest.mark.exhaustive
def test_bound_takes_its_time_when_asked(capsys):
    command = ["bound", "prefix", "--domain", "24", "--epsilon", "4"]
    status, out, err = run(capsys, *command, "--seconds", "60", "--json")
    data = json.loads(out)
    assert status == 0
    assert "at most 60 s" in err
    assert data["best"] == max(data.get(name, 0.0) for name in ("nonnegative", "sdp"))
    assert data["best"] > 1.2 * data["weighted"]


def test_compare_json_and_plot(capsys, tmp_path):
    data = run_json(capsys, "compare", *SMALL, *FAST, "--plot", tmp_path / "out.svg")
    assert set(data) == {
        "workload",
        "domain",
        "epsilon",
        "objective_kind",
        "prior",
        "mechanisms",
        "bounds",
        "not_evaluated",
        "interrupted",
        "not_tuned_to_the_end",
    }
    assert data["mechanisms"][0]["mechanism"] == "optimised"
    keys = {
        "mechanism",
        "parameters",
        "objective",
        "worst_case_variance",
        "sample_complexity",
        "users_for_one_percent",
        "epsilon",
        "delta",
        "outputs",
        "report",
    }
    assert all(set(row) == keys for row in data["mechanisms"])
    assert (tmp_path / "out.svg").read_text().startswith("<?xml")


@pytest.mark.smoke
def test_list_names_everything(capsys):
    data = run_json(capsys, "list")
    assert {row["name"] for row in data["workloads"]} == set(names("workloads"))
    assert {row["name"] for row in data["solvers"]} == set(names("solvers"))
    assert all(row["title"] and row["reference"] for rows in data.values() for row in rows)
    out = run(capsys, "list")[1]
    assert all(row["name"] in out for rows in data.values() for row in rows)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("solver", names("solvers"))
def test_every_solver_of_the_catalogue_runs(capsys, solver):
    asked = "mean" if solver == "few-queries" else "histogram"
    arguments = ["optimise", asked, "--domain", "4", "--epsilon", "1"]
    limits = {"few-queries": [], "junta": ["--seed", "3"], "orbit": ["--seed", "3"]}
    limit = limits.get(solver, ["--seed", "3", "--outputs", "8"])
    data = run_json(capsys, *arguments, *limit, "--solver", solver)
    assert data["gap"] >= 0


PREFIX = ("optimise", "prefix", "--domain", "8")
BUDGETS = {
    f"epsilon {epsilon}": ((*PREFIX, f"--epsilon={epsilon}"), "epsilon")
    for epsilon in ("0", "-1", "nan", "inf", "-inf", "1e-9", "one", "")
}
MISTAKES = BUDGETS | {
    "no epsilon": (PREFIX, "--epsilon"),
    "unknown workload": (("bound", "prefxi", "--epsilon", "1", "--domain", "8"), "did you mean prefix"),
    "no domain": (
        ("bound", "prefix", "--epsilon", "1"),
        "--domain 64, --domain '2\\^6' or --domain age=100,sex=2$",
    ),
    "no seconds": (("optimise", *SMALL, "--seconds", "0"), "--seconds is 0.0: give a number"),
    "not a domain": (("bound", "prefix", "--domain", "many", "--epsilon", "1"), "64, as 2\\^6"),
    "domain of several attributes": (
        ("bound", "prefix", "--domain", "2^3", "--epsilon", "1"),
        "one attribute",
    ),
    "domain that does not fit": (
        ("bound", "ages-by-sex", "--domain", "9", "--epsilon", "1"),
        "fixes its domain",
    ),
    "domain too large": (("bound", "histogram", "--domain", "2^1100", "--epsilon", "1"), "fewer attributes"),
    "order too large": (("bound", "marginals", "--domain", "2^3", "--order", "9", "--epsilon", "1"), "order"),
    "option that is not taken": (("bound", *SMALL, "--width", "2"), "width"),
    "absent matrix": (("bound", "absent.npy", "--epsilon", "1"), "cannot be read"),
    "unknown solver": (("optimise", *SMALL, "--solver", "projected"), "did you mean projected-gradient"),
    "no outputs": (("optimise", *SMALL, "--outputs", "0"), "outputs"),
    "negative gap": (("optimise", *SMALL, "--gap", "-1"), "gap"),
    "no time": (("optimise", *SMALL, "--seconds", "0"), "seconds"),
    "negative seed": (("optimise", *SMALL, "--seed", "-1"), "seed"),
    "seed text": (("optimise", *SMALL, "--seed", "x"), "seed"),
    "unknown option": (("optimise", *SMALL, "--fast"), "--fast"),
    "unknown command": (("optimal", *SMALL), "optimal"),
    "suffix": (("optimise", *SMALL, "-o", "s.pkl"), r"\.npz, \.csv, \.mat"),
    "folder": (("optimise", *SMALL, "-o", "absent/s.npz"), "does not exist"),
    "plot suffix": (("compare", *SMALL, "--plot", "s.txt"), r"\.svg"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_sentence_and_status_2(capsys, name):
    arguments, words = MISTAKES[name]
    assert_refused(capsys, arguments, words)


def test_a_matrix_of_queries_is_a_workload_unless_it_asks_nothing(capsys, tmp_path):
    np.save(tmp_path / "W.npy", np.tri(5))
    data = run_json(capsys, "bound", tmp_path / "W.npy", "--epsilon", "1")
    assert data["best"] == pytest.approx(st.lower_bounds(st.prefix(5), 1.0).best)
    np.save(tmp_path / "W.npy", np.zeros((2, 3)))
    assert_refused(capsys, ["optimise", tmp_path / "W.npy", "--epsilon", "1"], "only zeros")
