"""The list of items: counts, order, filters, search, layouts, keyboard, and speed."""

import folder
from support import PageTest


class ListTests(PageTest):
    def test_batch_without_items_says_so(self):
        self.open([])
        self.assertEqual(self.text("#shown"), "This batch has no items.")
        self.assertEqual(self.text("#counts [data-count=inputs] dd"), "0")
        self.go("#unusual")
        self.assertIn("No value is unusual", self.text("#outliers"))

    def test_batch_of_one_item_shows_it(self):
        self.open([{**folder.items(1)[0], "facts": "2 of 2 labels"}], pictures=[0])
        self.assertEqual(self.names(), ["case-00000"])
        self.browser.wait("document.querySelector('.card img').naturalWidth === 96")
        self.assertEqual(self.browser.evaluate("document.querySelector('.card img').alt"), "Preview of case-00000: 2 of 2 labels")
        self.go("#item=case-00000")
        self.assertEqual(self.text("#place"), "1 of 1")

    def test_head_agrees_with_the_batch(self):
        entries = folder.items(1000)
        self.open(entries)
        for state in ("completed", "failed", "skipped"):
            count = sum(entry["state"] == state for entry in entries)
            self.assertEqual(self.text(f"#counts [data-count={state}] dd"), str(count))
        self.assertEqual(self.text("#disclaimer"), folder.DISCLAIMER)
        self.assertEqual(self.text("#shown"), "Showing 1,000 of 1,000 items.")
        self.browser.evaluate("document.querySelector('#failures a').click()")
        self.browser.wait("document.querySelector('#shown').innerText.startsWith('Showing 50 of')")
        self.assertIn("unreadableFile", self.text("#only"))

    def test_advice_shows_commands_as_code_and_keeps_options_whole(self):
        self.open(folder.items(100))
        self.assertIn("Use nocturne resume --code", self.text("#failures td:last-child"))
        style = "[...document.querySelectorAll('#failures .option-name')].map(each => getComputedStyle(each).whiteSpace + each.textContent)"
        self.assertIn("nowrap--exclude", self.browser.evaluate(style))

    def test_most_unusual_item_is_first_and_orders_change(self):
        self.open(folder.items(1000))
        self.assertEqual(self.names()[0], "case-00003")
        self.assertIn("Unusual: kidney right", self.text(".card[data-item=case-00003]"))
        choose = "(() => {{ const s = document.querySelector('#order'); s.value = '{}'; s.dispatchEvent(new Event('change')); }})()"
        self.browser.evaluate(choose.format("name"))
        self.assertEqual(self.names()[:2], ["case-00000", "case-00001"])
        self.browser.click("#reverse")
        self.assertEqual(self.names()[0], "case-00999")
        self.browser.evaluate(choose.format("volume"))
        self.assertEqual(self.names()[0], "case-00003")
        self.browser.evaluate(choose.format("time"))
        self.assertIn("26 s", self.text(".card"))
        self.browser.click("#reverse")
        self.assertIn("10 s", self.text(".card"))
        self.browser.evaluate(choose.format("newest"))
        self.assertEqual(self.names()[0], "case-00000")
        self.browser.click("#reverse")
        self.assertEqual(self.names()[0], "case-00019")

    def test_results_are_on_cards_and_risks_are_ordered_and_filtered(self):
        entries = folder.items(4)
        entries[0]["facts"] = "5 of 5 labels: kidney_left 133 ml"
        for index, (risk, name, score) in enumerate([("low", "nevus", 0.9), ("high", "melanoma", 0.955)], start=1):
            entries[index].update(kind="classification", risk=risk, facts=f"{name} {score}", documents=["report.pdf"],
                                  objects=[{"name": name, "score": score, "box": None, "picture": None,
                                            "text": "malignant" if risk == "high" else "", "color": "#d55e00"}])
        entries[2]["disclaimer"] = "Consult a dermatologist."
        self.open(entries)
        self.assertIn("5 of 5 labels: kidney left 133 ml", self.text(".card[data-item=case-00000]"))
        self.assertIn("▲ high risk score", self.text(".card[data-item=case-00002]"))
        choose = "(() => { const s = document.querySelector('#order'); s.value = 'risk'; s.dispatchEvent(new Event('change')); })()"
        self.browser.evaluate(choose)
        self.assertEqual(self.names()[:2], ["case-00002", "case-00001"])
        self.browser.evaluate("[...document.querySelectorAll('.chip')].find(chip => chip.dataset.chip === 'risk high').click()")
        self.assertEqual(self.text("#shown"), "Showing 1 of 4 items.")
        self.go("#item=case-00002")
        self.assertIn("melanoma 0.955", self.text("main"))
        self.assertEqual(self.text("#item-disclaimer"), "Consult a dermatologist.")
        self.assertIn("melanoma (malignant)", self.text("#objects"))
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#objects .swatch').length"), 1)
        bar = "(() => { const b = document.querySelector('#objects .bar'); return [getComputedStyle(b).backgroundColor, b.offsetWidth / b.parentElement.offsetWidth]; })()"
        color, share = self.browser.evaluate(bar)
        self.assertEqual(color, "rgb(213, 94, 0)")
        self.assertAlmostEqual(share, 0.955, delta=0.02)
        self.assertTrue(self.browser.evaluate("[...document.querySelectorAll('a')].some(a => a.href.endsWith('/report.pdf'))"))

    def test_counts_of_zero_are_not_shown(self):
        self.open(folder.items(1))
        self.assertEqual(self.text("#counts [data-count=completed] dd"), "1")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#counts [data-count=quarantined]').length"), 0)

    def test_filters_combine_and_search_finds_reasons(self):
        entries = folder.items(1000)
        self.open(entries)
        press = "[...document.querySelectorAll('.chip')].find(chip => chip.dataset.chip === '{}').click()"
        self.browser.evaluate(press.format("state failed"))
        self.assertEqual(self.text("#shown"), "Showing 50 of 1,000 items.")
        self.browser.evaluate(press.format("state skipped"))
        self.assertEqual(self.text("#shown"), "Showing 75 of 1,000 items.")
        self.browser.press("/")
        self.browser.type("ENDS case-0001")
        self.browser.wait("document.querySelector('#shown').innerText.startsWith('Showing 1 of')")
        self.assertEqual(self.names(), ["case-00011"])
        self.browser.evaluate("document.querySelector('[data-chip=clear]').click()")
        self.assertEqual(self.text("#shown"), "Showing 1,000 of 1,000 items.")
        self.browser.evaluate(press.format("isEdited"))
        edited = sum(entry["edited"] for entry in entries)
        self.assertEqual(self.text("#shown"), f"Showing {edited} of 1,000 items.")

    def test_cards_are_walked_by_arrow_keys_and_opened_by_enter(self):
        self.open(folder.items(1000))
        self.browser.evaluate("document.querySelector('.card a').focus()")
        self.browser.press("ArrowRight")
        focused = "document.activeElement.closest('.card').getAttribute('aria-posinset')"
        self.assertEqual(self.browser.evaluate(focused), "2")
        self.browser.press("End")
        self.assertEqual(self.browser.evaluate(focused), "1000")
        self.assertLess(self.browser.evaluate("document.querySelectorAll('.card').length"), 80)
        self.browser.press("Home")
        self.browser.press("ArrowDown")
        position = int(self.browser.evaluate(focused))
        self.browser.press("Enter")
        self.browser.wait("document.body.dataset.view === 'item'")
        self.assertEqual(self.text("#place"), f"{position} of 1,000")
        self.browser.press("n")
        self.browser.wait(f"document.querySelector('#place').innerText === '{position + 1} of 1,000'")
        self.browser.press("ArrowLeft")
        self.browser.press("ArrowLeft")
        self.browser.wait(f"document.querySelector('#place').innerText === '{position - 1} of 1,000'")
        self.browser.press("Escape")
        self.browser.wait("document.body.dataset.view === 'items'")
        self.assertEqual(self.browser.evaluate(focused), str(position - 1))

    def test_table_has_pages_headers_and_links(self):
        self.open(folder.items(1000))
        self.browser.click("#layout-table")
        self.assertEqual(self.text("#table caption"), "Items 1 to 100 of 1,000")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#table th[scope=col]').length"), 10)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#table tbody tr').length"), 100)
        self.browser.click("#next-page-top")
        self.assertEqual(self.text("#table caption"), "Items 101 to 200 of 1,000")
        self.assertEqual(self.browser.evaluate("document.activeElement.id"), "next-page-top")

    def test_every_control_has_a_name_and_every_picture_a_text(self):
        entries = folder.items(30)
        entries.append(folder.photo_item(30, "shelf"))
        self.open(entries, pictures=range(31))
        unnamed = """[...document.querySelectorAll('input, select, textarea, button, a, canvas')].filter(node =>
            !node.hidden && !node.textContent.trim() && !node.getAttribute('aria-label') && !(node.labels && node.labels.length > 0)
            && !node.querySelector('title, img[alt]')).map(node => node.outerHTML)"""
        for fragment in ("#items", "#unusual", "#item=case-00003", "#item=shelf"):
            self.go(fragment)
            self.assertEqual(self.browser.evaluate(unnamed), [], fragment)
            self.assertEqual(self.browser.evaluate("[...document.images].filter(image => !image.alt).length"), 0)

    def test_dots_of_plots_link_to_their_items(self):
        self.open(folder.items(300), "#unusual")
        self.assertEqual(self.text("#outliers tbody th"), "case-00003")
        self.browser.wait("document.querySelector('.dot.far')")
        self.assertEqual(self.browser.evaluate("document.querySelector('.dot.far').closest('a').getAttribute('href')"),
            "#item=case-00003")
        completed = self.browser.evaluate("document.querySelectorAll('#plots .strip:first-child a').length")
        self.assertEqual(completed, sum(entry["state"] == "completed" for entry in folder.items(300)))
        self.browser.evaluate("document.querySelector('.plot a[tabindex=\"0\"]').focus()")
        self.browser.press("End")
        self.browser.press("Enter")
        self.browser.wait("document.body.dataset.view === 'item'")
        self.assertEqual(self.text("#item-heading"), "case-00003")
        self.assertIn("times the median", self.text("#measures tr.far"))


