"use strict";
/* Items as a grid of cards. Only the rows near the visible part of the page are in the document. */
(function (Review) {
  const { dom, format, model } = Review;
  const MINIMUM_WIDTH = 190;
  const HEIGHT = 312;
  const GAP = 12;
  const EXTRA_ROWS = 3;

  const cards = (Review.cards = {
    entries: [],
    /* The cards in the document, by position. */
    nodes: new Map(),
    list: null,

    build(host) {
      cards.list = dom.el("ul", { id: "cards", "aria-label": "Items" });
      dom.replace(host, cards.list);
      cards.nodes.clear();
      cards.list.addEventListener("keydown", onKey);
    },

    show(entries) {
      const before = cards.entries;
      cards.entries = entries;
      for (const [position, node] of cards.nodes) {
        if (entries[position] && before[position] === entries[position]) {
          node.setAttribute("aria-setsize", entries.length);
        } else {
          node.remove();
          cards.nodes.delete(position);
        }
      }
      draw();
    },

    /* Draws the card of one entry again, after its mark has changed. */
    refresh(entry) {
      for (const [position, node] of cards.nodes) {
        if (entry && cards.entries[position] !== entry) continue;
        const isFocused = node.contains(document.activeElement);
        const made = card(position);
        place(made, position);
        node.replaceWith(made);
        cards.nodes.set(position, made);
        if (isFocused) made.firstElementChild.focus();
      }
    },

    focus(position) {
      if (position < 0 || position >= cards.entries.length) return;
      const top = cards.list.getBoundingClientRect().top + window.scrollY
        + Math.floor(position / columns()) * (HEIGHT + GAP);
      const above = document.getElementById("bar").offsetHeight + 8;
      if (top < window.scrollY + above) window.scrollTo(0, top - above);
      else if (top + HEIGHT > window.scrollY + window.innerHeight) {
        window.scrollTo(0, top + HEIGHT + 8 - window.innerHeight);
      }
      draw();
      const node = cards.nodes.get(position);
      if (node) node.firstElementChild.focus({ preventScroll: true });
    },

    draw: () => cards.list && cards.list.isConnected && draw(),
  });

  function columns() {
    return Math.max(1, Math.floor((cards.list.clientWidth + GAP) / (MINIMUM_WIDTH + GAP)));
  }

  function place(node, position) {
    const across = columns();
    const width = (cards.list.clientWidth - GAP * (across - 1)) / across;
    node.style.transform = `translate(${(position % across) * (width + GAP)}px, ${Math.floor(position / across) * (HEIGHT + GAP)}px)`;
    node.style.width = `${width}px`;
    node.style.height = `${HEIGHT}px`;
  }

  function draw() {
    const across = columns();
    const rows = Math.ceil(cards.entries.length / across);
    cards.list.style.height = `${Math.max(0, rows * (HEIGHT + GAP) - GAP)}px`;
    const top = cards.list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / (HEIGHT + GAP)) - EXTRA_ROWS) * across;
    const last = Math.min(cards.entries.length, (Math.ceil((window.innerHeight - top) / (HEIGHT + GAP))
      + EXTRA_ROWS) * across);
    for (const [position, node] of cards.nodes) {
      // A card that has the focus stays, so that the keyboard's position is not lost.
      if ((position < first || position >= last) && !node.contains(document.activeElement)) {
        node.remove();
        cards.nodes.delete(position);
      }
    }
    let previous = null;
    for (let position = first; position < last; position += 1) {
      let node = cards.nodes.get(position);
      if (!node) {
        node = card(position);
        cards.nodes.set(position, node);
        // Reading order is the order of positions.
        if (previous) previous.after(node);
        else cards.list.prepend(node);
      }
      place(node, position);
      previous = node;
    }
  }

  function card(position) {
    const entry = cards.entries[position];
    const outliers = model.outliers.get(entry.index) || [];
    const facts = [entry.model, entry.seconds === null ? null
      : format.quantity(entry.seconds, "s")].filter(Boolean).join(" · ");
    return dom.el("li", {
      "data-item": entry.item, "aria-setsize": cards.entries.length, "aria-posinset": position + 1, class: "card",
    },
      dom.el("a", { href: dom.itemHash(entry.item), "data-position": position },
        Review.cards.thumbnail(entry),
        dom.el("span", { class: "name", text: entry.item }),
        dom.el("span", { class: "line" }, dom.el("span",
          { class: `badge ${entry.state}`, text: format.state(entry.state) }),
          entry.edited && dom.el("span", { class: "badge", text: "edited" }), Review.verdicts.badges(entry)),
        entry.risk && dom.el("span", { class: `risk ${entry.risk}`, text: format.risk(entry.risk) }),
        entry.facts && dom.el("span", { class: "result", text: format.label(entry.facts) }),
        outliers.length > 0 && dom.el("span", { class: "unusual",
          text: `Unusual: ${format.label(outliers[0].label)}, ${outliers[0].text}` }),
        entry.reason && dom.el("span", { class: "reason", text: entry.reason }),
        dom.el("span", { class: "facts", text: facts })));
  }

  cards.thumbnail = (entry) => {
    const address = entry.thumbnail && dom.itemURL(entry.item, entry.thumbnail);
    const missing = () => dom.el("span", { class: "thumbnail", text: "no picture" });
    if (!address) return missing();
    const alt = `Preview of ${entry.item}${entry.facts ? `: ${format.label(entry.facts)}` : ""}`;
    const image = dom.el("img", { class: "thumbnail", src: address, alt, loading: "lazy", decoding: "async" });
    image.addEventListener("error", () => image.replaceWith(missing()));
    return image;
  };

  function onKey(event) {
    const link = event.target.closest("[data-position]");
    if (!link || event.ctrlKey || event.altKey || event.metaKey) return;
    const across = columns();
    const last = cards.entries.length - 1;
    const position = Number(link.dataset.position);
    const targets = {
      ArrowLeft: position - 1, ArrowRight: position + 1, ArrowUp: position - across, ArrowDown: position + across,
      Home: 0, End: last,
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    event.stopPropagation();
    cards.focus(targets[event.key]);
  }

  window.addEventListener("scroll", () => requestAnimationFrame(cards.draw), { passive: true });
  window.addEventListener("resize", () => requestAnimationFrame(cards.draw));
})(window.Review);
