"use strict";
/* Small helpers for building the page. Text of the batch only ever becomes a text node or an attribute. */
window.Review = {};

(function (Review) {
  const SVG = "http://www.w3.org/2000/svg";

  /* Sets attributes; `on` holds event listeners, `text` the text content; null and false are left out. */
  function setAttributes(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") {
        for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      } else if (name === "text") {
        node.textContent = value;
      } else {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
  }

  function fill(node, attributes, children) {
    setAttributes(node, attributes || {});
    for (const child of children.flat()) {
      if (child !== null && child !== undefined && child !== false) node.append(child);
    }
    return node;
  }

  const dom = (Review.dom = {
    el: (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children),

    svg: (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children),

    replace(node, ...children) {
      node.replaceChildren();
      return fill(node, {}, children);
    },

    /* A text of the program: commands in backquotes as code, and no line break within an option. */
    advice(text) {
      const options = (part) => part.split(/(--[a-z][a-z-]*)/).map((piece) =>
        piece.startsWith("--") ? dom.el("span", { class: "option-name", text: piece }) : piece);
      return text.split("`").flatMap((part, index) =>
        index % 2 === 1 ? [dom.el("code", {}, options(part))] : options(part));
    },

    button: (text, action, attributes) => dom.el("button",
      { type: "button", text, on: { click: action }, ...attributes }),

    /* Says something to screen readers, and shows it for some seconds. */
    announce(text) {
      const node = document.getElementById("announcement");
      node.textContent = text;
      clearTimeout(dom.silence);
      dom.silence = setTimeout(() => (node.textContent = ""), 6000);
    },

    /* The relative address of a file in an item's folder, or null for a path that would leave it. */
    itemURL(item, path) {
      const parts = [item, ...path.split("/")];
      if (parts.some((part) => part === "" || part === "." || part === "..")) return null;
      return "./" + parts.map(encodeURIComponent).join("/");
    },

    itemHash: (item) => "#item=" + encodeURIComponent(item),

    isTyping(target) {
      if (!(target instanceof Element)) return false;
      const types = ["checkbox", "radio", "range", "button", "file"];
      return target.matches("textarea, select") || (target.matches("input") && !types.includes(target.type));
    },
  });
})(window.Review);
