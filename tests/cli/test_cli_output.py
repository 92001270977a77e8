"""What people read: the result first, at most 80 columns, names whole, and progress on standard error."""

import io
import re
import sys
import time

import pytest

import stratagem as st
from commands import plain, run, run_json
from mechanisms import mechanism
from stratagem.bounds import RULES, Bound, Bounds
from stratagem.cli import interruption
from stratagem.cli.interruption import progress
from stratagem.cli.output import continued, translated, write, write_table
from stratagem.estimators import ask, users_needed
from stratagem.io.table import Table
from stratagem.math.deadline import within
from stratagem.math.number import above_minimum
from stratagem.published import BASELINES
from stratagem.solvers.problem import problem_of
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
    "optimise --details": ("optimise", *SMALL, *QUICK, "--details", "--all"),
    "bound --details": ("bound", *SMALL, "--details"),
    "list": ("list",),
    "list mechanisms": ("list", "mechanisms"),
    "count": ("count", "--size", "4", "--alpha", "0.9"),
    "export": ("export", "m.ldp.json", "-o", "m.npz"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", [80, 72])
def test_no_line_is_longer_than_the_screen_and_no_name_is_split(capsys, monkeypatch, folder, name, width):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("stratagem.cli.output.screen_width", lambda: width)
    status, out, err = run(capsys, *COMMANDS[name], *(["--force"] if name == "export" else []))
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= width, out
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line.endswith("-") and set(line) != {"-"}]
    if "list" in name or "--all" in COMMANDS[name]:
        words = set(re.split(r"[\s,]+", out))
        assert (NAMES if "list" in name else APPLICABLE) <= words


def test_the_people_to_ask_come_first_and_what_to_type_last(capsys):
    solution = st.optimise(st.prefix(6), 1.0)
    _, out, _ = run(capsys, "optimise", *SMALL)
    *said, facts = out.split("\n\n")
    assert "\n\n".join(said) == str(solution)
    assert [line.split(":")[0] for line in facts.splitlines() if line[0] != " "] == ["next", "more"]
    assert f"--all ({len(solution.baselines) - 1} more mechanisms), --details" in facts


def test_details_are_asked_for(capsys):
    solution = st.optimise(st.prefix(6), 1.0)
    _, out, _ = run(capsys, "optimise", *SMALL, "--details")
    *_, mechanisms, bounds, facts = out.split("\n\n")
    assert out.startswith(f"{solution}\n\n")
    assert APPLICABLE < {line.split(" ")[0] for line in mechanisms.splitlines()}
    assert {line.split(" ")[0] for line in bounds.splitlines()} > set(solution.bounds.known())
    names = ["asked", "found", "gap", "solver", "status", "next", "more"]
    assert [line.split(":")[0] for line in facts.splitlines() if line[0] != " "] == names
    assert "solver: certified (the default for domains of this size)" in facts


def test_all_shows_every_mechanism(capsys):
    for command in ("optimise", "compare"):
        out = run(capsys, command, *SMALL, *QUICK, "--all")[1]
        assert "--all" not in out
        for row in run_json(capsys, "compare", *SMALL, *QUICK)["mechanisms"]:
            name = "Stratagem" if row["mechanism"] == "optimised" else row["mechanism"]
            assert f"\n{name} " in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (QUICK, "solver: certified (the default for domains of this size)"),
        (("--solver", "certified", "--gap", "0.2"), "solver: certified: asked for"),
    ],
)
def test_the_solver_is_named_with_its_reason_unless_it_is_the_default(capsys, options, words):
    out = plain(run(capsys, "optimise", *SMALL, *options, "--details")[1])
    assert words in out
    data = run_json(capsys, "optimise", *SMALL, *options)
    assert data["solver"] == "Certified"
    assert data["reason"]


def test_bounds_over_domains_need_no_other_domain(capsys):
    asked = ("bound", "prefix", "--epsilon", 1, "--over", "domain=4,5")
    alone, beside = (run(capsys, *asked, *more)[:2] for more in ((), ("--domain", 9)))
    assert alone == beside
    assert alone[0] == 0


