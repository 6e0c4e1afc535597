"use strict";
/* Commands by single keys, and the dialog that lists them. */
(function (Review) {
  const { dom, model } = Review;
  const COMMANDS = [
    ["p", "Mark as pass"], ["f", "Mark as fail"], ["q", "Mark as questionable"], ["c", "Write a comment"],
    ["n  →", "Next item"], ["←", "Previous item"], ["o  space", "Show or hide labels and boxes"],
    ["1 … 9", "Show or hide one label in the viewer"],
    ["/", "Search"], ["Esc", "Leave a text field; back to the list"], ["?", "This help"],
  ];
  const parts = { isEnabled: true };

  const keys = (Review.keys = {
    open() {
      document.addEventListener("keydown", onKey, { capture: true });
      document.getElementById("help-button").addEventListener("click", keys.showHelp);
    },

    showHelp() {
      const enabled = dom.el("input", { type: "checkbox", id: "keys-enabled",
        on: { change: () => (parts.isEnabled = enabled.checked) } });
      enabled.checked = parts.isEnabled;
      const dialog = dom.el("dialog", { id: "help", "aria-labelledby": "help-heading" },
        dom.el("h2", { id: "help-heading", text: "Help" }),
        dom.el("p",
          { text: "Look at the items, the most unusual first, and mark each as pass, fail or questionable. In the list, a key marks the item that has the focus; in the table of objects, the object." }),
        dom.el("p",
          { text: "Marks stay in this browser. “Save review.json” writes them to a file, which “Load” adds on another computer, and which nocturne review --import reads." }),
        dom.el("table", {}, dom.el("caption", { text: "Keys" }), dom.el("tbody", {}, COMMANDS.map(([key, text]) =>
          dom.el("tr", {}, dom.el("th", { scope: "row" }, dom.el("kbd", { text: key })), dom.el("td", { text }))))),
        dom.el("p",
          { text: "With the focus on the viewer's picture, the arrow keys, page up and page down move the crosshair, or turn the surfaces. Among the cards and the dots of a plot, the arrow keys move the focus." }),
        dom.el("label", { class: "check" }, enabled, "Commands by single keys"),
        dom.el("div", { class: "row" }, dom.button("Close", () => dialog.close(), { id: "help-close" })));
      dialog.addEventListener("close", () => dialog.remove());
      document.body.append(dialog);
      dialog.showModal();
    },
  });

  const VERDICTS = { p: "pass", f: "fail", q: "questionable" };

  function onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const { target, key } = event;
    if (dom.isTyping(target)) {
      if (key === "Escape" && target.matches("textarea, input")) target.blur();
      return;
    }
    const isDone = target.id === "canvas" ? moveCrosshair(key) || command(key, target) : command(key, target);
    if (!isDone) return;
    event.preventDefault();
    event.stopPropagation();
  }

  function moveCrosshair(key) {
    const { viewer } = Review;
    const moves = {
      ArrowLeft: ["right", -1], ArrowRight: ["right", 1], ArrowUp: ["up", 1], ArrowDown: ["up", -1],
      PageUp: ["through", 1], PageDown: ["through", -1],
    };
    if (!moves[key]) return false;
    const [direction, sign] = moves[key];
    if (!viewer.isRotatable()) viewer.move(...viewer.directions()[direction].map((step) => step * sign));
    else if (direction === "right") viewer.rotate(-10 * sign, 0);
    else if (direction === "up") viewer.rotate(0, 10 * sign);
    return true;
  }

  function command(key, target) {
    if (key === "Escape") return Review.events.back();
    if (!parts.isEnabled && key !== "ArrowLeft" && key !== "ArrowRight") return false;
    if (VERDICTS[key]) return mark(VERDICTS[key], target);
    if (key === "?") return keys.showHelp(), true;
    if (key === "/") return Review.events.search(), true;
    if (key === "c") return Review.item.entry !== null && (Review.item.focusComment(), true);
    if (key === "n") return Review.events.step(1);
    if (key === "ArrowRight" || key === "ArrowLeft") return usesArrows(target) ? false
      : Review.events.step(key === "ArrowRight" ? 1 : -1);
    if (key === "o") return toggleOverlay();
    if (key === " ") return target.closest("button, a, summary, input, select") ? false : toggleOverlay();
    if (/^[1-9]$/.test(key)) return Review.viewer.toggleLabel(Number(key) - 1);
    return false;
  }

  function usesArrows(target) {
    return Boolean(target.closest("input, select, #cards, svg.plot"));
  }

  function toggleOverlay() {
    return Review.item.entry !== null && (Review.viewer.toggleOverlay() || Review.objects.toggleBoxes());
  }

  /* The open item, or the one whose card or row has the focus. */
  function mark(verdict, target) {
    let { entry } = Review.item;
    if (!entry) {
      const node = target.closest("[data-item]");
      entry = node ? model.byName.get(node.dataset.item) : null;
    }
    if (!entry) return false;
    Review.verdicts.mark(entry, Review.objects.focused(), verdict);
    return true;
  }
})(window.Review);
