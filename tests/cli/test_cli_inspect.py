"""The command `inspect`: what one report, ten and shuffled reports of a file reveal, and a memo for a bundle."""

import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from memos import memoised
from stratagem.math.privacy import limit
from stratagem.study import attacks as study


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("inspect") / "ages.ldp.json"
    return st.optimise(st.prefix(8), 1.0).save(path)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    path = tmp_path_factory.mktemp("inspect") / "once.ldp.json"
    return st.optimise(st.prefix(5), 0.5).mechanism().save(path)


def test_it_says_what_one_report_and_ten_of_a_file_tell(bundle, capsys):
    found, expected = run_json(capsys, "inspect", bundle), st.study.attack(st.load_mechanism(bundle).strategy)
    assert found["best_guess"] == expected.guess
    assert (found["guess_without_report"], found["advantage"]) == (1 / 8, expected.advantage)
    assert found["roc"] == [list(point) for point in expected.roc]
    assert found["all_reports"] is None
    assert found["ten_reports"]["epsilon"] == pytest.approx(10)
    status, out, err = run(capsys, "inspect", bundle)
    assert (status, err) == (0, "")
    assert plain(out).startswith(plain(str(expected)))
    assert "together tell at most what epsilon 10 allows" in plain(out)
    guess = study.guess_of_several(st.load_mechanism(bundle).strategy, 10)
    assert found["ten_reports"]["best_guess"] == guess
    assert "a guess that was 50 % likely before is at most 99.996 % likely after them." in plain(out)
    assert f"answers from them is right with probability {limit(guess)}." in plain(out)


def test_it_says_what_shuffled_reports_of_a_file_tell(bundle, capsys):
    found = run_json(capsys, "inspect", bundle, "--users", 5_000, "--delta", 1e-5)["shuffled"]
    expected = st.load_mechanism(bundle).shuffled(5_000, 1e-5)
    assert found == {
        "epsilon": expected.epsilon,
        "delta": 1e-5,
        "users": 5_000,
        "local": expected.local,
        "generic": expected.generic,
    }
    assert 0 < found["epsilon"] < found["generic"] < found["local"]
    assert plain(run(capsys, "inspect", bundle)[1]).endswith(
        plain(str(st.load_mechanism(bundle).shuffled(10_000)))
    )


def test_all_reports_of_a_memo_reach_the_permanent_table(tmp_path, capsys):
    """The control is the bundle without a memo: one report of either tells the same."""
    found = memoised("pairs")
    path = found.save(tmp_path / "memo.ldp.json")
    told = run_json(capsys, "inspect", path)
    Q = found.memo.permanent_table.strategy.dense().matrix
    every, one = told["all_reports"], st.study.attack(found.strategy)
    assert every["best_guess"] == pytest.approx(Q.max(axis=1).sum() / 4) == pytest.approx(0.440, abs=5e-4)
    assert every["epsilon"] == pytest.approx(2)
    assert (told["best_guess"], told["epsilon"]) == (one.guess, one.epsilon)
    assert told["best_guess"] == pytest.approx(0.311, abs=5e-4)
    assert told["ten_reports"]["epsilon"] == found.memo.epsilon(10)
    status, out, err = run(capsys, "inspect", path)
    assert (status, err) == (0, "")
    assert plain(out).startswith(plain(f"{one} {study.attack_repeated(found.memo)} {found.memo}"))
    words = (
        "at most 44.1 % with all reports about one value and the best attack on them, 25 % without",
        "by all reports about one value, raises a true alarm",
        "It holds for one report of each person: repeated reports of one person add up and are not covered.",
    )
    assert all(one in plain(out) for one in words)


def test_a_bundle_gets_a_memo_and_says_what_it_promises(once, tmp_path, capsys):
    out = tmp_path / "again.ldp.json"
    made = run_json(capsys, "inspect", once, "--memo", 2, "-o", out)
    found = st.load_mechanism(out)
    assert (made["permanent_epsilon"], made["file"]) == (2.0, str(out))
    assert run_json(capsys, "inspect", out)["promised"] == made["promised"]
    for row in made["promised"]:
        assert row["epsilon"] == found.memo.epsilon(row["reports"])
    errors = [row["error"] for row in made["promised"]]
    assert errors[0] == 1
    assert errors == sorted(errors, reverse=True)
    assert_refused(
        capsys, ("inspect", once, "--memo", 2, "-o", out), "exists: name another file, or give --force"
    )


@pytest.mark.exhaustive
def test_a_report_says_what_a_person_gives_away(once, tmp_path, capsys):
    memo = st.load_mechanism(once).memoised(2).save(tmp_path / "memo.ldp.json")
    pages = []
    for path in (memo, once):
        page = tmp_path / f"{path.stem}.html"
        assert run(capsys, "summary", path, "-o", page)[0] == 0
        pages.append(page.read_text("utf-8"))
    assert ["2 for any number" in page for page in pages] == [True, False]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--memo", 0.4), "is 0.4, but one report alone has 0.5"),
        (("-o", "x.ldp.json"), "nothing is made"),
        (("--memo", 2, "-o", "x.npz"), "ldp.json"),
        (("--users", 0), "number of users is 0"),
        (("--delta", 0), "delta is 0"),
        (("--domain", 8), "No such option"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(once, options, words, capsys):
    assert_refused(capsys, ("inspect", once, *options), words)


def test_what_is_no_bundle_is_refused(tmp_path, capsys):
    assert_refused(capsys, ("inspect", "missing.ldp.json"), "missing.ldp.json")
    path = st.optimise(st.prefix(4), 1.0).save(tmp_path / "doubles.npz")
    assert run_json(capsys, "inspect", path)["epsilon"] <= 1
    assert_refused(capsys, ("inspect", path, "--memo", 2), "is no mechanism file, which --memo needs")


@pytest.mark.parametrize("command", ["attack", "metric", "repeat", "shuffle"])
def test_a_retired_command_names_what_took_its_place(command, capsys):
    words = "optimise WORKLOAD" if command == "metric" else "inspect FILE"
    assert_refused(capsys, (command, "ages.ldp.json", "--epsilon", 1), words)