def test_every_bound_is_explained_where_details_are_asked_for(capsys):
    data = run_json(capsys, "bound", *SMALL)
    short, long = (run(capsys, "bound", *SMALL, *more)[1] for more in ((), ("--details",)))
    least = users_needed(st.optimise(st.prefix(6), 1.0, "quick").problem.least(values(data)) / 5)
    assert plain(short).startswith(f"At epsilon 1 at least {least:,} people are needed")
    for name in set(data) - {"best"}:
        assert not re.search(rf"\b{name}\b", short)
        assert re.search(rf"{name} +{re.escape(RULES[name].meaning.split()[0])}", long)
        assert f"{data[name]:,.6f}" in long


def values(data):
    """Return the bounds of a JSON object."""
    return Bounds(tuple(Bound(RULES[name], value) for name, value in data.items() if name != "best"))


def test_tuned_mechanisms_are_set_beside_the_minimum_alone(capsys):
    solution = st.tune(st.prefix(6), 1.0, "hierarchical")
    out = plain(run(capsys, *COMMANDS["tune"])[1])
    assert out.startswith(" ".join(ask(solution.users_for(), solution.workload)))
    assert above_minimum(solution.variance_gap) in out
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
    write("status: " + "word " * 24 + "\nshort")
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


STEP = st.solvers.Step(start=0, step=3, objective=2.0, best=2.0, gap=0.004, seconds=1.0)


@pytest.mark.parametrize(("terminal", "lines"), [(True, 2), (False, 1)])
def test_on_a_terminal_a_mistake_is_told_in_lines_of_a_screen(terminal, lines, monkeypatch, capsys):
    """Elsewhere it stays one line, which programs find."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("COLUMNS", "120")
    status, _, err = run(capsys, "optimise", "prefix", "--domain", "no-such-domain-at-all=", "--epsilon", "1")
    assert status == 2
    assert err.startswith("stratagem: ")
    assert err.count("\n") >= lines
    assert (max(map(len, err.splitlines())) <= 80) == terminal


def test_without_a_terminal_progress_is_plain_lines_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(interruption, "INTERVAL", 0.05)
    with within(60.0), progress("optimising") as on_step:
        time.sleep(0.12)
        assert not on_step(STEP)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "optimising: 0 s, limit of the search 60 s"
    assert re.fullmatch(r"optimising: start 1, step 3, gap 0.40 %; \d s, \d\d s left", lines[-1])


@pytest.mark.parametrize(("limit", "end"), [(float("inf"), " 0 s"), (0.5, " 0 s, finishing")])
def test_no_limit_has_no_end_and_a_limit_that_is_over_promises_none(limit, end):
    meter = interruption.Meter("optimising", limit)
    meter(STEP)
    assert meter.line() == f"optimising: start 1, step 3, gap 0.40 %;{end}"


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
    assert " s left" in terminal.getvalue()


def test_limits_are_those_of_the_search():
    assert st.Auto().limits.max_seconds == 1800
    assert st.Auto(max_seconds=5).limits.max_seconds == 5
    assert st.Certified(max_seconds=7).limits.max_seconds == 7
    assert st.Certified().limits.max_seconds == float("inf")


def test_the_question_that_a_file_states_is_the_one_to_ask(tmp_path, capsys):
    file = tmp_path / "ages.toml"
    file.write_text(
        'title = "Ages"\n[attributes.age]\nbins = "18:80:20"\nquestion = "How old are you?"\n'
        '[[query]]\non = { age = "prefix" }\n'
    )
    found = tmp_path / "ages.ldp.json"
    status, out, _ = run(capsys, "optimise", file, "--epsilon", "1", *QUICK, "-o", found)
    assert status == 0
    assert "--question 'How old are you?'" in plain(out)


def test_bins_of_several_columns_are_an_option_each():
    said = "For example values={'age': st.bins('0:9:3'), 'b c': st.bins('-1:1:1')}."
    assert translated(said) == "For example --edges age=0:9:3 --edges 'b c=-1:1:1'."
    assert translated("values=st.bins('0:9:3'), 'x'") == "--edges 0:9:3, 'x'"
