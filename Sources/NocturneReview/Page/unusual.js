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
        !hasPlots() && dom.el("p", { text: "There are not enough measures in this batch." }),
        model.batch.featureCount > model.features.size && dom.el("p", { id: "features-left-out",
          text: `${format.plural(model.batch.featureCount, "radiomic feature is", "radiomic features are")} in radiomics.csv alone: this batch has too many values for the page.` }),
        dom.el("div", { class: "row", hidden: !hasPlots() },
          dom.el("label", { for: "plot-model", text: "Model" }), parts.model,
          dom.el("label", { for: "plot-measure", text: "Measure" }), parts.measure),
        dom.el("p",
          { text: "The shaded band holds values that are usual in this batch; the line is the median. Every dot is a link.", hidden: !hasPlots() }),
        parts.plots);
      chooseModels();
    },

    show() {
      chooseModels();
      drawOutliers();
      drawPlots();
    },
  });

  /* Those with spreads, and those of the items that are loaded: their features may be too few for a spread. */
  function chooseModels() {
    const own = model.features.size > 0 ? model.items.map((entry) => entry.model).filter((name) => name) : [];
    const names = [...new Set([...model.batch.spreads.map((spread) => spread.model), ...own])];
    if (names.length === parts.model.options.length) return;
    const before = parts.model.value;
    dom.replace(parts.model, names.map((name) => dom.el("option", { value: name, text: name })));
    if (names.includes(before)) parts.model.value = before;
    else chooseMeasures();
  }

  function chooseMeasures() {
    const own = model.batch.spreads.filter((spread) => spread.model === parts.model.value);
    const names = [...new Set(own.map((spread) => spread.measure))];
    const option = (name) => dom.el("option", { value: name, text: format.measure(name) });
    const features = [...model.features.keys()].filter((name) => !names.includes(name));
    dom.replace(parts.measure, names.map(option),
      features.length > 0 && dom.el("optgroup", { label: "Radiomic features" }, features.map(option)));
  }

  function hasPlots() {
    return model.batch.spreads.length > 0 || model.features.size > 0;
  }

  /* The values of the chosen measure, and how they are distributed. */
  function chosen() {
    const [name, measure] = [parts.model.value, parts.measure.value];
    const spreads = model.batch.spreads.filter((spread) => spread.model === name && spread.measure === measure);
    return spreads.length === 0 && model.features.has(measure) ? Review.plots.gatherFeature(name, measure)
      : { values: Review.plots.gather(name, measure), spreads };
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
    if (model.isComplete && model.featureParts === null && model.features.has(parts.measure.value)) {
      parts.plots.append(dom.el("p", { text: "The features are being loaded." }));
      model.loadFeatures(drawPlots);
      return;
    }
    const { values, spreads } = chosen();
    if (spreads.length === 0 && model.isComplete && hasPlots()) {
      parts.plots.append(dom.el("p", { text: "No item of this model has this measure." }));
    }
    parts.observer = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        if (!isIntersecting) continue;
        parts.observer.unobserve(target);
        target.append(target.drawPlot());
      }
    }, { rootMargin: "300px" });
    for (const spread of spreads) {
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
