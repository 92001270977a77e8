"""The report in a real Chromium without a network: it calculates what Python does, and everybody can read it."""

import contextlib
import math
import re
from functools import cache
from itertools import pairwise

import pytest

import stratagem as st
from browsing import context_of
from mechanisms import mechanism
from reading import low_contrast, sheets
from stratagem.report.page import report_saved

BUDGETS = [0.5, 1.0, 2.0]
OURS = "this mechanism"
EVERY = 8 / 7
"""Prefixes over those that are estimated: the last one is known exactly, and no error counts it."""


@cache
def solutions():
    return st.study.path(st.prefix(8), BUDGETS)


def write_solution(path):
    return solutions()[1].report(path, name="prefix & <more>", others=solutions())


def write_bundle(path):
    return report_saved(path, mechanism("several-attributes"), budgets=[2.0])


def write_many(path):
    """Pairs of a hundred attributes: more user types than anybody can count."""
    return st.optimise(st.marginals("2^100", 2), 1.0, st.solvers.Junta(max_steps=1)).report(path)


def write_zero(path):
    return st.optimise(st.total(4), 1.0).report(path)


def write_numbers(path):
    return numbers_solution().report(path, users=5000)


@cache
def numbers_solution():
    return st.optimise(st.mean([0.5, 3.0, 7.0]), 1.0)


PAGES = {
    "solution": write_solution,
    "bundle": write_bundle,
    "many": write_many,
    "total": write_zero,
    "numbers": write_numbers,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that writes a report once."""
    return cache(lambda name: PAGES[name](tmp_path_factory.mktemp("report") / "report.html"))


@pytest.fixture
def show(browser, written):
    """Return a function that opens a report offline; what it requests and complains of is kept."""
    with contextlib.ExitStack() as stack:

        def opened(name="solution", **options):
            page = stack.enter_context(context_of(browser, offline=True, **options)).new_page()
            page.requests, page.complaints = [], []
            page.on("request", lambda request: page.requests.append(request.url))
            page.on("console", lambda message: page.complaints.append(message.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.goto(written(name).as_uri())
            return page

        yield opened


def choose(page, find, **values):
    """Set the controls as a person does."""
    page.get_by_role("radio", name=find).check()
    for name, value in values.items():
        page.locator(f"#{name}").fill(str(value))


def shown(page):
    """Return what the calculator's table says, by mechanism."""
    rows = page.locator("#found tbody tr")
    return {row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in rows.all()}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PAGES)
def test_it_asks_nobody_for_anything_and_complains_of_nothing(name, show, written):
    page = show(name)
    page.wait_for_timeout(100)
    assert [url for url in page.requests if not url.startswith("data:")] == [written(name).as_uri()]
    assert page.complaints == []
    assert page.locator("#answer").inner_text()


def test_a_request_would_be_seen_and_none_gets_out(show):
    """The negative control of the test above."""
    page = show()
    failed = page.evaluate("fetch('https://example.org/').then(() => 'sent', (error) => error.name)")
    assert failed == "TypeError"
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))")
    page.wait_for_timeout(100)
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", range(len(BUDGETS)))
@pytest.mark.parametrize("error", [0.3, 1, 12.5])
def test_users_needed_are_those_of_python(place, error, show):
    page = show()
    choose(page, "the people needed", budget=place, error=error)
    found, solution = shown(page), solutions()[place]
    alpha = (error / 100) ** 2 / EVERY
    assert found[OURS] == f"{math.ceil(solution.samples_for(alpha)):,}"
    best = min(solution.baselines, key=lambda one: one.accuracy.samples_for(alpha))
    assert found[best.mechanism] == f"{math.ceil(best.accuracy.samples_for(alpha)):,}"
    assert found["proven minimum"] == f"{math.ceil(st.Comparison.of(solution).fewest_users * 0.01 / alpha):,}"
    single = f"{solution.users_for(error / 100).least_accurate:,}"
    assert single != found[OURS]
    said = page.locator("#answer").inner_text()
    assert f"Ask {found[OURS]} people for a standard error" in said
    assert f"root mean square over the queries; {single} for every single answer" in said
    row = page.locator("#found tbody tr").filter(has_text=OURS).locator("td")
    assert row.last.inner_text() == single
    assert f"at ε = {BUDGETS[place]:g}" in page.locator("#answer").inner_text()


