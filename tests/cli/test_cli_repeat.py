"""The command `repeat`: what a bundle promises about repeated reports, a memo for a bundle, and mechanisms for both."""

import json

import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    path = tmp_path_factory.mktemp("repeat") / "once.ldp.json"
    return st.optimise(st.prefix(5), 0.5).mechanism().save(path)


def test_a_bundle_gets_a_memo_and_says_what_it_promises(bundle, tmp_path, capsys):
    out = tmp_path / "again.ldp.json"
    made = run_json(capsys, "repeat", bundle, "--permanent", 2, "-o", out)
    found = st.load_mechanism(out)
    assert (made["epsilon"], made["permanent_epsilon"], made["file"]) == (0.5, 2.0, str(out))
    assert run_json(capsys, "repeat", out)["promised"] == made["promised"]
    for row in made["promised"]:
        assert row["epsilon"] == found.memo.epsilon(row["reports"])
    errors = [row["error"] for row in made["promised"]]
    assert errors[0] == 1
    assert errors == sorted(errors, reverse=True)
    status, text, err = run(capsys, "repeat", out)
    assert (status, err) == (0, "")
    assert plain(str(found.memo)) in plain(text)


def test_a_workload_gets_a_mechanism_whose_reports_are_estimated_over_rounds(tmp_path, capsys):
    out, reports, counts = (tmp_path / name for name in ("memo.ldp.json", "reports.jsonl", "counts.json"))
    arguments = ("histogram", "--domain", 4, "--epsilon", 0.5, "--permanent", 2, "--rounds", 3)
    made = run_json(capsys, "repeat", *arguments, "-o", out)
    found = st.load_mechanism(out)
    assert made["kept"] == found.memo.kept
    lines = [json.dumps(found.client.report(cell)) for cell in [0, 1, 2] * 3]
    reports.write_text("\n".join(lines), "utf-8")
    assert run(capsys, "aggregate", out, reports, "-o", counts)[0] == 0
    estimated = run_json(capsys, "estimate", out, counts, "--rounds", 3)
    assert (estimated["users"], estimated["epsilon"], estimated["rounds"]) == (3, 2.0, 3)
    said = run(capsys, "estimate", out, counts, "--rounds", 3)[1]
    assert "epsilon 2, 3 people with 3 reports each" in plain(said)
    (tmp_path / "anna").mkdir()
    assert run(capsys, "randomise", out, "--value", 2, "--value", 2, "--memo", tmp_path / "anna")[0] == 0
    assert len([*(tmp_path / "anna").iterdir()]) == 1
    assert_refused(capsys, ("randomise", out, "--value", 2), "name a folder with --memo")
    assert_refused(capsys, ("randomise", out, "--value", 2, "--memo", tmp_path / "eve"), "is no folder")
    assert_refused(
        capsys, ("estimate", out, counts, "--rounds", 2), "not the same number in each of 2 rounds"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prefix", "--domain", 8), "add for example --epsilon 0.5"),
        (("prefix", "--domain", 8, "--epsilon", 1), "add for example --permanent 2"),
        (("prefix", "--domain", 8, "--epsilon", 1, "--permanent", 1), "must be above 1"),
        (("prefix", "--domain", 8, "--epsilon", 1, "--permanent", 2, "--rounds", 0), "number of rounds"),
        (("prefix", "--domain", 8, "--epsilon", 1, "--permanent", 2, "-o", "x.npz"), "ldp.json"),
        (("missing.ldp.json",), "missing.ldp.json"),
        (("total", "--domain", 4, "--epsilon", 0.5, "--permanent", 2), "without an error"),
        (("histogram", "--domain", 1, "--epsilon", 0.5, "--permanent", 2), "without an error"),
        (("prefix", "--domain", 4, "--epsilon", 1, "--permanent", 40), "at most 36"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments, words, capsys):
    assert_refused(capsys, ("repeat", *arguments), words)


def test_a_bundle_is_refused_what_it_answers_itself(bundle, tmp_path, capsys):
    assert_refused(capsys, ("repeat", bundle), "add a memo with --permanent 2")
    assert_refused(capsys, ("repeat", bundle, "--permanent", 0.4), "is 0.4, but one report alone has 0.5")
    assert_refused(capsys, ("repeat", bundle, "--permanent", 2, "--rounds", 3), "already made: leave it out")
    memo = st.load_mechanism(bundle).memoised(2).save(tmp_path / "memo.ldp.json")
    assert_refused(capsys, ("repeat", memo, "-o", tmp_path / "x.ldp.json"), "nothing is made")


def test_a_report_says_what_a_person_gives_away(bundle, tmp_path, capsys):
    memo = st.load_mechanism(bundle).memoised(2).save(tmp_path / "memo.ldp.json")
    pages = []
    for path in (memo, bundle):
        page = tmp_path / f"{path.stem}.html"
        assert run(capsys, "report", path, "-o", page)[0] == 0
        pages.append(page.read_text("utf-8"))
    assert ["2 for any number" in page for page in pages] == [True, False]
