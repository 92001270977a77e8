"""The constraints of the command `optimise`: a cap on the best guess, a shuffler, a memo, steps between values."""

import json

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from stratagem.mechanism.export.saved import load

CAP = ("optimise", "prefix", "--domain", 8, "--epsilon", 1, "--guess-cap")
SHUFFLED = ("optimise", "prefix", "--domain", 8, "--epsilon", 0.1, "--shuffled-by")
MEMO = ("optimise", "prefix", "--domain", 8, "--epsilon", 1, "--memo")
STEPS = ("optimise", "prefix", "--domain", 6)


@pytest.mark.exhaustive
def test_it_finds_a_capped_strategy_and_a_frontier(tmp_path, capsys):
    out, picture = tmp_path / "capped.ldp.json", tmp_path / "frontier.png"
    found = run_json(capsys, *CAP, 0.2, "-o", out)
    assert st.load_mechanism(out).strategy.guess <= 0.2 * (1 + 1e-6)
    assert found["lower_bound"] <= found["objective"]
    assert found["objective_without_cap"] < found["objective"]
    asked = (
        "optimise",
        "histogram",
        "--domain",
        4,
        "--epsilon",
        1,
        "--guess-cap",
        "several",
        "--plot",
        picture,
    )
    line = run_json(capsys, *asked)
    assert len(line["frontier"]) == 6
    assert picture.exists()


def test_a_csv_file_of_queries_is_capped(tmp_path, capsys):
    path = tmp_path / "queries.csv"
    path.write_text("1,0,0\n0,1,0\n0,0,1\n")
    assert run_json(capsys, "optimise", path, "--epsilon", 1, "--guess-cap", 0.9)["cap"] == 0.9
    line = run_json(capsys, "optimise", path, "--epsilon", 1, "--guess-cap", "0.9,0.8")
    assert [one["cap"] for one in line["frontier"]] == [0.9, 0.8]


@pytest.mark.exhaustive
def test_it_designs_for_a_central_epsilon_and_saves_a_bundle(tmp_path, capsys):
    out = tmp_path / "found.ldp.json"
    asked = ("optimise", "histogram", "--domain", 4, "--labels", "tea,coffee,water,other")
    asked += ("--epsilon", 0.1, "--shuffled-by", 1000, "-o", out)
    found = run_json(capsys, *asked)
    mechanism = st.load_mechanism(out)
    assert mechanism.shuffled(1000).epsilon <= 0.1 * (1 + 1e-4)
    assert mechanism.attributes[0].values.texts == ("tea", "coffee", "water", "other")
    assert found["shuffled"]["epsilon"] <= 0.1 < found["shuffled"]["local"]
    assert found["objective"] <= found["own_pairs"]["objective"] <= found["safe_for_all"]["objective"]
    assert found["lower_bound"] <= found["objective"]
    assert_refused(capsys, asked, "exists: name another file, or give --force")


def test_a_workload_gets_a_memo_whose_reports_are_estimated_over_rounds(tmp_path, capsys):
    out, reports, counts = (tmp_path / name for name in ("memo.ldp.json", "reports.jsonl", "counts.json"))
    asked = ("optimise", "histogram", "--domain", 4, "--epsilon", 0.5, "--memo", 2, "--reports", 3)
    made = run_json(capsys, *asked, "-o", out)
    found = st.load_mechanism(out)
    assert made["kept"] == found.memo.kept
    printed = run(capsys, *asked, "-o", out, "--force")[1]
    assert printed.startswith(f"Ask {made['users_for_one_percent']['root_mean_square']:,} people: ")
    assert "saved in" not in printed
    assert "\nsaved:" in printed
    assert "\nrisks: a further report of one person reveals more (stratagem inspect" in printed
    assert "\nask:   stratagem collect " in printed
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
    assert_refused(capsys, ("estimate", out, counts, "--rounds", 2), "are not 2 reports per person")


SURVEY = """
title = "Towns"
[domain]
age = 4
region = 3
smoker = 2
[[query]]
on = { age = "prefix" }
[[query]]
on = { region = "identity", smoker = "identity" }
"""


@pytest.mark.exhaustive
def test_a_survey_gets_a_memo_whose_reports_are_about_one_part(tmp_path, capsys):
    file, out, reports, counts = (tmp_path / name for name in ("s.toml", "s.ldp.json", "r.jsonl", "c.json"))
    file.write_text(SURVEY, "utf-8")
    made = run_json(capsys, "optimise", file, "--epsilon", 0.5, "--memo", 2, "--seconds", 20, "-o", out)
    found = st.load_mechanism(out)
    assert [len(one.attributes) for one in found.table.parts] == [1, 2]
    assert (made["kept"], made["permanent_epsilon"]) == (found.memo.kept, 2)
    assert [row["error"] for row in made["promised"]] == sorted([row["error"] for row in made["promised"]])[
        ::-1
    ]
    said = run(capsys, "inspect", out)[1]
    assert "A device always asks the questions that chance gave it" in plain(said)
    assert "All reports about one unchanged value together reveal at most 2" in plain(said)
    lines, answers = [], ('{"age": 1, "region": 2, "smoker": 0}', '{"age": 3, "region": 0, "smoker": 1}')
    for person in range(12):
        (folder := tmp_path / f"person {person}").mkdir()
        own = ("--value", answers[person % 2]) * 2
        lines += run(capsys, "randomise", out, *own, "--memo", folder)[1].splitlines()
    outputs = np.array([json.loads(line)["output"] for line in lines]).reshape(12, 2)
    assert ((outputs >= found.strategy.offsets[1]).sum(axis=1) != 1).all()
    reports.write_text("\n".join(lines), "utf-8")
    assert run(capsys, "aggregate", out, reports, "-o", counts)[0] == 0
    estimated = run_json(capsys, "estimate", out, counts, "--rounds", 2)
    assert (estimated["users"], estimated["epsilon"], estimated["rounds"]) == (12, 2.0, 2)
    assert_refused(capsys, ("estimate", out, counts, "--rounds", 5), "are not 5 reports per person")
    assert_refused(capsys, ("randomise", out, "--value", answers[0]), "name a folder with --memo")
    assert run(capsys, "summary", out, "-o", tmp_path / "page.html")[0] == 0


