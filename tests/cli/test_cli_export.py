"""The commands that move strategies between formats: export, import, optimise -o, simulate on a bundle."""

import json
import re

import numpy as np
import pytest
from scipy.io import loadmat

import stratagem as st
from commands import assert_refused, plain, run
from stratagem.math.number import number_text, upper_percent
from stratagem.mechanism.export.saved import StoredStrategy, load, read_saved, save, to_mechanism, write_saved
from stratagem.mechanism.matrix_input import read_probabilities

N = 6
DELAYS = "delay,day\n" + "".join(f"{k % 8},{'mon' if k % 3 else 'tue'}\n" for k in range(80))


def run_well(capsys, *arguments) -> str:
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    return plain(out)


@pytest.fixture
def npz(tmp_path):
    strategy = st.published.hadamard_response(N, 1.0)
    return save(tmp_path / "s.npz", StoredStrategy(strategy, 1.0, st.prefix(N), "prefix"))


@pytest.fixture
def bundle(tmp_path, npz):
    return write_saved(tmp_path / "s.ldp.json", to_mechanism(load(npz)))


@pytest.fixture
def delays(tmp_path):
    path = tmp_path / "delays.csv"
    path.write_text(DELAYS)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".mat", ".parquet"])
def test_the_matrix_of_a_bundle_goes_out_and_comes_back(capsys, tmp_path, bundle, suffix):
    out, back = tmp_path / f"m{suffix}", tmp_path / "back.ldp.json"
    made = st.load_mechanism(bundle)
    assert f"{made.outputs} possible reports x 6 values" in run_well(capsys, "export", bundle, "-o", out)
    assert (read_probabilities(out) == made.strategy.dense().matrix).all()
    asked = ("--workload", "prefix", "--domain", N, "--epsilon", 1, "-o", back, "--json")
    data = json.loads(run_well(capsys, "import", out, *asked))
    assert (data["moved"], data["loss"], data["file"]) == (0.0, 0.0, str(back))
    again = st.load_mechanism(back)
    assert data["mechanism"] == again.identifier
    assert np.abs(again.strategy.dense().matrix - made.strategy.dense().matrix).max() < 1e-9


def test_npz_becomes_a_bundle_with_labels(capsys, tmp_path, npz):
    out = tmp_path / "b.ldp.json"
    run_well(capsys, "export", npz, "-o", out, "--labels", "a,b,c,d,e,f")
    made = st.load_mechanism(out)
    assert made.bundle["domain"] == [{"name": "value", "size": 6, "labels": list("abcdef")}]
    assert made.name == "prefix"
    assert 0 <= made.client.randomise("f")["output"] < made.outputs
    assert type(made.strategy).__name__ == "TwoLevelStrategy"


def test_optimise_writes_a_bundle_that_simulate_runs(capsys, tmp_path, delays):
    out = tmp_path / "o.ldp.json"
    asked = ["optimise", "histogram", "--domain", "8", "--epsilon", "1"]
    text = run_well(capsys, *asked, "--edges=0:8:1", "-o", out)
    assert f"stratagem simulate {out}" in text
    made = st.load_mechanism(out)
    assert made.bundle["domain"][0]["edges"] == [str(k) for k in range(9)]
    options = ["simulate", out, "--data", delays, "--column", "delay", "--repetitions", "50", "--json"]
    data = json.loads(run_well(capsys, *options))
    assert (data["users"], data["epsilon"], data["workload"]) == (80, 1.0, "histogram")
    assert abs(data["ratio"] - 1) < 6 * data["ratio_standard_error"]  # seeded: no false alarm
    finer = json.loads(run_well(capsys, *options, "--edges=0:4:0.5", "--invalid", "drop"))
    assert finer["users"] == 40  # edges of the command line go before those of the bundle


def test_simulate_takes_labels_from_the_bundle(capsys, tmp_path, delays):
    workload = st.histogram({"day": st.labels("mon", "tue")})
    made = st.mechanism.import_matrix(
        st.published.randomised_response(2, 1.0).matrix, workload, 1.0
    ).mechanism
    path = made.save(tmp_path / "d.ldp.json")
    out = run_well(capsys, "simulate", path, "--data", delays, "--column", "day")
    assert "80 of 80 rows counted" in out