def test_errors_of_numbers_are_in_their_units(show):
    page, solution = show("numbers"), numbers_solution()
    said = page.locator("#answer").inner_text()
    error = math.sqrt(solution.mean_variance / 5000)
    assert f"is {float(f'{error:.3g}')}\u00a0a person in the units of the queries at ε = 1" in said
    choose(page, "the people needed", error=0.5)
    assert shown(page)[OURS] == f"{solution.users_for(0.5).root_mean_square:,}"
    assert "for a standard error of 0.5\u00a0a person at" in page.locator("#answer").inner_text()
    assert "%" not in page.locator("#answer").inner_text() + page.locator("#chart").inner_text()


def test_a_bound_that_says_nothing_is_a_dash(show):
    page = show("total")
    for find in ("the people needed", "the error reached"):
        choose(page, find)
        assert shown(page)["proven minimum"] == "–"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", range(len(BUDGETS)))
@pytest.mark.parametrize("users", [50, 12345, 10**9])
def test_the_error_reached_is_that_of_python(place, users, show):
    """The normalised variance at which exactly so many users are needed is the squared standard error."""
    page = show()
    choose(page, "the error reached", budget=place, users=users)
    said = float(shown(page)[OURS].removesuffix("%").strip())
    solution = solutions()[place]
    assert solution.samples_for((said / 100) ** 2 / EVERY) == pytest.approx(users, rel=0.01)
    exact = math.sqrt(EVERY * solution.accuracy.worst_case_variance / solution.workload.queries / users)
    assert said == float(f"{100 * exact:.3g}")
    largest = float(f"{100 * math.sqrt(solution.largest_variance / users):.3g}")
    answer = page.locator("#answer").inner_text().replace("\u00a0", " ")
    assert f"{largest:g} % for the least accurate answer" in answer


@pytest.mark.parametrize("place", range(len(BUDGETS)))
def test_the_budget_needed_is_the_least_that_is_enough(place, show):
    page = show()
    enough = math.ceil(solutions()[place].samples_for(1e-4 / EVERY))
    choose(page, "the ε needed", users=enough, error=1)
    assert shown(page)[OURS] == f"{BUDGETS[place]:g}"
    page.locator("#users").fill(str(enough - 1))
    assert shown(page)[OURS] == (f"{BUDGETS[place + 1]:g}" if place + 1 < len(BUDGETS) else "none up to 2")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "typed", "sentence"),
    [
        ("error", "", "The standard error must be a number"),
        ("error", "-1", "The standard error must be a number"),
        ("error", "0", "The standard error must be a number"),
        ("error", "1e9", "The standard error must be a number"),
        ("users", "0.5", "People must be a number from 1"),
        ("users", "1e99", "People must be a number from 1"),
    ],
)
def test_what_is_no_number_is_said(name, typed, sentence, show):
    page = show()
    choose(page, "the people needed" if name == "error" else "the error reached", **{name: typed})
    assert sentence in page.locator("#answer").inner_text()
    assert page.locator(f"#{name}").get_attribute("aria-invalid") == "true"
    page.locator(f"#{name}").fill("5")
    assert page.locator(f"#{name}").get_attribute("aria-invalid") == "false"