def test_it_finds_a_strategy_for_steps_and_writes_its_matrix(tmp_path, capsys):
    out, steps = tmp_path / "near.npz", [0.1, 0.2, 0.3, 0.2, 0.1]
    found = run_json(capsys, *STEPS, "--step", "0.1,0.2,0.3,0.2,0.1", "-o", out)
    expected = st.optimise(st.prefix(6), constraints=[st.Steps(steps)])
    assert found["steps"] == steps
    assert found["objective"] == pytest.approx(expected.objective)
    assert found["lower_bound"] <= found["objective"] < found["published_objective"]
    assert expected.problem.constraints[0].holds(load(out).strategy, 1.0)
    bundle = tmp_path / "near.ldp.json"
    run_json(capsys, "optimise", "prefix", "--step", 0.5, "-o", bundle, "--edges", "0:60:10")
    assert st.load_mechanism(bundle).steps == ("0.5",) * 5
    assert run(capsys, "summary", bundle, "-o", tmp_path / "page.html")[0] == 0
    assert "neighbouring values" in (tmp_path / "page.html").read_text("utf-8")
    status, said, err = run(capsys, *STEPS, "--step", 0.5)
    assert (status, err) == (0, "")
    assert plain(str(st.optimise(st.prefix(6), constraints=[st.Steps(0.5)]))) in plain(said)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*CAP[:4], "--guess-cap", 0.2), "without a privacy budget"),
        ((*CAP, 0.1), "must be above 1/8"),
        ((*CAP, "a"), "give one number such as 0.1"),
        ((*CAP, "several", "-o", "x.ldp.json"), "choose one by --guess-cap"),
        ((*CAP, 0.2, "--plot", "x.png"), "--plot draws what several caps cost"),
        ((*CAP, "0.2,0.15", "--memo", 2), "another constraint was given with several caps"),
        ((*CAP, 0.2, "--memo", 2), "GuessCap and Permanent were given together"),
        ((*CAP, 0.2, "--objective", "worst-case"), "the objective worst-case was given with GuessCap"),
        ((*CAP, 0.2, "--solver", "certified"), "with the solver Certified, which knows no such constraint"),
        ((*CAP, 0.2, "--outputs", 9), "without a limit of outputs"),
        ((*CAP[:4], "--epsilon", 0, "--guess-cap", 0.2), "epsilon is 0"),
        ((*SHUFFLED, 0), "number of users is 0"),
        ((*SHUFFLED, 10, "--epsilon", 20), "may be given once"),
        ((*SHUFFLED, 10, "--local", 0.05), "at most the local one"),
        ((*SHUFFLED, 10, "--delta", 0), "delta is 0"),
        ((*SHUFFLED[:-1], "--delta", 1e-6), "--delta was given without --shuffled-by"),
        ((*MEMO, 1), "must be above 1"),
        ((*MEMO, 2, "--reports", 0), "number of reports"),
        ((*MEMO, 2, "-o", "x.npz"), "ldp.json"),
        ((*MEMO[:-1], "--reports", 2), "--reports was given without --memo"),
        ((*MEMO[:4], "--memo", 2), "without a privacy budget"),
        (("optimise", "total", "--domain", 4, "--epsilon", 0.5, "--memo", 2), "without an error"),
        (("optimise", "histogram", "--domain", 1, "--epsilon", 0.5, "--memo", 2), "without an error"),
        (("optimise", "prefix", "--domain", 4, "--epsilon", 1, "--memo", 40), "at most 36"),
        ((*STEPS, "--step", "a"), "give one number such as 0.1"),
        ((*STEPS, "--step", "0.1,"), "give one number such as 0.1"),
        ((*STEPS, "--step", 0), "must be numbers of at least"),
        ((*STEPS, "--step", "1e308"), "must be numbers of at least"),
        ((*STEPS, "--step", "1e308,1,1,1,1"), "must be numbers of at least"),
        ((*STEPS, "--step", "0.1,0.1"), "6 values have 5 pairs"),
        ((*STEPS, "--step", 0.1, "--epsilon", 1), "was given beside steps, which add up to 0.5"),
        ((*STEPS, "--step", 0.1, "-o", "x.txt"), "its suffix must be one of"),
        (("optimise", "marginals", "--domain", "2^3", "--step", 1), "the workload has 3 attributes"),
        (STEPS, "without a privacy budget"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(arguments, words, capsys):
    assert_refused(capsys, arguments, words)
