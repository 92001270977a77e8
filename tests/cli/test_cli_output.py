"""What people read: the result first, at most 100 columns, names whole, and progress on standard error."""

import io
import re
import sys
import time

import pytest

import stratagem as st
from commands import plain, run, run_json
from mechanisms import mechanism
from stratagem.baselines import BASELINES
from stratagem.catalogue.bibliography import MEANINGS
from stratagem.cli import interruption
from stratagem.cli.interruption import progress
from stratagem.cli.output import continued, write, write_table
from stratagem.io.table import Table
from stratagem.math.deadline import within
from stratagem.problem import problem_of
from stratagem.solvers.auto import time_limit
from stratagem.study.headline import headline
from stratagem.study.ranking import rank_baselines

SMALL = ("prefix", "--domain", "6", "--epsilon", "1")
QUICK = ("--solver", "quick")
NAMES = {one.name for one in BASELINES}
APPLICABLE = {one.mechanism for one in rank_baselines(problem_of(st.prefix(6), 1.0))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("printed")
    mechanism("labels").save(folder / "m.ldp.json")
    (folder / "people.csv").write_text("age\n" + "\n".join(str(k % 6) for k in range(60)) + "\n")
    return folder


COMMANDS = {
    "optimise": ("optimise", *SMALL, *QUICK),
    "optimise --all": ("optimise", *SMALL, *QUICK, "--all"),
    "compare": ("compare", *SMALL, *QUICK),
    "compare --data": (
        "compare",
        "prefix",
        "--epsilon=1",
        *QUICK,
        "--data=people.csv",
        "--column=age",
        "--all",
    ),
    "compare --over": (
        "compare",
        *SMALL,
        *QUICK,
        "--over",
        "epsilon=" + ",".join(f"{k / 8:g}" for k in range(4, 13)),
    ),
    "bound": ("bound", *SMALL),
    "bound --over": ("bound", *SMALL, "--over", "epsilon=" + ",".join(f"{k / 8:g}" for k in range(1, 20))),
    "tune": ("tune", "prefix", "hierarchical", *SMALL[1:]),
    "central": ("central", *SMALL, "--neighbours", "replace", "--delta", "1e-6"),
    "list": ("list",),
    "count": ("count", "--size", "4", "--alpha", "0.9"),
    "export": ("export", "m.ldp.json", "-o", "m.npz"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", [100, 80])
def test_no_line_is_longer_than_the_screen_and_no_name_is_split(capsys, monkeypatch, folder, name, width):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("stratagem.cli.output.screen_width", lambda: width)
    status, out, err = run(capsys, *COMMANDS[name], *(["--force"] if name == "export" else []))
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= width, out
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line.endswith("-") and set(line) != {"-"}]
    if name == "list" or "--all" in COMMANDS[name]:
        first = {line.split(" ")[0] for line in out.splitlines()}
        assert (NAMES if name == "list" else APPLICABLE) <= first


def test_the_result_comes_first_and_the_facts_last(capsys):
    solution = st.optimise(st.prefix(6), 1.0)
    _, out, _ = run(capsys, "optimise", *SMALL)
    said, table, bounds, facts = out.split("\n\n")
    assert re.sub(r"[\d,.]+", "", plain(said)) == re.sub(r"[\d,.]+", "", " ".join(headline(solution)))
    assert table.splitlines()[-1] == f"{len(solution.baselines) - 4} more: --all shows them"
    assert len(table.splitlines()) == 2 + 5 + 1
    assert plain(bounds).startswith("lower bounds on unbiased estimates from one report per user: svd ")
    names = ["asked", "found", "gap", "solver", "status", "saved", "next"]
    assert [line.split(":")[0] for line in facts.splitlines() if line[0] != " "] == names
    assert "solver: certified (the default for domains of this size)" in facts


def test_all_shows_every_mechanism(capsys):
    for command in ("optimise", "compare"):
        out = run(capsys, command, *SMALL, *QUICK, "--all")[1]
        assert "--all" not in out
        for row in run_json(capsys, "compare", *SMALL, *QUICK)["mechanisms"]:
            assert f"\n{row['mechanism']} " in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (QUICK, "solver: certified (the default for domains of this size)"),
        (("--solver", "certified", "--gap", "0.2"), "solver: certified: asked for"),
    ],
)
def test_the_solver_is_named_with_its_reason_unless_it_is_the_default(capsys, options, words):
    out = plain(run(capsys, "optimise", *SMALL, *options)[1])
    assert words in out
    data = run_json(capsys, "optimise", *SMALL, *options)
    assert data["solver"] == "Certified"
    assert data["reason"]


