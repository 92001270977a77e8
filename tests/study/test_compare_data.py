"""Comparisons on given data: the error to expect there, exact, and the bound on it."""

import csv
import math

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run, run_json
from stratagem.solvers.problem import problem_of
from stratagem.study.ranking import rank_baselines, ten_digits
from stratagem.study.row import DETAILED
from stratagem.workloads.centring import estimated

QUICK = st.Auto(outputs=32, gap=0.1)
WORKLOADS = {
    "prefix": st.prefix(6),
    "histogram": st.histogram(3),
    "marginals": st.marginals("2^2", 1),
    "weighted": st.weighted(st.all_range(4), 3.0),
}


def skewed(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 50, n) * np.arange(n, 0, -1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WORKLOADS)
def test_errors_are_those_of_every_querys_own_variance(name):
    workload, x = WORKLOADS[name], skewed(WORKLOADS[name].domain_size)
    comparison = st.compare(workload, 1.0, QUICK).on(x)
    strategies = {one.mechanism: one.strategy for one in rank_baselines(problem_of(workload, 1.0))}
    strategies["optimised"] = comparison.compared["optimised"].strategy
    errors = [ten_digits(row.error) for row in comparison.rows]
    assert errors == sorted(errors)
    assert {row.mechanism for row in comparison.rows} == set(strategies)
    for row in comparison.rows:
        variances = st.per_query_variance(workload, strategies[row.mechanism], x)
        assert row.error == pytest.approx(math.sqrt(variances.sum() / estimated(workload)), rel=1e-6)
    assert comparison.users == x.sum()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("x", ["skewed", "even", "two"])
def test_no_mechanism_is_below_the_bound_and_one_made_for_the_data_is_close(name, x):
    n = WORKLOADS[name].domain_size
    data = {"skewed": skewed(n), "even": np.full(n, 20), "two": 30 * np.eye(n, dtype=int)[[0, n - 1]].sum(0)}[
        x
    ]
    plain = st.compare(WORKLOADS[name], 1.0, QUICK).on(data)
    made = st.compare(WORKLOADS[name], 1.0, prior=data).on(data)
    for comparison in (plain, made):
        assert all(
            row.error >= comparison.least_error * (1 - 1e-9) for row in comparison.rows if row.delta == 0
        )
    assert made.rows[0].error <= 1.02 * made.least_error
    assert made.least_error == pytest.approx(plain.least_error, rel=1e-9)
    if x == "even":
        gap = math.sqrt(
            (plain.compared["optimised"].objective - plain.compared["optimised"].problem.offset)
            / (plain.bounds.best - plain.compared["optimised"].problem.offset)
        )
        assert plain.rows[0].error / plain.least_error == pytest.approx(gap, rel=1e-3)


@pytest.mark.exhaustive
def test_the_bound_for_even_data_is_none_for_skewed_data():
    """A mechanism made for skewed data beats what holds for even ones, so the bound must follow the data."""
    x = np.array([1000, 0, 0, 0, 0, 10])
    even = st.compare(WORKLOADS["prefix"], 1.0, QUICK).on(np.full(6, 1)).least_error * math.sqrt(x.sum() / 6)
    assert st.compare(WORKLOADS["prefix"], 1.0, prior=x).on(x).rows[0].error < even


@pytest.mark.exhaustive
def test_simulated_errors_agree():
    """500 runs of 10,000 users: the mean squared error is within five standard errors (false alarm 6e-7)."""
    workload, x = st.prefix(6), np.array([4000, 3000, 2000, 500, 400, 100])
    comparison = st.compare(workload, 1.0, QUICK).on(x)
    ours = next(row for row in comparison.rows if row.mechanism == "optimised")
    runs = st.simulate(workload, comparison.compared["optimised"].strategy, x, repetitions=500)
    seen, spread = runs.observed.mean() / 5, runs.observed.std(ddof=1) / 5 / math.sqrt(500)
    assert abs(seen - ours.error**2) < 5 * spread
    assert not abs(seen - 1.5 * ours.error**2) < 5 * spread


