"use strict";
/* The head of the page: counts, models, options, failures by cause. */
(function (Review) {
  const { dom, format } = Review;

  Review.summary = {
    build(batch) {
      document.title = `${batch.title}: review`;
      document.getElementById("title").textContent = batch.title;
      document.getElementById("disclaimer").textContent = batch.disclaimer;
      dom.replace(document.getElementById("summary"), counts(batch.counts), failures(batch),
        comparison(batch), about(batch));
    },

    /* Why items were not compared, the most frequent reason first, each with the places of its items. */
    reasons(batch) {
      const found = new Map();
      for (const { item, reason } of batch.notCompared || []) {
        if (!found.has(reason)) found.set(reason, new Set());
        found.get(reason).add(item);
      }
      return [...found].map(([reason, items]) => ({ reason, items })).sort((a, b) => b.items.size - a.items.size);
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
      if (value === 0 && name !== "inputs" && name !== "completed") continue;
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
      dom.el("td", {}, dom.advice(failure.remedy))));
    const total = batch.failures.reduce((sum, failure) => sum + failure.count, 0);
    return dom.el("details", { id: "failures", open: batch.failures.length <= 2 },
      dom.el("summary", { text: `Items without a result, by cause (${total.toLocaleString("en")})` }),
      table(["Items", "Cause", "What to do"], rows));
  }

  /* Agreement with references over the batch, a table for each model, and what was not compared. */
  function comparison(batch) {
    const rows = batch.comparison || [];
    const missing = batch.notCompared || [];
    if (rows.length === 0 && missing.length === 0) return null;
    const models = [...new Set(rows.map((each) => each.model))];
    return dom.el("details", { id: "comparison", open: rows.length <= 24 },
      dom.el("summary", { text: "Comparison with references" }),
      models.flatMap((name) => [models.length > 1 && dom.el("h2", { text: name }),
        table(["Label", "Measure", "Items", "Mean", "Median", "Worst", "Worst items"],
          rows.filter((each) => each.model === name).map(comparisonRow))]),
      missing.length > 0 && dom.el("p", { text: `${format.plural(batch.notComparedCount || missing.length, "item was", "items were")} not compared${
        batch.notComparedCount > missing.length ? `, the first ${missing.length.toLocaleString("en")} of them` : ""}:` }),
      missing.length > 0 && dom.el("ul", { id: "not-compared" }, Review.summary.reasons(batch).map(({ reason, items }, position) =>
        dom.el("li", {}, `${reason} `, dom.el("a", { href: `#not-compared=${position}`,
          text: format.plural(items.size, "item", "items") })))));
  }

  function comparisonRow(each) {
    const number = (value) => dom.el("td", { class: "number", text: format.number(value) });
    const links = each.worstItems.slice(0, 5).flatMap((name, position) => [position > 0 && ", ",
      dom.el("a", { href: dom.itemHash(name), text: name })]);
    return dom.el("tr", {}, dom.el("th", { scope: "row", text: format.label(each.label) }),
      dom.el("td", { text: format.measureHead(each.measure, each.unit) }),
      dom.el("td", { class: "number", text: each.items.toLocaleString("en") }),
      number(each.mean), number(each.median), number(each.worst), dom.el("td", {}, links));
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
      dom.el("summary", { text: models.length > 0
        ? `${format.plural(models.length, "model", "models")}, options and version` : "Options and version" }),
      dom.el("p", { text: `Nocturne ${batch.version}, batch ${batch.batch}` }),
      models.length > 0 && dom.el("h2", { text: "Models" }),
      models.length > 0 && dom.el("table", {}, dom.el("tbody", {}, models)),
      options.length > 0 && dom.el("h2", { text: "Options" }),
      options.length > 0 && dom.el("table", {}, dom.el("tbody", {}, options)));
  }
})(window.Review);
