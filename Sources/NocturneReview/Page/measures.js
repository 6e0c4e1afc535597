"use strict";
/* Tables of an item's measures, its agreement with a reference, its labels and files. */
(function (Review) {
  const { dom, format, model } = Review;
  const LIMIT = 3.5;
  const FIRST = ["volume", "share", "meanProbability", "intensityMean", "components", "instances", "confidenceMean"];

  function head(names) {
    return dom.el("thead", {}, dom.el("tr", {}, names.map((text) => dom.el("th", { scope: "col", text }))));
  }

  function link(entry, path, text) {
    const address = dom.itemURL(entry.item, path);
    return address && dom.el("li", {}, dom.el("a", { href: address, text: text || path }));
  }

  /* The value, and how far it is from the median of the batch if that is known. */
  function judged(entry, each) {
    const spread = model.spread(entry, each);
    const z = format.robustZ(each.value, spread);
    return { spread, isFar: z !== null && Math.abs(z) > LIMIT };
  }

  function byLabel(entry, measures, id) {
    /* Regions of interest may have another unit than labels: each unit has its column. */
    const key = (each) => `${each.measure}\n${each.unit}`;
    const columns = [...new Map(measures.map((each) => [key(each), each])).values()];
    if (id === "measures") columns.sort((a, b) => FIRST.indexOf(a.measure) - FIRST.indexOf(b.measure));
    const labels = new Map(measures.map((each) => [each.label, new Map()]));
    for (const each of measures) labels.get(each.label).set(key(each), each);
    const rows = [...labels].map(([label, own]) => {
      const found = columns.map((column) => own.get(key(column))).map((each) => each && { each, ...judged(entry, each) });
      return dom.el("tr", { class: found.some((one) => one && one.isFar) ? "far" : null },
        dom.el("th", { scope: "row", text: format.label(label) }), found.map((one) => cell(one)));
    });
    return dom.el("div", { class: "scroll" }, dom.el("table", { id },
      head(["Label", ...columns.map((column) => format.measureHead(column.measure, column.unit))]), dom.el("tbody", {}, rows)));
  }

  function cell(found) {
    if (!found) return dom.el("td", { class: "number", text: "–" });
    const { each, spread, isFar } = found;
    return dom.el("td", { class: "number" }, each.value === null ? "not measured" : format.number(each.value),
      isFar && dom.el("div", { text: `${format.deviation(each.value, spread, each.unit)} (unusual in this batch)` }));
  }

  function allMeasures(entry) {
    const labels = [...new Set(entry.measures.map((each) => each.label))];
    const ordered = labels.flatMap((label) => entry.measures.filter((each) => each.label === label));
    const hasMedians = ordered.some((each) => model.spread(entry, each));
    const rows = ordered.map((each) => {
      const { spread, isFar } = judged(entry, each);
      return dom.el("tr", { class: isFar ? "far" : null },
        dom.el("th", { scope: "row", text: format.label(each.label) }),
        dom.el("td", { text: format.measureHead(each.measure, each.unit) }),
        dom.el("td", { class: "number", text: each.value === null ? "not measured" : format.number(each.value) }),
        hasMedians && dom.el("td", { class: "number", text: spread ? format.number(spread.median) : "–" }),
        hasMedians && dom.el("td", { text: format.deviation(each.value, spread, each.unit)
          + (isFar ? " (unusual in this batch)" : "") }));
    });
    return dom.el("details", {}, dom.el("summary", { text: `All measures (${rows.length})` }),
      dom.el("div", { class: "scroll" }, dom.el("table", { id: "all-measures" },
        head(["Label", "Measure", "This item", ...(hasMedians ? ["Median of the batch", "Compared with the batch"] : [])]),
        dom.el("tbody", {}, rows))));
  }

  Review.measures = {
    /* Labels as rows and measures as columns, a table for each group; everything else behind a heading. */
    tables(entry) {
      if (entry.measures.length === 0) return null;
      const groups = [
        { id: "measures", title: "Measures", has: (each) => FIRST.includes(each.measure) },
        { id: "compared", title: "Comparison with the reference", has: (each) => format.isComparison(each.measure) },
        { id: "radiomics", title: "Radiomics", has: (each) => each.measure.startsWith("radiomics:") },
      ].map((group) => ({ ...group, measures: entry.measures.filter(group.has) })).filter((group) => group.measures.length > 0);
      const shown = groups.reduce((sum, group) => sum + group.measures.length, 0);
      return dom.el("section", {},
        groups.flatMap((group) => [dom.el("h3", { text: group.title }), byLabel(entry, group.measures, group.id)]),
        (entry.measures.length > shown || groups[0].id !== "measures") && allMeasures(entry));
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
      paths.push(...(entry.documents || []));
      const links = [...new Set(paths)].map((path) => link(entry, path));
      if (paths.length === 0) return null;
      const folder = dom.el("li", {}, dom.el("a", { href: `./${encodeURIComponent(entry.item)}/`,
        text: "folder of the item" }));
      return dom.el("details", {}, dom.el("summary", { text: "Files" }),
        dom.el("ul", {}, entry.state === "completed" && folder, links));
    },
  };
})(window.Review);
