"""Pages in a real Chromium, from a folder that is served on localhost, where browsers give WebCrypto."""

import contextlib
import http.server
import threading
from functools import partial


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """Serve a folder; the address is yielded."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def context_of(browser, **options):
    """Yield the context of a browser with these options; the pages that are opened in it meanwhile are closed.

    A context takes as long to make as a page to test, so that one lasts as long as the browser.
    """
    contexts, asked = browser.__dict__.setdefault("shared", {}), repr(sorted(options.items()))
    if asked not in contexts:
        contexts[asked] = browser.new_context(**options)
    before = contexts[asked].pages
    yield contexts[asked]
    for page in contexts[asked].pages:
        if page not in before:
            page.close()


@contextlib.contextmanager
def page_of(browser, folder, script="", **options):
    """Open the page of a folder in a place that stores nothing yet; what it requests and complains of is kept."""
    with served(folder) as base, context_of(browser, **options) as context:
        page = context.new_page()
        place = {"origin": base.rstrip("/"), "storageTypes": "all"}  # another folder may have had the port
        context.new_cdp_session(page).send("Storage.clearDataForOrigin", place)
        page.add_init_script(script)
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url.removeprefix(base)))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.goto(base)
        yield page
