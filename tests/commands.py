"""What the tests of the command line share: running a command here, and refusals."""

import json
import re

import pytest

from stratagem.cli import main


def run(capsys, *arguments) -> tuple[int, str, str]:
    """Run a command here and return its exit status, standard output and standard error."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def run_json(capsys, *arguments) -> dict:
    """Run a command with --json: exactly one JSON object, nothing on standard error."""
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def assert_refused(capsys, arguments, words):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("stratagem: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert re.search(words, err), err