def test_a_solution_becomes_a_mechanism():
    prior = np.arange(1, N + 1)
    solution = st.optimise(st.prefix(st.labels(*"abcdef")), 1.0, st.Certified(max_steps=2), prior=prior)
    made = solution.mechanism(name="ages")
    assert (made.name, made.epsilon, made.workload) == ("ages", 1, solution.workload)
    assert made.prior is not None
    assert made.prior == pytest.approx(prior / prior.sum())
    assert float(made.utility["unrounded"]) == pytest.approx(solution.objective)
    assert made.client.cell("f") == 5


def test_a_prior_is_never_lost(capsys, tmp_path):
    prior = np.arange(1.0, N + 1)
    np.save(tmp_path / "p.npy", prior)
    asked = ["optimise", "histogram", "--domain", N, "--epsilon", "1", "--prior", tmp_path / "p.npy"]
    for suffix in (".csv", ".parquet"):
        assert_refused(capsys, [*asked, "-o", tmp_path / f"s{suffix}"], "has a prior")
    bundle = tmp_path / "s.ldp.json"
    run_well(capsys, *asked, "-o", bundle)
    assert_refused(capsys, ["export", bundle, "-o", tmp_path / "s.csv"], "write .npz or .mat")
    for suffix in (".npz", ".mat"):
        run_well(capsys, "export", bundle, "-o", tmp_path / f"s{suffix}")
        kept = (np.load if suffix == ".npz" else loadmat)(tmp_path / f"s{suffix}")["prior"]
        assert kept.ravel() == pytest.approx(prior / prior.sum())
    assert load(tmp_path / "s.npz").prior == pytest.approx(prior / prior.sum())


def test_import_says_what_a_repair_did(capsys, tmp_path):
    np.save(tmp_path / "q.npy", np.eye(N))
    out = tmp_path / "q.ldp.json"
    asked = [
        "import",
        tmp_path / "q.npy",
        "--workload",
        "histogram",
        "--domain",
        N,
        "--epsilon",
        "1",
        "-o",
        out,
    ]
    assert_refused(capsys, asked, r"a zero beside a positive entry in a row, which no epsilon \(1\) allows")
    assert not out.exists()
    text = run_well(capsys, *asked, "--repair")
    assert "hold epsilon 1 exactly" in text
    assert "repaired: at most 64.8 % of the people of a value report otherwise; objective +" in text
    matrix = st.load_mechanism(out).strategy.dense().matrix
    assert np.abs(matrix - st.published.randomised_response(N, 1.0).matrix).max() < 1e-9
    data = json.loads(run_well(capsys, *asked, "--repair", "--force", "--json"))
    assert data["moved"] == pytest.approx(0.648, abs=1e-3)


def test_import_of_transposed_and_named_arrays(capsys, tmp_path):
    matrix = st.published.hadamard_response(N, 1.0).matrix
    np.savez(tmp_path / "q.npz", p=matrix.T, other=np.ones(3))
    asked = ["import", tmp_path / "q.npz", "--workload", "histogram", "--domain", N, "--epsilon", "1"]
    asked += ["-o", tmp_path / "q.ldp.json"]
    assert_refused(capsys, asked, "holds the variables p, other: name the one to read, --variable p")
    assert_refused(capsys, [*asked, "--variable", "p"], "say that it is transposed")
    run_well(capsys, *asked, "--variable", "p", "--transposed", "--edges=0:60:10")
    assert st.load_mechanism(tmp_path / "q.ldp.json").client.cell(59.5) == 5


