"""The commands of two rounds: `rounds` makes the second bundle, `estimate --first` answers from both."""

import json

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run, run_json
from stratagem.collection.tally import Tally, read_tally, tally_data


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """The bundles and counts of both rounds, as files."""
    folder = tmp_path_factory.mktemp("rounds")
    first = st.optimise(st.prefix(st.bins("0:80:10")), 1.0, seconds=2).mechanism()
    paths = [folder / name for name in ("one.ldp.json", "one.json", "two.ldp.json", "two.json")]
    first.save(paths[0])
    counted(first, np.array([100, 200, 100, 0, 0, 0, 0, 0]), paths[1])
    second = st.study.second_round(first, read_tally(paths[1], first.form).counts, users=1600)
    second.save(paths[2])
    counted(second, np.full(second.domain.sizes[0], 200), paths[3])
    return paths


def counted(mechanism, x, path):
    """Write the counts of simulated reports of x[k] people of value k."""
    tally = Tally(mechanism.strategy.histogram(x, np.random.default_rng(1)), {}, 0, 0, 0)
    path.write_text(json.dumps(tally_data(tally, mechanism.identifier)))


def test_the_second_bundle_is_that_of_the_library(survey, tmp_path, capsys):
    one, counts, two, _ = survey
    out = tmp_path / "second.ldp.json"
    status, said, err = run(capsys, "rounds", one, counts, "--users", 1600, "-o", out)
    assert (status, err) == (0, "")
    assert "8 values merged into" in said
    assert "400 reports chose them" in said
    assert out.read_bytes() == two.read_bytes()
    again = run_json(capsys, "rounds", one, counts, "--cells", 2, "-o", out, "--force")
    assert len(again["edges"]) == 3
    assert again["mechanism"] == st.load_mechanism(out).identifier


@pytest.mark.parametrize("pooled", [False, True])
def test_the_second_round_answers_or_both_together(survey, pooled, capsys):
    one, counts, two, more = survey
    first, second = st.load_mechanism(one), st.load_mechanism(two)
    tallies = read_tally(counts, first.form).counts, read_tally(more, second.form).counts
    expected = st.study.combine(first, tallies[0], second, tallies[1], pooled=pooled)
    option = ["--pooled"] if pooled else []
    found = run_json(capsys, "estimate", two, more, "--first", one, counts, "--quantile", 0.5, *option)
    assert [each["answer"] for each in found["answers"]] == pytest.approx(expected.answers.tolist())
    assert (found["users"], found["unbiased"]) == (expected.users, not pooled)
    assert found["answers"][0]["label"].startswith("value below 10")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rounds", 0, 3, "-o", "x.ldp.json"), "another mechanism|of mechanism|made with"),
        (("rounds", 0, 1, "-o", "x.json"), "ldp.json"),
        (("rounds", 0, 1, "-o", "x.ldp.json", "--cells", 1), "the number of merged bins is 1"),
        (("estimate", 0, 1, "--first", 2, 3), "not merged from those of the first"),
        (("estimate", 2, 3, "--pooled"), "without a first round"),
        (("estimate", 2, 3, "--first", 0, 3), "another mechanism|of mechanism|made with"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(survey, arguments, words, capsys):
    given = [survey[part] if isinstance(part, int) and i else part for i, part in enumerate(arguments)]
    if "--cells" in arguments:
        given[-1] = 1
    assert_refused(capsys, given, words)


def test_a_bundle_is_not_overwritten(survey, tmp_path, capsys):
    out = tmp_path / "second.ldp.json"
    out.write_text("")
    assert_refused(capsys, ("rounds", *survey[:2], "-o", out), "--force")


@pytest.mark.exhaustive
def test_a_survey_is_planned_asked_and_asked_again(tmp_path, monkeypatch, capsys):
    """The plan says that a second round pays for pay, and the command that it names makes one that answers."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    pay, towns = np.minimum(rng.lognormal(2.0, 0.5, 4000), 127), rng.choice(["ash", "elm"], 4000)
    rows = [f"{amount:.2f},{town}" for amount, town in zip(pay, towns, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["pay,town", *rows]))
    options = ("--edges", "pay=0:128:4", "--labels", "town=ash,elm", "--only", "--seconds", 6)
    planned = run_json(capsys, "plan", "people.csv", *options)
    (note,) = (
        one for one in planned["notes"] if one.startswith("Two rounds would cut the typical error of pay by")
    )
    assert "collect 800 people" in note
    command = note.split("`")[1].split()
    assert command[:5] == ["stratagem", "rounds", "people.ldp.json", "COUNTS", "--users"]
    run(capsys, "randomise", "people.ldp.json", "--data", "people.csv", "-o", "reports.jsonl")
    command[3] = "reports.jsonl"
    status, said, _ = run(capsys, *command[1:])
    assert status == 0
    assert "pay: 32 values merged into" in said
    assert "town" not in said
    _, told, _ = run(capsys, *command[1:], "--force", "--json")
    assert list(json.loads(told)["edges"]) == ["pay"]
    run(capsys, "randomise", "SECOND.ldp.json", "--data", "people.csv", "-o", "more.jsonl")
    _, told, _ = run(capsys, "estimate", "SECOND.ldp.json", "more.jsonl", "--queries", 99, "--json")
    found = json.loads(told)
    assert found["unbiased"]
    assert any("ash" in one["label"] for one in found["answers"])


def test_a_plan_for_even_numbers_does_not_advise_two_rounds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "even.csv").write_text(
        "\n".join(["pay", *map(str, np.random.default_rng(1).integers(0, 128, 4000))])
    )
    options = ("--column", "pay", "--edges=0:128:4", "--only", "--seconds", 4)
    assert "Two rounds" not in str(run_json(capsys, "plan", "even.csv", *options)["notes"])
