"""The command `metric`: strategies for values on a line."""

import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from stratagem.mechanism.export.strategy_file import load
from stratagem.study.metric import measured

ASKED = ("metric", "prefix", "--domain", 6)


def test_it_finds_a_strategy_and_writes_its_matrix(tmp_path, capsys):
    out = tmp_path / "near.npz"
    found = run_json(capsys, *ASKED, "--step", "0.1,0.2,0.3,0.2,0.1", "-o", out)
    expected = st.optimise_metric(st.prefix(6), [0.1, 0.2, 0.3, 0.2, 0.1])
    assert found["steps"] == [0.1, 0.2, 0.3, 0.2, 0.1]
    assert found["objective"] == pytest.approx(expected.objective)
    assert found["lower_bound"] <= found["objective"] < found["geometric_objective"]
    assert (measured(load(out).strategy) <= expected.steps).all()
    bundle = tmp_path / "near.ldp.json"
    run_json(capsys, *ASKED, "--step", 0.5, "-o", bundle, "--edges", "0:60:10")
    assert st.load_mechanism(bundle).steps == ("0.5",) * 5
    assert run(capsys, "report", bundle, "-o", tmp_path / "page.html")[0] == 0
    assert "neighbouring values" in (tmp_path / "page.html").read_text("utf-8")
    status, said, err = run(capsys, *ASKED, "--step", 0.5)
    assert (status, err) == (0, "")
    assert plain(str(st.optimise_metric(st.prefix(6), 0.5))) in plain(said)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*ASKED, "--step", "a"), "give one number such as 0.1"),
        ((*ASKED, "--step", "0.1,"), "give one number such as 0.1"),
        ((*ASKED, "--step", 0), "must be numbers of at least"),
        ((*ASKED, "--step", "1e308"), "must be numbers of at least"),
        ((*ASKED, "--step", "1e308,1,1,1,1"), "must be numbers of at least"),
        ((*ASKED, "--step", "0.1,0.1"), "6 values have 5 pairs"),
        ((*ASKED, "--step", 0.1, "-o", "x.txt"), "its suffix must be one of"),
        (("metric", "marginals", "--domain", "2^3", "--step", 1), "the workload has 3 attributes"),
        (ASKED, "Missing option"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments, words, capsys):
    assert_refused(capsys, arguments, words)
