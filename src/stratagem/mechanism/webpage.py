"""A folder for a web server: the web client, a form that asks and sends, or a demo, and the bundle."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

from stratagem.io.table import render
from stratagem.io.target import written_atomically
from stratagem.mechanism.client import CEILING, FORMAT, accepted
from stratagem.mechanism.mechanism import Mechanism

MODULES = (
    "client.js",
    "bundle.js",
    "parts.js",
    "table.js",
    "translates.js",
    "memo.js",
    "search.js",
    "value.js",
    "json.js",
    "binary.js",
    "check.js",
    "package.json",
)
"""The ES module client.js and what it imports; package.json tells Node that they are modules."""
FRONT = "index.html"
FORM = ("form.html", "form.js", "record.js", "words.js", "answer.js", "page.css", "form.css")
DEMO = ("demo.html", "demo.js", "answer.js", "page.css", "form.css", "demo.css")
"""The files of a page, the first of which is served as `FRONT`."""
BUNDLE = "bundle.ldp.json"
OWN = re.compile(
    rb'(?<=id="about" lang="" dir="auto">)[^<]*|(?<=id="question-title" lang="" dir="auto">)[^<]*|'
    rb"(?<=connect-src \'self\')[^;]*|"
    rb'(?<=data-submit=")[^"]*|(?<=data-questions=")[^"]*|(?<=data-sha256=")[^"]*|(?<=data-at-most=")[^"]*'
)
"""Places of who asks, what, the address, the bundle's hash and ceiling: pages that differ in them alone are alike."""
UNNAMED = ("", "value")
"""Names of an attribute that tell people nothing."""
ADDRESS = re.compile(
    r"((?:https://[\w.-]+|http://(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?)/[\w./~%-]*", re.ASCII
)
"""An address of a report's destination, its origin first."""

LONGEST = 100_000
"""Bytes by which a page with another question may be longer."""


def page_files(
    mechanism: Mechanism, question: str = "", submit: str = "", *, about: str = "", demo: bool = False
) -> dict[str, bytes]:
    """Return the files of the page by the names that they are served under, in the order in which they are written.

    They are the web client, the bundle and a form, which asks the `question` in these words and takes no bundle but
    this one, in which no words are. Without a question it asks for the attribute, if there is one alone. For several
    attributes it is the title; each has a question of its own. `about` says who asks, and why. `submit` is the address
    to which the form sends the report, absolute or relative to the page; without one it sends nothing and says so. A
    `demo` shows the mechanism instead: any number of reports and the chances of each; none is sent. Both take the
    mechanism's `at_most`.

    Raises:
        ValueError: for more epsilon, which every browser would refuse.
    """
    accepted(mechanism.bundle, mechanism.at_most)
    first, *others = mechanism.attributes
    words = {one.name: one.question for one in mechanism.attributes if one.question}
    if not others:
        question = question or first.question or (first.name if first.name not in UNNAMED else "")
    questions = json.dumps(words) if others and words else ""
    front, *parts = DEMO if demo else FORM
    contents = {BUNDLE: mechanism.text} | {name: shipped(name) for name in (*MODULES, *reversed(parts))}
    own = {"question": question, "questions": questions, "about": about}
    contents[FRONT] = _front(front, submit, sha256=mechanism.identifier, at_most=mechanism.at_most, **own)
    return contents


def _front(name: str, submit: str = "", *, at_most: float = CEILING, **own: str) -> bytes:
    """Return the first file of a page with its address, its `own` words, the hash and the ceiling of its bundle."""
    found = ADDRESS.fullmatch(submit)  # a relative address has no origin
    origin = found[1] if found else ""
    none = dict.fromkeys(("question", "questions", "about", "sha256"), "")
    return render(
        f"mechanism/web/{name}", submit=submit, origin=origin, at_most=at_most, **none | own
    ).encode()


def write_web_client(
    folder: str | Path,
    mechanism: Mechanism,
    question: str = "",
    submit: str = "",
    *,
    about: str = "",
    demo: bool = False,
) -> Path:
    """Write the files of `page_files` into a folder, which is made if need be.

    Serve the folder over https or from localhost: browsers give WebCrypto and modules to no other page.
    Every file appears complete or not at all, the page last. A form and a demo replace each other, and leave nothing
    of the other.
    """
    if demo and submit:
        raise ValueError("a demo sends nothing: leave out the address, or write the form")
    folder = Path(folder)
    contents = page_files(mechanism, question, check_submit(submit), about=about, demo=demo)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            _check_free(folder / name, content)
        for name, content in contents.items():
            with written_atomically(folder / name) as file:
                file.write(content)
        for name in {*FORM, *DEMO} - contents.keys():
            if (held := folder / name).is_file() and held.read_bytes() == shipped(name):
                held.unlink()
    except OSError as error:
        raise ValueError(f"{folder} cannot be written ({error.strerror}): name another folder") from None
    return folder


def check_submit(submit: str) -> str:
    """Return the address to which a page on another host sends reports, after checking it; empty for none."""
    if submit and not ADDRESS.fullmatch(submit):
        raise ValueError(
            f"{submit!r} is no address to send reports to: give one like https://example.org/reports, or "
            "http://localhost:8000/reports to try it out"
        )
    return submit


def shipped(name: str) -> bytes:
    """Return a file of the web client or its page."""
    return files("stratagem.mechanism").joinpath("web", name).read_bytes()


def _check_free(path: Path, content: bytes) -> None:
    """Refuse to overwrite a file that is neither the same nor another bundle, nor the page with other `OWN` places."""
    if not path.exists():
        return
    with path.open("rb") as file:
        held = file.read(len(content) + LONGEST)
    pages = [_front(name) for name in (FORM[0], DEMO[0])] if path.name == FRONT else []
    same = OWN.sub(b"", held) in [OWN.sub(b"", page) for page in (content, *pages)]
    if not same and not (path.name == BUNDLE and FORMAT.encode() in held[:200]):
        raise ValueError(f"{path} holds something else and is not overwritten: name another folder")
