"""Objectives and priors on the command line: the same options for `optimise`, `compare` and `bound`."""

import json

import numpy as np
import pytest
from scipy.io import loadmat

import stratagem as st
from commands import assert_refused, run

SMALL = ("prefix", "--domain", "6", "--epsilon", "1")
PRIOR = np.arange(1.0, 7.0)


@pytest.fixture
def ages(tmp_path):
    np.save(tmp_path / "ages.npy", PRIOR)
    return tmp_path / "ages.npy"


@pytest.mark.parametrize("command", ["optimise", "compare", "bound"])
@pytest.mark.parametrize("kind", ["average", "worst-query"])
def test_every_command_takes_an_objective_and_a_prior(capsys, ages, command, kind):
    asked = (command, *SMALL, "--objective", kind, "--prior", ages, "--json")
    status, out, err = run(capsys, *asked)
    assert (status, err) == (0, "")
    data, aim = json.loads(out), {"objective": kind, "prior": PRIOR}
    if command == "bound":
        tight = st.optimise(st.prefix(6), 1.0, **aim).lower_bound
        assert 0.9 * tight <= data["best"] <= tight * (1 + 1e-9)
        return
    assert (data["objective_kind"], data["prior"]) == (kind, str(ages))
    rows = st.compare(st.prefix(6), 1.0, **aim).rows
    if command == "compare":
        ours = [(row["mechanism"], row["objective"]) for row in data["mechanisms"]]
        assert [name for name, _ in ours] == [row.mechanism for row in rows]
        np.testing.assert_allclose([value for _, value in ours], [row.objective for row in rows], rtol=1e-6)
    else:
        assert data["objective"] == pytest.approx(rows[0].objective, rel=1e-6)


@pytest.mark.parametrize("command", ["optimise", "compare", "bound"])
def test_what_no_objective_allows_is_one_sentence(capsys, ages, tmp_path, command):
    (tmp_path / "empty.csv").write_text("")
    wrong = {
        "leave the prior out": ("--objective", "worst-case", "--prior", ages),
        "must be one of average": ("--objective", "best"),
        "holds no numbers, but needs at least one row": ("--prior", tmp_path / "empty.csv"),
    }
    for words, options in wrong.items():
        status, out, err = run(capsys, command, *SMALL, *options)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert words in err


def test_a_prior_is_written_or_the_file_is_refused(capsys, ages, tmp_path):
    files = {suffix: tmp_path / f"s{suffix}" for suffix in (".npz", ".mat", ".csv")}
    asked = ("optimise", *SMALL, "--prior", ages, "-o", files[".npz"])
    assert run(capsys, *asked)[2] == ""
    assert run(capsys, "export", files[".npz"], "-o", files[".mat"])[2] == ""
    np.testing.assert_allclose(loadmat(files[".mat"])["prior"].ravel(), PRIOR / PRIOR.sum())
    assert_refused(capsys, ["export", files[".npz"], "-o", files[".csv"]], "prior")
    assert not files[".csv"].exists()


def test_tight_bounds_of_a_worst_case(capsys):
    asked = ("bound", "prefix", "--domain", "12", "--epsilon", "3", "--objective", "worst-case", "--json")
    quick, tight = (json.loads(run(capsys, *asked, *more)[1]) for more in ((), ("--seconds", "120")))
    assert 0 < quick["best"] <= tight["best"]