def test_the_keyboard_is_enough(show):
    """Tab reaches every control in order, arrows move the budget and the mode, and the answer follows."""
    page = show()
    order = []
    for _ in range(4):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.type || document.activeElement.className"))
    assert order == ["skip", "radio", "range", "number"]
    page.locator("#budget").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#budget").get_attribute("aria-valuetext") == "ε = 2"
    assert "at ε = 2" in page.locator("#answer").inner_text()
    page.get_by_role("radio", name="the people needed").focus()
    page.keyboard.press("ArrowRight")
    assert "With 100,000 people" in page.locator("#answer").inner_text()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_every_control_is_labelled_and_headings_are_in_order(show):
    page = show("bundle")
    names = page.evaluate(
        "[...document.querySelectorAll('input')].map((one) => [...one.labels].map((l) => l.textContent).join())"
    )
    assert len(names) == 5
    assert all(name.strip() for name in names)
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3')].map((one) => Number(one.localName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert page.locator("#answer").get_attribute("aria-live") == "polite"
    pictures = page.locator("[role=img]")
    assert all(one.get_attribute("aria-label") for one in pictures.all())
    assert page.evaluate("document.documentElement.lang") == "en"


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_can_be_read_by_day_and_night_on_narrow_and_wide_screens(name, scheme, width, show):
    """WCAG 2.2 AA: contrast of at least 4.5, no sideways scrolling of the page."""
    page = show(name, color_scheme=scheme, viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert low_contrast(page) == []
    page.locator("input[type=number]:visible").first.fill("-1")
    assert low_contrast(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_low_contrast_and_wide_pages_would_be_seen(show):
    """The negative control of the test above, for letters of the page and of its pictures."""
    page = show()
    page.evaluate("document.querySelector('h1').attributeStyleMap.set('color', '#999999')")
    page.evaluate("document.querySelector('.picture text').setAttribute('fill', '#999999')")
    assert len(low_contrast(page)) == 2
    page.evaluate("document.querySelector('h1').attributeStyleMap.set('width', '3000px')")
    assert page.evaluate("document.documentElement.scrollWidth") > 1280


def test_paper_shows_everything_but_the_controls(show):
    page = show("bundle", color_scheme="dark", viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.locator("#choice").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert low_contrast(page) == []


def printed(page):
    """Return whether every folded section is printed, by its first paragraph or table."""
    first = "[...document.querySelectorAll('details:has(> summary h2)')].map((one) => one.querySelector('p, table')"
    return page.evaluate(f"{first}.checkVisibility())")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_it_takes_six_pages_of_paper_at_most(name, paper, show):
    assert 3 <= sheets(show(name), paper) <= 6


def test_a_long_page_would_take_more_sheets(show):
    """The negative control of the test above."""
    page = show()
    page.evaluate(
        "document.querySelector('main').append(document.querySelector('#threats-title').closest('section').cloneNode(true))"
    )
    assert sheets(page, "A4") > 6


HEADINGS = """(height) => [...document.querySelectorAll('h1, h2, h3, caption')].filter((one) => one.checkVisibility())
  .map((one) => getComputedStyle(one).breakAfter)"""


def test_no_heading_ends_a_sheet(show):
    page = show("bundle")
    page.emulate_media(media="print")
    found = page.evaluate(HEADINGS)
    assert len(found) > 10
    assert set(found) == {"avoid"}
    tables = "[...document.querySelectorAll('.scroll')].map((one) => getComputedStyle(one).breakInside)"
    assert set(page.evaluate(tables)) == {"avoid"}


FOLDED = "[...document.querySelectorAll('details table, details pre')].map((one) => one.checkVisibility())"


@pytest.mark.parametrize("scripts", [True, False])
def test_technical_sections_are_folded_open_without_scripts_and_are_printed(scripts, browser, written):
    context = browser.new_context(offline=True, java_script_enabled=scripts)
    page = context.new_page()
    page.goto(written("solution").as_uri())
    titles = page.locator("details > summary > h2")
    assert titles.count() == 5
    assert not page.get_by_text("import numpy as np").is_visible()
    if scripts:
        assert not any(page.evaluate(FOLDED))
        page.emulate_media(media="print")
        assert printed(page) == [True] * 4 + [False]
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert all(page.evaluate(FOLDED))
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert not any(page.evaluate(FOLDED))
    titles.last.click()
    assert page.get_by_text("import numpy as np").is_visible()
    context.close()


def test_the_verdict_comes_first(show):
    page = show()
    assert page.locator("main h2").first.inner_text() == "The verdict"
    assert page.locator("main > section").first.locator("dd").count() == 6


@pytest.mark.parametrize("name", ["solution", "bundle"])
def test_letters_of_pictures_are_large_enough_on_a_telephone(name, show):
    page = show(name, viewport={"width": 360, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg text')].map((one) => [one.getScreenCTM(), getComputedStyle(one)])"
        ".map(([matrix, style]) => Math.hypot(matrix.a, matrix.b) * parseFloat(style.fontSize))"
    )
    assert len(sizes) > 20
    assert min(sizes) >= 12


def test_it_moves_nothing_for_those_who_ask(show):
    page = show(reduced_motion="reduce")
    moving = page.evaluate(
        "document.getAnimations().length + [...document.querySelectorAll('*')]"
        ".filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length"
    )
    assert moving == 0


@pytest.mark.exhaustive
def test_without_scripts_the_numbers_are_in_a_table(show):
    page = show(java_script_enabled=False)
    assert page.locator("#choice").is_hidden()
    page.get_by_text("All computed numbers").click()
    needed = f"{math.ceil(solutions()[1].samples_for(1e-4 / EVERY)):,}"
    assert page.get_by_role("row", name=re.compile(f"^{OURS}.*{needed}")).is_visible()
