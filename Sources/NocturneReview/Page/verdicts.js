"use strict";
/* Marking items, and the bar with the rater's name, progress, and the buttons that save and load review.json. */
(function (Review) {
  const { dom, marks, format } = Review;
  const SYMBOLS = { pass: "✓", fail: "✗", questionable: "?" };
  /* Comments of items that have no verdict yet, by item and object. */
  const drafts = new Map();
  const parts = {};

  const verdicts = (Review.verdicts = {
    SYMBOLS,

    draftKey: (entry, object) => JSON.stringify([entry.item, object]),
    draft: (entry, object = null) => drafts.get(verdicts.draftKey(entry, object)) || "",

    /* Marks an item or one of its objects. The first time, asks for the rater's name. */
    mark(entry, object, verdict) {
      withRater(() => {
        const known = marks.mine(entry, object);
        const draft = verdicts.draft(entry, object);
        marks.set(entry, object, verdict, draft || (known ? known.comment : ""));
        drafts.delete(verdicts.draftKey(entry, object));
        const name = object === null ? entry.item : `${entry.item}, object ${object}`;
        dom.announce(`Marked ${verdict}: ${name}`);
        Review.events.marked(entry, object);
      });
    },

    /* Stores a comment. Without a verdict it is kept until there is one. */
    comment(entry, object, text) {
      const known = marks.mine(entry, object);
      if (known && marks.isCurrent(known, entry)) {
        if (known.comment !== text) marks.set(entry, object, known.verdict, text);
      } else if (text) {
        drafts.set(verdicts.draftKey(entry, object), text);
      } else {
        drafts.delete(verdicts.draftKey(entry, object));
      }
    },

    /* A verdict as a small label, with rater if it is another's. */
    badge(mark, entry) {
      const isCurrent = marks.isCurrent(mark, entry);
      const rater = mark.rater === marks.rater ? "" : ` (${mark.rater})`;
      const text = isCurrent ? `${SYMBOLS[mark.verdict]} ${mark.verdict}${rater}`
        : `changed since marked ${mark.verdict}${rater}`;
      return dom.el("span", { class: `badge ${isCurrent ? mark.verdict : "changed"}`, text });
    },

    badges: (entry) => marks.of(entry).filter((mark) => mark.object === null).map((mark) => verdicts.badge(mark,
      entry)),

    build(section) {
      parts.rater = dom.el("input", {
        id: "rater", type: "text", autocomplete: "off", maxlength: "80", value: marks.rater,
        on: { change: () => marks.setRater(parts.rater.value) },
      });
      parts.blind = dom.el("input", {
        type: "checkbox", id: "blind", on: { change: () => marks.setBlind(parts.blind.checked) },
      });
      parts.advance = dom.el("input", { type: "checkbox", id: "advance" });
      parts.file = dom.el("input", {
        type: "file", accept: ".json,application/json", multiple: true, hidden: true, "aria-label": "Files to load",
        id: "review-file", on: { change: loadFiles },
      });
      parts.progress = dom.el("span", { id: "progress" });
      parts.problem = dom.el("p", { class: "message", hidden: true });
      dom.replace(section,
        dom.el("label", { for: "rater", text: "Your name" }), parts.rater,
        parts.progress,
        dom.button("Save review.json", save, { id: "save" }),
        dom.button("Load …", () => parts.file.click(), { id: "load" }), parts.file,
        dom.el("label", { class: "check" }, parts.advance, "Next item after a verdict"),
        dom.el("label", { class: "check" }, parts.blind, "Hide marks of others"),
        parts.problem);
      marks.onChange(update);
      update();
    },
    update: () => update(),
    advances: () => parts.advance.checked,
  });

  function update() {
    const entries = Review.model.items;
    let own = 0;
    let changed = 0;
    // Only marked items are looked at, so that this is fast in a large batch.
    for (const item of marks.table.keys()) {
      const entry = Review.model.byName.get(item);
      const mark = entry && marks.mine(entry);
      if (!mark) continue;
      if (marks.isCurrent(mark, entry)) own += 1;
      else changed += 1;
    }
    parts.progress.textContent = `${own.toLocaleString("en")} of ${format.plural(entries.length, "item", "items")} marked`
      + (changed > 0 ? `; ${format.plural(changed, "result has", "results have")} changed since marked` : "");
    if (document.activeElement !== parts.rater) parts.rater.value = marks.rater;
    parts.problem.hidden = marks.storageProblem === null;
    parts.problem.textContent = marks.storageProblem
      ? `${marks.storageProblem} Marks are kept only until the page is closed: use “Save review.json”.` : "";
  }

  function withRater(action) {
    if (marks.rater) {
      action();
      return;
    }
    const input = dom.el("input", { type: "text", id: "rater-dialog-name", required: true, maxlength: "80",
      autocomplete: "off" });
    const dialog = dom.el("dialog", { id: "rater-dialog", "aria-labelledby": "rater-dialog-label" },
      dom.el("form", { method: "dialog", on: { submit: () => dialog.close("ok") } },
        dom.el("label", { id: "rater-dialog-label", for: "rater-dialog-name",
          text: "Your name is stored with every mark:" }),
        input,
        dom.el("div", { class: "row" },
          dom.el("button", { type: "submit", text: "Continue" }),
          dom.button("Cancel", () => dialog.close("")))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (dialog.returnValue !== "ok" || !input.value.trim()) return;
      marks.setRater(input.value);
      action();
    });
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  }

  function save() {
    const address = URL.createObjectURL(new Blob([marks.fileText()], { type: "application/json" }));
    const link = dom.el("a", { href: address, download: "review.json", hidden: true });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    const count = marks.all().length;
    const waiting = drafts.size > 0
      ? ` ${format.plural(drafts.size, "comment", "comments")} without a verdict ${drafts.size === 1 ? "is" : "are"} not in it.` : "";
    dom.announce(`review.json with ${format.plural(count, "mark", "marks")} was saved to the folder for downloads.${waiting}`);
  }

  async function loadFiles() {
    for (const file of parts.file.files) {
      try {
        const counts = marks.merge(await file.text());
        const invalid = counts.invalid > 0 ? `, ${counts.invalid} unreadable` : "";
        dom.announce(`${file.name}: ${format.plural(counts.added, "mark", "marks")} added, ${counts.known} already here${invalid}.`);
      } catch (error) {
        dom.announce(`${file.name}: ${error.message}`);
      }
    }
    parts.file.value = "";
  }
})(window.Review);
