"""The form in Chromium with the server that serves it: what is shown is what is counted, once, whatever happens."""

import contextlib
import json
import re

import pytest

from forms import drawn
from mechanisms import mechanism
from memos import memoised
from posting import Collector
from reading import low_contrast
from tools import need_package

need_package("uvicorn")
FOUND = mechanism("labels")


@pytest.fixture
def serve(browser, tmp_path):
    """Return a function that starts a collector of a mechanism and opens its form."""
    with contextlib.ExitStack() as stack:

        def served(found=FOUND, *options):
            collector = stack.enter_context(Collector(tmp_path, found, "--question", "Ja?", *options))
            context = stack.enter_context(browser.new_context())
            page = context.new_page()
            page.goto(f"{collector.place}/")
            return collector, page

        yield served


def send(page, name="Send"):
    page.get_by_role("button", name=name, exact=True).click()


def thanked(page):
    page.get_by_role("heading", name=re.compile("Thank you, sent")).wait_for()


def held(collector):
    """Return the reports in the collection of a collector, which ends."""
    collector.__exit__()
    with collector.mechanism.collection(collector.state) as collection:
        return [(name.hex, output) for name, output in collection._sql("SELECT id, output FROM reports")]


def test_the_report_that_is_shown_is_sent_and_a_second_visit_sends_nothing(serve):
    collector, page = serve()
    shown = drawn(page)
    send(page)
    thanked(page)
    page.reload()
    thanked(page)
    assert page.get_by_role("button").count() == 0
    assert held(collector) == [(shown["id"], shown["output"])]


@pytest.mark.exhaustive
def test_what_is_not_to_be_sent_is_not(serve):
    collector, page = serve()
    drawn(page)
    page.get_by_role("button", name="Don’t send").click()
    page.get_by_role("heading", name="Nothing was sent.").wait_for()
    assert held(collector) == []


@pytest.mark.exhaustive
def test_offline_it_says_so_and_sends_the_same_report_later(serve):
    collector, page = serve()
    shown = drawn(page)
    page.context.set_offline(True)
    send(page)
    page.get_by_text("This device is offline, so nothing was sent. Connect it first. Press Send").wait_for()
    page.get_by_role("button", name="Don’t send").click()
    page.get_by_role("heading", name="Nothing was sent.").wait_for()
    page.get_by_role("button", name="Show it again").click()
    page.context.set_offline(False)
    send(page)
    thanked(page)
    assert held(collector) == [(shown["id"], shown["output"])]


@pytest.mark.exhaustive
def test_a_report_whose_acknowledgement_was_lost_counts_once(serve):
    """The first request arrives, and its answer does not."""
    collector, page = serve()
    shown = drawn(page)
    lost = []

    def lose(route):
        lost.append(route.fetch().json())
        route.abort()

    page.route("**/reports", lose, times=1)
    send(page)
    page.get_by_text("what you sent may have arrived or not").wait_for()
    assert lost == [{"received": 1, "repeated": 0, "refused": {}}]
    page.reload()
    send(page, "Send again")
    thanked(page)
    assert held(collector) == [(shown["id"], shown["output"])]


@pytest.mark.exhaustive
def test_a_busy_server_is_tried_again(serve):
    """Two reports a second are taken: a flood of others uses them up for six seconds."""
    collector, page = serve(FOUND, "--rate", "2")
    shown = drawn(page)
    flood = "\n".join(json.dumps(FOUND.client.randomise("ja")) for _ in range(16))
    options = {"headers": {"content-type": "application/x-ndjson"}, "data": flood}
    assert page.request.post(f"{collector.place}/reports", **options).ok
    send(page)
    page.get_by_text("The survey is busy and has not taken what you sent.").wait_for()
    page.wait_for_timeout(7000)
    send(page)
    thanked(page)
    assert (shown["id"], shown["output"]) in held(collector)


@pytest.mark.exhaustive
def test_a_memo_reports_again_with_another_id(serve):
    collector, page = serve(memoised("pairs"))
    reports = []
    for _ in range(2):
        reports.append(drawn(page, "2"))
        send(page)
        thanked(page)
        page.reload()
        page.get_by_role("button", name="Answer again").click()
    assert sorted(held(collector)) == sorted((one["id"], one["output"]) for one in reports)


@pytest.mark.exhaustive
def test_a_page_of_another_host_sends_there(browser, tmp_path):
    """The folder that export writes, on a host that the collector was told of."""
    from browsing import served
    from stratagem.mechanism.webpage import write_web_client

    folder = tmp_path / "page"
    folder.mkdir()
    with served(folder) as base, Collector(tmp_path, FOUND, "--cors", base.rstrip("/")) as collector:
        write_web_client(folder, FOUND, "Ja?", f"{collector.place}/reports")
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(base)
            shown = drawn(page)
            send(page)
            thanked(page)
        assert held(collector) == [(shown["id"], shown["output"])]


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_stand_beside_their_bars(scheme, browser, tmp_path):
    """The words of every bar are on the page, readable, at 360 pixels."""
    with Collector(tmp_path, FOUND, "--question", "Schön?") as collector:
        login = {"username": "any", "password": collector.token}
        options = {"color_scheme": scheme, "viewport": {"width": 360, "height": 640}}
        with browser.new_context(http_credentials=login, **options) as context:
            page = context.new_page()
            lines = "\n".join(json.dumps(FOUND.client.randomise("nein")) for _ in range(200))
            kind = {"content-type": "application/x-ndjson"}
            assert page.request.post(f"{collector.place}/reports", headers=kind, data=lines).ok
            page.goto(f"{collector.place}/results")
            rows = page.locator(".bars li").all_inner_texts()
            assert [re.search("ja|nein|weiß nicht", row)[0] for row in rows] == ["ja", "nein", "weiß nicht"]
            assert all(re.search(r"-?[0-9.]+\s% \(-?[0-9.]+\s% to -?[0-9.]+\s%\)", row) for row in rows)
            assert page.locator("[title]").count() == 0
            assert low_contrast(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            assert page.evaluate(
                "[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)"
            )
            for track in page.locator(".track").all():
                whole, zero = track.bounding_box(), track.locator(".zero").bounding_box()
                assert whole["x"] < zero["x"] < whole["x"] + whole["width"], "some answers are below zero"
                for part in track.locator("span").all():
                    box = part.bounding_box()
                    assert whole["x"] - 1 <= box["x"], "the left end of an interval is cut"
                    assert box["x"] + box["width"] <= whole["x"] + whole["width"] + 1
