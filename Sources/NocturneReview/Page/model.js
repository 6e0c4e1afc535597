"use strict";
/* The data of the batch: receives the data files, and finds items. */
(function (Review) {
  const PARALLEL = 2;
  /* The items of each data file. */
  const pages = new Map();

  const model = (Review.model = {
    batch: null,
    items: [],
    isComplete: false,
    byName: new Map(),
    /* By index of the item: its outliers, and the highest score of them. */
    outliers: new Map(),
    scores: new Map(),
    spreads: new Map(),
    remedies: new Map(),
    missingPages: [],
    /* The titles of radiomic features, by measure, and the files with their values: null before they are loaded. */
    features: new Map(),
    featureParts: null,
    /* Names of labels that have a volume, in the order in which they come. */
    volumeLabels: new Set(),
    hasTimes: false,
    hasMoments: false,
    onItems: () => {},
    onTimes: () => {},

    spreadKey: (name, label, measure, unit) => JSON.stringify([name, label, measure, unit]),

    spread: (entry, value) =>
      model.spreads.get(model.spreadKey(entry.model, value.label, value.measure, value.unit)) || null,

    score: (entry) => model.scores.get(entry.index) || 0,

    total() {
      const counts = model.batch.counts;
      const states = ["completed", "failed", "skipped", "cancelled", "quarantined", "notReached"];
      return Math.max(model.items.length, states.reduce((sum, state) => sum + (counts[state] || 0), 0));
    },

    /* Loads the pages of items, those with unusual items first. The first page is drawn before the others are read. */
    load() {
      const waiting = pageOrder();
      let active = 0;
      let isFirst = true;
      const next = () => {
        while (active < (isFirst ? 1 : PARALLEL) && waiting.length > 0) {
          active += 1;
          loadPage(waiting.shift(), finished);
        }
        if (active > 0) return;
        model.isComplete = true;
        model.onItems();
        loadTimes([...pages.keys()].sort((a, b) => a - b));
      };
      const finished = (isLoaded, page) => {
        active -= 1;
        if (!isLoaded) model.missingPages.push(page);
        if (waiting.length > 0 || active > 0) model.onItems();
        if (isFirst) afterPaint(next);
        else next();
        isFirst = false;
      };
      next();
    },

    /* Loads the values of all features, which are many times as large as the items. */
    loadFeatures(done) {
      model.featureParts = [];
      const waiting = [...pages.keys()].sort((a, b) => a - b);
      const next = () => {
        const page = waiting.shift();
        // A file of items without features is not written.
        if (page === undefined) done();
        else model.loadScript(`review/data/${fileName(page, "features")}`, next);
      };
      next();
    },

    /* Runs a classic script, which pages opened from files may do, and removes it again. */
    loadScript(address, done) {
      const script = Review.dom.el("script", { src: address });
      const finish = (isLoaded) => {
        script.remove();
        done(isLoaded);
      };
      script.addEventListener("load", () => finish(true));
      script.addEventListener("error", () => finish(false));
      document.head.append(script);
    },
  });

  function pageOrder() {
    const size = model.batch.pageSize || 500;
    const pages = new Set();
    for (const outlier of model.batch.outliers) pages.add(Math.floor(outlier.item / size));
    for (let page = 0; page < model.batch.pages; page += 1) pages.add(page);
    return [...pages].filter((page) => page >= 0 && page < model.batch.pages);
  }

  const fileName = (page, kind = "items") => `${kind}-${String(page).padStart(4, "0")}.js`;

  function loadPage(page, done) {
    model.loadScript(`review/data/${fileName(page)}`, (isLoaded) => done(isLoaded, page));
  }

  /* Times differ between runs, so they are in files of their own. Results may have been copied without them, and a file in
     which no item has a time is not written. */
  function loadTimes(waiting) {
    const page = waiting.shift();
    if (page !== undefined) model.loadScript(`.nocturne/times/${fileName(page)}`, () => loadTimes(waiting));
    else if (model.hasTimes) model.onTimes();
  }

  /* In a hidden window nothing is painted, so the wait is limited. */
  function afterPaint(action) {
    let isDone = false;
    const act = () => {
      if (!isDone) action();
      isDone = true;
    };
    requestAnimationFrame(() => setTimeout(act, 0));
    setTimeout(act, 300);
  }

  /* The name of the output folder. */
  function folderName() {
    const parts = window.location.pathname.split("/");
    try {
      return decodeURIComponent(parts[parts.length - 2] || "") || "Batch";
    } catch (error) {
      return "Batch";
    }
  }

  window.nocturneBatch = (data) => {
    if (data.schemaVersion !== 1) return;
    model.batch = data;
    data.title = data.title || folderName();
    for (const outlier of data.outliers) {
      if (!model.outliers.has(outlier.item)) model.outliers.set(outlier.item, []);
      model.outliers.get(outlier.item).push(outlier);
      model.scores.set(outlier.item, Math.max(outlier.score, model.scores.get(outlier.item) || 0));
    }
    for (const spread of data.spreads) {
      model.spreads.set(model.spreadKey(spread.model, spread.label, spread.measure, spread.unit), spread);
    }
    // Scripts are written before the data: these may be of a version without features.
    for (const { measure, title } of data.features || []) model.features.set(measure, title);
    for (const failure of data.failures) model.remedies.set(failure.code, failure.remedy);
  };

  window.nocturneFeatures = (part) => model.featureParts.push(part);

  window.nocturneItems = (page, entries) => {
    for (const entry of entries) {
      entry.seconds = null;
      entry.changed = null;
      model.items.push(entry);
      model.byName.set(entry.item, entry);
      for (const each of entry.measures) if (each.measure === "volume") model.volumeLabels.add(each.label);
    }
    pages.set(page, entries);
  };

  /* One value for each item of a data file, in its order. Those of another state of the batch do not count. */
  function forEach(page, values, action) {
    const entries = pages.get(page);
    if (!entries || entries.length !== values.length) return;
    entries.forEach((entry, position) => action(entry, values[position]));
  }

  window.nocturneTimes = (page, seconds) => forEach(page, seconds, (entry, value) => {
    entry.seconds = typeof value === "number" ? value : null;
    if (entry.seconds !== null) model.hasTimes = true;
  });

  /* When each item got the state that it has. */
  window.nocturneMoments = (page, moments) => forEach(page, moments, (entry, value) => {
    entry.changed = Number.isFinite(Date.parse(value)) ? value : null;
    if (entry.changed !== null) model.hasMoments = true;
  });
})(window.Review);
