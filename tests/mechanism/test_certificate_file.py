"""Certificates of bounds: written, checked by the package, and by twenty lines of numpy that share nothing with it."""

import json
import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from commands import plain, run, run_json
from stratagem.mechanism.export.certificate_file import Certificate, certified, load_certificate
from stratagem.solvers.problem import problem_of
from stratagem.study.bound_table import bound_sweep

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "20-how-far-from-optimal.ipynb"
FLOAT = 1e-6
"""What the twenty lines may be off by: they make no allowance for rounding."""
LARGE = "prefixes of 24 types, large patterns bounded"
CASES = {
    "prefixes of 12 types, all patterns listed": (st.prefix(12), 2.0, None),
    LARGE: (st.prefix(24), 3.0, None),
    "low rank": (st.explicit(np.random.default_rng(1).normal(size=(3, 9))), 1.0, None),
    "a prior with a zero": (st.all_range(6), 4.0, np.array([1.0, 2, 0, 4, 5, 6])),
}


def independent():
    """The check as it is printed in the notebook."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    found = [
        text
        for cell in cells
        if "certificate.npz" in (text := "".join(cell["source"])) and "def check" in text
    ]
    assert len(found) == 1
    lines = [line for line in found[0].splitlines() if line.strip()]
    start = next(i for i, line in enumerate(lines) if line.startswith("def check"))
    end = next(i for i, line in enumerate(lines[start + 1 :], start + 1) if not line.startswith(" "))
    assert end - start <= 20
    assert "stratagem" not in "\n".join(lines[start:end])
    space = {}
    exec("import numpy as np\nfrom itertools import combinations\n" + "\n".join(lines[start:end]), space)
    return space["check"]


@cache
def certificate_of(name):
    workload, epsilon, prior = CASES[name]
    p = None if prior is None else prior / prior.sum()
    return certified(problem_of(workload, epsilon, prior=p), seconds=20)


@pytest.fixture(scope="module", params=CASES)
def written(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates") / "certificate.npz"
    return certificate_of(request.param), certificate_of(request.param).save(path)


@pytest.mark.sampled(2)
def test_a_certificate_is_read_back_with_its_bound(written):
    certificate, path = written
    found = load_certificate(path)
    assert found.value == pytest.approx(certificate.value, rel=1e-9)
    assert found.workload.matrix() == pytest.approx(certificate.workload.matrix())


@pytest.mark.sampled(4)
def test_twenty_lines_of_numpy_agree(written):
    certificate, path = written
    V = certificate.workload.gram()
    assert independent()(path, V) == pytest.approx(certificate.value, rel=FLOAT)


def test_the_twenty_lines_take_the_queries_from_outside_the_file(written, tmp_path):
    """A file made for easier queries proves no more about those that were named."""
    certificate, path = written
    arrays = dict(np.load(path))
    np.savez(tmp_path / "other.npz", **{**arrays, "gram": 4 * arrays["gram"]})
    V = certificate.workload.gram()
    assert independent()(tmp_path / "other.npz", V) == independent()(path, V)


def test_the_twenty_lines_refuse_pairs_of_a_type_with_itself(tmp_path):
    """The bound by the size of a set takes N to be zero on its diagonal."""
    made = certificate_of(LARGE)
    path = made.save(tmp_path / "proof.npz")
    arrays = dict(np.load(path))
    assert not np.diag(arrays["avoided"]).any()
    np.savez(tmp_path / "diagonal.npz", **{**arrays, "avoided": arrays["avoided"] - 1e-3 * np.eye(24)})
    with pytest.raises(AssertionError):
        independent()(tmp_path / "diagonal.npz", made.workload.gram())


BETTER = {
    "value": 1.01,
    "prices": 0.99,
    "avoided": 0.99,
    "gamma": 1.01,
    "epsilon": 1.01,
    "spread": 0.99,
}


def assert_better_is_refused(certificate, path, name, tmp_path):
    arrays = dict(np.load(path))
    assert np.any(arrays[name])
    arrays[name] = arrays[name] * BETTER[name]
    np.savez(tmp_path / "better.npz", **arrays)
    with pytest.raises(ValueError, match="prove"):
        load_certificate(tmp_path / "better.npz")
    proved = independent()(tmp_path / "better.npz", certificate.workload.gram())
    assert proved < float(arrays["value"]) * (1 - FLOAT / 100)


@pytest.mark.parametrize("name", [one for one in BETTER if one != "spread"])
def test_a_number_made_better_by_one_percent_is_refused(written, name, tmp_path):
    """Negative control. A larger epsilon would claim the bound for more strategies; no level r is better as such."""
    assert_better_is_refused(*written, name, tmp_path)


def test_a_spread_made_better_by_one_percent_is_refused_where_large_patterns_are_bounded(tmp_path):
    """Where all patterns are listed it is zero."""
    made = certificate_of(LARGE)
    assert_better_is_refused(made, made.save(tmp_path / "proof.npz"), "spread", tmp_path)


def test_another_workload_is_refused(written, tmp_path):
    _, path = written
    arrays = dict(np.load(path))
    np.savez(tmp_path / "other.npz", **{**arrays, "gram": 1.01 * arrays["gram"]})
    with pytest.raises(ValueError, match="gram"):
        load_certificate(tmp_path / "other.npz")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gamma", lambda a: a[:-1]),
        ("gamma", lambda a: a * np.nan),
        ("avoided", lambda a: a + np.triu(np.ones_like(a), 1)),
        ("prices", lambda a: a.astype(str)),
        ("specification", lambda a: np.str_("[")),
        ("epsilon", lambda a: np.float64(-1)),
    ],
)
def test_damaged_files_are_one_sentence(tmp_path, name, change):
    path = certified(problem_of(st.prefix(5), 1.0), seconds=1).save(tmp_path / "c.npz")
    arrays = dict(np.load(path))
    arrays[name] = change(arrays[name])
    np.savez(tmp_path / "damaged.npz", **arrays)
    with pytest.raises(ValueError, match=re.escape("damaged.npz")) as caught:
        load_certificate(tmp_path / "damaged.npz")
    assert "\n" not in str(caught.value)


def test_strategies_and_missing_files_are_no_certificates(tmp_path):
    path = st.optimise(st.prefix(4), 1.0).save(tmp_path / "strategy.npz")
    with pytest.raises(ValueError, match="no proof of a bound"):
        load_certificate(path)
    with pytest.raises(ValueError, match=re.escape("give the path of a proof of a bound")):
        load_certificate(tmp_path / "nothing.npz")


def test_a_solution_has_its_certificate():
    solution = st.optimise(st.prefix(6), 3.0)
    assert isinstance(solution.certificate, Certificate)
    assert solution.certificate.value == pytest.approx(solution.lower_bound, rel=1e-3)
    assert solution.certificate.value <= solution.objective
    with pytest.raises(ValueError, match="smaller domain"):
        _ = certified(problem_of(st.prefix(2048), 1.0))


def test_a_proof_that_a_solution_has_is_not_searched_for_again(monkeypatch, tmp_path):
    solution = st.optimise(st.prefix(16), 3.0, seconds=5.0)
    assert solution.bounds.name == "nonnegative"
    monkeypatch.setattr("stratagem.bounds.nonnegative.nonnegative", None)
    path = solution.certificate.save(tmp_path / "proof.npz")
    assert load_certificate(path).value == pytest.approx(solution.lower_bound, rel=1e-9)


@pytest.mark.parametrize("mean", [0.0, 1e4, 1e8])
def test_a_proof_beside_the_bounds_is_one_on_the_objective(mean):
    """Whatever the means of the queries add, which stand beside the bounds where they outweigh all else."""
    workload = st.explicit(np.tril(np.ones((6, 6))) + mean)
    (point,) = bound_sweep(workload, [1.0]).points
    proved, found = point.proved(math.inf, 5.0)
    assert proved.bounds.known()["nonnegative"] == pytest.approx(found.value, rel=1e-9)
    assert proved.bounds.best <= st.optimise(workload, 1.0, seconds=3.0).objective * (1 + 1e-9)


def test_the_command_line_writes_and_checks(capsys, tmp_path):
    path = str(tmp_path / "bound.npz")
    command = ["bound", "prefix", "--domain", "8", "--epsilon", "2", "--certificate", path]
    data = run_json(capsys, *command)
    assert data["certified"] == pytest.approx(data["exact"], rel=2e-3)
    status, _, err = run(capsys, *command)
    assert (status, "--force" in err) == (2, True)
    status, out, _ = run(capsys, "bound", "--check", path)
    assert status == 0
    assert f"{data['certified']:,.3f}"[:-1] in out
    assert "computed again from the arrays of" in plain(out)
    assert (
        "objective of every mechanism with unbiased estimates from one report per person is at least"
        in plain(out)
    )
    assert "for 8 queries of the kind prefix over domain 8." in plain(out)
    least = re.search(r"at least ([\d,]+) people are needed", plain(out))
    beside = re.search(r"at least ([\d,]+) people are needed", plain(run(capsys, *command[:6])[1]))
    (few, many) = (int(one[1].replace(",", "")) for one in (least, beside) if one is not None)
    assert few == pytest.approx(many, rel=3e-3)
    assert "Prefix(" not in out
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "value": arrays["value"] * 1.01})
    status, _, err = run(capsys, "bound", "--check", path)
    assert (status, "do not rely on it" in err) == (2, True)
    worst = [*command, "--objective", "worst-case", "--force"]
    named = [*command[:-1], str(tmp_path / "bound.csv")]
    checked = ["bound", "--check", path]
    for wrong in (["bound"], [*checked, "--epsilon", "9"], ["bound", "prefix", *checked[1:]], worst, named):
        assert run(capsys, *wrong)[0] == 2


@pytest.mark.parametrize("objective", ["worst-case", "worst-query"])
def test_a_largest_variance_has_no_certificate_of_its_own(objective):
    """Its bound is one on an average of other queries or another prior."""
    with pytest.raises(ValueError, match="optimise the average"):
        _ = st.optimise(st.prefix(4), 1.0, objective=objective).certificate
