"""The command `shuffle`: of a saved strategy, and for a central epsilon."""

import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from memos import memoised


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("shuffle") / "ages.ldp.json"
    return st.optimise(st.prefix(8), 1.0).save(path)


def test_it_says_what_shuffled_reports_of_a_file_tell(bundle, capsys):
    found = run_json(capsys, "shuffle", bundle, "--users", 10_000)
    expected = st.load_mechanism(bundle).shuffled(10_000)
    assert found == {
        "epsilon": expected.epsilon,
        "delta": 1e-6,
        "users": 10_000,
        "local": expected.local,
        "generic": expected.generic,
    }
    assert 0 < found["epsilon"] < found["generic"] < found["local"]
    status, out, err = run(capsys, "shuffle", bundle, "--users", 10_000)
    assert (status, err) == (0, "")
    assert plain(out) == plain(str(expected))


def test_repeated_reports_of_one_person_are_not_covered(tmp_path, capsys):
    found = memoised("pairs")
    status, out, err = run(capsys, "shuffle", found.save(tmp_path / "memo.ldp.json"), "--users", 10_000)
    assert (status, err) == (0, "")
    words = (
        "It holds for one report of each person: repeated reports of one person add up and are not covered."
    )
    assert plain(out) == plain(f"{found.shuffled(10_000)} {words}")


@pytest.mark.exhaustive
def test_it_designs_for_a_central_epsilon_and_saves_a_bundle(tmp_path, capsys):
    out = tmp_path / "found.ldp.json"
    options = (
        "--domain",
        4,
        "--labels",
        "tea,coffee,water,other",
        "--epsilon",
        0.1,
        "--users",
        1000,
        "-o",
        out,
    )
    found = run_json(capsys, "shuffle", "histogram", *options)
    mechanism = st.load_mechanism(out)
    assert mechanism.shuffled(1000).epsilon <= 0.1 * (1 + 1e-4)
    assert mechanism.attributes[0].labels == ("tea", "coffee", "water", "other")
    assert found["epsilon"] <= 0.1 < found["local"]
    assert found["objective"] <= found["own_pairs"]["objective"] <= found["safe_for_all"]["objective"]
    assert found["lower_bound"] <= found["objective"]
    assert_refused(capsys, ("shuffle", "histogram", *options), "exists: name another file, or give --force")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prefix", "--domain", 8, "--users", 10), "without a central epsilon to reach"),
        (("prefix", "--domain", 8, "--users", 0, "--epsilon", 0.1), "number of users is 0"),
        (("prefix", "--domain", 8, "--users", 10, "--epsilon", 20), "at most the local one"),
        (("prefix", "--domain", 8, "--users", 10, "--epsilon", 0.1, "--delta", 0), "delta is 0"),
        (("prefix", "--domain", 8, "--users", 10, "--epsilon", 0.1, "-o", "x.csv"), "ldp.json"),
        (("missing.ldp.json", "--users", 10), "missing.ldp.json"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments, words, capsys):
    assert_refused(capsys, ("shuffle", *arguments), words)


@pytest.mark.parametrize(
    "option", [("--epsilon", 0.1), ("--domain", 8), ("-o", "again.ldp.json"), ("--seed", 1)]
)
def test_a_file_takes_no_option_of_the_search(bundle, option, capsys):
    assert_refused(capsys, ("shuffle", bundle, "--users", 10, *option), "already made: leave it out")


def test_a_csv_file_holds_queries_and_no_strategy(tmp_path, capsys):
    path = tmp_path / "queries.csv"
    path.write_text("1,0,0\n0,1,0\n0,0,1\n")
    assert_refused(capsys, ("shuffle", path, "--users", 10), "without a central epsilon to reach")
