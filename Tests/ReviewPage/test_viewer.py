"""The viewer: labels and surfaces on the right side, readout, and what is shown without it. And names that attack."""

import json
import unittest

import browser
import folder
import phantom
from support import PageTest


class ViewerTests(PageTest):
    def setUp(self):
        if folder.viewer_path() is None:
            raise unittest.SkipTest("NiiVue is not installed: run Tools/install-niivue")
        super().setUp()

    def show(self, count=1, entries=None):
        # Small, because the processor draws the volumes.
        self.browser.size(700, 600)
        self.open(entries or folder.items(count), "#item=case-00000", pictures=range(count), volumes=range(count),
            viewer=folder.viewer_path())
        self.browser.click("#open-viewer")
        self.browser.wait("document.querySelector('#viewer').dataset.ready === 'case-00000'", 60)

    def layout(self, name):
        self.browser.evaluate(f"""(() => {{ const s = document.querySelector('#viewer-layout'); s.value = '{name}';
            s.dispatchEvent(new Event('change')); return new Promise(done => setTimeout(done, 300)); }})()""")

    def place(self, point):
        """Puts the crosshair to a point in RAS, and returns where that is on the canvas."""
        return self.browser.evaluate(f"""(() => {{ const nv = Review.viewer.state.nv; const frac = nv.mm2frac({json.dumps(point)});
            nv.scene.crosshairPos = frac; nv.drawScene(); nv.createOnLocationChange();
            return new Promise(done => setTimeout(() => done(nv.frac2canvasPos(frac)), 200)); }})()""")

    def canvas(self):
        # Nothing may cover the picture.
        self.browser.evaluate("""document.querySelector('#announcement').style.display = 'none';
            document.querySelector('#canvas').scrollIntoView({block: 'end'}); new Promise(done => setTimeout(done, 50))""")
        return browser.pixels(self.browser.picture("#canvas"))

    def test_labels_are_coloured_at_their_voxels_and_right_is_on_the_left(self):
        self.show()
        self.layout("axial")
        for kidney in phantom.KIDNEYS:
            x, y = self.place(kidney["centre"])
            width, _, pixel = self.canvas()
            # Beside the crosshair.
            red, green, blue = pixel(x + 6, y + 6)
            is_right = kidney["value"] == 1
            self.assertEqual(x < width / 2, is_right, kidney["name"])
            self.assertTrue(red > blue + 40 if is_right else blue > red + 20, (kidney["name"], red, green, blue))
            readout = self.text("#readout")
            self.assertIn(kidney["name"].replace("_", " "), readout)
            # Stored value 185 stands for 130 HU.
            self.assertIn("value 130 HU ·", readout)
            mm = [float(part) for part in readout.split("RAS ")[1].split(" mm")[0].split(", ")]
            for axis in range(3):
                self.assertAlmostEqual(mm[axis], kidney["centre"][axis], delta=1.1)

    def test_overlay_and_single_labels_are_switched_by_keys(self):
        self.show()
        self.layout("axial")
        x, y = self.place(phantom.KIDNEYS[0]["centre"])

        def redness():
            self.browser.evaluate("new Promise(done => setTimeout(done, 200))")
            red, _, blue = self.canvas()[2](x + 6, y + 6)
            return red - blue

        self.browser.evaluate("document.activeElement.blur()")
        self.assertGreater(redness(), 40)
        self.browser.press("o")
        self.assertLess(abs(redness()), 8)
        self.browser.press("o")
        self.browser.press("1", "Digit1")
        self.assertLess(abs(redness()), 8)
        self.assertFalse(self.browser.evaluate("document.querySelector('#label-0').checked"))
        self.browser.press("1", "Digit1")
        self.assertGreater(redness(), 40)

    def test_a_volume_without_labels_has_no_controls_for_them(self):
        entries = folder.items(1)
        entries[0]["labels"] = []
        self.show(entries=entries)
        self.layout("axial")
        self.place(phantom.KIDNEYS[0]["centre"])
        self.assertTrue(self.text("#readout").endswith("value 130 HU"), self.text("#readout"))
        for selector in ("#viewer-overlay", "fieldset.labels"):
            self.assertTrue(self.browser.evaluate(f"document.querySelector('{selector}').hidden"), selector)
        self.assertTrue(self.browser.evaluate("document.querySelector('#viewer-opacity') === null"))

    def test_planes_have_the_chosen_colours(self):
        self.show()
        self.layout("axial")
        # Without the labels, next to the crosshair in the tissue.
        self.browser.evaluate("document.activeElement.blur()")
        self.browser.press("o")
        x, y = self.place(phantom.KIDNEYS[0]["centre"])

        def color(name):
            self.browser.evaluate(f"""(() => {{ const s = document.querySelector('#viewer-colors'); s.value = '{name}';
                s.dispatchEvent(new Event('change')); return new Promise(done => setTimeout(done, 300)); }})()""")
            return self.canvas()[2](x + 6, y + 6)

        grey, inverted, hot = (color(name) for name in ("gray", "inverted", "hot"))
        self.assertEqual(grey[0], grey[2])
        for channel in range(3):
            self.assertAlmostEqual(inverted[channel], 255 - grey[channel], delta=4)
        self.assertGreater(hot[0], hot[2] + 60)

    def test_meshes_in_lps_are_on_the_patients_side(self):
        self.show()
        self.layout("surfaces")
        # Seen from the front: the patient's right is on the left of the picture.
        width, height, pixel = self.canvas()
        centres = {}
        for name, test in (("right", lambda r, g, b: r > b + 60), ("left", lambda r, g, b: b > r + 60)):
            found = [(x, y) for y in range(0, height, 4) for x in range(0, width, 4) if test(*pixel(x, y))]
            self.assertGreater(len(found), 20, name)
            centres[name] = [sum(each[axis] for each in found) / len(found) for axis in range(2)]
        self.assertLess(centres["right"][0], width / 2)
        self.assertGreater(centres["left"][0], width / 2)
        # The left kidney is 12 mm higher.
        self.assertLess(centres["left"][1], centres["right"][1])
        vertices = self.browser.evaluate("""Review.viewer.state.nv.meshes.map(mesh => [mesh.name, mesh.pts.reduce((sum, value, index) =>
            sum + (index % 3 === 0 ? value : 0), 0) / (mesh.pts.length / 3)])""")
        for name, mean in vertices:
            kidney = next(each for each in phantom.KIDNEYS if name.startswith(each["name"]))
            self.assertAlmostEqual(mean, kidney["centre"][0], delta=0.5)

    def test_volume_rendering_follows_the_transfer_function(self):
        self.show()
        self.layout("rendering")

        def brightness():
            self.browser.evaluate("new Promise(done => setTimeout(done, 400))")
            width, height, pixel = self.canvas()
            return sum(sum(pixel(x, y)) for y in range(0, height, 8) for x in range(0, width, 8))

        full = brightness()
        self.browser.evaluate("""(() => { const s = document.querySelector('#transfer-strength'); s.value = 10;
            s.dispatchEvent(new Event('input')); })()""")
        self.assertLess(brightness(), full)

    def position(self):
        """The crosshair in RAS millimetres, as the readout says."""
        return [float(part) for part in self.text("#readout").split("RAS ")[1].split(" mm")[0].split(", ")]

    def press(self, key):
        """Presses a key with the focus on the canvas; returns how far the crosshair moved."""
        before = self.position()
        self.browser.evaluate("document.querySelector('#canvas').focus()")
        self.browser.press(key)
        return [round(after - old, 1) for after, old in zip(self.position(), before)]

    def test_it_begins_at_the_centre_of_the_largest_label(self):
        self.show()
        found = [each for each in phantom.KIDNEYS if each["name"].replace("_", " ") in self.text("#readout")]
        self.assertEqual(len(found), 1)
        for axis in range(3):
            self.assertAlmostEqual(self.position()[axis], found[0]["centre"][axis], delta=1.1)

    def test_in_sagittal_slices_the_front_is_on_the_left(self):
        self.show()
        self.layout("sagittal")
        front, back = (self.place([0, y, 0]) for y in (20, -20))
        self.assertLess(front[0] + 40, back[0])
        low, high = (self.place([0, 0, z]) for z in (-20, 20))
        self.assertLess(high[1] + 40, low[1])

    def test_arrows_follow_the_plane_on_the_screen(self):
        self.show()
        steps = {
            "axial": {"ArrowRight": [-2, 0, 0], "ArrowUp": [0, 2, 0], "PageUp": [0, 0, 2]},
            "coronal": {"ArrowRight": [-2, 0, 0], "ArrowUp": [0, 0, 2], "PageUp": [0, 2, 0]},
            "sagittal": {"ArrowRight": [0, -2, 0], "ArrowUp": [0, 0, 2], "PageUp": [2, 0, 0]},
        }
        for layout, moves in steps.items():
            self.layout(layout)
            for key, move in moves.items():
                self.assertEqual(self.press(key), move, (layout, key))

    def test_what_has_no_effect_in_a_view_cannot_be_set_there(self):
        self.show()
        disabled = {"planes": [], "surfaces": ["window", "colors", "side", "opacity"], "rendering": ["window", "colors", "side"]}
        for layout, names in disabled.items():
            self.layout(layout)
            for name in ("window", "colors", "side", "opacity"):
                is_disabled = self.browser.evaluate(f"document.querySelector('#viewer-{name}').disabled")
                self.assertEqual(is_disabled, name in names, (layout, name))
        self.assertIn("in steps of 1.57 HU, from -160 to 240 HU", self.text("#precision").replace("−", "-"))

    def test_next_item_opens_in_the_viewer_and_arrows_move_the_crosshair(self):
        self.show(2)
        self.browser.press("n")
        self.browser.wait("document.querySelector('#viewer').dataset.ready === 'case-00001'", 60)
        self.browser.evaluate("document.querySelector('#canvas').focus()")
        self.browser.press("ArrowRight")
        before = self.text("#readout")
        # In this view the patient's left is on the right.
        self.browser.press("ArrowRight")
        after = self.text("#readout")

        def x(text):
            return float(text.split("RAS ")[1].split(",")[0])

        self.assertAlmostEqual(x(after) - x(before), -2, delta=0.2)


