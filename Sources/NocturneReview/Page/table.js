"use strict";
/* Items as a table of real rows, a hundred at a time. */
(function (Review) {
  const { dom, format, model } = Review;
  const PAGE = 100;
  const COLUMNS = ["Picture", "Item", "State", "Result", "Model", "Unusual in this batch", "Confidence", "Seconds", "Verdict",
    "Reason and notes"];

  const table = (Review.table = {
    entries: [],
    page: 0,
    host: null,

    build(host) {
      table.host = host;
    },

    show(entries) {
      table.entries = entries;
      table.page = Math.min(table.page, Math.max(0, Math.ceil(entries.length / PAGE) - 1));
      draw();
    },

    refresh(entry) {
      if (!table.host) return;
      for (const row of table.host.querySelectorAll("tr[data-item]")) {
        const own = model.byName.get(row.dataset.item);
        if (entry && own !== entry) continue;
        dom.replace(row.querySelector(".verdicts"), Review.verdicts.badges(own));
        row.querySelector(".seconds").textContent = seconds(own);
      }
    },
  });

  function draw() {
    const start = table.page * PAGE;
    const entries = table.entries.slice(start, start + PAGE);
    const total = table.entries.length.toLocaleString("en");
    const caption = entries.length === 0 ? "No items"
      : `Items ${(start + 1).toLocaleString("en")} to ${(start + entries.length).toLocaleString("en")} of ${total}`;
    dom.replace(table.host, pager("top"),
      dom.el("div", { class: "scroll" }, dom.el("table", { id: "table" },
        dom.el("caption", { text: caption, tabindex: "-1" }),
        dom.el("thead", {}, dom.el("tr", {}, COLUMNS.map((text) => dom.el("th", { scope: "col", text })))),
        dom.el("tbody", {}, entries.map(row)))),
      pager("bottom"));
  }

  const seconds = (entry) => (entry.seconds === null ? "–" : format.number(entry.seconds));

  function row(entry) {
    const outliers = model.outliers.get(entry.index) || [];
    const confidence = Review.filter.confidenceOf(entry);
    return dom.el("tr", { "data-item": entry.item },
      dom.el("td", {}, Review.cards.thumbnail(entry)),
      dom.el("th", { scope: "row" }, dom.el("a", { href: dom.itemHash(entry.item), text: entry.item })),
      dom.el("td", {}, dom.el("span", { class: `badge ${entry.state}`, text: format.state(entry.state) }),
        entry.edited && dom.el("span", { class: "badge", text: "edited" })),
      dom.el("td", {}, entry.risk && dom.el("div", { class: `risk ${entry.risk}`, text: format.risk(entry.risk) }),
        entry.facts ? format.label(entry.facts) : "–"),
      dom.el("td", { text: entry.model || "–" }),
      dom.el("td", { text: outliers.map((each) => `${format.label(each.label)}: ${each.text}`).join("; ") }),
      dom.el("td", { class: "number", text: confidence === null ? "–" : format.number(confidence) }),
      dom.el("td", { class: "number seconds", text: seconds(entry) }),
      dom.el("td", { class: "verdicts" }, Review.verdicts.badges(entry)),
      dom.el("td", { text: [entry.reason, ...(entry.notes || [])].filter(Boolean).join("; ") }));
  }

  function pager(place) {
    const pages = Math.ceil(table.entries.length / PAGE);
    if (pages < 2) return null;
    const turn = (step, id) => () => {
      table.page += step;
      draw();
      const again = document.getElementById(id);
      (again && !again.disabled ? again : document.querySelector("#table caption")).focus();
      dom.announce(document.querySelector("#table caption").textContent);
    };
    const id = (name) => `${name}-page-${place}`;
    return dom.el("nav", { class: "row", "aria-label": `Pages of the table, ${place}` },
      dom.button("Previous page", turn(-1, id("previous")), { id: id("previous"), disabled: table.page === 0 }),
      dom.el("span", { text: `Page ${table.page + 1} of ${pages}` }),
      dom.button("Next page", turn(1, id("next")), { id: id("next"), disabled: table.page >= pages - 1 }));
  }
})(window.Review);