class MeasureTests(PageTest):
    """With the names and units that the program writes."""

    def order(self, name):
        self.browser.evaluate(f"""(() => {{ const s = document.querySelector('#order'); s.value = '{name}';
            s.dispatchEvent(new Event('change')); }})()""")

    def orders(self):
        return self.browser.evaluate("[...document.querySelectorAll('#order option')].map(each => each.value)")

    def test_times_are_read_from_their_own_files(self):
        self.open(folder.items(600))
        self.browser.wait("[...document.querySelector('#order').options].some(option => option.value === 'time')")
        self.order("time")
        self.assertIn("26 s", self.text(".card"))
        self.browser.click("#layout-table")
        self.assertIn("26", self.text("#table tbody tr td:nth-child(8)"))
        self.go("#item=case-00516")
        self.assertIn("16 s", self.text(".facts"))

    def test_times_that_come_later_are_shown_on_the_open_item_and_its_card(self):
        self.open(folder.items(20), "#item=case-00003")
        self.browser.wait("document.querySelector('#view-item .facts').innerText.includes('13 s')")
        self.go("#items")
        self.assertIn("13 s", self.text(".card[data-item=case-00003]"))

    def test_results_copied_without_times_have_none(self):
        self.open(folder.items(20), times=False)
        self.assertNotIn("time", self.orders())
        self.assertNotIn("newest", self.orders())
        self.browser.click("#layout-table")
        self.assertEqual(self.text("#table tbody tr td:nth-child(8)"), "–")

    def test_times_of_another_state_of_the_batch_do_not_count(self):
        page = self.open(folder.items(20))
        (self.folder / "out/.nocturne/times/items-0000.js").write_text("nocturneTimes(0, [1, 2]);")
        self.browser.open(page)
        self.assertNotIn("time", self.orders())

    def test_lowest_confidence_and_largest_volume_of_the_programs_measures(self):
        entries = [folder.volume_item(0, "small", (100, 100)), folder.volume_item(1, "large", (90, 150)),
            folder.photo_item(2, "shelf"), folder.lesion_item(3, "lesion")]
        entries[1]["measures"][3]["value"] = 0.4
        self.open(entries)
        self.order("confidence")
        self.assertEqual(self.names(), ["large", "shelf", "lesion", "small"])
        self.order("volume")
        self.assertEqual(self.names()[:2], ["large", "small"])
        self.browser.evaluate("""(() => { const s = document.querySelector('#order-label'); s.value = 'kidney_right';
            s.dispatchEvent(new Event('change')); })()""")
        self.assertEqual(self.names()[:2], ["small", "large"])

    def test_measures_of_an_item_are_a_table_by_label(self):
        self.open(folder.items(1), "#item=case-00000")
        heads = "[...document.querySelectorAll('#{} thead th')].map(each => each.textContent)"
        self.assertEqual(self.browser.evaluate(heads.format("measures")), ["Label", "Volume (ml)", "Mean probability",
            "Mean intensity (values of the image)", "Components"])
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#measures tbody tr').length"), 2)
        self.browser.evaluate("document.querySelector('#all-measures').closest('details').open = true")
        whole = self.text("#all-measures")
        self.assertIn("Position to the right (mm)", whole)
        self.assertNotIn("relative ras", whole.lower())
        self.assertNotIn("image value", whole)
        self.assertNotIn("0.05 1", whole)

    def test_regions_of_interest_have_columns_of_their_unit_and_are_no_parts_of_labels(self):
        entries = [folder.volume_item(0, "small", (100, 100)), folder.volume_item(1, "large", (110, 110))]
        entries[0]["measures"].append({"label": "roi:sphere", "measure": "volume", "value": 90000, "unit": "mm3"})
        self.open(entries, "#item=small")
        rows = self.browser.evaluate("""[...document.querySelectorAll('#measures tr')].map((row) =>
            [...row.children].slice(0, 3).map((cell) => cell.firstChild.textContent))""")
        self.assertEqual(rows[0], ["Label", "Volume (ml)", "Volume (mm³)"])
        self.assertEqual(rows[1][1:], ["100", "–"])
        self.assertEqual(rows[3][1:], ["–", "90,000"])
        self.open(entries)
        self.order("volume")
        self.assertEqual(self.names(), ["large", "small"])

    def test_medians_have_columns_only_where_there_are_any(self):
        heads = "document.querySelectorAll('#all-measures thead th').length"
        self.open(folder.items(1), "#item=case-00000", spreads=[])
        self.assertEqual(self.browser.evaluate(heads), 3)
        self.open(folder.items(20), "#item=case-00000")
        self.assertEqual(self.browser.evaluate(heads), 5)

    def test_all_measures_of_comparison_of_an_item_are_shown(self):
        entries = folder.items(1)
        for measure, value, unit in (("dice", 0.91, "1"), ("surfaceDice", 0.8, "1"), ("hausdorff95", 4.5, "mm"),
                ("volumeDifference", -3.2, "ml")):
            entries[0]["measures"].append({"label": "kidney_left", "measure": measure, "value": value, "unit": unit})
        self.open(entries, "#item=case-00000")
        shown = self.text("#compared")
        for text in ("Dice coefficient", "Surface Dice coefficient", "Hausdorff distance, 95 % (mm)",
                "Volume difference (ml)", "0.91", "0.8", "4.5", "-3.2"):
            self.assertIn(text, shown)

    def test_radiomic_features_are_a_table_by_label(self):
        entries = folder.items(1)
        for label, value in (("kidney_left", 0.71), ("kidney_right", 0.64)):
            entries[0]["measures"].append({"label": label, "measure": "radiomics:QCFX", "value": value, "unit": "0" * 64})
        self.open(entries, "#item=case-00000")
        shown = self.text("#radiomics")
        for text in ("Sphericity", "kidney left", "0.71", "0.64"):
            self.assertIn(text, shown)
        self.assertNotIn("00000", shown)

    def test_any_radiomic_feature_can_be_chosen_for_the_plots(self):
        entries = folder.items(9)
        rows = [{"item": entry["item"], "label": "kidney_left", "unit": "0" * 64, "values": [None, 10 + entry["index"] ** 3]}
                for entry in entries]
        names = ["radiomics:RNU0", "radiomics:GYBY.ITBB"]
        features = [{"measure": name, "title": title} for name, title in zip(names, ("Volume", "Joint maximum (cm)"))]
        self.open(entries, "#unusual", features=features, featureCount=2, values={"measures": names, "rows": rows})
        self.assertIn("Joint maximum (cm)", self.text("#plot-measure optgroup"))
        choose = ("(() => { const s = document.querySelector('#plot-measure'); s.value = '%s'; "
            "s.dispatchEvent(new Event('change')); })()")
        self.browser.evaluate(choose % names[1])
        self.browser.wait("document.querySelectorAll('#plots .dot').length === 9")
        # n³ + 10 for n = 0 … 8: 522 is 4.8 times 1.4826 times the median deviation of 63 from the median.
        described = self.browser.evaluate("document.querySelector('#plots svg').getAttribute('aria-label')")
        self.assertIn("9 items, median 74, 1 unusual", described)
        self.browser.evaluate(choose % names[0])
        self.browser.wait("document.querySelector('#plots').innerText.startsWith('No item')")

    def test_features_that_are_too_many_for_the_page_are_in_the_table(self):
        self.open(folder.items(9), "#unusual", featureCount=210)
        self.assertIn("radiomics.csv", self.text("#features-left-out"))


