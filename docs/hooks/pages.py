"""Pages of the site that are made at build time: files of the repository, notebooks, and the reference."""

import ast
import base64
import html
import importlib
import inspect
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from griffe import Alias, Extension, Module, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "stratagem"
INCLUDED = {
    "theory.md": PACKAGE / "theory.md",
    "threat-model.md": PACKAGE / "mechanism" / "threat-model.md",
    "changelog.md": ROOT / "CHANGELOG.md",
}
"""Pages that are files of the repository."""
EARLY = {"00-first-strategy", "60-running-a-survey"}
"""The notebooks that a newcomer reads before all others."""
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"), key=lambda path: (path.stem not in EARLY, path.stem))
"""The notebooks in the order in which they are read."""
DRAWN = re.compile(r"!\[([^\]]*)\]\(([^()\s]*images/[\w-]+)\.(?:png|svg)\)")
"""A picture in the text of a page: its words and its path without the kind of file."""
OUTSIDE = re.compile(
    r"(?<=\]\()((?:\.\./)*)\.\./(?:src/stratagem/(?:mechanism/)?(?=theory\.md|threat-model\.md)|(?=notebooks/))"
)
"""What leads a page of the folder out of it, to a file of the repository; on the site these stand beside the pages."""
SECONDS = ROOT / "notebooks" / "seconds.json"
"""Processor seconds of each notebook when it was last stored, by name; `.ci/notebooks` writes it."""
TITLES = {"io": "Version"}
"""Titles of the pages of the reference whose folder does not name them well."""
APART = {"central", "counts"}
"""Modules in which a name means something else than at the top: the best count mechanism, a trusted curator."""
DATA = {
    "published.BASELINES": "Every published mechanism that is compared, in the order in which lists show them.",
    "published.MEANS": "The published mechanisms for the mean of a number.",
    "solvers.Callback": "What is told every step of a search, and may end it by returning True.",
    "strategies.Runnable": "What a user can run: a strategy, a linear protocol, or translates of patterns.",
    "__version__": "The version of the package.",
    "central.Neighbours": "Whether neighbours differ by one person more or less, or by one person's value.",
}
"""What public names without a docstring in Python are."""
SENTENCE = re.compile(r".*?[.?](?=\s|$)", re.DOTALL)
"""The first sentence of a text."""
COLUMNS = 80
"""Columns of the help of a command."""
START = (
    "prefix",
    "histogram",
    "marginals",
    "Survey",
    "explicit",
    "optimise",
    "compare",
    "lower_bounds",
    "plan",
    "load",
    "simulate",
    "estimate",
)
"""The public names that a newcomer meets first, from questions to answers."""
LINKS = {
    "../src/stratagem/theory.md": "../theory.html",
    "../src/stratagem/mechanism/threat-model.md": "../threat-model.html",
    **{path.name: f"{path.stem}.html" for path in NOTEBOOKS},
}
"""Links of notebooks, and where they lead on the site."""
BOOST = {"guides/questions.md": 3, "guides/survey.md": 3, "guides/consent.md": 2}
"""Pages that a search shows first, with their weight; pages about single names have half of the usual one."""
HEADING = re.compile(r'<h[1-6] id="([^"]+)">(.*?)<a class="anchor-link"', re.DOTALL)
"""A heading of a notebook: its anchor and its text."""
HEADING_OR_PICTURE = re.compile(
    rf'{HEADING.pattern}|alt="No description has been provided for this image"', re.DOTALL
)
"""A heading of a notebook, or what stands in place of the words about a picture below it."""
UNSEARCHED = re.compile(
    r'<div class="(highlight-ipynb[^"]*"><pre|clipboard-copy-txt"|jp-OutputArea jp-Cell-outputArea")'
    r'|<span class="notice"'
)
"""The code of a cell of a notebook, what its button copies, what that says then, and what the cell printed."""
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1.*\S.*)*", re.MULTILINE)
"""Lines of an example in a docstring, and what it prints, up to the next blank line."""
DIRECTIVE = re.compile(r" +# doctest: .*")
"""What an example says to the tests and not to a reader."""


class Names(Extension):
    """Lets a name such as `stratagem.prefix` be what Python imports, not a module, and examples be code."""

    def __init__(self) -> None:
        self.defined: dict[str, Object] = {}

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Fence the examples of an object, and remember it before a module of the same path hides it."""
        if obj.docstring:
            text = DIRECTIVE.sub("", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", text)
        if not obj.is_module:
            self.defined[obj.path] = obj

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Lead every public name to its object."""
        for home in (pkg, *(pkg.members[wing] for wing in wings())):
            module = importlib.import_module(home.path)
            for name in module.__all__:
                value = getattr(module, name)
                path = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', name)}"
                if path in self.defined:
                    home.members[name] = Alias(name, self.defined[path], parent=home)


