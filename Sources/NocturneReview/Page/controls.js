"use strict";
/* Search, filters, order and the switch between cards and table, above the list of items. */
(function (Review) {
  const { dom, format, model } = Review;
  const ORDERS = [
    ["unusual", "Most unusual first"], ["name", "Name"], ["newest", "Newest first"],
    ["time", "Longest time first"], ["volume", "Largest volume first"], ["confidence", "Lowest confidence first"],
    ["risk", "Highest risk score first"],
  ];
  const VERDICTS = [
    ["unmarked", "not marked"], ["pass", "pass"], ["questionable", "questionable"], ["fail", "fail"],
    ["changed", "changed since marked"], ["disagreement", "raters disagree"],
  ];
  const parts = {};

  const controls = (Review.controls = {
    filter: Review.filter.create(),
    layout: "cards",

    build(section, changed) {
      parts.changed = changed;
      parts.search = dom.el("input", {
        id: "search", type: "search", placeholder: "Item, source, note, reason", "aria-keyshortcuts": "/",
          autocomplete: "off",
        on: { input: () => later(() => ((controls.filter.search = parts.search.value), changed())) },
      });
      parts.chips = dom.el("div", { id: "chips" });
      parts.only = dom.el("p", { id: "only", hidden: true });
      dom.replace(section,
        dom.el("h2", { id: "items-heading", class: "unseen", text: "All items" }),
        dom.el("form", { role: "search", class: "row", on: { submit: (event) => event.preventDefault() } },
          dom.el("label", { for: "search", text: "Search" }), parts.search,
          ...orderControls(), ...layoutControls()),
        parts.chips, parts.only,
        dom.el("p", { id: "shown", role: "status", "aria-live": "polite" }),
        dom.el("div", { id: "list" }));
    },

    /* Draws the choices anew, with the number of items that each stands for. */
    update() {
      const counts = Review.filter.count(model.items);
      const { filter } = controls;
      // The focus stays on the choice that was pressed.
      const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.chip
        : null;
      const states = [...counts.states.keys()].map((state) => [state, format.state(state)]);
      const models = [...counts.models.keys()].sort().map((name) => [name, name]);
      const verdicts = VERDICTS.filter(([kind]) => counts.verdicts.get(kind) || filter.verdicts.has(kind));
      dom.replace(parts.chips,
        (states.length > 1 || filter.states.size > 0) && group("State", "state", states, filter.states, counts.states),
        models.length > 1 && group("Model", "model", models, filter.models, counts.models),
        counts.risks.size > 0 && group("Risk score", "risk", Review.filter.RISKS.filter((level) => counts.risks.has(level))
          .map((level) => [level, level]), filter.risks, counts.risks),
        (verdicts.length > 1 || filter.verdicts.size > 0)
          && group("Verdict", "verdict", verdicts, filter.verdicts, counts.verdicts),
        // What no item has, and one choice for all, are no choices.
        dom.el("fieldset", {}, flag("Unusual in this batch", "isUnusual", counts.unusual),
          flag("Edited", "isEdited", counts.edited),
          Review.filter.isActive(filter) && dom.button("Clear all", controls.clear, { "data-chip": "clear" })));
      if (focused) {
        const again = [...parts.chips.querySelectorAll("[data-chip]")].find((chip) => chip.dataset.chip === focused);
        if (again) again.focus();
      }
      showOnly();
      updateOrders();
    },

    /* Restricts the list to some items, with a text that says which. */
    showOnly(only) {
      reset();
      controls.filter.only = only;
      parts.changed();
    },

    clear() {
      reset();
      parts.search.focus();
      parts.changed();
    },

    focusSearch() {
      parts.search.focus();
      parts.search.select();
    },
  });

  function reset() {
    const { order, label, isReversed } = controls.filter;
    controls.filter = { ...Review.filter.create(), order, label, isReversed };
    parts.search.value = "";
  }

  function later(action) {
    clearTimeout(parts.timer);
    parts.timer = setTimeout(action, model.items.length > 20000 ? 250 : 60);
  }

  function orderControls() {
    const { filter } = controls;
    parts.order = dom.el("select", { id: "order", on: { change: () => ((filterNow().order = parts.order.value),
      reorder()) } });
    parts.label = dom.el("select", {
      id: "order-label", "aria-label": "Label whose volume counts",
      on: { change: () => ((filterNow().label = parts.label.value || null), parts.changed()) },
    });
    parts.reversed = dom.button("Reverse", () => ((filterNow().isReversed = !filterNow().isReversed), parts.changed()),
      { id: "reverse", "aria-pressed": String(filter.isReversed) });
    return [dom.el("label", { for: "order", text: "Order" }), parts.order, parts.label, parts.reversed];
  }

  function filterNow() {
    return controls.filter;
  }

  function reorder() {
    filterNow().isReversed = false;
    parts.changed();
  }

  function layoutControls() {
    const choose = (layout) => () => {
      controls.layout = layout;
      parts.changed();
    };
    parts.cards = dom.button("Cards", choose("cards"), { id: "layout-cards" });
    parts.table = dom.button("Table", choose("table"), { id: "layout-table" });
    return [dom.el("span", { role: "group", "aria-label": "Layout", class: "joined" }, parts.cards, parts.table)];
  }

  function updateOrders() {
    const { filter } = controls;
    const labels = [...model.volumeLabels];
    if (parts.label.options.length !== labels.length + 1) {
      dom.replace(parts.label, dom.el("option", { value: "", text: "all labels together" }),
        labels.map((name) => dom.el("option", { value: name, text: format.label(name) })));
    }
    const hasConfidence = model.items.some((entry) => Review.filter.confidenceOf(entry) !== null);
    const possible = { volume: labels.length > 0, confidence: hasConfidence, time: model.hasTimes, newest: model.hasMoments,
      risk: model.items.some((entry) => entry.risk) };
    const isPossible = (order) => possible[order] !== false;
    const orders = ORDERS.filter(([order]) => isPossible(order) || order === filter.order);
    if (parts.order.options.length !== orders.length) {
      dom.replace(parts.order, orders.map(([value, text]) => dom.el("option", { value, text })));
    }
    parts.order.value = filter.order;
    parts.label.hidden = filter.order !== "volume";
    parts.label.value = filter.label || "";
    parts.reversed.setAttribute("aria-pressed", String(filter.isReversed));
    parts.cards.setAttribute("aria-pressed", String(controls.layout === "cards"));
    parts.table.setAttribute("aria-pressed", String(controls.layout === "table"));
  }

  function chip(text, key, isPressed, count, toggle) {
    return dom.el("button", { type: "button", class: "chip", "aria-pressed": String(isPressed), "data-chip": key,
      on: { click: toggle } },
      text, " ", dom.el("span", { class: "count", text: count.toLocaleString("en") }));
  }

  function group(legend, prefix, choices, chosen, counts) {
    if (choices.length === 0) return null;
    const chips = choices.map(([key, text]) => chip(text, `${prefix} ${key}`, chosen.has(key), counts.get(key) || 0,
      () => {
      if (!chosen.delete(key)) chosen.add(key);
      parts.changed();
    }));
    return dom.el("fieldset", {}, dom.el("legend", { text: legend }), chips);
  }

  function flag(text, name, count) {
    if (count === 0 && !controls.filter[name]) return null;
    return chip(text, name, controls.filter[name], count, () => {
      controls.filter[name] = !controls.filter[name];
      parts.changed();
    });
  }

  function showOnly() {
    const { only } = controls.filter;
    parts.only.hidden = !only;
    if (!only) return;
    dom.replace(parts.only, `Only: ${only.text} `, dom.button("Show all items", () => {
      history.replaceState(null, "", "#items");
      controls.clear();
    }));
  }
})(window.Review);
