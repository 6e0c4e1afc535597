"use strict";
/* The view of one item. */
(function (Review) {
  const { dom, format, marks, model, verdicts } = Review;
  const parts = {};

  const item = (Review.item = {
    entry: null,

    /* Shows an item; `place` says where it stands in the current list. */
    show(section, entry, place) {
      item.entry = entry;
      parts.verdicts = dom.el("section", { id: "verdict-panel", "aria-labelledby": "verdict-heading" });
      parts.viewer = dom.el("div", { id: "viewer" });
      parts.place = dom.el("div");
      parts.facts = facts(entry);
      dom.replace(section, parts.place,
        dom.el("h2", { id: "item-heading", tabindex: "-1", text: entry.item }),
        dom.el("p", { class: "line" }, dom.el("span", { class: `badge ${entry.state}`,
          text: format.state(entry.state) }),
          entry.model && dom.el("span", { class: "quiet", text: entry.model }),
          entry.edited && dom.el("span", { class: "badge", text: "edited" }),
          entry.risk && dom.el("span", { class: `risk ${entry.risk}`, text: format.risk(entry.risk) }),
          entry.facts && dom.el("span", { class: "result", text: format.label(entry.facts) })),
        entry.disclaimer && dom.el("p", { class: "quiet", id: "item-disclaimer", text: entry.disclaimer }),
        dom.el("div", { class: "columns" },
          dom.el("div", {}, parts.viewer, Review.objects.pictures(entry)),
          dom.el("div", {}, parts.verdicts, parts.facts, Review.objects.table(entry))),
        Review.measures.tables(entry), Review.measures.labels(entry), Review.measures.files(entry));
      item.showPlace(place);
      buildVerdicts(entry);
      updateVerdicts(entry);
      Review.viewer.offer(entry, parts.viewer);
      document.title = `${entry.item}: review of ${model.batch.title}`;
      section.querySelector("h2").focus({ preventScroll: true });
    },

    /* Again, after more is known. */
    showFacts() {
      const fresh = facts(item.entry);
      parts.facts.replaceWith(fresh);
      parts.facts = fresh;
    },

    showPlace: (place) => dom.replace(parts.place, navigation(place)),

    showMissing(section, name) {
      item.entry = null;
      const text = model.isComplete ? `There is no item “${name}” in this batch.`
        : `The item “${name}” has not been loaded yet.`;
      dom.replace(section, dom.el("p", {}, dom.el("a", { href: "#items", text: "All items" })),
        dom.el("h2", { id: "item-heading", tabindex: "-1", text: name }), dom.el("p", { class: "message", text }));
    },

    refresh(entry) {
      if (!item.entry || (entry && entry !== item.entry)) return;
      updateVerdicts(item.entry);
      Review.objects.refresh(item.entry);
    },

    /* Before the item is left. */
    leave() {
      if (item.entry && parts.comment) verdicts.comment(item.entry, null, parts.comment.value.trim());
      if (item.entry) Review.viewer.close();
      item.entry = null;
    },

    focusComment: () => parts.comment && parts.comment.focus(),
  });

  function navigation({ position, count, previous, next }) {
    const step = (entry, text, id, key) => (entry
      ? dom.el("a", { href: dom.itemHash(entry.item), id, class: "button", "aria-keyshortcuts": key, text })
      : dom.el("span", { class: "button off", id, text }));
    const place = position < 0 ? "Not in the current list"
      : `${(position + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
    return dom.el("nav", { class: "row", "aria-label": "Items" },
      dom.el("a", { href: "#items", id: "back", class: "button", text: "Back to the list",
        "aria-keyshortcuts": "Escape" }),
      step(previous, "← Previous", "previous", "ArrowLeft"), step(next, "Next →", "next", "n ArrowRight"),
      dom.el("span", { id: "place", text: place }));
  }

  function facts(entry) {
    const remedy = entry.code ? model.remedies.get(entry.code) : null;
    const outliers = model.outliers.get(entry.index) || [];
    const row = (name, value) => value && dom.el("div", {}, dom.el("dt", { text: name }), dom.el("dd", {}, value));
    return dom.el("section", { "aria-label": "About this item" },
      outliers.length > 0 && dom.el("div", { class: "message unusual-box" },
        dom.el("p", { text: "Unusual in this batch. This is not a finding: look at the item." }),
        dom.el("ul", {}, outliers.map((each) => dom.el("li", { text: `${format.label(each.label)}: ${each.text}` })))),
      dom.el("dl", { class: "facts" },
        row("Reason", entry.reason), row("Cause", entry.code && dom.el("code", { text: entry.code })),
          row("What to do", remedy && dom.advice(remedy)),
        row("Source", entry.source), row("Model", entry.model),
        row("Time", entry.seconds === null ? null : format.quantity(entry.seconds, "s")),
        row("Finished", entry.changed && format.date(entry.changed))),
      (entry.notes || []).length > 0 && dom.el("h3", { text: "Notes" }),
      (entry.notes || []).length > 0 && dom.el("ul", {}, entry.notes.map((text) => dom.el("li", { text }))));
  }

  /* Built once for an item. Later changes are made in place, so that a click is never lost with the button it was on. */
  function buildVerdicts(entry) {
    const keys = { pass: "p", fail: "f", questionable: "q" };
    parts.buttons = marks.VERDICTS.map((verdict) => dom.el("button", {
      type: "button", id: `verdict-${verdict}`, class: `verdict ${verdict}`, "aria-keyshortcuts": keys[verdict],
      "data-verdict": verdict, on: { click: () => verdicts.mark(entry, null, verdict) },
    }, `${verdicts.SYMBOLS[verdict]} ${verdict} `, dom.el("kbd", { text: keys[verdict], "aria-hidden": "true" })));
    parts.remove = dom.button("Remove mark", () => marks.clear(entry), { id: "remove-mark" });
    parts.stale = dom.el("p", { class: "message", id: "stale" });
    parts.commentLabel = dom.el("label", { for: "comment" });
    parts.comment = dom.el("textarea", {
      id: "comment", rows: "2", "aria-keyshortcuts": "c",
      on: { change: () => verdicts.comment(entry, null, parts.comment.value.trim()) },
    });
    parts.raters = dom.el("div");
    dom.replace(parts.verdicts, dom.el("h3", { id: "verdict-heading", text: "Your verdict" }), parts.stale,
      dom.el("div", { class: "row", role: "group", "aria-label": "Verdict" }, parts.buttons, parts.remove),
      parts.commentLabel, parts.comment, parts.raters);
  }

  function updateVerdicts(entry) {
    const mine = marks.mine(entry);
    const isCurrent = mine !== null && marks.isCurrent(mine, entry);
    for (const button of parts.buttons) {
      button.setAttribute("aria-pressed", String(isCurrent && mine.verdict === button.dataset.verdict));
    }
    parts.remove.hidden = !mine;
    parts.stale.hidden = !mine || isCurrent;
    parts.stale.textContent = mine && !isCurrent
      ? `The result has changed since it was marked (${mine.verdict}). That mark does not count.` : "";
    parts.commentLabel.textContent = isCurrent ? "Comment" : "Comment (stored together with a verdict)";
    if (document.activeElement !== parts.comment) {
      parts.comment.value = verdicts.draft(entry) || (isCurrent ? mine.comment : "");
    }
    dom.replace(parts.raters, raters(entry));
  }

  /* Marks of all raters side by side. */
  function raters(entry) {
    const others = marks.of(entry).filter((mark) => mark.object === null && mark.rater !== marks.rater);
    if (others.length === 0) return null;
    const rows = marks.of(entry).filter((mark) => mark.object === null).map((mark) => dom.el("tr", {},
      dom.el("th", { scope: "row", text: mark.rater }),
        dom.el("td", {}, verdicts.badge({ ...mark, rater: marks.rater }, entry)),
      dom.el("td", { text: mark.comment }), dom.el("td", { text: format.date(mark.time) })));
    return dom.el("div", { class: "scroll" }, dom.el("table", { id: "raters" },
      dom.el("caption", { text: "Marks of all raters" }),
      dom.el("thead", {}, dom.el("tr", {}, ["Rater", "Verdict", "Comment",
        "Time"].map((text) => dom.el("th", { scope: "col", text })))),
      dom.el("tbody", {}, rows)));
  }
})(window.Review);
