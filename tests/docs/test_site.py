"""The site of the documentation: built without warnings, whole without a network, complete and readable."""

import html
import inspect
import json
import os
import posixpath
import re
import runpy
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from operator import attrgetter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import stratagem as st
from face import public_names
from pages import FOLDER
from tools import need_package

pytestmark = pytest.mark.exhaustive
ROOT = FOLDER.parent
PACKAGES = ("mkdocs", "material", "mkdocstrings_handlers.python", "mkdocs_jupyter", "latex2mathml")
PUBLIC = {f"stratagem.{name}" for name in public_names()}
"""Every public name of the package, by its full name."""
PHONE = 360
"""Width of a narrow screen in pixels."""
LEGIBLE = """() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => colour.slice(0, 3).map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, k) => sum + one * [0.2126, 0.7152, 0.0722][k], 0.05);
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if ((colour[3] ?? 1) > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const found = [], texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const word = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !word.checkVisibility()) continue;
    if (word.closest("svg, math, script, style, .headerlink, sup, sub")) continue;
    const style = getComputedStyle(word), behind = ground(word);
    const [red, green, blue, cover = 1] = numbers(style.color);
    const seen = [red, green, blue].map((one, k) => cover * one + (1 - cover) * behind[k]);
    const [dark, bright] = [light(seen), light(behind)].sort((a, b) => a - b);
    found.push([bright / dark, parseFloat(style.fontSize), word.outerHTML.slice(0, 80)]);
  }
  return found;
}"""
"""Contrast of every text of a page with its ground, as the guidelines for accessible pages define it, and its size in
pixels; but for the marks of headings, which show under the mouse, and indices."""
CLEAR, SMALLEST = 4.5, 13


class Reader(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.parts, self.anchors, self.headings = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "h2" and given.get("id"):
            self.headings.append(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect", "preload"):
            self.parts.append(given["href"])
        elif given.get("src"):
            self.parts.append(given["src"])


def leads(name: str, target: str, pages: dict[str, Reader], files: set[str]) -> bool:
    """Return whether a reference of a page leads to a file of the site, and to an anchor in it if it names one."""
    where = urlsplit(target)
    path = (
        posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(where.path)))
        if where.path
        else name
    )
    folder = posixpath.normpath(posixpath.join(path, "index.html"))
    path = folder if folder in files else path
    anchor = not where.fragment or path not in pages or unquote(where.fragment) in pages[path].anchors
    return not where.scheme and not where.netloc and path in files and anchor


def broken(pages: dict[str, Reader], files: set[str]) -> list[str]:
    """Return the links of a site that lead nowhere, and the parts of its pages that only a network has."""
    found = []
    for name, page in pages.items():
        own = [link for link in page.links if urlsplit(link).scheme not in ("http", "https", "mailto")]
        own += [part for part in page.parts if not part.startswith("data:")]
        found += [f"{name}: {target}" for target in own if not leads(name, target, pages, files)]
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    for package in PACKAGES:
        need_package(package)
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", target],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert not done.stderr
    return target


@pytest.fixture(scope="module")
def pages(site) -> dict[str, str]:
    return {
        path.relative_to(site).as_posix(): path.read_text("utf-8") for path in sorted(site.rglob("*.html"))
    }


@pytest.fixture(scope="module")
def read(pages) -> dict[str, Reader]:
    return {name: Reader(text) for name, text in pages.items() if name != "404.html"}


@pytest.mark.exhaustive
def test_every_link_leads_somewhere_and_nothing_comes_from_a_network(site, read):
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert broken(read, files) == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text("utf-8")), style.name


@pytest.mark.parametrize(
    "code",
    [
        '<a href="gone.html">',
        '<a href="#gone">',
        '<a href="other.html#gone">',
        '<script src="https://cdn.example/x.js"></script>',
        '<img src="//cdn.example/x.png">',
        '<link rel="stylesheet" href="https://cdn.example/x.css">',
    ],
)
def test_a_broken_link_is_found(code):
    pages = {"page.html": Reader(code), "other.html": Reader('<h2 id="here">')}
    assert len(broken(pages, set(pages))) == 1


