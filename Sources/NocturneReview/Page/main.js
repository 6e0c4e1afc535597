"use strict";
/* Starts the page, and shows what the address asks for: the list, what is unusual, or one item. */
(function (Review) {
  const { dom, model, controls, filter, marks } = Review;
  const section = (view) => document.getElementById(`view-${view}`);
  const state = { view: null, results: [], positions: new Map(), lastPosition: 0, layout: null };

  Review.events = {
    /* Goes to the next or previous item of the current list. */
    step(direction) {
      if (state.view !== "item") return false;
      const { previous, next } = placeOf(Review.item.entry);
      const entry = direction > 0 ? next : previous;
      if (entry) go(dom.itemHash(entry.item));
      else dom.announce(direction > 0 ? "This is the last item of the list." : "This is the first item of the list.");
      return true;
    },

    back() {
      if (state.view === "items") return false;
      go("#items");
      return true;
    },

    search() {
      if (state.view !== "items") go("#items");
      controls.focusSearch();
    },

    marked(entry, object) {
      if (object === null && state.view === "item" && Review.verdicts.advances()) Review.events.step(1);
    },
  };

  /* Shows another view at once, so that keys pressed quickly are not lost. */
  function go(hash) {
    history.pushState(null, "", hash);
    route();
  }

  function placeOf(entry) {
    const found = entry ? state.positions.get(entry.index) : undefined;
    const position = found === undefined ? -1 : found;
    // An item that has left the list keeps its place in the order.
    const before = position >= 0 ? position - 1 : state.lastPosition - 1;
    const after = position >= 0 ? position + 1 : state.lastPosition;
    return { position, count: state.results.length, previous: state.results[before], next: state.results[after] };
  }

  function refreshResults() {
    state.results = filter.apply(model.items, controls.filter);
    state.positions = new Map(state.results.map((entry, position) => [entry.index, position]));
  }

  function drawList() {
    const host = document.getElementById("list");
    const list = Review[controls.layout];
    if (state.layout !== controls.layout) {
      Review.cards.list = null;
      host.replaceChildren();
      list.build(host);
      state.layout = controls.layout;
    }
    list.show(state.results);
    const loading = model.isComplete ? ""
      : ` Loading: ${model.items.length.toLocaleString("en")} of ${model.total().toLocaleString("en")}.`;
    const shown = document.getElementById("shown");
    // Progress of loading is not read aloud.
    shown.setAttribute("aria-live", model.isComplete ? "polite" : "off");
    const text = `Showing ${state.results.length.toLocaleString("en")} of ${Review.format.plural(model.items.length, "item", "items")}.${loading}`;
    if (shown.textContent !== text) shown.textContent = text;
    if (model.isComplete && model.items.length === 0) shown.textContent = "This batch has no items.";
  }

  function changed() {
    refreshResults();
    controls.update();
    if (state.view === "items") drawList();
  }

  /* After more items have come: not more often than the page can follow. */
  function onItems() {
    const isFirst = !state.hasFirst;
    if (!isFirst && !model.isComplete && state.timer) return;
    clearTimeout(state.timer);
    const act = () => {
      state.timer = null;
      const start = performance.now();
      showItems();
      state.cost = performance.now() - start;
    };
    if (isFirst || model.isComplete) act();
    else state.timer = setTimeout(act, Math.max(250, 6 * (state.cost || 0)));
  }

  function showItems() {
    changed();
    Review.verdicts.update();
    if (!state.hasFirst) performance.mark("nocturne-first-items");
    state.hasFirst = true;
    if (state.view === "unusual" && model.isComplete) Review.unusual.show();
    if (state.view === "item") {
      if (Review.item.entry) Review.item.showPlace(placeOf(Review.item.entry));
      else route();
    }
    if (!model.isComplete) return;
    performance.mark("nocturne-all-items");
    document.documentElement.dataset.complete = String(model.items.length);
    const { missingPages } = model;
    if (missingPages.length > 0) {
      Review.summary.problem(`${Review.format.plural(missingPages.length, "data file is", "data files are")} missing in review/data: not all items are shown.`);
    }
  }

  /* Times come after the items, and are shown in place: what has the focus keeps it. */
  function onTimes() {
    controls.update();
    if (state.layout !== null) Review[state.layout].refresh();
    if (state.view === "item" && Review.item.entry) Review.item.showFacts();
  }

  function show(view) {
    if (state.view === "item" && view !== "item") document.title = `${model.batch.title}: review`;
    for (const name of ["items", "unusual", "item"]) section(name).hidden = name !== view;
    for (const link of document.querySelectorAll("nav [data-view]")) {
      if (link.dataset.view === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.body.dataset.view = view;
    state.view = view;
  }

  function route() {
    const hash = location.hash.slice(1);
    const cut = hash.indexOf("=");
    const [name, value] = cut < 0 ? [hash, ""] : [hash.slice(0, cut), decode(hash.slice(cut + 1))];
    const left = Review.item.entry;
    Review.item.leave();
    if (name === "item") return showItem(value);
    if (name === "unusual") {
      show("unusual");
      Review.unusual.show();
      document.getElementById("unusual-heading").focus();
      return;
    }
    const isReturn = state.view === "item" && left !== null;
    show("items");
    if (name === "code") showCode(value);
    else if (name === "not-compared") showNotCompared(Number(value));
    else changed();
    if (isReturn) returnTo(left);
  }

  function showItem(name) {
    const entry = model.byName.get(name);
    show("item");
    if (!entry) {
      Review.item.showMissing(section("item"), name);
      return;
    }
    const place = placeOf(entry);
    if (place.position >= 0) state.lastPosition = place.position;
    Review.item.show(section("item"), entry, place);
    window.scrollTo(0, 0);
  }

  /* Back in the list, the focus is on the item that was open. */
  function returnTo(entry) {
    const position = state.positions.has(entry.index) ? state.positions.get(entry.index)
      : Math.min(state.lastPosition, state.results.length - 1);
    if (controls.layout === "cards") Review.cards.focus(position);
    else {
      const row = [...document.querySelectorAll("#table tr[data-item]")].find((each) => each.dataset.item === entry.item);
      if (row) row.querySelector("a").focus();
    }
  }

  function showCode(code) {
    const failure = model.batch.failures.find((each) => each.code === code);
    if (failure) controls.showOnly({ items: new Set(failure.items), text: `items with ${code}.` });
    else changed();
    document.getElementById("items-heading").scrollIntoView({ block: "start" });
  }

  function showNotCompared(position) {
    const found = Review.summary.reasons(model.batch)[position];
    if (found) controls.showOnly({ items: found.items, text: `items that were not compared: ${found.reason}` });
    else changed();
    document.getElementById("items-heading").scrollIntoView({ block: "start" });
  }

  function decode(text) {
    try {
      return decodeURIComponent(text);
    } catch (error) {
      return text;
    }
  }

  function onMark(entry) {
    Review.item.refresh(entry);
    controls.update();
    if (state.view !== "items") return;
    if (state.layout !== null) Review[state.layout].refresh(entry);
  }

  function start() {
    marks.open();
    Review.summary.build(model.batch);
    Review.verdicts.build(document.getElementById("verdict-bar"));
    controls.build(section("items"), changed);
    Review.unusual.build(section("unusual"));
    Review.keys.open();
    marks.onChange(onMark);
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    });
    window.addEventListener("hashchange", route);
    window.addEventListener("pagehide", () => Review.item.leave());
    model.onItems = onItems;
    model.onTimes = onTimes;
    route();
    model.load();
  }

  model.loadScript("review/data/batch.js", () => {
    if (model.batch) start();
    else Review.summary.problem("review/data/batch.js is missing or of another version: copy the whole output folder, or write the page again with “nocturne review”.");
  });
})(window.Review);