def listed() -> list[ast.ImportFrom]:
    """Return what the stub of the package imports: the public names at the top, and the modules of the others."""
    body = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8")).body
    return [node for node in body if isinstance(node, ast.ImportFrom)]


def wings() -> list[str]:
    """Return the modules with public names of their own, as `st.published`."""
    return [one.name for node in listed() if not node.module for one in node.names]


def rooms() -> dict[str, list[str]]:
    """Return the public names by the folder that they stand in: those at the top first."""
    found: dict[str, list[str]] = {}
    for node in listed():
        if node.module:
            found.setdefault(node.module.split(".")[0], []).extend(one.name for one in node.names)
    top = {name for names in found.values() for name in names}
    for wing in wings():
        names = importlib.import_module(f"stratagem.{wing}").__all__
        found.setdefault(wing, []).extend(
            f"{wing}.{name}" for name in names if name not in top or wing in APART
        )
    return found


def purposes() -> dict[str, str]:
    """Return what each page of the reference holds, in the words of CONTRIBUTING.md or of this file."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE)) | {
        "io": "the version of the package"
    }


def summary(name: str) -> str:
    """Return the first paragraph of the docstring of a public name, fit for a cell of a table."""
    module, _, own = f"stratagem.{name}".rpartition(".")
    value = getattr(importlib.import_module(module), own)
    text = DATA.get(name) or inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def commands() -> str:
    """Return the page of the command line: an example of every command and what its help says."""
    from stratagem.cli import COMMANDS, app

    lines = ["# Commands\n", "Every command: an example, and what its `--help` prints.\n"]
    runner = CliRunner(env={"COLUMNS": str(COLUMNS)})
    for _, example in COMMANDS:
        name = example.split()[1]
        text = runner.invoke(app, [name, "--help"], prog_name="stratagem", catch_exceptions=False).output
        lines += [f"## {name}\n", f"```sh\n{example}\n```\n", f"```text\n{text.strip()}\n```\n"]
    return "\n".join(lines)


def reference() -> dict[str, str]:
    """Return the pages of the reference, one a folder and one of commands, and first a table of all public names."""
    pages = {"reference/commands.md": commands()}
    homes = {name: room for room, names in rooms().items() for name in names}
    contents = [
        "# Reference\n",
        f"## Start here: {len(START)} functions\n",
        "In the order in which they are used:\n",
    ]
    contents += [f"* [`{name}`]({homes[name]}.md#stratagem.{name}): {summary(name)}" for name in START]
    contents += [
        "",
        "[Commands](commands.md) lists what is typed in a terminal. All public names follow, by the part",
    ]
    contents += ["of the package that they stand in.", ""]
    for room, names in sorted(rooms().items()):
        title = TITLES.get(room, room.capitalize())
        rows = [f"| [`{name}`]({room}.md#stratagem.{name}) | {summary(name)} |" for name in names]
        contents += [f"## {title}\n", "| name | what it is |", "|---|---|", *rows, ""]
        purpose = purposes()[room]
        text = f"# {title}\n\n{purpose[0].upper()}{purpose[1:]}. To use it: `import stratagem as st`.\n\n"
        pages[f"reference/{room}.md"] = text + "\n".join(f"::: stratagem.{name}\n" for name in names)
    return {"reference/index.md": "\n".join(contents)} | pages


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook."""
    return json.loads(path.read_text("utf-8"))["cells"]


def first_picture(path: Path) -> bytes | None:
    """Return the first picture that a notebook stored."""
    outputs = (one for cell in stored(path) for one in cell.get("outputs", []))
    pictures = (one["data"]["image/png"] for one in outputs if "image/png" in one.get("data", {}))
    return next((base64.b64decode("".join(one)) for one in pictures), None)


def duration(seconds: float) -> str:
    """Return how long a notebook takes in words, rounded up."""
    if seconds <= 60:
        return f"{max(10, 10 * math.ceil(seconds / 10))} seconds"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minute{'s' * (minutes > 1)}"


