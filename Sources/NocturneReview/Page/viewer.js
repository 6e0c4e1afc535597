"use strict";
/* The viewer of volumes: NiiVue, loaded on demand. */
(function (Review) {
  const { dom, model, volume } = Review;
  const NEVER = 0;
  const ALWAYS = 1;
  const FROM_THE_FRONT = [180, 10];
  const state = { nv: null, canvas: null, entry: null, data: null, wasOpened: false, request: 0 };

  const viewer = (Review.viewer = {
    state,
    settings: { layout: "planes", isOverlayShown: true, opacity: 0.5, hidden: new Set(), weights: new Map(),
      window: null, colors: "gray", transfer: null },

    /* A button that opens the viewer, or the reason why there is none. Once opened, it opens for the next items too. */
    offer(entry, host) {
      if (entry.kind !== "volume" || entry.state !== "completed") return;
      const say = (text) => dom.replace(host, dom.el("p", { class: "quiet", text }));
      if (!entry.volume) {
        say(model.batch.review === "volumes" ? "This item has no review volume: only its pictures are shown."
          : "This batch was written without review volumes: only pictures are shown. Write them with --review volumes.");
      } else if (!hasWebGL()) {
        say("This browser cannot draw volumes (WebGL 2 is missing): only pictures are shown.");
      } else if (state.wasOpened) {
        viewer.open(entry, host);
      } else {
        dom.replace(host, dom.button("Open the viewer: planes and 3-D", () => viewer.open(entry, host),
          { id: "open-viewer" }));
      }
    },

    async open(entry, host) {
      const request = (state.request += 1);
      const isCurrent = () => request === state.request && host.isConnected;
      dom.replace(host, dom.el("p", { role: "status", text: "Loading the volume …" }));
      try {
        await loadLibrary();
        const data = await volume.load(entry);
        if (!isCurrent()) return;
        await show(entry, data, host, isCurrent);
        state.wasOpened = true;
      } catch (error) {
        if (isCurrent()) dom.replace(host, dom.el("p", { class: "message", role: "alert", text: error.message }));
      }
    },

    close() {
      state.request += 1;
      state.entry = null;
      state.data = null;
    },

    isOpen: () => state.entry !== null,

    toggleOverlay() {
      if (!viewer.isOpen()) return false;
      viewer.settings.isOverlayShown = !viewer.settings.isOverlayShown;
      viewer.applyLabels();
      Review.viewerControls.update();
      dom.announce(viewer.settings.isOverlayShown ? "Labels are shown." : "Labels are hidden.");
      return true;
    },

    toggleLabel(position) {
      const label = viewer.isOpen() ? state.entry.labels[position] : null;
      if (!label) return false;
      const { hidden } = viewer.settings;
      if (!hidden.delete(label.name)) hidden.add(label.name);
      viewer.applyLabels();
      Review.viewerControls.update();
      return true;
    },

    /* Colours, visibility and opacity of labels, in the planes and as surfaces. */
    applyLabels() {
      const { nv, entry } = state;
      const { hidden, weights, isOverlayShown, opacity } = viewer.settings;
      const map = { R: [0], G: [0], B: [0], A: [0], I: [0], labels: [""] };
      const weight = (name) => (hidden.has(name) ? 0 : weights.has(name) ? weights.get(name) : 1);
      for (const label of [...entry.labels].sort((a, b) => a.value - b.value)) {
        const [red, green, blue] = viewer.color(label.color);
        map.R.push(red);
        map.G.push(green);
        map.B.push(blue);
        map.A.push(Math.round(255 * weight(label.name)));
        map.I.push(label.value);
        map.labels.push(label.name);
      }
      nv.volumes[1].setColormapLabel(map);
      // Surfaces stand for the labels in their own layout.
      nv.volumes[1].opacity = isOverlayShown && !viewer.showsSurfaces() ? opacity : 0;
      for (const mesh of nv.meshes) {
        const visible = isOverlayShown && weight(mesh.name.replace(/\.stl$/, "")) > 0;
        mesh.visible = visible && viewer.showsSurfaces();
        mesh.opacity = weight(mesh.name.replace(/\.stl$/, "")) || 1;
      }
      nv.updateGLVolume();
    },

    showsSurfaces: () => viewer.settings.layout === "surfaces",

    /* The window's colours in the planes; the transfer function in the volume rendering. */
    applyWindow() {
      const { nv } = state;
      const { layout, window, colors, transfer } = viewer.settings;
      const image = nv.volumes[0];
      const isRendering = layout === "rendering";
      const range = isRendering ? transfer : window;
      if (isRendering) {
        nv.addColormap("nocturne-transfer", Review.viewerControls.transferMap());
        image.colormap = "nocturne-transfer";
      } else {
        nv.addColormap("inverted", { R: [255, 0], G: [255, 0], B: [255, 0], A: [255, 255], I: [0, 255] });
        image.colormap = colors;
      }
      image.cal_min = range.lower;
      image.cal_max = range.upper;
      image.opacity = layout === "surfaces" ? 0 : 1;
      nv.updateGLVolume();
    },

    applyLayout() {
      const { nv } = state;
      const { layout } = viewer.settings;
      const types = {
        planes: nv.sliceTypeMultiplanar, axial: nv.sliceTypeAxial, coronal: nv.sliceTypeCoronal,
          sagittal: nv.sliceTypeSagittal,
        all: nv.sliceTypeMultiplanar, surfaces: nv.sliceTypeRender, rendering: nv.sliceTypeRender,
      };
      nv.opts.multiplanarShowRender = layout === "all" ? ALWAYS : NEVER;
      nv.setSliceType(types[layout]);
      viewer.applyWindow();
      viewer.applyLabels();
    },

    /* Moves the crosshair by one voxel: to the right, to the front or up, by the sign. */
    move(x, y, z) {
      if (viewer.isOpen()) state.nv.moveCrosshairInVox(x, y, z);
    },

    /* The steps, as for `move`, that go right, up and forward through the slices of the plane on the screen. */
    directions() {
      const right = state.nv.opts.isRadiologicalConvention ? -1 : 1;
      const { layout } = viewer.settings;
      if (layout === "coronal") return { right: [right, 0, 0], up: [0, 0, 1], through: [0, 1, 0] };
      if (layout === "sagittal") return { right: [0, -1, 0], up: [0, 0, 1], through: [1, 0, 0] };
      return { right: [right, 0, 0], up: [0, 1, 0], through: [0, 0, 1] };
    },

    isRotatable: () => ["surfaces", "rendering"].includes(viewer.settings.layout),

    rotate(azimuth, elevation) {
      const { nv } = state;
      if (viewer.isOpen()) nv.setRenderAzimuthElevation(nv.scene.renderAzimuth + azimuth, nv.scene.renderElevation
        + elevation);
    },

    color(text) {
      const value = /^#([0-9a-f]{6})$/i.exec(text || "");
      const number = value ? parseInt(value[1], 16) : 0xffffff;
      return [number >> 16, (number >> 8) & 255, number & 255];
    },
  });

  function hasWebGL() {
    if (state.hasWebGL === undefined) state.hasWebGL = Boolean(document.createElement("canvas").getContext("webgl2"));
    return state.hasWebGL;
  }

  function loadLibrary() {
    if (window.Niivue) return Promise.resolve();
    return new Promise((resolve, reject) => model.loadScript("review/niivue.js", () => {
      if (window.Niivue) resolve();
      else reject(new Error("The viewer NiiVue is not installed: only pictures are shown. Tools/install-niivue installs it; then write this page again with “nocturne review OUT”."));
    }));
  }

  async function makeViewer() {
    const canvas = dom.el("canvas", { id: "canvas", tabindex: "0", width: "800", height: "600" });
    const nv = new window.Niivue({
      // As in the pictures of the results: the patient's right and the front are on the left.
      isRadiologicalConvention: true, sagittalNoseLeft: true, backColor: [0, 0, 0, 1], crosshairColor: [0.9, 0.8, 0.2, 0.8],
        crosshairWidth: 0.3,
      fontColor: [1, 1, 1, 1],
      show3Dcrosshair: true, dragAndDropEnabled: false, isColorbar: false, logLevel: "error", loadingText: "",
      multiplanarShowRender: NEVER, clipPlaneHotKey: "", viewModeHotKey: "", showAllOrientationMarkers: true,
    });
    return { nv, canvas };
  }

  async function show(entry, data, host, isCurrent) {
    const image = volume.scale(await volume.unpack(data.image), data.window);
    const labels = await volume.unpack(data.labels);
    const isNew = state.nv === null;
    if (isNew) Object.assign(state, await makeViewer());
    if (!isCurrent()) return;
    const { nv, canvas } = state;
    Review.viewerControls.build(host, canvas, entry, data);
    if (isNew) {
      await nv.attachToCanvas(canvas);
      nv.setRenderAzimuthElevation(...FROM_THE_FRONT);
    }
    const addresses = [];
    const address = (bytes) => {
      const made = URL.createObjectURL(new Blob([bytes]));
      addresses.push(made);
      return made;
    };
    try {
      await nv.loadVolumes([
        { url: address(image), name: "image.nii", colormap: "gray", cal_min: data.window.lower,
          cal_max: data.window.upper },
        { url: address(labels), name: "labels.nii", opacity: viewer.settings.opacity },
      ]);
      await nv.loadMeshes(data.meshes.map((mesh) => ({
        url: address(volume.meshBytes(mesh.stl)), name: `${mesh.name}.stl`, rgba255: [...viewer.color(mesh.color), 255],
      })));
    } finally {
      addresses.forEach((made) => URL.revokeObjectURL(made));
    }
    if (!isCurrent()) return;
    state.entry = entry;
    state.data = data;
    nv.onLocationChange = (location) => Review.viewerControls.showLocation(location);
    nv.resizeListener();
    viewer.applyLayout();
    const place = volume.placeToStart(labels, data);
    nv.scene.crosshairPos = nv.mm2frac(place);
    nv.drawScene();
    nv.createOnLocationChange();
    host.dataset.ready = entry.item;
    dom.announce(`The volume of ${entry.item} is shown.`);
  }
})(window.Review);