class FallbackTests(PageTest):
    def test_without_webgl_pictures_are_shown_with_a_message(self):
        page = folder.write(self.folder / "out", folder.items(1), pictures=[0], volumes=[0])
        source = "HTMLCanvasElement.prototype.getContext = () => null"
        script = self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=source)["identifier"]
        try:
            self.browser.open(page, "#item=case-00000")
            self.assertIn("WebGL 2 is missing", self.text("#viewer"))
            self.browser.wait("document.querySelector('.frame img').naturalWidth === 96")
        finally:
            self.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)

    def test_without_the_viewer_the_page_says_how_to_install_it(self):
        self.open(folder.items(1), "#item=case-00000", pictures=[0], volumes=[0])
        self.browser.click("#open-viewer")
        self.browser.wait("document.querySelector('#viewer').innerText.includes('Tools/install-niivue')")


class NameTests(PageTest):
    def test_hostile_names_are_shown_as_text_and_their_files_are_found(self):
        entries = []
        for index, name in enumerate(folder.HOSTILE):
            entry = folder.volume_item(index, name, (1000.0, 1000.0))
            entry["notes"] = [name]
            entry["reason"] = name
            entry["pictures"][0]["alt"] = name
            entry["labels"][0]["name"] = name
            entries.append(entry)
        self.folder = self.folder / "Ergebnis #1 für Müller & Söhne 100%"
        self.open(entries, pictures=range(len(entries)), volumes=[], title="<script>document.title='attacked'</script>")
        self.assertEqual(sorted(self.names()), sorted(folder.HOSTILE))
        self.browser.wait("[...document.querySelectorAll('.card img')].filter(image => image.naturalWidth === 96).length === 6")
        for name in folder.HOSTILE:
            self.browser.evaluate(f"[...document.querySelectorAll('.card')].find(card => card.dataset.item === {json.dumps(name)}).querySelector('a').click()")
            self.browser.wait(f"document.querySelector('#item-heading').textContent === {json.dumps(name)}")
            self.browser.wait("document.querySelector('.frame img').naturalWidth === 96")
            self.go("#items")
        self.assertEqual(self.text("#title"), "<script>document.title='attacked'</script>")
        self.assertNotEqual(self.browser.evaluate("document.title"), "attacked")

    def test_unknown_item_and_missing_data_are_reported(self):
        page = self.open(folder.items(600), "#item=nothing")
        self.assertIn("There is no item “nothing”", self.text("#view-item"))
        (self.folder / "out" / "review" / "data" / "items-0001.js").unlink()
        self.browser.open(page)
        self.assertIn("1 data file is missing", self.text("#problems"))
