"use strict";
/* Pictures of an item, and the objects or classes found in a photo: boxes over the picture, scores, verdicts of objects. */
(function (Review) {
  const { dom, marks } = Review;
  const { svg } = dom;
  const parts = { areBoxesShown: true };

  const objects = (Review.objects = {
    /* The pictures; the boxes of objects are drawn over the first one. */
    pictures(entry) {
      const host = dom.el("div", { class: `pictures ${entry.kind}`, id: "pictures" });
      const list = entry.pictures.length > 0 ? entry.pictures
        : entry.thumbnail ? [{ path: entry.thumbnail, alt: `Preview of ${entry.item}` }] : [];
      const crops = new Set(entry.objects.map((object) => object.picture).filter(Boolean));
      const shown = list.filter((picture) => !crops.has(picture.path));
      shown.forEach((picture, position) => host.append(figure(entry, picture, position === 0)));
      if (shown.length === 0) host.append(dom.el("p", { class: "quiet", text: "There is no picture of this item." }));
      return host;
    },

    toggleBoxes() {
      const boxes = document.querySelector("#pictures .boxes");
      if (!boxes) return false;
      parts.areBoxesShown = !parts.areBoxesShown;
      boxes.toggleAttribute("hidden", !parts.areBoxesShown);
      boxes.style.display = parts.areBoxesShown ? "" : "none";
      const button = document.getElementById("boxes-button");
      if (button) button.setAttribute("aria-pressed", String(parts.areBoxesShown));
      dom.announce(parts.areBoxesShown ? "Boxes are shown." : "Boxes are hidden.");
      return true;
    },

    table(entry) {
      if (entry.objects.length === 0) return null;
      const isClasses = entry.kind === "classification";
      const names = isClasses ? ["Class", "Score"] : ["Object", "Picture", "Score", "Text", "Your verdict"];
      const rows = entry.objects.map((object) => (isClasses ? classRow(object) : objectRow(entry, object)));
      const hasBoxes = entry.objects.some((object) => object.box);
      return dom.el("section", { "aria-labelledby": "objects-heading" },
        dom.el("h3", { id: "objects-heading", text: isClasses ? "Classes suggested by the model"
          : "Objects found by the model" }),
        dom.el("p", { class: "quiet", text: isClasses
          ? "Scores are the model's own estimates, not probabilities of a disease. They can be wrong, and must be reviewed by a qualified person."
          : "Boxes and scores are suggestions of the model and can be wrong." }),
        hasBoxes && dom.button("Boxes over the picture", objects.toggleBoxes,
          { id: "boxes-button", "aria-pressed": String(parts.areBoxesShown), "aria-keyshortcuts": "o" }),
        dom.el("div", { class: "scroll" }, dom.el("table", { id: "objects" },
          dom.el("thead", {}, dom.el("tr", {}, names.map((text) => dom.el("th", { scope: "col", text })))),
          dom.el("tbody", {}, rows))));
    },

    /* Draws the verdict cells again. */
    refresh(entry) {
      for (const cell of document.querySelectorAll("#objects td[data-object]")) updateVerdicts(cell, entry,
        cell.dataset.object);
    },

    /* The object whose row has the focus, or null. */
    focused() {
      const row = document.activeElement && document.activeElement.closest("#objects tr[data-object]");
      return row ? row.dataset.object : null;
    },
  });

  function figure(entry, picture, isFirst) {
    const address = dom.itemURL(entry.item, picture.path);
    const image = address && dom.el("img", { src: address, alt: picture.alt, decoding: "async" });
    const frame = dom.el("div", { class: "frame" }, image);
    if (image) {
      image.addEventListener("error", () => frame.replaceChildren(dom.el("p",
        { class: "quiet", text: `${picture.path} cannot be shown.` })));
      const boxed = isFirst ? entry.objects.filter((object) => object.box) : [];
      if (boxed.length > 0) {
        // The boxes are in pixels of the photo; the picture may be smaller.
        image.addEventListener("load", () => frame.append(boxes(entry, boxed, entry.size
          || [image.naturalWidth, image.naturalHeight])));
      }
    }
    return dom.el("figure", {}, frame, dom.el("figcaption", {}, dom.el("div", { text: picture.alt }),
      address ? dom.el("a", { href: address, text: picture.path }) : picture.path));
  }

  /* In heights of the text. */
  const WIDTH_OF_SCORE = 2.4;

  function boxes(entry, boxed, [width, height]) {
    const size = Math.max(width, height) / 40;
    const overlay = svg("svg", { class: "boxes", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true",
      preserveAspectRatio: "none" });
    for (const object of boxed) {
      const [x, y, across, down] = object.box;
      // The numbers are in the picture. A score wider than its box is shown while its row is chosen.
      const text = typeof object.score === "number" ? object.score.toFixed(2) : "";
      const isNarrow = across < size * WIDTH_OF_SCORE;
      const isAtEnd = x + size * WIDTH_OF_SCORE > width;
      overlay.append(svg("g", { "data-box": object.name, class: isNarrow ? "narrow" : "" },
        svg("rect", { x, y, width: across, height: down }),
        svg("text", { x: isAtEnd ? x + across : x + size * 0.2, "text-anchor": isAtEnd ? "end" : "start",
          y: Math.max(size, y - size * 0.3), "font-size": size, text })));
    }
    if (!parts.areBoxesShown) overlay.style.display = "none";
    return overlay;
  }

  function score(object) {
    if (typeof object.score !== "number") return dom.el("td", { text: "–" });
    // A class has its colour in the bar, as in report.pdf.
    const bar = Review.measures.swatch(object.color);
    bar.className = "bar";
    bar.style.width = `${4 * object.score}rem`;
    return dom.el("td", { class: "number" },
      dom.el("span", { class: "bars", "aria-hidden": "true" }, bar), ` ${object.score.toFixed(3)}`);
  }

  function classRow(object) {
    return dom.el("tr", {}, dom.el("th", { scope: "row" }, object.color ? Review.measures.swatch(object.color) : null,
      object.name, object.text ? dom.el("span", { class: "quiet", text: ` (${object.text})` }) : null), score(object));
  }

  function objectRow(entry, object) {
    const address = object.picture && dom.itemURL(entry.item, object.picture);
    const cell = dom.el("td", { "data-object": object.name });
    buildVerdicts(cell, entry, object.name);
    const highlight = (isOn) => () => {
      for (const box of document.querySelectorAll("#pictures [data-box]")) {
        box.classList.toggle("chosen", isOn && box.dataset.box === object.name);
      }
    };
    return dom.el("tr", {
      "data-object": object.name,
      on: { mouseenter: highlight(true), mouseleave: highlight(false), focusin: highlight(true),
        focusout: highlight(false) },
    },
      dom.el("th", { scope: "row", text: object.name }),
      dom.el("td", {}, address ? dom.el("img", { class: "crop", src: address,
        alt: `Object ${object.name} of ${entry.item}`, loading: "lazy" }) : "–"),
      score(object), dom.el("td", { text: object.text || "" }), cell);
  }

  function buildVerdicts(cell, entry, name) {
    dom.replace(cell,
      dom.el("span", { role: "group", "aria-label": `Verdict on object ${name}`, class: "joined" },
        marks.VERDICTS.map((verdict) =>
        dom.button(Review.verdicts.SYMBOLS[verdict], () => Review.verdicts.mark(entry, name, verdict),
          { "data-verdict": verdict, "aria-label": verdict, title: verdict, class: verdict }))),
      dom.el("span", { class: "others" }));
    updateVerdicts(cell, entry, name);
  }

  function updateVerdicts(cell, entry, name) {
    const mine = marks.mine(entry, name);
    const isCurrent = mine !== null && marks.isCurrent(mine, entry);
    for (const button of cell.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(isCurrent && mine.verdict === button.dataset.verdict));
    }
    const others = marks.of(entry).filter((mark) => mark.object === name && !(isCurrent && mark === mine));
    dom.replace(cell.querySelector(".others"), others.map((mark) => Review.verdicts.badge(mark, entry)));
  }
})(window.Review);