def test_a_link_that_leads_somewhere_is_none():
    code = '<a href="other.html#here"></a><a href="https://example.org"></a><a id="top" href="#top"></a>'
    pages = {"page.html": Reader(code), "other.html": Reader('<h2 id="here">')}
    assert broken(pages, set(pages)) == []


def test_the_reference_has_every_public_name_once_and_no_other(read):
    named = [
        one for name, page in read.items() if name.startswith("reference/") for one in page.headings
        if one.startswith("stratagem.")
    ]  # fmt: skip
    assert sorted(named) == sorted(PUBLIC)


def test_the_table_of_the_reference_says_what_each_public_name_is(pages, read):
    linked = {urlsplit(link).fragment for link in read["reference/index.html"].links}
    assert linked >= PUBLIC
    rows = re.findall(r"<tr>\s*<td>.*?</td>\s*<td>(.*?)</td>", pages["reference/index.html"], re.DOTALL)
    assert len(rows) == len(PUBLIC)
    assert all(plain(row).endswith(".") for row in rows)


def test_the_examples_of_the_reference_are_code(pages):
    texts = {name: text for name, text in pages.items() if name.startswith("reference/")}
    quoted = re.compile(r"<blockquote>\s*<blockquote>\s*<blockquote>|<p>&gt;&gt;&gt; ")
    assert [name for name, text in texts.items() if quoted.search(text)] == []
    assert not [name for name, text in texts.items() if "doctest: " in text]
    assert sum(text.count('<code><span class="gp">&gt;&gt;&gt; ') for text in texts.values()) > 50


def entry(pages: dict[str, str], name: str) -> str:
    """Return what the reference says about a public name, from its heading to the next."""
    (start,) = (
        text[text.index(f'<h2 id="{name}"') :] for at, text in pages.items()
        if at.startswith("reference/") and f'<h2 id="{name}"' in text
    )  # fmt: skip
    return re.split(r"<h2 |</article>", start[3:])[0]


