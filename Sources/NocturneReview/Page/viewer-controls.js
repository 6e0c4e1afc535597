"use strict";
/* What stands around the viewer's canvas: layout, window, labels, transfer function, and the readout at the crosshair. */
(function (Review) {
  const { dom, format, viewer } = Review;
  const LAYOUTS = [
    ["planes", "Three planes"], ["all", "Planes and 3-D"], ["axial", "Axial"], ["coronal", "Coronal"],
      ["sagittal", "Sagittal"],
    ["surfaces", "Surfaces"], ["rendering", "Volume rendering"],
  ];
  /* The colour maps of NiiVue that the planes can have, and one of viewer.js. */
  const COLORS = [["gray", "Grey"], ["inverted", "Inverted grey"], ["hot", "Hot"], ["bone", "Bone"]];
  /* Transfer functions: transparent below the first value, most opaque above the second; colours from dark to bright. */
  const TRANSFERS = [
    { name: "CT bone", lower: 120, upper: 700, colors: [[140, 60, 30], [230, 200, 150], [255, 255, 240]],
      opacity: 200 },
    { name: "CT soft tissue", lower: -40, upper: 200, colors: [[120, 40, 30], [220, 140, 110], [255, 230, 210]],
      opacity: 120 },
    { name: "CT lung", lower: -900, upper: -500, colors: [[30, 60, 90], [120, 170, 200], [230, 240, 250]],
      opacity: 40 },
  ];
  const GREYS = { name: "grey", colors: [[20, 20, 20], [128, 128, 128], [255, 255, 255]], opacity: 120 };
  const parts = {};

  const controls = (Review.viewerControls = {
    build(host, canvas, entry, data) {
      const { settings } = viewer;
      const windows = [{ name: "all stored values", lower: data.window.lower, upper: data.window.upper }, ...data.windows];
      const known = windows.find((each) => settings.window && each.name === settings.window.name);
      settings.window = known || data.windows[0] || windows[0];
      parts.windows = windows;
      parts.unit = data.window.unit || "";
      parts.step = (data.window.upper - data.window.lower) / 255;
      parts.transfers = transfersFor(data);
      const kept = parts.transfers.find((each) => settings.transfer && each.name === settings.transfer.name);
      settings.transfer = { ...(kept || parts.transfers[0]) };
      canvas.setAttribute("aria-label",
        `Slices and surfaces of ${entry.item}. Arrow keys, page up and page down move the crosshair; the values there are below.`);
      parts.place = dom.el("output", { id: "readout", "aria-live": "polite" });
      delete host.dataset.ready;
      dom.replace(host, toolbar(data, entry.labels.length > 0), dom.el("div", { class: "stage" }, canvas), parts.place,
        precision(data), transferControls(data), labelControls(entry));
      controls.update();
    },

    update() {
      const { settings } = viewer;
      parts.layout.value = settings.layout;
      parts.window.value = String(parts.windows.findIndex((each) => each.name === settings.window.name));
      parts.colors.value = settings.colors;
      parts.overlay.setAttribute("aria-pressed", String(settings.isOverlayShown));
      parts.opacity.value = settings.opacity;
      parts.transfer.hidden = settings.layout !== "rendering";
      // What has no effect in a view cannot be set there.
      const showsPlanes = !viewer.isRotatable();
      parts.window.disabled = !showsPlanes;
      parts.colors.disabled = !showsPlanes;
      parts.side.disabled = !showsPlanes;
      parts.opacity.disabled = viewer.showsSurfaces();
      for (const { label, box } of parts.labels) box.checked = !settings.hidden.has(label.name);
    },

    /* Colours and opacities between the two ends of the transfer function. */
    transferMap() {
      const { colors, opacity } = viewer.settings.transfer;
      const channel = (index) => colors.map((color) => color[index]);
      return { R: channel(0), G: channel(1), B: channel(2), A: [0, Math.round(opacity / 2), opacity],
        I: [0, 128, 255] };
    },

    showLocation(location) {
      const { entry } = viewer.state;
      if (!entry) return;
      const [x, y, z] = location.mm;
      const millimetres = (values) => values.map((value) => value.toFixed(1)).join(", ");
      const value = location.values[0] ? location.values[0].value : null;
      const number = location.values[1] ? Math.round(location.values[1].value) : 0;
      const label = entry.labels.find((each) => each.value === number);
      const name = label ? format.label(label.name) : number === 0 ? "no label" : `label ${number}`;
      parts.place.textContent = `RAS ${millimetres([x, y, z])} mm · LPS ${millimetres([-x, -y, z])} mm · value ${storedValue(value)}`
        + `${parts.unit ? " " + parts.unit : ""}${entry.labels.length > 0 ? ` · ${name}` : ""}`;
    },
  });

  /* A volume without labels has no controls for them. */
  function toolbar(data, hasLabels) {
    const { settings } = viewer;
    parts.layout = dom.el("select", { id: "viewer-layout", on: { change: () => {
      settings.layout = parts.layout.value;
      viewer.applyLayout();
      controls.update();
    } } }, LAYOUTS.map(([value, text]) => dom.el("option", { value, text })));
    parts.window = dom.el("select", { id: "viewer-window", on: { change: () => {
      settings.window = parts.windows[Number(parts.window.value)];
      viewer.applyWindow();
    } } }, parts.windows.map((each, index) => dom.el("option", {
      value: index,
        text: `${each.name} (${format.number(each.lower)} to ${format.number(each.upper)}${data.window.unit ? " " + data.window.unit : ""})`,
    })));
    parts.colors = dom.el("select", { id: "viewer-colors", on: { change: () => {
      settings.colors = parts.colors.value;
      viewer.applyWindow();
    } } }, COLORS.map(([value, text]) => dom.el("option", { value, text })));
    parts.overlay = dom.button("Labels", viewer.toggleOverlay,
      { id: "viewer-overlay", "aria-keyshortcuts": "o Space", hidden: !hasLabels });
    parts.opacity = dom.el("input", { type: "range", id: "viewer-opacity", min: "0", max: "1", step: "0.05",
      on: { input: () => {
      settings.opacity = Number(parts.opacity.value);
      viewer.applyLabels();
    } } });
    parts.side = dom.el("input", { type: "checkbox", id: "viewer-side", on: { change: () => {
      viewer.state.nv.setRadiologicalConvention(parts.side.checked);
    } } });
    parts.side.checked = !viewer.state.nv || viewer.state.nv.opts.isRadiologicalConvention;
    return dom.el("div", { class: "row", role: "group", "aria-label": "Viewer" },
      dom.el("label", { for: "viewer-layout", text: "View" }), parts.layout,
      dom.el("label", { for: "viewer-window", text: "Window" }), parts.window,
      dom.el("label", { for: "viewer-colors", text: "Colours" }), parts.colors, parts.overlay, hasLabels && [dom.el("label", { for: "viewer-opacity", text: "Opacity" }), parts.opacity],
      dom.el("label", { class: "check" }, parts.side, "Patient's right on the left"));
  }

  /* With no more digits than its steps have. */
  function storedValue(value) {
    if (value === null) return "–";
    const digits = Math.min(Math.max(Math.ceil(-Math.log10(parts.step)), 0), 20);
    // Adding 0 turns -0 into 0.
    return (Number(value.toFixed(digits)) + 0).toLocaleString("en", { maximumFractionDigits: digits });
  }

  /* The volume of the page is smaller and coarser than the source. */
  function precision({ window }) {
    const unit = window.unit ? ` ${window.unit}` : "";
    const [step, lower, upper] = [parts.step, window.lower, window.upper].map(format.number);
    return dom.el("p", { class: "quiet", id: "precision",
      text: `Reduced for the page: values in steps of ${step}${unit}, from ${lower} to ${upper}${unit}; means of several voxels where the source has more than 192 along an axis.` });
  }

  /* The transfer functions that the stored range can show. */
  function transfersFor(data) {
    const { lower, upper, unit } = data.window;
    const room = upper - lower;
    const plain = { ...GREYS, lower: lower + room * 0.25, upper };
    if (unit !== "HU") return [plain];
    // At least half of the range has to be stored.
    const possible = TRANSFERS.filter((each) => each.lower >= lower
      && upper - each.lower > (each.upper - each.lower) / 2)
      .map((each) => ({ ...each, upper: Math.min(each.upper, upper) }));
    return [...possible, plain];
  }

  function transferControls(data) {
    const { settings } = viewer;
    const slider = (id, text, end) => {
      const input = dom.el("input", { type: "range", id, min: data.window.lower, max: data.window.upper, step: "any",
        value: settings.transfer[end], on: { input: () => {
        settings.transfer[end] = Number(input.value);
        if (settings.transfer.upper <= settings.transfer.lower) settings.transfer.upper = settings.transfer.lower + 1;
        viewer.applyWindow();
      } } });
      return [dom.el("label", { for: id, text }), input];
    };
    const preset = dom.el("select", { id: "transfer-preset" },
      parts.transfers.map((each) => dom.el("option", { value: each.name, text: each.name })));
    preset.value = settings.transfer.name;
    const [lowerLabel, lower] = slider("transfer-lower", "Transparent below", "lower");
    const [upperLabel, upper] = slider("transfer-upper", "Most opaque above", "upper");
    const strength = dom.el("input", { type: "range", id: "transfer-strength", min: "10", max: "255",
      value: settings.transfer.opacity, on: { input: () => {
      settings.transfer.opacity = Number(strength.value);
      viewer.applyWindow();
    } } });
    preset.addEventListener("change", () => {
      settings.transfer = { ...parts.transfers.find((each) => each.name === preset.value) };
      lower.value = settings.transfer.lower;
      upper.value = settings.transfer.upper;
      strength.value = settings.transfer.opacity;
      viewer.applyWindow();
    });
    parts.transfer = dom.el("div", { class: "row", role: "group", "aria-label": "Transfer function" },
      dom.el("label", { for: "transfer-preset", text: "Transfer function" }), preset, lowerLabel, lower, upperLabel,
        upper,
      dom.el("label", { for: "transfer-strength", text: "Opacity" }), strength);
    return parts.transfer;
  }

  function labelControls(entry) {
    const { settings } = viewer;
    const showAll = (isShown) => () => {
      settings.hidden = new Set(isShown ? [] : entry.labels.map((label) => label.name));
      viewer.applyLabels();
      controls.update();
    };
    parts.labels = entry.labels.map((label, position) => {
      const box = dom.el("input", { type: "checkbox", id: `label-${position}`,
        on: { change: () => viewer.toggleLabel(position) } });
      const weight = dom.el("input", {
        type: "range", min: "0.05", max: "1", step: "0.05", "aria-label": `Opacity of ${format.label(label.name)}`,
        value: settings.weights.has(label.name) ? settings.weights.get(label.name) : 1,
        on: { input: () => {
          settings.weights.set(label.name, Number(weight.value));
          viewer.applyLabels();
        } },
      });
      const row = dom.el("li", {}, dom.el("label", { class: "check" }, box, Review.measures.swatch(label.color),
        `${position < 9 ? `${position + 1}  ` : ""}${format.label(label.name)}`), weight);
      return { label, box, row };
    });
    return dom.el("fieldset", { class: "labels", hidden: entry.labels.length === 0 }, dom.el("legend", { text: "Labels" }),
      dom.el("div", { class: "row" }, dom.button("Show all", showAll(true)), dom.button("Hide all", showAll(false))),
      dom.el("ul", {}, parts.labels.map((each) => each.row)));
  }
})(window.Review);
