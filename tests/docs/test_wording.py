"""One word for one thing where people read: pages and help texts have none of the words that the glossary replaces."""

import re

import pytest
import typer

from commands import plain, run
from pages import FENCE, PAGES, SILENT
from stratagem.cli import app

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
WORDS = {
    "summary": r"\breport pages?\b",
    "possible reports: 8,192": r"\bfound: +[\d,.]+ (?:possible )?reports\b",
    "value or answer": r"\buser types?\b",
    "people": r"(?<!-)\busers?\b(?! types?)",
    "mechanism": r"\bstrateg(?:y|ies)\b",
    "mechanism file": r"(?<!mechanism file \()\bbundles?\b",
    "every answer": r"\bleast accurate\b",
    "x % above the proven minimum": r"\bover bound\b|\bwithin [\d.…]+ ?% of\b|\bat most [\d.…]+ ?% above\b",
    "verified epsilon": r"\bmeasured epsilon\b",
    "proof of the bound": r"(?<!-)\bcertificates? of\b|\bbound of a certificate\b|\bcertified bounds?\b",
    "memoised answer": r"(?<![\w-])memos?\b",
    "reports per person": r"(?<!two )(?<!both )(?<!stratagem )(?<!first )(?<!-)\brounds\b",
    "synthetic records": r"\bsynthetic people\b|\bpeople who do not exist\b",
}
"""What to say, and what is not said for it."""
ALLOWED = {
    ("glossary.md", "value or answer"): "called a *user type*",
    ("glossary.md", "mechanism"): "called a *strategy*",
    ("glossary.md", "mechanism file"): "in code a *bundle*",
    ("glossary.md", "reports per person"): "are there rounds",
    ("guides/survey.md", "every answer"): "error of the least accurate one",
    ("guides/collect.md", "people"): "as a user without rights",
    ("guides/workload.md", "value or answer"): "the optimum itself, up to ten user types",
    ("", "reports per person"): "rounds Find the mechanism of a second round",
}
"""The words that stay, by page or command and what is said elsewhere, with words that stand beside them."""


def shown(text: str) -> str:
    """Return the sentences of a page and the outputs that it shows, without its code."""
    kept = FENCE.sub(lambda one: f"\n{one['code']}\n" if one["language"] == "text" else "\n", text)
    return " ".join(SILENT.sub(" ", kept).split())


def other_words(text: str) -> set[str]:
    """Return what a text should say and says otherwise."""
    return {say for say, pattern in WORDS.items() if re.search(pattern, text, flags=re.IGNORECASE)}


def misplaced(place: str, text: str) -> set[str]:
    """Return what the text of a page or of a help should say and says otherwise, but for what is allowed there."""
    return {
        say
        for say in other_words(text)
        if (beside := ALLOWED.get((place, say))) is None or beside not in text
    }


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_word_for_one_thing(name):
    assert misplaced(name, shown(PAGES[name].read_text("utf-8"))) == set()


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids="-".join)
def test_a_help_has_one_word_for_one_thing(capsys, command):
    status, text, _ = run(capsys, *command, "--help")
    assert status == 0
    assert misplaced("".join(command), plain(text)) == set()


WRONG = {
    "summary": "It writes a report page.",
    "possible reports: 8,192": "found: 8,192 reports",
    "value or answer": "A user type is common.",
    "people": "Many users take part.",
    "mechanism": "It is the best of all strategies.",
    "mechanism file": "Send the bundle to them.",
    "every answer": "The least accurate is off by 9 %.",
    "x % above the proven minimum": "Variance at most 0.01 % above the proven minimum.",
    "verified epsilon": "It has a measured epsilon.",
    "proof of the bound": "Write a certificate of the bound.",
    "memoised answer": "Devices keep a memo.",
    "reports per person": "They report in several rounds.",
    "synthetic records": "It draws synthetic people.",
}


def test_every_word_is_found_where_it_stands():
    """Negative control: each of the words, in a sentence and in an output, and none where code or a link holds it."""
    assert WRONG.keys() == WORDS.keys()
    for say, wrong in WRONG.items():
        assert misplaced("guides/index.md", shown(f"# Head\n\n{wrong}\n")) == {say}
        assert misplaced("guides/index.md", shown(f"# Head\n\n```text\n{wrong}\n```\n")) == {say}
        assert misplaced("guides/index.md", shown(f"# Head\n\n```python\nx = 1  # {wrong}\n```\n")) == set()
    assert other_words("mechanism file (bundle), --memo, --users, two rounds, `stratagem rounds`") == set()


def test_nothing_is_allowed_that_is_said_nowhere(capsys):
    for (place, say), beside in ALLOWED.items():
        page = place in PAGES
        text = (
            shown(PAGES[place].read_text("utf-8"))
            if page
            else plain(run(capsys, *place.split(), "--help")[1])
        )
        assert beside in text
        assert re.search(WORDS[say], text, flags=re.IGNORECASE)
