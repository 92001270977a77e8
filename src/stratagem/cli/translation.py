"""The advice of the library, which speaks of keyword arguments, in the options of the command line."""

import ast
import re
import shlex

OPTIONS = {
    "at_most": "--at-most ",
    "domain": "--domain ",
    "edges": "--edges=",  # may begin with a minus sign
    "labels": "--labels ",
    "missing": "--missing ",
}
"""The options that are given in place of keyword arguments which errors advise."""
LIMIT = re.compile(r"\bmax_seconds\b")
ADVICE = re.compile(rf"\b({'|'.join(OPTIONS)})=('[^']*'|\"[^\"]*\"|\d+)")


def translated(sentence: str) -> str:
    """Return a sentence with options in place of keyword arguments: domain='2^6' becomes --domain '2^6'."""
    return ADVICE.sub(_option, LIMIT.sub("--seconds", sentence))


def _option(found: re.Match[str]) -> str:
    name, literal = found.groups()
    try:
        return f"{OPTIONS[name]}{shlex.quote(str(ast.literal_eval(literal)))}"
    except (SyntaxError, ValueError):  # a backslash in somebody's own text
        return found[0]
