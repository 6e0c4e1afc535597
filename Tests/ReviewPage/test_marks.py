"""Verdicts: keys, storage, files, several raters, objects, and results that have changed."""

import json
import time

import folder
from support import PageTest


class MarkTests(PageTest):
    def enter_name(self, name="Ada"):
        self.browser.evaluate(f"Review.marks.setRater({name!r})")

    def mine(self):
        return self.browser.evaluate("Review.marks.all()")

    def save(self):
        target = self.browser.downloads / "review.json"
        target.unlink(missing_ok=True)
        self.browser.click("#save")
        deadline = time.monotonic() + 10
        while not target.exists() or not target.read_text().endswith("}\n"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        return target.read_text()

    def load(self, content):
        path = self.folder / "loaded.json"
        path.write_text(content)
        node = self.browser.call("Runtime.evaluate",
            expression="document.querySelector('#review-file')")["result"]["objectId"]
        self.browser.call("DOM.setFileInputFiles", files=[str(path)], objectId=node)
        self.browser.wait("document.querySelector('#announcement').innerText.startsWith('loaded.json')")
        return self.text("#announcement")

    def test_first_mark_asks_for_the_name_and_is_stored(self):
        page = self.open(folder.items(20), "#item=case-00000")
        self.browser.press("p")
        self.browser.wait("document.querySelector('#rater-dialog')")
        self.browser.type("Ada")
        self.browser.press("Enter")
        self.browser.wait("!document.querySelector('#rater-dialog')")
        self.assertEqual([(mark["item"], mark["verdict"], mark["rater"]) for mark in self.mine()],
            [("case-00000", "pass", "Ada")])
        self.browser.open(page, "#item=case-00000")
        self.assertEqual(self.browser.evaluate("document.querySelector('#verdict-pass').getAttribute('aria-pressed')"),
            "true")
        self.assertIn("1 of 20 items marked", self.text("#progress"))

    def test_recorded_marks_are_shown_and_newer_ones_in_the_browser_count(self):
        def mark(item, rater, verdict, time, **more):
            return {"item": f"case-{item:05}", "fingerprint": f"{item:08x}", "rater": rater, "verdict": verdict,
                "comment": "", "time": time, **more}

        marks = [mark(0, "Ada", "fail", "2026-01-01T00:00:00Z"), mark(0, "Ben", "pass", "2026-01-01T00:00:00Z"),
            mark(1, "Ada", "pass", "2026-01-01T00:00:00Z", fingerprint="old"), {"item": 5}]
        page = self.open(folder.items(20), marks=marks)
        self.enter_name()
        found = self.browser.evaluate("Review.model.items.slice(0, 3).map((entry) => Review.marks.kinds(entry))")
        self.assertEqual(found, [["fail", "pass", "disagreement"], ["unmarked", "changed"], ["unmarked"]])
        self.assertIn("1 of 20 items marked; 1 result has changed since marked", self.text("#progress"))
        self.browser.open(page, "#item=case-00000")
        self.browser.press("q")
        self.browser.open(page, "#item=case-00000")
        self.assertEqual([(mark["rater"], mark["verdict"]) for mark in self.mine()[:2]],
            [("Ada", "questionable"), ("Ben", "pass")])

    def test_keys_mark_comment_and_move(self):
        self.open(folder.items(20), "#item=case-00000")
        self.enter_name()
        self.browser.press("c")
        self.browser.type("border is cut, p or f")
        self.browser.press("Escape")
        self.browser.press("f")
        self.browser.press("ArrowRight")
        self.browser.wait("document.querySelector('#item-heading').innerText === 'case-00001'")
        self.browser.press("q")
        marks = self.mine()
        self.assertEqual([(mark["item"], mark["verdict"], mark["comment"]) for mark in marks],
                         [("case-00000", "fail", "border is cut, p or f"), ("case-00001", "questionable", "")])
        self.browser.click("#remove-mark")
        self.assertEqual(len(self.mine()), 1)

    def test_click_right_after_typing_a_comment_counts(self):
        self.open(folder.items(20), "#item=case-00000")
        self.enter_name()
        self.browser.press("p")
        self.browser.press("c")
        self.browser.type("not sure")
        self.browser.click("#verdict-questionable")
        self.assertEqual([(mark["verdict"], mark["comment"]) for mark in self.mine()], [("questionable", "not sure")])

    def test_key_marks_the_focused_card_and_the_filter_follows(self):
        self.open(folder.items(40))
        self.enter_name()
        self.browser.evaluate("document.querySelector('.card a').focus()")
        self.browser.press("f")
        self.assertIn("✗ fail", self.text(".card"))
        self.assertEqual(self.browser.evaluate("document.activeElement.closest('.card').dataset.item"), self.names()[0])
        self.browser.evaluate("[...document.querySelectorAll('.chip')].find(chip => chip.dataset.chip === 'verdict fail').click()")
        self.assertEqual(self.text("#shown"), "Showing 1 of 40 items.")

    def test_next_item_after_a_verdict_if_wanted(self):
        self.open(folder.items(20), "#item=case-00000")
        self.enter_name()
        self.browser.click("#advance")
        self.browser.evaluate("document.activeElement.blur()")
        self.browser.press("p")
        self.browser.wait("document.querySelector('#item-heading').innerText === 'case-00001'")

    def test_repeated_item_loses_its_mark_visibly(self):
        entries = folder.items(20)
        page = self.open(entries, "#item=case-00000")
        self.enter_name()
        self.browser.press("p")
        entries[0]["fingerprint"] = "changed"
        folder.write(self.folder / "out", entries)
        self.browser.open(page)
        self.assertIn("changed since marked pass", self.text(".card[data-item=case-00000]"))
        self.assertIn("0 of 20 items marked; 1 result has changed", self.text("#progress"))
        self.go("#item=case-00000")
        self.assertEqual(self.text("#stale"),
            "The result has changed since it was marked (pass). That mark does not count.")
        self.assertEqual(self.browser.evaluate("document.querySelector('#verdict-pass').getAttribute('aria-pressed')"),
            "false")
        self.browser.press("f")
        self.assertEqual([(mark["verdict"], mark["fingerprint"]) for mark in self.mine()], [("fail", "changed")])

    def test_saved_file_has_the_schema_and_loads_again(self):
        page = self.open([*folder.items(12), folder.photo_item(12, "shelf")])
        self.enter_name()
        for name, key in (("shelf", "q"), ("case-00002", "p"), ("case-00000", "f")):
            self.go(f"#item={name}")
            self.browser.press(key)
        self.go("#item=shelf")
        self.browser.click("#objects tr[data-object='2'] button.fail")
        text = self.save()
        data = json.loads(text)
        self.assertEqual(list(data), ["schemaVersion", "batch", "raters", "marks"])
        self.assertEqual(data["raters"], ["Ada"])
        self.assertEqual([(mark["item"], mark["object"], mark["verdict"]) for mark in data["marks"]],
                         [("case-00000", None, "fail"), ("case-00002", None, "pass"), ("shelf", None, "questionable"),
                             ("shelf", "2", "fail")])
        self.assertEqual(list(data["marks"][0]), ["item", "fingerprint", "object", "rater", "verdict", "comment",
            "time"])
        self.assertRegex(data["marks"][0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.browser.evaluate("localStorage.clear()")
        self.browser.open(page)
        self.assertEqual(self.mine(), [])
        self.assertIn("4 marks added", self.load(text))
        self.assertEqual(self.save(), text)

    def test_raters_stand_side_by_side_and_can_be_hidden(self):
        self.open(folder.items(12), "#item=case-00000")
        self.enter_name()
        self.browser.press("p")
        other = {"item": "case-00000", "fingerprint": "00000000", "object": None, "rater": "<b>Bea</b>",
            "verdict": "fail",
                 "comment": "<i>leak</i>", "time": "2026-01-01T00:00:00Z"}
        content = {"schemaVersion": 1, "batch": "0f1e2d3c", "raters": ["Bea"], "marks": [other, {"item": 3}]}
        self.assertIn("1 mark added, 0 already here, 1 unreadable", self.load(json.dumps(content)))
        self.assertIn("<b>Bea</b>", self.text("#raters"))
        self.assertIn("<i>leak</i>", self.text("#raters"))
        self.go("#items")
        self.assertIn("raters disagree", self.text("#chips"))
        self.browser.click("#blind")
        self.assertNotIn("raters disagree", self.text("#chips"))
        self.assertNotIn("Bea", self.text(".card[data-item=case-00000]"))

    def test_file_of_another_batch_is_refused(self):
        self.open(folder.items(2))
        self.assertIn("another batch", self.load(json.dumps({"schemaVersion": 1, "batch": "x", "raters": [],
            "marks": []})))
        self.browser.evaluate("document.querySelector('#announcement').textContent = ''")
        self.assertIn("not JSON", self.load("{"))

    def test_without_storage_the_page_says_so_and_keeps_marks(self):
        source = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } })"
        page = folder.write(self.folder / "out", folder.items(3))
        script = self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=source)["identifier"]
        try:
            self.browser.open(page, "#item=case-00000")
            self.assertIn("stores nothing", self.text("#verdict-bar .message"))
            self.enter_name()
            self.browser.press("p")
            self.assertEqual(len(self.mine()), 1)
        finally:
            self.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)

    def test_boxes_of_objects_are_drawn_and_toggled(self):
        self.open([folder.photo_item(0, "shelf"), folder.lesion_item(1, "mole")], "#item=shelf", pictures=[0, 1])
        self.browser.wait("document.querySelectorAll('#pictures .boxes rect').length === 2")
        frame = self.browser.evaluate("""(() => { const image = document.querySelector('.frame img').getBoundingClientRect();
            const box = document.querySelector('.boxes rect').getBoundingClientRect();
            return [(box.x - image.x) / image.width * 96, (box.y - image.y) / image.height * 72]; })()""")
        # The numbers are in the picture itself.
        self.assertEqual(self.browser.evaluate("document.querySelector('.boxes text').textContent"), "0.97")
        self.assertAlmostEqual(frame[0], 10, delta=1.5)
        self.assertAlmostEqual(frame[1], 12, delta=1.5)
        self.browser.press(" ")
        self.assertEqual(self.browser.evaluate("document.querySelector('.boxes').style.display"), "none")
        self.browser.press("o")
        self.assertEqual(self.browser.evaluate("document.querySelector('.boxes').style.display"), "")
        self.go("#item=mole")
        self.assertIn("not probabilities of a disease", self.text("#view-item"))

    def test_the_photo_of_a_lesion_is_beside_its_attention_map_in_the_same_size(self):
        # Wide enough for two pictures of 96 x 72 pixels at their height on the page; those of real models are square.
        self.browser.size(1500, 900)
        self.open([folder.lesion_item(0, "mole")], "#item=mole", pictures=[0])
        self.browser.wait("[...document.querySelectorAll('.frame img')].filter(image => image.naturalWidth === 96).length === 2")
        photo, map_ = self.browser.evaluate("""[...document.querySelectorAll('.frame img')].map(image => {
            const box = image.getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })""")
        self.assertGreater(photo[3], 200)
        self.assertEqual(photo[1:], map_[1:])
        self.assertGreater(map_[0], photo[0] + photo[2])
