"""The command `attack`: what one report of a file tells, and caps on it."""

import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from memos import memoised
from stratagem.study import attack as study


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("attack") / "ages.ldp.json"
    return st.optimise(st.prefix(8), 1.0).save(path)


def test_it_says_what_one_report_of_a_file_tells(bundle, capsys):
    found, expected = run_json(capsys, "attack", bundle), st.attack(st.load_mechanism(bundle).strategy)
    assert found["best_guess"] == expected.guess
    assert (found["guess_without_report"], found["advantage"]) == (1 / 8, expected.advantage)
    assert found["roc"] == [list(point) for point in expected.roc]
    status, out, err = run(capsys, "attack", bundle)
    assert (status, err) == (0, "")
    assert plain(out) == plain(str(expected))
    assert found["all_reports"] is None


def test_all_reports_of_a_memo_reach_the_permanent_table(tmp_path, capsys):
    """The control is the bundle without a memo: one report of either tells the same."""
    found = memoised("pairs")
    path = found.save(tmp_path / "memo.ldp.json")
    told = run_json(capsys, "attack", path)
    Q = found.memo.permanent_table.strategy.dense().matrix
    every, one = told.pop("all_reports"), st.attack(found.strategy)
    assert every["best_guess"] == pytest.approx(Q.max(axis=1).sum() / 4) == pytest.approx(0.440, abs=5e-4)
    assert every["epsilon"] == pytest.approx(2)
    assert (told["best_guess"], told["epsilon"]) == (one.guess, one.epsilon)
    assert told["best_guess"] == pytest.approx(0.311, abs=5e-4)
    status, out, err = run(capsys, "attack", path)
    assert (status, err) == (0, "")
    assert plain(out) == plain(f"{one} {study.attack_repeated(found.memo)}")
    assert (
        "at most 44.1 % with all reports about one value and the best attack on them, 25 % without"
        in plain(out)
    )
    assert "by all reports about one value, raises a true alarm" in plain(out)


@pytest.mark.exhaustive
def test_it_finds_a_capped_strategy_and_a_frontier(tmp_path, capsys):
    out, picture = tmp_path / "capped.ldp.json", tmp_path / "frontier.png"
    found = run_json(capsys, "attack", "prefix", "--domain", 8, "--epsilon", 1, "--guess", 0.2, "-o", out)
    assert st.attack(st.load_mechanism(out).strategy).guess <= 0.2 * (1 + 1e-6)
    assert found["lower_bound"] <= found["objective"]
    assert found["objective_without_cap"] < found["objective"]
    line = run_json(capsys, "attack", "histogram", "--domain", 4, "--epsilon", 1, "--plot", picture)
    assert len(line["frontier"]) == 6
    assert picture.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prefix", "--domain", 8), "without a privacy budget"),
        (("prefix", "--domain", 8, "--epsilon", 1, "--guess", 0.1), "must be above 1/8"),
        (("prefix", "--domain", 8, "--epsilon", 1, "-o", "x.ldp.json"), "choose one by --guess"),
        (
            ("prefix", "--domain", 8, "--epsilon", 1, "--guess", 0.2, "--plot", "x.png"),
            "leave one of the two out",
        ),
        (("prefix", "--domain", 8, "--epsilon", 0, "--guess", 0.2), "epsilon is 0"),
        (("missing.ldp.json",), "missing.ldp.json"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments, words, capsys):
    assert_refused(capsys, ("attack", *arguments), words)


@pytest.mark.parametrize("option", [("--epsilon", 1), ("--guess", 0.2), ("-o", "again.ldp.json")])
def test_a_file_takes_no_option_of_the_search(bundle, option, capsys):
    assert_refused(capsys, ("attack", bundle, *option), "already made: leave it out")


def test_a_csv_file_holds_queries_and_no_strategy(tmp_path, capsys):
    path = tmp_path / "queries.csv"
    path.write_text("1,0,0\n0,1,0\n0,0,1\n")
    assert run_json(capsys, "attack", path, "--epsilon", 1, "--guess", 0.9)["cap"] == 0.9
