"""The command line: what it prints, the JSON it promises, and one sentence for every mistake."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from stratagem.catalogue import names
from stratagem.cli import main
from stratagem.strategy_file import StoredStrategy, load, save

SMALL = ["prefix", "--domain", "8", "--epsilon", "1"]
FAST = ["--solver", "quick", "--outputs", "32"]
DELAYS = "delay,day\n-3,mon\n0,tue\n12,mon\n39,tue\n40,mon\n,tue\n7.5,mon\n"


def run(capsys, *arguments) -> tuple[int, str, str]:
    """Run a command here and return its exit status, standard output and standard error."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def run_json(capsys, *arguments) -> dict:
    """Run a command with --json: exactly one JSON object, nothing on standard error."""
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.fixture
def delays(tmp_path) -> Path:
    path = tmp_path / "delays.csv"
    path.write_text(DELAYS)
    return path


@pytest.fixture
def saved(tmp_path) -> Path:
    workload = st.prefix(4)
    return save(
        tmp_path / "prefix.npz", StoredStrategy(st.randomised_response(4, 1.0), 1.0, workload, "prefix")
    )


def test_help_comes_from_the_installed_command_without_heavy_imports():
    script = Path(sys.executable).with_name("stratagem")
    done = subprocess.run([script, "--help"], capture_output=True, text=True, timeout=60, check=True)
    assert all(
        name in done.stdout
        for name in ("list", "optimise", "bound", "compare", "simulate", "export", "import")
    )
    code = "import sys, stratagem.cli; assert not {'jax', 'numpy', 'duckdb', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


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
    "objective": float,
    "lower_bound": float,
    "bound": str,
    "gap": float,
    "average_variance": float,
    "worst_case_variance": float,
    "sample_complexity": float,
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
        "optimised",
        "hierarchical",
        "lower bounds",
        "above the best possible",
        "solver: ",
        "status: ",
        "saved:  ",
        "stratagem simulate",
    )
    assert all(word in out for word in words)


def test_without_a_file_json_says_null_and_people_are_told(capsys):
    assert run_json(capsys, "optimise", *SMALL, *FAST)["file"] is None
    assert "saved:  no" in run(capsys, "optimise", *SMALL, *FAST)[1]


def test_a_gap_asked_for_is_met_or_the_status_says_no(capsys):
    asked = ("optimise", "prefix", "--domain", "16", "--epsilon", "1")
    met = run_json(capsys, *asked, "--gap", "0.05")
    assert met["gap"] <= 0.05
    assert met["status"] == str(st.Status.OPTIMAL)
    missed = run_json(capsys, *asked, "--gap", "1e-9", "--seconds", "2")
    assert missed["gap"] > 1e-9
    assert missed["status"] == str(st.Status.GAP_MISSED)


def test_ctrl_c_keeps_prints_and_saves_the_best_so_far(capsys, tmp_path, monkeypatch):
    @contextmanager
    def impatient(task):
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

    monkeypatch.setattr("stratagem.bounds.lower_bounds", interrupted)
    status, out, err = run(capsys, "bound", *SMALL)
    assert (status, out) == (130, "")
    assert err.count("\n") == 1


def test_bound_json(capsys):
    data = run_json(capsys, "bound", *SMALL)
    assert list(data) == ["svd", "closed", "integer", "weighted", "exact", "best"]
    assert data["best"] == max(data.values())
    assert data["best"] == pytest.approx(st.lower_bounds(st.prefix(8), 1.0).best)


def test_bound_takes_its_time_when_asked(capsys):
    command = ["bound", "prefix", "--domain", "24", "--epsilon", "4"]
    status, out, err = run(capsys, *command, "--seconds", "5", "--json")
    data = json.loads(out)
    assert status == 0
    assert "at most 5 s" in err
    assert data["best"] == max(data["pricing"], data.get("sdp", 0.0))
    assert data["best"] > 1.2 * data["weighted"]
    assert run(capsys, *command, "--tight", "--seconds", "0")[1] == run(capsys, *command)[1]


