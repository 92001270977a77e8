"""The form of a survey with a memo in a real Chromium: it asks the same questions at every visit."""

import json

import pytest
from test_form_memory import DENIED, FORGETTING

from browsing import page_of
from forms import ADDRESS, DECLINE, GIVE, SEND, assert_led_to, forms, send, start
from memos import survey_of
from stratagem.mechanism.webpage import write_web_client

FOUND = survey_of("german")
NAME = f"stratagem {FOUND.identifier}"
ASKED = [{"Alter": "40 to below 65 Jahre", "Größe": "mittel"}, {"Tür & Tor": "auf"}]
"""The questions of each part, and an answer to each."""
TOLD = "Chance chose {} for you. You are asked the same each time."


@pytest.fixture
def show(browser, tmp_path):
    with forms(browser, tmp_path / "web") as opened:
        yield lambda **options: opened(FOUND, "Wie wohnen Sie?", **options)


def asked(page):
    start(page)
    page.locator("#fields fieldset").first.wait_for()
    return page.locator("#fields legend").all_inner_texts()


def memo_of(page):
    return page.evaluate("(name) => localStorage.getItem(name)", NAME)


def keeping(page, part):
    """Let the device keep a part, as if it had been drawn, and load the page again."""
    first, end = FOUND.strategy.offsets[part : part + 2]
    text = " ".join([str(first), *[str(end - 1)] * (FOUND.strategy.parts[part].strategy.domain_size - 1)])
    page.evaluate("([name, text]) => localStorage.setItem(name, text)", [NAME, f"{text}\n"])
    page.reload()
    start(page)


@pytest.mark.parametrize("part", range(2))
def test_every_visit_asks_the_same_questions_and_sends_reports_about_them_alone(part, show):
    page = show()
    keeping(page, part)
    memo, names = memo_of(page), list(ASKED[part])
    some = "this question" if len(names) == 1 else f"these {len(names)} questions"
    for times in ("one answer", "2 answers"):
        assert asked(page) == names
        assert page.locator("#chosen").inner_text() == TOLD.format(some)
        for answer in ASKED[part].values():
            page.get_by_label(answer, exact=True).check()
        page.get_by_role("button", name=GIVE).click()
        page.get_by_role("heading", name="This will be sent:").wait_for()
        report = json.loads(page.locator("#report").text_content())
        first, end = FOUND.strategy.offsets[part : part + 2]
        assert first <= report["output"] < end
        send(page)
        page.get_by_text(f"This device has sent {times} to this survey.").wait_for()
        page.reload()
        page.get_by_role("button", name="Answer again").click()
        assert memo_of(page) == memo
    assert "everything that you send about this answer" in page.locator("#learn").inner_text()
    page.locator("#experts summary").click()
    page.get_by_text("2 for all reports about one answer together, 0.5 for one alone").wait_for()
    page.get_by_text("which questions it asks, a permanent report for each possible answer").wait_for()
    assert len({one["id"] for one in page.posted}) == 2
    assert page.complaints == []


def test_the_part_is_drawn_once_and_kept_over_loads_and_tabs(show):
    page = show()
    first, memo = asked(page), memo_of(page)
    assert memo.endswith("\n")
    for _ in range(5):
        page.reload()
        assert asked(page) == first
    other = page.context.new_page()
    other.goto(page.url)
    assert asked(other) == first
    assert memo_of(other) == memo


def test_declining_and_a_preview_keep_the_part_too(show):
    page = show()
    keeping(page, 1)
    page.get_by_label("zu", exact=True).check()
    page.get_by_role("button", name=GIVE).click()
    page.get_by_role("button", name=DECLINE).click()
    assert_led_to(page, "Nothing was sent.")
    page.get_by_role("button", name="Show it again").click()
    page.get_by_role("button", name=SEND, exact=True).wait_for()
    preview = show(submit="")
    assert preview.locator("#chosen").inner_text().endswith("You are asked the same each time.")
    seen = asked(preview)
    preview.reload()
    assert asked(preview) == seen


@pytest.mark.parametrize("text", ["0 1 2\n", "99 99\n", "", "10 0\n"])
def test_a_damaged_memo_asks_nothing(text, browser, tmp_path):
    """No other part is drawn in its place: that would spend the budget again."""
    folder = write_web_client(tmp_path, FOUND, submit=ADDRESS)
    script = f"localStorage.setItem({json.dumps(NAME)}, {json.dumps(text)})"
    with page_of(browser, folder, script=script) as page:
        page.get_by_text("This form cannot be used here, and nothing was sent.").wait_for()
        page.get_by_text("the memo is damaged").wait_for()
        assert not page.locator("#ask").is_visible()


@pytest.mark.parametrize("script", [DENIED, FORGETTING])
def test_without_storage_nothing_is_asked(script, browser, tmp_path):
    folder = write_web_client(tmp_path, FOUND, submit=ADDRESS)
    with page_of(browser, folder, script=script) as page:
        page.get_by_text("Let the browser store data for this page, or use another browser.").wait_for()
        assert not page.locator("#ask").is_visible()
