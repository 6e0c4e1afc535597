"use strict";
/* The head of the page: counts, models, options, failures by cause. */
(function (Review) {
  const { dom, format } = Review;

  Review.summary = {
    build(batch) {
      document.title = `${batch.title}: review`;
      document.getElementById("title").textContent = batch.title;
      document.getElementById("disclaimer").textContent = batch.disclaimer;
      dom.replace(document.getElementById("summary"), counts(batch.counts), failures(batch), about(batch));
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
