"""What the tests of the review page share: one browser, and folders that are removed at the end."""

import pathlib
import tempfile
import unittest

import browser
import folder

_shared = {}


def shared_browser():
    """The browser of all tests, started when the first one asks for it."""
    if "browser" not in _shared:
        _shared["browser"] = browser.Browser()
    return _shared["browser"]


def close():
    """Ends the browser."""
    if "browser" in _shared:
        _shared.pop("browser").close()


@unittest.skipUnless(browser.executable(), "Chromium is missing")
class PageTest(unittest.TestCase):
    """A test with a browser and a temporary folder. Fails if the page raises an error or asks for anything outside."""

    def setUp(self):
        self.browser = shared_browser()
        self.browser.requests.clear()
        self.browser.problems.clear()
        self.browser.size(1200, 900)
        temporary = tempfile.TemporaryDirectory(prefix="review-page-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def tearDown(self):
        # All pages opened from files share one storage.
        self.browser.evaluate("try { localStorage.clear(); } catch (error) { }")
        self.assertEqual(self.browser.problems, [])
        outside = [url for url in self.browser.requests if not url.startswith(("file:", "data:", "blob:", "about:"))]
        self.assertEqual(outside, [])

    def open(self, entries, fragment="", **options):
        """Writes a folder, and opens its page with empty storage."""
        page = folder.write(self.folder / "out", entries, **options)
        self.browser.open(page, fragment)
        return page

    def text(self, selector):
        """The text of an element."""
        return self.browser.evaluate(f"document.querySelector({selector!r}).innerText")

    def names(self):
        """The names of the visible cards, in reading order."""
        return self.browser.evaluate("[...document.querySelectorAll('#cards .card')].map(card => card.dataset.item)")

    def go(self, fragment):
        """Follows a link inside the page."""
        self.browser.evaluate(f"location.hash = {fragment!r}; new Promise(done => setTimeout(done, 60))")