def test_compare_json_and_plot(capsys, tmp_path):
    data = run_json(capsys, "compare", *SMALL, *FAST, "--plot", tmp_path / "out.svg")
    assert set(data) == {"mechanisms", "bounds"}
    assert data["mechanisms"][0]["mechanism"] == "optimised"
    keys = {
        "mechanism",
        "parameters",
        "objective",
        "worst_case_variance",
        "sample_complexity",
        "epsilon",
        "outputs",
    }
    assert all(set(row) == keys for row in data["mechanisms"])
    assert (tmp_path / "out.svg").read_text().startswith("<?xml")


def test_list_names_everything(capsys):
    data = run_json(capsys, "list")
    assert {row["name"] for row in data["workloads"]} == set(names("workloads"))
    assert {row["name"] for row in data["solvers"]} == set(names("solvers"))
    assert all(row["title"] and row["reference"] for rows in data.values() for row in rows)
    out = run(capsys, "list")[1]
    assert all(row["name"] in out for rows in data.values() for row in rows)


def test_simulate_json(capsys, saved, delays):
    options = ["--data", delays, "--column", "delay", "--edges=0:40:10", "--repetitions", "5"]
    data = run_json(capsys, "simulate", saved, *options)
    assert data["users"] == 4
    assert data["outside"] == {"delay below 0": 1, "delay 40 or above": 1, "delay missing": 1}
    assert [row["true"] for row in data["answers"]] == [2, 3, 3, 4]
    assert data["ratio"] == pytest.approx(data["observed"] / data["predicted"])
    again = run_json(capsys, "simulate", saved, *options)
    assert again == data


def test_simulate_says_when_answers_are_exact(capsys, tmp_path, delays):
    path, day = tmp_path / "total.npz", tmp_path / "days.csv"
    day.write_text("day\n0\n1\n1\n")
    run(capsys, "optimise", "total", "--domain", "2", "--epsilon", "1", "-o", path)
    asked = ("simulate", path, "--data", day, "--column", "day")
    assert "no error that double precision can show" in run(capsys, *asked)[1]
    assert run_json(capsys, *asked)["ratio"] is None


def test_simulate_reads_several_attributes(capsys, tmp_path, delays):
    workload = st.kron([st.prefix({"delay": 2}), st.histogram({"day": 2})])
    file = save(tmp_path / "s.npz", StoredStrategy(st.randomised_response(4, 1.0), 1.0, workload, "both"))
    options = [
        "--column",
        "delay=delay",
        "--column",
        "day=day",
        "--edges",
        "delay=0:40:20",
        "--labels",
        "day=mon,tue",
    ]
    status, out, _ = run(capsys, "simulate", file, "--data", delays, *options)
    assert status == 0
    assert "4 of 7 rows counted" in out
    assert "observed / predicted" in out


def test_export_writes_the_other_formats(capsys, saved, tmp_path):
    assert run(capsys, "export", saved, "-o", tmp_path / "s.csv")[0] == 0
    assert (np.loadtxt(tmp_path / "s.csv", delimiter=",") == load(saved).strategy.matrix).all()


@pytest.mark.parametrize("solver", names("solvers"))
def test_every_solver_of_the_catalogue_runs(capsys, solver):
    arguments = ["optimise", "histogram", "--domain", "4", "--epsilon", "1", "--seed", "3", "--outputs", "8"]
    data = run_json(capsys, *arguments, "--solver", solver)
    assert data["gap"] >= 0


