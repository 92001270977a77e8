"""The form in a real Chromium, with a survey that takes what it posts."""

import contextlib
import json

from browsing import page_of
from stratagem.mechanism.webpage import write_web_client

ADDRESS = "http://localhost:9/reports"
GIVE, SEND, DECLINE = "Show what will be sent", "Send", "Don’t send"
START, REFUSE = "Start", "I do not want to take part"


@contextlib.contextmanager
def forms(browser, folder):
    """Yield a function that opens the form of a mechanism; what it posts is kept and acknowledged."""
    with contextlib.ExitStack() as stack:

        def opened(
            found,
            question="Ja?",
            submit=ADDRESS,
            answer=(200, {"received": 1, "repeated": 0}),
            about="",
            *,
            started=True,
            **options,
        ):
            written = write_web_client(folder, found, question, submit, about=about)
            page = stack.enter_context(page_of(browser, written, **options))
            page.posted, page.answers = [], answer

            def take(route):
                page.posted.append(json.loads(route.request.post_data))
                status, body = page.answers
                headers = {"access-control-allow-origin": "*"}
                route.fulfill(status=status, headers=headers, json=body) if status else route.abort()

            page.route(ADDRESS, take)
            page.locator("#experts").wait_for()
            if started:
                start(page)
            return page

        yield opened


def start(page):
    """Agree to take part, where the page asks that."""
    page.locator("#experts").wait_for()
    if page.locator("#start").is_visible():
        page.get_by_role("button", name=START, exact=True).click()


def drawn(page, label="nein"):
    """Agree, answer, and return the report that is drawn."""
    start(page)
    page.get_by_label(label, exact=True).check()
    page.get_by_role("button", name=GIVE).click()
    page.get_by_role("heading", name="This will be sent:").wait_for()
    return json.loads(page.locator("#report").text_content())


def send(page):
    page.get_by_role("button", name=SEND, exact=True).click()


def assert_led_to(page, heading):
    """Check that the focus goes to a heading."""
    from playwright.sync_api import expect

    expect(page.get_by_role("heading", name=heading)).to_be_focused()
