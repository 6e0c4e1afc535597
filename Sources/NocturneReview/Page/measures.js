"use strict";
/* Tables of an item's measures, labels and files. */
(function (Review) {
  const { dom, format, model } = Review;
  const LIMIT = 3.5;

  function head(names) {
    return dom.el("thead", {}, dom.el("tr", {}, names.map((text) => dom.el("th", { scope: "col", text }))));
  }

  function link(entry, path, text) {
    const address = dom.itemURL(entry.item, path);
    return address && dom.el("li", {}, dom.el("a", { href: address, text: text || path }));
  }

  /* Shown at once; the others are behind a button where there are many. */
  const FIRST = new Set(["volume", "meanProbability", "intensityMean", "components", "dice", "volumeDifference",
    "instances", "confidenceMean"]);
  const MANY = 12;

  function row(entry, each, hasSpreads) {
    const spread = model.spread(entry, each);
    const z = format.robustZ(each.value, spread);
    const isFar = z !== null && Math.abs(z) > LIMIT;
    return dom.el("tr", { class: isFar ? "far" : null },
      dom.el("th", { scope: "row", text: format.label(each.label) }),
      dom.el("td", { text: format.measure(each.measure) }),
      dom.el("td", { class: "number", text: each.value === null ? "not measured"
        : format.quantity(each.value, each.unit) }),
      hasSpreads && dom.el("td", { class: "number", text: spread ? format.quantity(spread.median, each.unit) : "–" }),
      hasSpreads && dom.el("td", { text: format.deviation(each.value, spread, each.unit)
        + (isFar ? " (unusual in this batch)" : "") }));
  }

  function measureTable(entry, measures, id) {
    // Too few items have no median.
    const hasSpreads = measures.some((each) => model.spread(entry, each));
    const names = ["Label", "Measure", "This item"];
    return dom.el("div", { class: "scroll" }, dom.el("table", { id },
      head(hasSpreads ? [...names, "Median of the batch", "Compared with the batch"] : names),
      dom.el("tbody", {}, measures.map((each) => row(entry, each, hasSpreads)))));
  }

  /* Labels stay together, in the order in which they come. */
  function byLabel(measures) {
    const labels = [...new Set(measures.map((each) => each.label))];
    return labels.flatMap((label) => measures.filter((each) => each.label === label));
  }

  Review.measures = {
    table(entry) {
      if (entry.measures.length === 0) return null;
      const all = byLabel(entry.measures);
      const first = all.filter((each) => FIRST.has(each.measure));
      const isShort = all.length <= MANY || first.length === 0;
      return dom.el("section", {}, dom.el("h3", { text: "Measures" }),
        measureTable(entry, isShort ? all : first, "measures"),
        !isShort && dom.el("details", { id: "all-measures" }, dom.el("summary", { text: `All measures (${all.length})` }),
          measureTable(entry, all, "measures-all")));
    },

    labels(entry) {
      if (entry.labels.length === 0) return null;
      const rows = entry.labels.map((label) => {
        const mesh = label.mesh && dom.itemURL(entry.item, label.mesh);
        return dom.el("tr", {},
          dom.el("td", { class: "number", text: String(label.value) }),
          dom.el("th", { scope: "row" }, Review.measures.swatch(label.color), format.label(label.name)),
          dom.el("td", {}, mesh ? dom.el("a", { href: mesh, text: label.mesh, download: true }) : "–"));
      });
      return dom.el("details", {}, dom.el("summary", { text: `Labels (${entry.labels.length})` }),
        dom.el("div", { class: "scroll" }, dom.el("table", {}, head(["Value", "Label", "Mesh"]),
          dom.el("tbody", {}, rows))));
    },

    swatch(color) {
      const node = dom.el("span", { class: "swatch", "aria-hidden": "true" });
      // Only plain colours, so that a name cannot become anything else.
      if (/^#[0-9a-f]{6}$/i.test(color || "")) node.style.background = color;
      return node;
    },

    files(entry) {
      const paths = [];
      if (entry.state === "completed") {
        if (entry.kind === "volume") paths.push("segmentation.nii.gz");
        paths.push("result.json");
      }
      for (const picture of entry.pictures) paths.push(picture.path);
      const links = [...new Set(paths)].map((path) => link(entry, path));
      if (paths.length === 0) return null;
      const folder = dom.el("li", {}, dom.el("a", { href: `./${encodeURIComponent(entry.item)}/`,
        text: "folder of the item" }));
      return dom.el("details", {}, dom.el("summary", { text: "Files" }),
        dom.el("ul", {}, entry.state === "completed" && folder, links));
    },
  };
})(window.Review);
