"use strict";
/* The head of the page: counts, models, options, failures by cause. */
(function (Review) {
  const { dom, format } = Review;

  Review.summary = {
    build(batch) {
      document.title = `${batch.title}: review`;
      document.getElementById("title").textContent = batch.title;
      document.getElementById("disclaimer").textContent = batch.disclaimer;
      dom.replace(document.getElementById("summary"), counts(batch.counts), failures(batch), comparison(batch),
        about(batch));
    },

    problem(text) {
      document.getElementById("problems").append(dom.el("p", { class: "message", role: "alert", text }));
    },
  };

  function counts(values) {
    const list = dom.el("dl", { id: "counts" });
    const names = ["inputs", "completed", "failed", "skipped", "cancelled", "quarantined", "notReached"];
    for (const name of names) {
      const value = values[name] || 0;
      list.append(dom.el("div", { class: value > 0 ? name : "zero", "data-count": name },
        dom.el("dt", { text: format.state(name) }), dom.el("dd", { text: value.toLocaleString("en") })));
    }
    return list;
  }

  function failures(batch) {
    if (batch.failures.length === 0) return null;
    const rows = batch.failures.map((failure) => dom.el("tr", {},
      dom.el("td", {}, dom.el("a", {
        href: "#code=" + encodeURIComponent(failure.code), text: format.plural(failure.count, "item", "items"),
        "aria-label": `Show ${format.plural(failure.count, "item", "items")} with ${failure.code}`,
      })),
      dom.el("td", {}, dom.el("code", { text: failure.code }), dom.el("div", { class: "example", text: failure.reason })),
      dom.el("td", { text: failure.remedy })));
    const total = batch.failures.reduce((sum, failure) => sum + failure.count, 0);
    return dom.el("details", { id: "failures", open: batch.failures.length <= 8 },
      dom.el("summary", { text: `Items without a result, by cause (${total.toLocaleString("en")})` }),
      table(["Items", "Cause", "What to do"], rows));
  }

  /* The agreement with reference labels over the batch. */
  function comparison(batch) {
    const agreement = batch.comparison || [];
    const left = batch.notComparedCount || 0;
    if (agreement.length === 0 && left === 0) return null;
    const links = (names) => names.map((name) => dom.el("a", { href: dom.itemHash(name), text: name }));
    const rows = agreement.map((each) => dom.el("tr", {},
      batch.models.length > 1 && dom.el("td", { text: each.model }),
      dom.el("th", { scope: "row", text: format.label(each.label) }), dom.el("td", { text: format.measure(each.measure) }),
      dom.el("td", { class: "number", text: each.count.toLocaleString("en") }),
      ...[each.mean, each.median, each.worst].map((value) =>
        dom.el("td", { class: "number", text: format.quantity(value, each.unit) })),
      dom.el("td", { class: "links" }, links(each.worstItems))));
    const names = ["Label", "Measure", "Items", "Mean", "Median", "Worst", "Worst items"];
    return dom.el("details", { id: "comparison" }, dom.el("summary", { text: "Comparison with reference labels" }),
      rows.length > 0 && table(batch.models.length > 1 ? ["Model", ...names] : names, rows),
      left > 0 && notCompared(batch, left));
  }

  function notCompared(batch, count) {
    const show = () => Review.controls.showOnly({ items: new Set(batch.notCompared.map((each) => each.item)),
      text: "items that were not compared." });
    const first = batch.notCompared[0];
    return dom.el("p", { id: "not-compared" }, `${format.plural(count, "item was", "items were")} not compared`,
      first ? `, for example: ${first.reason}. ` : ". ", first && dom.button("Show them", show));
  }

  function table(names, rows) {
    return dom.el("div", { class: "scroll" }, dom.el("table", {},
      dom.el("thead", {}, dom.el("tr", {}, names.map((text) => dom.el("th", { scope: "col", text })))),
      dom.el("tbody", {}, rows)));
  }

  function about(batch) {
    const options = Object.entries(batch.options).map(([name, text]) =>
      dom.el("tr", {}, dom.el("th", { scope: "row", text: name }), dom.el("td", { text })));
    const models = batch.models.map((model) =>
      dom.el("tr", {}, dom.el("th", { scope: "row", text: model.id }),
        dom.el("td", { text: `${model.name}, version ${model.version}` })));
    return dom.el("details", { id: "about" },
      dom.el("summary", { text: `${format.plural(batch.models.length, "model", "models")}, options and version` }),
      dom.el("p", { text: `Nocturne ${batch.version}, batch ${batch.batch}` }),
      models.length > 0 && dom.el("h2", { text: "Models" }),
      models.length > 0 && dom.el("table", {}, dom.el("tbody", {}, models)),
      options.length > 0 && dom.el("h2", { text: "Options" }),
      options.length > 0 && dom.el("table", {}, dom.el("tbody", {}, options)));
  }
})(window.Review);
