"use strict";
/* The view "Unusual in this batch": the list of outliers, then a strip plot for each label. */
(function (Review) {
  const { dom, format, model } = Review;
  const STEP = 50;
  const parts = { shown: STEP };

  const unusual = (Review.unusual = {
    build(section) {
      parts.outliers = dom.el("div", { id: "outliers" });
      parts.plots = dom.el("div", { id: "plots" });
      parts.model = dom.el("select", { id: "plot-model", on: { change: () => (chooseMeasures(), drawPlots()) } });
      parts.measure = dom.el("select", { id: "plot-measure", on: { change: drawPlots } });
      dom.replace(section,
        dom.el("h2", { id: "unusual-heading", text: "Unusual in this batch", tabindex: "-1" }),
        dom.el("p",
          { text: "These values are far from the median of this batch. That can have many reasons, and is neither a finding nor an error: look at the item." }),
        parts.outliers,
        dom.el("h3", { text: "Values of all items" }),
        model.batch.spreads.length === 0 && dom.el("p", { text: "There are not enough measures in this batch." }),
        dom.el("div", { class: "row", hidden: model.batch.spreads.length === 0 },
          dom.el("label", { for: "plot-model", text: "Model" }), parts.model,
          dom.el("label", { for: "plot-measure", text: "Measure" }), parts.measure),
        dom.el("p",
          { text: "The shaded band holds values that are usual in this batch; the line is the median. Every dot is a link.", hidden: model.batch.spreads.length === 0 }),
        parts.plots);
      const names = [...new Set(model.batch.spreads.map((spread) => spread.model))];
      dom.replace(parts.model, names.map((name) => dom.el("option", { value: name, text: name })));
      chooseMeasures();
    },

    show() {
      drawOutliers();
      drawPlots();
    },
  });

  function chooseMeasures() {
    const own = model.batch.spreads.filter((spread) => spread.model === parts.model.value);
    const names = [...new Set(own.map((spread) => spread.measure))];
    dom.replace(parts.measure, names.map((name) => dom.el("option", { value: name, text: format.measure(name) })));
  }

  function drawOutliers() {
    const { outliers } = model.batch;
    if (outliers.length === 0) {
      dom.replace(parts.outliers, dom.el("p", { text: "No value is unusual in this batch." }));
      return;
    }
    const names = new Map(model.items.map((entry) => [entry.index, entry]));
    const rows = outliers.slice(0, parts.shown).map((outlier) => {
      const entry = names.get(outlier.item);
      return dom.el("tr", {},
        dom.el("th", { scope: "row" }, entry ? dom.el("a", { href: dom.itemHash(entry.item), text: entry.item })
          : "not loaded yet"),
        dom.el("td", { text: format.label(outlier.label) }),
        dom.el("td", { text: outlier.text }),
        dom.el("td", { class: "number", text: format.number(outlier.score) }),
        dom.el("td", {}, entry ? Review.verdicts.badges(entry) : []));
    });
    const more = () => {
      parts.shown += STEP * 4;
      drawOutliers();
    };
    dom.replace(parts.outliers,
      dom.el("div", { class: "scroll" }, dom.el("table", {},
        dom.el("caption",
          { text: `${format.plural(outliers.length, "unusual value", "unusual values")}, the most unusual first` }),
        dom.el("thead", {}, dom.el("tr", {}, ["Item", "Label", "What is unusual", "Score",
          "Verdict"].map((text) => dom.el("th", { scope: "col", text })))),
        dom.el("tbody", {}, rows))),
      outliers.length > parts.shown && dom.button("Show more", more));
  }

  /* Plots are drawn when they come into view: a model can have a hundred labels. */
  function drawPlots() {
    parts.plots.replaceChildren();
    if (parts.observer) parts.observer.disconnect();
    const values = Review.plots.gather(parts.model.value, parts.measure.value);
    parts.observer = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        if (!isIntersecting) continue;
        parts.observer.unobserve(target);
        target.append(target.drawPlot());
      }
    }, { rootMargin: "300px" });
    for (const spread of model.batch.spreads) {
      if (spread.model !== parts.model.value || spread.measure !== parts.measure.value) continue;
      const own = values.get(model.spreadKey(spread.model, spread.label, spread.measure, spread.unit));
      if (!own) continue;
      const figure = dom.el("figure", { class: "strip" }, dom.el("figcaption", {
        text: `${format.label(spread.label)} (${format.plural(own.length, "item", "items")}${spread.scale === "log" ? ", logarithmic axis" : ""})`,
      }));
      figure.drawPlot = () => Review.plots.draw(own, spread);
      parts.plots.append(figure);
      parts.observer.observe(figure);
    }
  }
})(window.Review);