def plain(text: str) -> str:
    """Return what a part of a page says, without tags and backticks, words apart by single blanks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).replace("`", "").split())


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_the_reference_documents_a_name_as_itself(pages, name):
    text, value = entry(pages, name), attrgetter(name.removeprefix("stratagem."))(st)
    assert "doc-symbol-module" not in text
    if inspect.isfunction(value):
        (signature,) = re.findall(r'<div class="doc-signature.*?</div>', text, re.DOTALL)[:1]
        given = "".join(plain(signature).split())
        assert given.startswith(f"{name.rpartition('.')[2]}(")
        assert all(re.search(rf"[(,*]{one}[:,=)]", given) for one in inspect.signature(value).parameters)
    if inspect.isfunction(value) or inspect.isclass(value):
        assert plain(inspect.getdoc(value).split("\n\n")[0]) in plain(text)


def test_every_notebook_and_every_included_file_is_a_page(pages):
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{path.stem}.html" in pages
    for name, words in {
        "theory.html": "an A-optimal design",
        "threat-model.html": "The source of randomness.",
        "changelog.html": "not released yet",
    }.items():
        assert words in pages[name]


def main_part(text: str) -> str:
    """Return what a page says, without code and tags."""
    (article,) = re.findall(r"<article.*?</article>", text, re.DOTALL)
    article = re.sub(r"<(pre|code|math|script|style|svg|table)\b.*?</\1>", " ", article, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "", article)


def test_formulas_are_set(pages):
    theory = main_part(pages["theory.html"])
    assert not re.search(r"\^|\b(theta|lambda|gamma|kappa|sum_\w|eps)\b|-&gt;|&[lg]t;=| x \.", theory)
    assert not re.search(
        r"\b(epsilon|alpha|rho|zeta|tau|nu|Phi|perp|sqrt)\b|xhat|dtheta|[\w)\]]_[\w(+]|\[S_", theory
    )
    assert "s<sup>⊤</sup> G s/(1<sup>⊤</sup> s) ≤ λ<sup>⊤</sup> s" in pages["theory.html"]
    assert "θ<sub>y</sub> s<sub>y</sub>" in pages["theory.html"]
    assert "Z<sub>a1</sub> × ... × Z<sub>ad</sub>" in pages["theory.html"]
    typed = [name for name in pages if not name.startswith(("reference/", "notebooks/"))]
    assert not [name for name in typed if "^" in main_part(pages[name])]
    assert "2<sup>k</sup> − 1 sums" in pages["threat-model.html"]
    notebook = pages["notebooks/20-how-far-from-optimal.html"]
    assert not re.search(r"\$|\\(top|operatorname|frac)", main_part(notebook))
    assert notebook.count("<math") > 100
    assert not re.search("<mi>&#x0(2A|27)", notebook)


def test_a_list_of_the_theory_counts_on_after_a_formula(pages):
    (bounds,) = re.findall(
        r"<ol>(?:(?!</ol>).)*<strong>svd</strong>.*?</ol>", pages["theory.html"], re.DOTALL
    )
    assert bounds.count("<li>") == 11
    assert bounds.count('<p class="formula">') == 2


def test_search_finds_epsilon_without_a_network(site, browser):
    asked = []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill("epsilon")
    found = page.locator(".md-search-result__link")
    found.first.wait_for()
    assert found.count() >= 5
    assert found.first.get_attribute("href").split("?")[0].endswith("glossary.html")
    assert all("psilon" in one for one in page.locator(".md-search-result__item").all_inner_texts()[:5])
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
    page.close()


@pytest.mark.parametrize(
    ("words", "first"), [("survey", "guides/"), ("consent", "guides/consent"), ("plan", "guides/")]
)
def test_search_finds_guides_before_names(words, first, site, browser):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill(words)
    found = page.locator(".md-search-result__link")
    found.first.wait_for()
    links = [one.get_attribute("href") for one in found.all()]
    assert first in links[0]
    assert not any("reference/" in one for one in links[:3])
    page.close()


def test_search_finds_what_notebooks_say_and_neither_their_code_nor_outputs(site):
    index = json.loads((site / "search/search_index.json").read_text("utf-8"))["docs"]
    texts = " ".join(one["text"] for one in index if one["location"].startswith("notebooks/"))
    assert "The columns of" in texts
    assert "The choice takes no time" in texts
    assert not re.search(r"import numpy|np\.ones|Copied!|Two-level rows from Gaussian fields", texts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_outputs_of_notebooks_keep_their_rows(site, browser, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto((site / "notebooks/20-how-far-from-optimal.html").as_uri())
    rows = page.locator(".jp-RenderedText pre").first
    assert rows.evaluate("one => getComputedStyle(one).whiteSpace") == "pre"
    page.close()


LOOKED_AT = [
    "index",
    "choose",
    "guides/browser",
    "theory",
    "reference/bounds",
    "scoreboard",
    "notebooks/40-marginals",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_words_are_large_and_stand_out(site, browser, name, scheme):
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    page.goto((site / f"{name}.html").as_uri())
    seen = page.evaluate(LEGIBLE)
    assert len(seen) > 50
    assert [one for one in seen if one[0] < CLEAR or one[1] < SMALLEST] == []
    page.close()


def test_the_table_of_benchmarks_fits_a_screen(site, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((site / "benchmarks.html").as_uri())
    assert page.locator(".md-typeset__scrollwrap").evaluate("one => one.scrollWidth <= one.clientWidth")
    page.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name",
    [
        "index",
        "choose",
        "guides/survey",
        "theory",
        "reference/study",
        "benchmarks",
        "scoreboard",
        "notebooks/40-marginals",
        "notebooks/45-many-attributes",
    ],
)
def test_a_page_fits_a_telephone(site, browser, name):
    page = browser.new_page(viewport={"width": PHONE, "height": 800})
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    page.close()


def test_every_command_has_its_help_on_the_page_of_commands(pages):
    from stratagem.cli import COMMANDS

    text = plain(pages["reference/commands.html"])
    assert all(example in text for _, example in COMMANDS)
    assert all(f"Usage: stratagem {example.split()[1]} [OPTIONS]" in text for _, example in COMMANDS)


def test_the_gallery_shows_the_first_picture_of_a_notebook(site, read):
    shown = {part for part in read["notebooks/index.html"].parts if part.startswith("pictures/")}
    drawn = {
        f"pictures/{path.stem}.png"
        for path in (ROOT / "notebooks").glob("*.ipynb")
        if '"image/png"' in path.read_text("utf-8")
    }
    assert shown == drawn
    assert all((site / "notebooks" / one).read_bytes().startswith(b"\x89PNG") for one in shown)


def test_the_gallery_begins_with_what_a_newcomer_reads(pages):
    (article,) = re.findall(r"<article.*?</article>", pages["notebooks/index.html"], re.DOTALL)
    order = re.findall(r'<h2[^>]*><a href="(\d\d)-[\w-]+\.html"', article)
    assert order[:4] == ["00", "60", "05", "10"]
    assert order[2:] == sorted(order[2:])
    assert len(order) == len(list((ROOT / "notebooks").glob("*.ipynb")))


def test_every_picture_of_a_notebook_says_what_it_is_about(pages):
    for name in (name for name in pages if re.match(r"notebooks/\d", name)):
        drawn = [tag for tag in re.findall(r"<img[^>]*>", pages[name]) if 'src="data:image/' in tag]
        said = [re.search(r'alt="([^"]*)"', tag)[1] for tag in drawn]
        assert said
        assert all(re.fullmatch(r"\w.* \(picture \d+\)", one) for one in said), name
        assert len(set(said)) == len(said), name


def test_the_gallery_says_how_long_every_notebook_runs(pages):
    names = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    seconds = json.loads((ROOT / "notebooks" / "seconds.json").read_text("utf-8"))
    assert sorted(seconds) == names
    assert all(one > 0 for one in seconds.values())
    said = re.findall(r"About (\d+ (?:seconds|minutes?)) of computing\.", pages["notebooks/index.html"])
    assert len(said) == len(seconds)


def test_every_page_states_the_version_and_its_date(pages):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    number, date = re.search(
        r"^## (\S+), (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    ).groups()
    assert number == version
    shown = {
        name: re.search(r'<div class="md-copyright">(.*?)</div>', pages[name], re.DOTALL) for name in pages
    }
    without = [
        name for name, found in shown.items() if not found or f"Stratagem {version}, {date}" not in found[1]
    ]
    assert without == []
    assert "Earlier" not in shown["index.html"][1], "there is one version"
    versions = runpy.run_path(str(ROOT / "docs" / "hooks" / "pages.py"))["versions"]
    text = "## 0.2.0, 2027-01-02\n\nmended\n\n## 0.1.0, 2026-12-01\n"
    assert versions(text) == [("0.2.0", "2027-01-02"), ("0.1.0", "2026-12-01")]


def test_a_lost_reader_finds_the_way_back(pages):
    assert set(Reader(pages["404.html"]).links) >= {
        "/index.html",
        "/guides/index.html",
        "/reference/index.html",
    }


def test_a_page_leads_to_the_next_and_the_one_before(read):
    assert {"survey.html", "questions.html"} <= set(read["guides/few-people.html"].links)


@pytest.mark.parametrize("words", ["optimize", "randomized response", "k-RR", "GDPR"])
def test_search_finds_what_others_call_it(site, browser, words):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill(words)
    found = page.locator(".md-search-result__link")
    found.first.wait_for()
    texts = page.locator(".md-search-result__item").all_inner_texts()[:5]
    assert any(words.lower() in text.lower() for text in texts)
    page.close()


def test_only_what_is_typed_can_be_copied(site, browser):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator(".md-code__button").first.wait_for(state="attached")
    for blocks, shown in {".highlight:not(.printed)": True, ".printed": False}.items():
        buttons = page.locator(f"{blocks} .md-code__button")
        assert buttons.count() > 0
        assert (
            buttons.evaluate_all("all => all.map(one => one.checkVisibility())") == [shown] * buttons.count()
        )
    page.close()


def test_pictures_that_our_programmes_draw_have_dark_variants(site, pages, read):
    """A page shows one of both; a picture without a dark one stands as it is."""
    light = {one.name.removesuffix("-dark.svg") for one in (site / "images").glob("*-dark.svg")}
    drawn = {"attacker", "distances", "idea", "repeated", "scoreboard", "shuffler", "two-rounds"}
    assert drawn <= light
    shown = {part.rpartition("/")[2] for page in read.values() for part in page.parts if "images/" in part}
    assert {f"{name}.svg#only-light" for name in drawn} <= shown
    assert {f"{name}-dark.svg#only-dark" for name in drawn} <= shown
    for name in drawn:
        dark = (site / "images" / f"{name}-dark.svg").read_text("utf-8")
        assert not re.search("#000000|#ffffff|#595959", dark), name