def gallery() -> str:
    """Return the contents of the gallery: every notebook's title, first picture, first sentence and run time."""
    seconds = json.loads(SECONDS.read_text("utf-8"))
    lines = [
        "# Gallery\n",
        "Each notebook asks one question; the second runs a survey. Its pictures are those that it stored.\n",
        '<div class="gallery" markdown>\n',
    ]
    for path in NOTEBOOKS:
        title, _, text = "".join(stored(path)[0]["source"]).partition("\n")
        title = title.lstrip("# ")
        picture = (
            f"[![{title}: first picture](pictures/{path.stem}.png)]({path.name})\n"
            if first_picture(path)
            else ""
        )
        lines += ["<div markdown>\n", f"## [{title}]({path.name})\n", picture]
        lines += [SENTENCE.match(text.strip())[0] + "\n"]
        took = seconds.get(path.stem)
        lines += [*([f"About {duration(took)} of computing.\n"] if took else []), "</div>\n"]
    return "\n".join([*lines, "</div>\n"])


def versions(changelog: str) -> list[tuple[str, str]]:
    """Return the versions with their dates, or "not released yet", the newest first."""
    return re.findall(r"^## (\S+), (.+)$", changelog, re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation by what this file makes, and let every page state the version."""
    config.extra["versions"] = versions(INCLUDED["changelog.md"].read_text("utf-8"))
    sections = {
        "Reference": [
            "reference/index.md",
            "reference/commands.md",
            *(f"reference/{room}.md" for room in sorted(rooms())),
        ],
        "Gallery": ["notebooks/index.md", *(f"notebooks/{path.name}" for path in NOTEBOOKS)],
    }
    for entry in config.nav or []:
        for title in entry.keys() & sections:
            entry[title] = sections[title]
    return config


@event_priority(100)
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, before the plug-in for notebooks looks for notebooks."""
    for name, path in INCLUDED.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    for name, text in (reference() | {"notebooks/index.md": gallery()}).items():
        files.append(File.generated(config, name, content=text))
    for path in NOTEBOOKS:
        if picture := first_picture(path):
            files.append(File.generated(config, f"notebooks/pictures/{path.stem}.png", content=picture))
    for path in NOTEBOOKS:  # as files of a folder: the plug-in knows no generated ones
        files.append(File(f"notebooks/{path.name}", str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def by_day_and_night(found: re.Match[str]) -> str:
    """Return a picture as one for light pages and one for dark pages, where both are there; else as it is."""
    words, path = found.groups()
    forms = {"only-light": f"{path}.svg", "only-dark": f"{path}-dark.svg"}
    if not all((ROOT / "docs" / "images" / Path(one).name).exists() for one in forms.values()):
        return found[0]
    return "\n".join(f"![{words}]({one}#{scheme})" for scheme, one in forms.items())


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let guides be found before names, mark what is printed, and find pictures by day and night."""
    path = page.file.src_uri
    page.meta.setdefault("search", {"boost": 0.5 if path.startswith("reference/") else BOOST.get(path, 1)})
    markdown = (
        markdown.replace("](../../docs/images/", "](images/") if page.file.src_uri in INCLUDED else markdown
    )
    markdown = DRAWN.sub(by_day_and_night, OUTSIDE.sub(r"\1", markdown))
    return re.sub(r"^```text$", "``` { .text .printed }", markdown, flags=re.MULTILINE)


def flat(links: Iterable[AnchorLink]) -> Iterator[AnchorLink]:
    """Yield the entries of a table of contents in the order of their headings."""
    for link in links:
        yield link
        yield from flat(link.children)


def plain(title: str) -> str:
    """Return the words of a heading without its tags."""
    return re.sub(r"<[^>]+>", "", title)


def described(content: str) -> str:
    """Let the heading above a picture of a notebook say what the picture is about, and count the pictures below it."""
    title, number = "", 0

    def words(found: re.Match[str]) -> str:
        nonlocal title, number
        if found[1]:
            title, number = plain(found[2]), 0
            return found[0]
        number += 1
        return f'alt="{html.escape(html.unescape(title))} (picture {number})"'

    return HEADING_OR_PICTURE.sub(words, content)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make a notebook a page: its links, contents and pictures, and no search in code or outputs."""
    if not page.file.src_uri.endswith(".ipynb"):
        return content
    for link, (anchor, title) in zip(flat(page.toc), HEADING.findall(content), strict=True):
        link.id, link.title = anchor, plain(title)
    content = described(content)
    for old, new in LINKS.items():
        content = content.replace(f'href="{old}"', f'href="{new}"')
    return UNSEARCHED.sub(r"\g<0> data-search-exclude", content)