PREFIX = ("optimise", "prefix", "--domain", "8")
BUDGETS = {
    f"epsilon {epsilon}": ((*PREFIX, f"--epsilon={epsilon}"), "epsilon")
    for epsilon in ("0", "-1", "nan", "inf", "-inf", "1e-9", "one", "")
}
MISTAKES = BUDGETS | {
    "no epsilon": (PREFIX, "--epsilon"),
    "unknown workload": (("bound", "prefxi", "--epsilon", "1", "--domain", "8"), "did you mean prefix"),
    "no domain": (("bound", "prefix", "--epsilon", "1"), "--domain 64"),
    "not a domain": (("bound", "prefix", "--domain", "many", "--epsilon", "1"), "64, as 2\\^6"),
    "domain of several attributes": (
        ("bound", "prefix", "--domain", "2^3", "--epsilon", "1"),
        "one attribute",
    ),
    "domain that does not fit": (
        ("bound", "ages-by-sex", "--domain", "9", "--epsilon", "1"),
        "fixes its domain",
    ),
    "domain too large": (("bound", "histogram", "--domain", "2^40", "--epsilon", "1"), "limit"),
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
    "unknown command": (("optimize", *SMALL), "optimize"),
    "suffix": (("optimise", *SMALL, "-o", "s.pkl"), r"\.npz, \.csv, \.mat"),
    "folder": (("optimise", *SMALL, "-o", "absent/s.npz"), "does not exist"),
    "plot suffix": (("compare", *SMALL, "--plot", "s.txt"), r"\.svg"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_sentence_and_status_2(capsys, name):
    arguments, words = MISTAKES[name]
    assert_refused(capsys, arguments, words)


def assert_refused(capsys, arguments, words):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("stratagem: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert re.search(words, err), err


def test_a_matrix_of_queries_is_a_workload_unless_it_asks_nothing(capsys, tmp_path):
    np.save(tmp_path / "W.npy", np.tri(5))
    data = run_json(capsys, "bound", tmp_path / "W.npy", "--epsilon", "1")
    assert data["best"] == pytest.approx(st.lower_bounds(st.prefix(5), 1.0).best)
    np.save(tmp_path / "W.npy", np.zeros((2, 3)))
    assert_refused(capsys, ["optimise", tmp_path / "W.npy", "--epsilon", "1"], "only zeros")


DATA_MISTAKES = {
    "absent column": (["--column", "dealy"], "did you mean delay"),
    "no column": ([], "--column"),
    "text with edges": (["--column", "day", "--edges=0:4:1"], "'(mon|tue)'"),
    "too few bins": (["--column", "delay", "--edges=0:3:1"], "gives 3 bins, but the attribute has 4"),
    "edges out of order": (["--column", "delay", "--edges=4,3,2,1,0"], "increase"),
    "edges and labels": (["--column", "delay", "--edges=0:4:1", "--labels=a,b,c,d"], "both"),
    "two columns": (["--column", "delay", "--column", "day"], "twice"),
    "nothing inside": (["--column", "delay", "--edges=1000:1004:1"], "no row inside"),
    "one repetition": (["--column", "delay", "--repetitions", "1"], "repetitions"),
}


@pytest.mark.parametrize("name", DATA_MISTAKES)
def test_data_that_does_not_fit_is_refused(capsys, saved, delays, name):
    options, words = DATA_MISTAKES[name]
    assert_refused(capsys, ["simulate", saved, "--data", delays, *options], words)


@pytest.mark.parametrize("command", ["simulate", "export"])
def test_files_that_are_no_strategies_are_refused(capsys, tmp_path, delays, command):
    rest = ["--data", delays, "--column", "delay"] if command == "simulate" else ["-o", tmp_path / "s.csv"]
    assert_refused(capsys, [command, delays, *rest], "is not a strategy")
    assert_refused(capsys, [command, tmp_path / "absent.npz", *rest], "cannot be read")


def test_an_attribute_must_be_named_when_there_are_several(capsys, tmp_path, delays):
    file = save(
        tmp_path / "s.npz", StoredStrategy(st.randomised_response(4, 1.0), 1.0, st.histogram("a=2,b=2"), "h")
    )
    assert_refused(capsys, ["simulate", file, "--data", delays, "--column", "delay"], "--column a=")