def test_table_and_plot_speak_of_the_data(tmp_path):
    comparison = st.compare(st.prefix(6), 1.0, QUICK).on(skewed(6))
    said, table, *_ = str(comparison).split("\n\n")
    assert f"which is {comparison.least_error:.4g} on these data." in " ".join(said.split())
    assert "of people" in table.splitlines()[0]
    assert comparison.records()[0]["error"] == comparison.rows[0].error
    (axes,) = comparison.plot(tmp_path / "on.svg").axes
    assert "expected error" in axes.get_xlabel()


def test_answers_without_error_are_compared_too(tmp_path):
    comparison = st.compare(st.total(4), 1.0, QUICK).on([1, 2, 3, 4])
    assert comparison.least_error == 0
    assert comparison.rows[0].error < 1e-6
    with pytest.raises(ValueError, match="nothing to draw"):
        comparison.plot(tmp_path / "total.svg")


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([1, 2, 3], "hold 6 nonnegative whole numbers"),
        ([1, 2, 3, 4, 5, -1], "whole numbers"),
        ([0] * 6, "counts no people, but at least one is needed"),
        ([0.5] * 6, "whole numbers"),
        ([math.nan] * 6, "whole numbers"),
        (["a"] * 6, "whole numbers"),
        ([[1], [2, 3]], "whole numbers"),
        (None, "whole numbers"),
    ],
)
def test_what_is_no_data_vector_is_one_sentence(x, words):
    with pytest.raises(ValueError, match=words) as caught:
        st.compare(st.prefix(6), 1.0, QUICK).on(x)
    assert "\n" not in str(caught.value)


def test_large_domains_are_refused_in_one_sentence():
    comparison = st.compare(st.marginals("2^100", 1), 1.0)
    with pytest.raises(ValueError, match=f"at most {DETAILED}"):
        comparison.on([1])


@pytest.fixture
def people(tmp_path):
    rows = [
        [k % 90 + (0.5 if k % 7 == 0 else 0), ["north", "", "far, west"][k % 3], k % 3 + 1, k * 1.5]
        for k in range(400)
    ]
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["age", "region", "score", "income"], *rows, ["", "NA", "", ""], ["NA", "", "NA", "x"]]
        )
    return path


FAST = ("--epsilon", "1", "--outputs", "24", "--gap", "0.1")
DROP = ("--invalid", "drop")


@pytest.mark.exhaustive
def test_the_command_for_ones_own_file(capsys, people, tmp_path):
    asked = ["compare", "prefix", "--data", people, "--column", "age", "--edges", "0:90:18", *DROP, *FAST]
    status, out, _ = run(capsys, *asked, "--plot", tmp_path / "p.svg", "-o", tmp_path / "all.csv")
    assert status == 0
    for words in (
        "age=5",
        "400 of 402 rows counted",
        "age missing 2",
        "nothing of the data",
        "on these data",
    ):
        assert words in out
    assert (tmp_path / "p.svg").exists()
    data = run_json(capsys, *asked)
    assert (data["users"], data["outside"], data["domain"]) == (400, {"age missing": 2}, "age=5")
    errors = [ten_digits(row["error"]) for row in data["mechanisms"]]
    assert errors == sorted(errors)
    assert data["least_error"] <= errors[0]
    with (tmp_path / "all.csv").open(newline="") as file:
        assert [float(line["error"]) for line in csv.DictReader(file) if line["error"]] == pytest.approx(
            errors
        )


@pytest.mark.parametrize(
    ("columns", "domain", "stated"),
    [
        (["region"], "region=2", '--labels=region="far, west",north'),
        (["score"], "score=3", "--edges=score=1:4:1"),
        (["points=score"], "points=3", "--edges=points=1:4:1"),
        (["score", "region"], "score=3,region=2", "--edges=score=1:4:1"),
    ],
)
def test_values_that_nobody_states_are_read_and_can_be_stated(capsys, people, columns, domain, stated):
    asked = ["compare", "histogram", "--data", people, *(f"--column={one}" for one in columns), *DROP, *FAST]
    status, out, _ = run(capsys, *asked)
    assert status == 0
    assert f"over domain {domain}," in out
    assert stated in out.replace("'", "")
    assert f"{run_json(capsys, *asked, stated)['users']} of 402 rows" in out


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["compare", "optimise"])
def test_missing_answers_have_a_value_of_their_own_where_nobody_states_any(capsys, people, command, tmp_path):
    """And rows are lost nowhere: the control drops two of them."""
    out = tmp_path / "x.ldp.json"
    asked = [command, "prefix", "--data", people, "--column", "age", *FAST, "--seconds", "2"]
    status, said, _ = run(capsys, *asked, *(["-o", out] if command == "optimise" else []))
    assert status == 0
    assert "402 of 402 rows counted" in said
    assert "2 of 402 rows count as 'no answer'." in said
    assert "'--edges=age=0:90:5,no answer'" in said
    assert "400 of 402 rows counted" in run(capsys, *asked, *DROP)[1]
    if command == "optimise":
        (age,) = st.load_mechanism(out).attributes
        assert age.values == st.bins("0:90:5", no_answer=True).values
        data = run_json(capsys, *asked)
        assert data["values"] == {"age": "0:90:5,no answer"}