def test_every_bound_is_explained_and_the_best_one_said_first(capsys):
    data = run_json(capsys, "bound", *SMALL)
    out = run(capsys, "bound", *SMALL)[1]
    name = max((name for name in data if name != "best"), key=data.__getitem__)
    assert f"the best bound, {name}, is {data['best']:,.6f}." in plain(out.split("\n\n")[0])
    for name in set(data) - {"best"}:
        assert f"{name} {MEANINGS[name].title} {data[name]:,.6f}" in "\n".join(map(plain, out.splitlines()))


def test_tuned_mechanisms_are_set_beside_the_bound_alone(capsys):
    solution = st.tune(st.prefix(6), 1.0, "hierarchical")
    out = plain(run(capsys, *COMMANDS["tune"])[1])
    assert out.startswith(solution.users_sentence())
    assert "; hierarchical is within " in out
    assert "best published" not in out


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_bold_rows_are_for_terminals(monkeypatch, capsys):
    table = Table(("name",), [("ours",), ("theirs",)], bold=0)
    write_table(table)
    assert capsys.readouterr().out == "name\n------\nours\ntheirs\n"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    write_table(table)
    write("x " * 60)
    assert terminal.getvalue().startswith("name\n------\n\x1b[1mours\x1b[0m\ntheirs\n")
    assert max(map(len, terminal.getvalue().splitlines())) <= 80


def test_long_lines_are_indented_behind_their_label(capsys):
    write("status: " + "word " * 30 + "\nshort")
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("status: word")
    assert second.startswith("        word")
    assert third == "short"


def test_a_long_command_can_still_be_typed():
    command = "stratagem simulate 'my file.ldp.json' --data DATA.csv " + " ".join(
        f"--column a{k}=COLUMN" for k in range(9)
    )
    lines = continued(command).splitlines()
    assert len(lines) > 1
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert re.sub(r" \\\n +", " ", continued(command)) == command
    assert continued("stratagem list") == "stratagem list"


STEP = st.Step(start=0, step=3, objective=2.0, best=2.0, gap=0.004, seconds=1.0)


def test_without_a_terminal_progress_is_plain_lines_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(interruption, "INTERVAL", 0.05)
    with within(60.0), progress("optimising") as on_step:
        time.sleep(0.12)
        assert not on_step(STEP)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "optimising: 0 s, limit of the search 60 s"
    assert re.fullmatch(
        r"optimising: start 1, step 3, 0.40 % above the bound; \d s, at most \d\d of 60 s left", lines[-1]
    )


@pytest.mark.parametrize(("limit", "end"), [(float("inf"), " 0 s"), (0.5, " 0 s, finishing")])
def test_no_limit_has_no_end_and_a_limit_that_is_over_promises_none(limit, end):
    meter = interruption.Meter("optimising", limit)
    meter(STEP)
    assert meter.line() == f"optimising: start 1, step 3, 0.40 % above the bound;{end}"


def test_a_quick_command_shows_nothing(capsys):
    with progress("optimising"):
        pass
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_bar_shows_the_seconds_left(monkeypatch):
    monkeypatch.setattr(interruption, "PATIENCE", 0.0)
    monkeypatch.setattr(interruption, "PULSE", 0.02)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with within(60.0), progress("optimising") as on_step:
        on_step(STEP)
        time.sleep(0.3)
    assert "of 60 s left" in terminal.getvalue()


def test_limits_are_those_of_the_search():
    assert time_limit(st.Auto()) == 1800
    assert time_limit(st.Auto(max_seconds=5)) == 5
    assert time_limit(st.Certified(max_seconds=7)) == 7
    assert time_limit(st.Certified()) == float("inf")
