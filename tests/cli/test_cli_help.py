"""Help and version: everywhere, in either spelling, and the same as the distribution's."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

import stratagem as st
from commands import run
from stratagem.cli import app

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids="-".join)
def test_h_is_help(capsys, command):
    status, short, err = run(capsys, *command, "-h")
    assert (status, err) == (0, "")
    assert (status, short, err) == run(capsys, *command, "--help")
    assert short.startswith(f"Usage: stratagem {' '.join(command)}")
    assert "-h, --help" in short


def test_the_version_is_that_of_the_distribution(capsys):
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert st.__version__ == stated
    assert run(capsys, "--version") == (0, f"stratagem {stated}\n", "")


def test_the_version_is_looked_up_when_it_is_asked_for():
    code = "import sys, stratagem; assert 'stratagem.io.version' not in sys.modules; print(stratagem.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == st.__version__