def test_import_counts_the_values_and_says_how_good_the_matrix_is(capsys, tmp_path):
    np.save(tmp_path / "q.npy", st.published.hadamard_response(N, 1.0).matrix.T)
    out = tmp_path / "q.ldp.json"
    asked = [
        "import",
        tmp_path / "q.npy",
        "--workload",
        "prefix",
        "--epsilon",
        "1",
        "--transposed",
        "-o",
        out,
    ]
    text = " ".join(run_well(capsys, *asked).split())
    data = json.loads(run_well(capsys, *asked, "--force", "--json"))
    bounds = st.lower_bounds(st.prefix(N), 1.0)
    assert (data["domain"], data["lower_bound"], data["bound"]) == (str(N), bounds.best, bounds.name)
    assert data["gap"] == pytest.approx(data["objective"] / bounds.best - 1)
    assert f"{upper_percent(data['gap'])} above the proven minimum of {number_text(bounds.best)}" in text
    assert st.load_mechanism(out).workload == st.prefix(N)
    assert_refused(capsys, [*asked, "--force", "--domain", "7"], "the workload has 7 user types")


MISTAKES = {
    "export to a pickle": (["export", "{bundle}", "-o", "t.pkl"], ".ldp.json"),
    "export of nothing": (["export", "absent.ldp.json", "-o", "t.npz"], "cannot be read"),
    "export of a wrong file": (["export", "{delays}", "-o", "t.npz"], "stratagem import"),
    "labels of a bundle": (["export", "{bundle}", "-o", "t.ldp.json", "--labels", "a"], "already says"),
    "labels that do not fit": (["export", "{npz}", "-o", "t.ldp.json", "--labels", "a,b"], "6 values"),
    "labels for a matrix": (["export", "{npz}", "-o", "t.csv", "--labels", "a,b,c,d,e,f"], "only *.ldp.json"),
    "labels without a bundle": (
        ["optimise", "prefix", "--domain", "6", "--epsilon", "1", "--edges=0:6:1", "-o", "t.npz"],
        "only *.ldp.json holds them",
    ),
    "import of a wrong file": (
        ["import", "{delays}", "--workload", "prefix", "--domain", "6", "--epsilon", "1", "-o", "t.ldp.json"],
        "is not a finite number",
    ),
    "import to a matrix": (
        ["import", "{npz}", "--workload", "prefix", "--domain", "6", "--epsilon", "1", "-o", "t.npz"],
        ".ldp.json",
    ),
    "import without a workload": (["import", "{npz}", "--epsilon", "1", "-o", "t.ldp.json"], "--workload"),
    "a smaller epsilon": (
        ["import", "{npz}", "--workload", "prefix", "--domain", "6", "--epsilon", "0.9", "-o", "t.ldp.json"],
        "0.1 above 0.9",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_sentence_and_status_2(capsys, tmp_path, monkeypatch, npz, bundle, delays, name):
    monkeypatch.chdir(tmp_path)
    arguments, words = MISTAKES[name]
    before = {path.name for path in tmp_path.iterdir()} - {"s.npz", "s.ldp.json"}
    arguments = [one.format(npz=npz, bundle=bundle, delays=delays) for one in arguments]
    assert_refused(capsys, arguments, re.escape(words))
    assert {path.name for path in tmp_path.iterdir()} - {"s.npz", "s.ldp.json"} == before


def test_both_kinds_of_saved_strategies_answer_alike(npz, bundle):
    for path in (npz, bundle):
        saved = read_saved(path)
        assert (float(saved.epsilon), saved.name, saved.prior) == (1.0, "prefix", None)
        assert saved.strategy.dense().matrix[:8] == pytest.approx(
            st.published.hadamard_response(N, 1.0).matrix, abs=1e-8
        )


def test_a_matrix_too_wide_for_columns_is_refused(tmp_path, monkeypatch, npz):
    monkeypatch.setattr("stratagem.mechanism.export.saved.WIDEST", 5)
    with pytest.raises(ValueError, match="too wide for the columns of Parquet"):
        write_saved(tmp_path / "s.parquet", load(npz))
    assert not (tmp_path / "s.parquet").exists()


def test_a_folder_for_browsers_holds_client_page_and_bundle(capsys, tmp_path, bundle):
    status, out, err = run(capsys, "export", bundle, "--web", tmp_path / "site")
    assert (status, err) == (0, "")
    assert "serve the folder over https" in out
    assert "Risks: a further report of one person reveals more (stratagem inspect " in " ".join(out.split())
    assert "To collect, add --submit URL, or run `stratagem collect`" in " ".join(out.split())
    assert {"client.js", "index.html", "bundle.ldp.json"} <= {
        path.name for path in (tmp_path / "site").iterdir()
    }
    assert (tmp_path / "site" / "bundle.ldp.json").read_bytes() == bundle.read_bytes()
    for arguments in (["-o", "x.npz", "--web", "site"], []):
        assert_refused(capsys, ["export", str(bundle), *arguments], "one thing at a time")
    asked = ["--web", tmp_path / "site", "--question", "How late?"]
    assert_refused(
        capsys, ["export", bundle, *asked], "index.html exists: name another file, or give --force"
    )
    assert "How late?" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert run(capsys, "export", bundle, *asked, "--force")[0] == 0
    assert run(capsys, "export", bundle, *asked)[0] == 0  # the same page: nothing is lost
    assert "How late?" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert (tmp_path / "site" / "bundle.ldp.json").read_bytes() == bundle.read_bytes()
    alone = ["export", str(bundle), "-o", "x.npz", "--question", "How late?"]
    assert_refused(capsys, alone, "only the page of --web asks one")
    submit = ["--submit", "https://reports.example.org/reports"]
    assert run(capsys, "export", bundle, *asked, *submit, "--force")[0] == 0
    assert submit[1] in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    alone = ["export", str(bundle), "-o", "x.npz", *submit]
    assert_refused(capsys, alone, "only the page of --web sends anything")
    alone = ["export", str(bundle), "-o", "x.npz", "--demo"]
    assert_refused(capsys, alone, "only the page of --web is one")
    both = ["export", str(bundle), *map(str, asked), *submit, "--demo"]
    assert_refused(capsys, both, "a demo sends nothing: leave one of them out")
    demo = ["export", bundle, "--web", tmp_path / "site", "--demo"]
    assert_refused(capsys, demo, "index.html exists")
    assert not (tmp_path / "site" / "demo.js").exists()
    assert run(capsys, *demo, "--force")[0] == 0
    assert (tmp_path / "site" / "demo.js").is_file()
    assert not (tmp_path / "site" / "form.js").exists()
    alone = ["export", str(bundle), "-o", "x.npz", "--at-most", "3"]
    assert_refused(capsys, alone, "only the page of --web has a client")
    plain = ["export", str(bundle), "--web", "site", "--submit", "http://reports.example.org/reports"]
    assert_refused(capsys, plain, "is no address to send reports to")


def test_a_page_that_every_browser_would_refuse_is_not_written(capsys, tmp_path):
    """The page takes as much epsilon as the command was told, and says so to its client."""
    file, site = tmp_path / "big.ldp.json", tmp_path / "site"
    st.optimise(st.histogram(4), 12.0).save(file)
    said = "has epsilon 12, but at most 10 is accepted: use another, or say --at-most 12"
    assert_refused(capsys, ["export", file, "--web", site], said)
    assert_refused(capsys, ["collect", file, "--port", "0", "--state", tmp_path / "s.duckdb"], said)
    assert not site.exists()
    assert not (tmp_path / "s.duckdb").exists()
    assert_refused(capsys, ["export", file, "--web", site, "--at-most", "11.5"], "at most 11.5 is accepted")
    for demo in ([], ["--demo"]):
        assert run(capsys, "export", file, "--web", site, "--at-most", "12", "--force", *demo)[0] == 0
        assert 'data-at-most="12.0"' in (site / "index.html").read_text(encoding="utf-8")
    assert "at most 99.9994 % likely" in plain(run(capsys, "inspect", file)[1])


def test_a_large_epsilon_is_named_as_one_that_protects_little(capsys):
    asked, said = (
        ["optimise", "histogram", "--domain", 4, "--epsilon"],
        "Do not promise privacy with an epsilon above 4",
    )
    assert f"{said}: a report nearly tells the answer." in run_well(capsys, *asked, 4.5)
    assert said not in run_well(capsys, *asked, 4)