class ComparisonTests(PageTest):
    COMPARISON = [{"model": "urinary-tract-ct", "label": "kidney_left", "measure": "hausdorff95", "unit": "mm", "items": 17,
        "mean": 3.25, "median": 2.5, "worst": 12.5, "worstItems": ["case-00004", "case-00002"]}]
    MISSING = [{"item": 5, "reason": "there is no reference"}, {"item": 7, "reason": "the grids differ"},
        {"item": 8, "reason": "there is no reference"}]

    def test_agreement_with_references_is_shown_over_the_batch(self):
        self.open(folder.items(20), comparison=self.COMPARISON, notCompared=self.MISSING)
        row = self.text("#comparison tbody tr")
        for text in ("kidney left", "Hausdorff distance, 95 % (mm)", "17", "3.25", "2.5", "12.5"):
            self.assertIn(text, row)
        self.assertIn("3 items were not compared", self.text("#comparison"))
        self.assertIn("there is no reference 2 items", self.text("#not-compared"))
        self.browser.evaluate("document.querySelector('#not-compared a').click()")
        self.browser.wait("document.querySelector('#shown').innerText.startsWith('Showing 2 of 20')")
        self.browser.evaluate("document.querySelector('#comparison tbody a').click()")
        self.browser.wait("document.querySelector('#item-heading').innerText === 'case-00004'")

    def test_batch_without_references_has_no_such_section(self):
        self.open(folder.items(20))
        self.assertFalse(self.browser.evaluate("Boolean(document.querySelector('#comparison'))"))


class SpeedTests(PageTest):
    """Figures are printed and not asserted: other programs may run beside."""

    def test_ten_thousand_items_are_shown_and_found(self):
        page = self.open(folder.items(10000), pictures=range(40))
        figures = []
        for _ in range(2):
            self.browser.open(page)
            # On a busy machine the browser may paint after all items have arrived.
            for name in ["nocturne-all-items", "first-contentful-paint"]:
                self.browser.wait(f"performance.getEntriesByName('{name}').length")
            figures.append(self.browser.evaluate("""(() => {
                const at = name => performance.getEntriesByName(name)[0].startTime;
                return [at('first-contentful-paint'), at('nocturne-first-items'), at('nocturne-all-items')]; })()"""))
        best = min(figures, key=lambda each: each[1])
        print("\n10,000 items: first paint {:.0f} ms, first items {:.0f} ms, all items {:.0f} ms".format(*best))
        self.assertEqual(self.names()[0], "case-00003")
        before = self.browser.evaluate("performance.now()")
        self.browser.press("/")
        self.browser.type("case-09999")
        self.browser.wait("document.querySelector('#shown').innerText.startsWith('Showing 1 of')")
        print("search {:.0f} ms".format(self.browser.evaluate("performance.now()") - before))
