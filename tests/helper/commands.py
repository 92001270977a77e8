"""What the tests of the command line share: running a command here, and refusals."""

import json
import re

import pytest

from stratagem.cli import main

PYTHON = re.compile(
    r"Traceback|invalid literal|could not convert|NoneType|object is not|<class|\wError\b|has no attribute|"
    r"not iterable|broadcast|codec|expected string|list index|embedded null"
)
"""What Python, NumPy and their kin say to programmers."""
LONGEST = 800
"""Characters of the longest sentence, which lists all published mechanisms."""


def run(capsys, *arguments) -> tuple[int, str, str]:
    """Run a command here and return its exit status, standard output and standard error."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def plain(text: str) -> str:
    """Return a text with single spaces in place of its line ends and indents."""
    return " ".join(text.split())


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


def fault(status: int, out: str, err: str, *, json_asked: bool) -> str:
    """Say what is wrong with how a command ended, nothing where it is well."""
    sentences = [line for line in err.splitlines() if line.startswith("stratagem: ")]
    if status not in (0, 1, 2, 130):
        return f"its exit status is {status}"
    if status == 2 and (len(sentences) != 1 or err.splitlines()[-1:] != sentences):
        return "its mistake is not one sentence"
    if found := PYTHON.search(out + err):
        return f"it says {found[0]}"
    if sentences and len(sentences[0]) > LONGEST:
        return f"its sentence has {len(sentences[0])} characters"
    if status == 0 and json_asked:
        json.loads(out)
    return ""


def ended_at_once(server, stopping) -> int:
    """Be the `run` of a server that is ended before anybody comes."""
    server.collection.close()
    return 0