def test_a_workload_that_fixes_its_domain_reads_its_columns(capsys, tmp_path):
    asked = tmp_path / "asked.toml"
    asked.write_text(
        'title = "both"\ndomain = { score = 2, sex = 2 }\n[[query]]\non = { score = "prefix", sex = "identity" }\n'
    )
    (tmp_path / "two.csv").write_text("score,sex\n1,f\n1,m\n0,m\n9,f\n")
    options = ["--data", tmp_path / "two.csv", "--column", "score", "--column", "sex", "--labels", "sex=f,m"]
    data = run_json(capsys, "compare", asked, *options, *DROP, *FAST)
    assert (data["users"], data["outside"]) == (3, {"score above 1": 1})


MISTAKES = {
    "no column": (["--edges=0:90:15"], "belong together"),
    "absent column": (["--column", "agee"], "did you mean age"),
    "texts among numbers": (
        ["--column", "income", "--edges=0:600:50"],
        r"income not a number \d+, income missing 1; texts 'x'",
    ),
    "texts and edges": (["--column", "region", "--edges=0:4:1"], "region not a number"),
    "no steps": (["--column", "age", "--edges=90:0:20"], "steps above zero"),
    "no edges": (["--column", "age", "--edges=0-90"], "neither START:STOP:STEP"),
    "edges of another": (["--column", "age", "--column", "score", "--edges=0:90:15"], "--edges age="),
    "both": (["--column", "age", "--edges=0:90:15", "--labels=a,b"], "both"),
    "twice": (["--column", "age", "--column", "age"], "twice"),
    "nobody inside": (["--column", "age", "--edges=200:300:10", *DROP], "no row inside"),
    "an axis": (["--column", "score", "--over", "epsilon=1,2", *DROP], "leave one of them out"),
    "too many types": (["--column", "score", "--domain", "5000", *DROP], f"at most {DETAILED}"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_does_not_fit_is_one_sentence(capsys, people, name):
    options, words = MISTAKES[name]
    assert_refused(capsys, ["compare", "prefix", "--data", people, *FAST, *options], words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a\n", "holds no values"),
        ("a\nNA\n\n", "holds no values"),
        ("a\n" + "\n".join(f"t{k}" for k in range(300)), "300 different texts, none of them"),
    ],
)
def test_columns_that_say_too_little_or_too_much(capsys, tmp_path, content, words):
    (tmp_path / "c.csv").write_text(content)
    asked = ["compare", "histogram", "--data", tmp_path / "c.csv", "--column", "a", *FAST]
    assert_refused(capsys, asked, words)


def test_a_column_alone_is_refused(capsys):
    assert_refused(capsys, ["compare", "prefix", "--column", "age", *FAST], "belong together")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("edges", "domain"),
    [
        (["--edges=0:8:1"], "8"),
        (["--edges=age=0:8:1"], "age=8"),
        (["--edges=age=0:4:2", "--labels=sex=f,m"], "age=2,sex=2"),
    ],
)
def test_optimise_takes_its_domain_from_edges_and_labels(capsys, tmp_path, edges, domain):
    data = run_json(capsys, "optimise", "histogram", *edges, *FAST, "-o", tmp_path / "m.ldp.json")
    assert data["domain"] == domain
    mechanism = st.load_mechanism(tmp_path / "m.ldp.json")
    assert mechanism.client.attributes[0]["edges"][0] == "0"
