"use strict";
/* Strip plots: one dot for each item on the axis of a measure, every dot a link. */
(function (Review) {
  const { dom, format, model } = Review;
  const WIDTH = 720;
  const LEFT = 12;
  const HEIGHT = 104;
  const AXIS = 78;
  const CENTRE = 40;
  const RADIUS = 3.2;
  /* With more values than this, ordinary dots stand for several items. */
  const SINGLE_DOTS = 800;
  const BINS = 160;
  const LIMIT = 3.5;

  function scaleOf(values, spread) {
    const isLog = spread.scale === "log" && values.every((each) => each.value > 0);
    const forward = isLog ? Math.log : (value) => value;
    const numbers = values.map((each) => forward(each.value));
    let low = numbers.reduce((a, b) => Math.min(a, b), Infinity);
    let high = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
    if (high - low < 1e-9) [low, high] = [low - 0.5, high + 0.5];
    const room = WIDTH - 2 * LEFT;
    const clamp = (x) => Math.min(WIDTH - LEFT, Math.max(LEFT, x));
    const place = (number) => LEFT + ((number - low) / (high - low)) * room;
    return { isLog, low, high, forward, place, clamp, of: (value) => clamp(place(forward(value))) };
  }

  /* Dots in order of their values. In a large batch those near the median stand for all items of a bin. */
  function dotsOf(values, scale, spread) {
    const sorted = [...values].sort((a, b) => a.value - b.value);
    if (sorted.length <= SINGLE_DOTS) return sorted.map((each) => ({ members: [each], x: scale.of(each.value) }));
    const bins = new Map();
    const dots = [];
    for (const each of sorted) {
      const z = format.robustZ(each.value, spread);
      const x = scale.of(each.value);
      const bin = Math.floor((x / WIDTH) * BINS);
      if (z !== null && Math.abs(z) > LIMIT) dots.push({ members: [each], x });
      else if (bins.has(bin)) bins.get(bin).members.push(each);
      else {
        const dot = { members: [each], x };
        bins.set(bin, dot);
        dots.push(dot);
      }
    }
    return dots;
  }

  /* Moves dots that would cover each other up and down, in a fixed order. */
  function spreadOut(dots) {
    const columns = new Map();
    for (const dot of dots) {
      const column = Math.round(dot.x / (RADIUS * 2));
      const rank = columns.get(column) || 0;
      columns.set(column, rank + 1);
      const step = Math.ceil(rank / 2) * (RADIUS * 1.9) * (rank % 2 === 0 ? 1 : -1);
      // Columns higher than the plot start again at its centre.
      dot.y = CENTRE + (step % 34);
    }
  }

  function describe(dot, spread) {
    const first = dot.members[0];
    if (dot.members.length > 1) {
      const last = dot.members[dot.members.length - 1];
      return `${dot.members.length} items from ${format.quantity(first.value, spread.unit)} to ${format.quantity(last.value, spread.unit)}`;
    }
    const z = format.robustZ(first.value, spread);
    return `${first.entry.item}: ${format.quantity(first.value, spread.unit)}, ${format.deviation(first.value, spread, spread.unit)}`
      + (z !== null && Math.abs(z) > LIMIT ? ", unusual in this batch" : "");
  }

  function dotNode(dot, spread) {
    const text = describe(dot, spread);
    const z = format.robustZ(dot.members[0].value, spread);
    const isGroup = dot.members.length > 1;
    const isUnusual = !isGroup && z !== null && Math.abs(z) > LIMIT;
    const radius = isGroup ? Math.min(14, RADIUS + Math.sqrt(dot.members.length) * 0.7) : isUnusual ? RADIUS + 1.3
      : RADIUS;
    const link = dom.svg("a", { href: isGroup ? "#items" : dom.itemHash(dot.members[0].entry.item), tabindex: "-1",
      "aria-label": text },
      dom.svg("title", { text }),
      dom.svg("circle", {
        cx: dot.x.toFixed(1), cy: (isGroup ? CENTRE : dot.y).toFixed(1), r: radius.toFixed(1),
        class: isGroup ? "dot group" : isUnusual ? "dot far" : "dot",
      }));
    if (isGroup) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const items = new Set(dot.members.map((each) => each.entry.index));
        Review.controls.showOnly({ items,
          text: `${format.label(spread.label)}, ${format.measure(spread.measure)}: ${text}` });
        location.hash = "#items";
      });
    }
    return link;
  }

  function axis(scale, values, spread) {
    const numbers = values.map((each) => each.value);
    const least = numbers.reduce((a, b) => Math.min(a, b), Infinity);
    const most = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
    const median = scale.isLog && !(spread.median > 0) ? null : scale.of(spread.median);
    const tick = (x, text, anchor) => dom.svg("text", { x: x.toFixed(1), y: AXIS + 18, "text-anchor": anchor, text });
    const nodes = [
      dom.svg("line", { x1: LEFT, x2: WIDTH - LEFT, y1: AXIS, y2: AXIS, class: "axis" }),
      tick(LEFT, format.quantity(least, spread.unit), "start"),
      tick(WIDTH - LEFT, format.quantity(most, spread.unit), "end"),
    ];
    if (median === null) return nodes;
    const centre = scale.forward(spread.median);
    const low = scale.clamp(scale.place(centre - LIMIT * spread.spread));
    const high = scale.clamp(scale.place(centre + LIMIT * spread.spread));
    nodes.unshift(dom.svg("rect", { x: low.toFixed(1), y: 4, width: Math.max(1, high - low).toFixed(1),
      height: AXIS - 4, class: "usual" }));
    nodes.push(dom.svg("line", { x1: median, x2: median, y1: 4, y2: AXIS, class: "median" }));
    // Left out where it would cover the ends.
    if (median > 190 && median < WIDTH - 190) nodes.push(tick(median,
      `median ${format.quantity(spread.median, spread.unit)}`, "middle"));
    return nodes;
  }

  /* One dot can be reached with Tab; the arrow keys move along the values. */
  function addKeys(group) {
    const links = [...group.querySelectorAll("a")];
    if (links.length === 0) return;
    links[0].setAttribute("tabindex", "0");
    group.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      const position = links.indexOf(event.target.closest("a"));
      if (position < 0 || (!step && event.key !== "Home" && event.key !== "End")) return;
      event.preventDefault();
      event.stopPropagation();
      const target = event.key === "Home" ? 0 : event.key === "End" ? links.length - 1 : position + step;
      const next = links[Math.min(links.length - 1, Math.max(0, target))];
      links[position].setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
  }

  function take(values, name, entry, { label, measure, unit, value }) {
    if (value === null || value === undefined) return;
    const key = model.spreadKey(name, label, measure, unit);
    if (!values.has(key)) values.set(key, []);
    values.get(key).push({ entry, value });
  }

  function median(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b);
    const half = Math.floor(sorted.length / 2);
    return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  /* As the program computes it. Of fewer than eight values nothing is known about what is usual. */
  function spreadOf(key, values) {
    const [name, label, measure, unit] = JSON.parse(key);
    const numbers = values.map((each) => each.value);
    const middle = median(numbers);
    const deviation = numbers.length < 8 ? 0 : median(numbers.map((number) => Math.abs(number - middle)));
    return { model: name, label, measure, unit, scale: "linear", count: numbers.length, median: middle,
      spread: 1.4826 * deviation };
  }

  Review.plots = {
    /* Values of one model and measure, by label and unit: see `model.spreadKey`. */
    gather(name, measure) {
      const values = new Map();
      for (const entry of model.items) {
        if (entry.model !== name) continue;
        for (const each of entry.measures) if (each.measure === measure) take(values, name, entry, each);
      }
      return values;
    },

    /* Values of one model and a feature that the items do not have: with a spread for each label and unit. */
    gatherFeature(name, measure) {
      const values = new Map();
      for (const part of model.featureParts || []) {
        const column = part.measures.indexOf(measure);
        for (const { item, label, unit, values: row } of column < 0 ? [] : part.rows) {
          const entry = model.byName.get(item);
          if (entry && entry.model === name) take(values, name, entry, { measure, label, unit, value: row[column] });
        }
      }
      return { values, spreads: [...values].map(([key, own]) => spreadOf(key, own)) };
    },

    /* The plot of one label. */
    draw(values, spread) {
      const scale = scaleOf(values, spread);
      const dots = dotsOf(values, scale, spread);
      spreadOut(dots);
      const far = values.filter((each) => Math.abs(format.robustZ(each.value, spread) || 0) > LIMIT).length;
      const text = `${format.label(spread.label)}, ${format.measure(spread.measure)}: ${format.plural(values.length, "item", "items")}, `
        + `median ${format.quantity(spread.median, spread.unit)}, ${far} unusual in this batch. Arrow keys move along the values.`;
      const group = dom.svg("g", { role: "group", "aria-label": text }, dots.map((dot) => dotNode(dot, spread)));
      addKeys(group);
      return dom.svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "group", "aria-label": text },
        axis(scale, values, spread), group);
    },
  };
})(window.Review);
