"""A folder for a web server: the web client, a page that asks one answer, and the bundle."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from stratagem.io.table import render
from stratagem.io.target import written_atomically
from stratagem.mechanism.client import FORMAT
from stratagem.mechanism.mechanism import Mechanism

MODULES = (
    "client.js",
    "bundle.js",
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
PAGE = {FRONT: "demo.html", "demo.js": "demo.js", "page.css": "page.css", "demo.css": "demo.css"}
"""The page, by the names that it is served under."""
BUNDLE = "bundle.ldp.json"
QUESTION = re.compile(rb'(?<=<h2 id="question-title">)[^<]*')
"""Place of the question on the page: pages that differ in it alone replace each other."""

LONGEST = 100_000
"""Bytes by which a page with another question may be longer."""


def write_web_client(folder: str | Path, mechanism: Mechanism, question: str = "") -> Path:
    """Write the web client, its page and the bundle into a folder, which is made if need be.

    The page asks the `question` in these words; it is in no bundle.
    Serve the folder over https or from localhost: browsers give WebCrypto and modules to no other page.
    Every file appears complete or not at all, the page last.

    Raises:
        ValueError: if the folder cannot be written, or holds another file of one of these names.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        contents = {BUNDLE: mechanism.text} | {name: shipped(name) for name in MODULES}
        contents |= {name: shipped(source) for name, source in reversed(PAGE.items())}
        contents[FRONT] = render("mechanism/web/demo.html", question=question).encode()
        for name, content in contents.items():
            _check_free(folder / name, content)
        for name, content in contents.items():
            with written_atomically(folder / name) as file:
                file.write(content)
    except OSError as error:
        raise ValueError(f"{folder} cannot be written ({error.strerror}): name another folder") from None
    return folder


def shipped(name: str) -> bytes:
    """Return a file of the web client or its page."""
    return files("stratagem.mechanism").joinpath("web", name).read_bytes()


def _check_free(path: Path, content: bytes) -> None:
    """Refuse to overwrite a file that is neither the same, nor the page with another question, nor another bundle."""
    if not path.exists():
        return
    with path.open("rb") as file:
        held = file.read(len(content) + LONGEST)
    same = QUESTION.sub(b"", held) == QUESTION.sub(b"", content)
    if not same and not (path.name == BUNDLE and FORMAT.encode() in held[:200]):
        raise ValueError(f"{path} holds something else and is not overwritten: name another folder")
