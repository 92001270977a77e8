"""Help and version: everywhere, in either spelling, and the same as the distribution's."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

import stratagem as st
from commands import ended_at_once, run
from stratagem.cli import COMMANDS as EXAMPLES
from stratagem.cli import app
from stratagem.cli.command import GROUPS

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
NAMES = {"all": "show_all", "summary": "page", "map": "mapping", "as": "as_is", "guess": "guess_cap"}
NAMES |= {"shuffled": "shuffled_by", "delta": "central_delta", "memo": "permanent", "reports": "averaged"}
"""Parameters by the beginnings of options that are called otherwise."""


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids="-".join)
def test_h_is_help(capsys, command):
    status, short, err = run(capsys, *command, "-h")
    assert (status, err) == (0, "")
    assert (status, short, err) == run(capsys, *command, "--help")
    assert short.startswith(f"Usage: stratagem {' '.join(command)}")
    assert "-h, --help" in short


@pytest.mark.parametrize("name", COMMANDS)
def test_options_stand_in_named_groups_and_an_example_ends_the_help(capsys, name):
    _, text, _ = run(capsys, name, "--help")
    headings = re.findall(r"^(\w+):$", text, flags=re.MULTILINE)
    assert headings == [one for one in ("Arguments", "Options", *GROUPS, "Example") if one in headings]
    assert headings[-2:] == ["Output", "Example"]
    example = text.splitlines()[-1]
    assert example.startswith(f"  stratagem {name}")
    assert len(example) <= 90
    for group, options in GROUPS.items():
        section = re.search(rf"^{group}:\n(.*?)(?=^\w|\Z)", text, flags=re.MULTILINE | re.DOTALL)
        long = re.findall(r"^  (?:-\w, )?--(\w+)", section[1], flags=re.MULTILINE) if section else []
        assert {NAMES.get(one, one) for one in long} <= set(options)


def test_every_option_of_a_group_belongs_to_a_command():
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    known = {one.name for command in commands for one in command.params} | {"help"}
    assert {option for options in GROUPS.values() for option in options} <= known


@pytest.mark.exhaustive
def test_the_examples_run_in_their_order(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stratagem.cli.serve.server.Server.run", ended_at_once)
    rows = [f"{18 + k % 60},{'North' if k % 3 else 'South'}" for k in range(400)]
    Path("people.csv").write_text("\n".join(["age,region", *rows]))
    assert run(capsys, *shlex.split("optimise prefix --domain 8 --epsilon 1 -o matrix.csv"))[0] == 0
    for _, example in EXAMPLES:
        status, _, err = run(capsys, *shlex.split(example)[1:])
        assert status == 0, (example, err)


@pytest.mark.parametrize(
    ("alias", "name"), [("optimize", "optimise"), ("randomize", "randomise"), ("report", "summary")]
)
def test_american_spelling_and_the_former_name_are_understood(alias, name, capsys):
    status, said, _ = run(capsys, alias, "--help")
    named = said.replace(f"stratagem {alias}", f"stratagem {name}")
    assert (status, named) == run(capsys, name, "--help")[:2]


def test_the_version_is_that_of_the_distribution(capsys):
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert st.__version__ == stated
    assert run(capsys, "--version") == (0, f"stratagem {stated}\n", "")


def test_the_version_is_looked_up_when_it_is_asked_for():
    code = "import sys, stratagem; assert 'stratagem.io.version' not in sys.modules; print(stratagem.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == st.__version__
