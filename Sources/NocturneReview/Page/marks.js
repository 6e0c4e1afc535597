"use strict";
/* Verdicts: kept in the browser's storage, written to and read from review.json. */
(function (Review) {
  const VERDICTS = ["pass", "fail", "questionable"];
  const listeners = [];
  let storage = null;

  const marks = (Review.marks = {
    VERDICTS,
    rater: "",
    /* Whether the marks of others are hidden, for raters who must not influence each other. */
    isBlind: false,
    /* By item: by object and rater: the mark. */
    table: new Map(),
    /* Why marks are not stored, or null. */
    storageProblem: null,

    open() {
      // Those that `nocturne review --import` has recorded; marks in the browser may be newer.
      for (const value of Review.model.batch.marks || []) {
        const mark = clean(value);
        if (mark) keep(mark);
      }
      try {
        storage = window.localStorage;
        storage.setItem("nocturne-review", "1");
      } catch (error) {
        storage = null;
        marks.storageProblem = "This browser stores nothing for this page.";
        return;
      }
      marks.rater = storage.getItem("nocturne-review/rater") || "";
      const prefix = storagePrefix();
      for (let index = 0; index < storage.length; index += 1) {
        const key = storage.key(index);
        if (key.startsWith(prefix)) restore(storage.getItem(key));
      }
      // Another tab with the same page.
      window.addEventListener("storage", (event) => {
        if (!event.key || !event.key.startsWith(prefix)) return;
        if (event.newValue) restore(event.newValue);
        else remove(event.oldValue);
        changed(null);
      });
    },

    onChange: (listener) => listeners.push(listener),

    setRater(name) {
      marks.rater = name.trim();
      store("nocturne-review/rater", marks.rater);
      changed(null);
    },

    setBlind(isBlind) {
      marks.isBlind = isBlind;
      changed(null);
    },

    isCurrent: (mark, entry) => mark.fingerprint === entry.fingerprint,

    /* All marks of an entry that the rater may see: of the item first, then of its objects, by rater. */
    of(entry) {
      const found = marks.table.get(entry.item);
      if (!found) return [];
      return [...found.values()].filter((mark) => !marks.isBlind || mark.rater === marks.rater).sort(compareMarks);
    },

    mine(entry, object = null) {
      const found = marks.table.get(entry.item);
      return (found && found.get(markKey(object, marks.rater))) || null;
    },

    set(entry, object, verdict, comment) {
      const time = new Date().toISOString().replace(/\.\d+Z$/, "Z");
      const mark = { item: entry.item, fingerprint: entry.fingerprint, object, rater: marks.rater, verdict, comment,
        time };
      put(mark);
      changed(entry);
    },

    clear(entry, object = null) {
      const mark = marks.mine(entry, object);
      if (!mark) return;
      remove(JSON.stringify(mark));
      if (storage) storage.removeItem(storageKey(mark));
      changed(entry);
    },

    /* What an item counts as for the filters: verdicts, "unmarked", "changed", "disagreement". */
    kinds(entry) {
      const found = marks.table.get(entry.item);
      if (!found) return ["unmarked"];
      const seen = marks.of(entry).filter((mark) => mark.object === null);
      const current = seen.filter((mark) => marks.isCurrent(mark, entry));
      const kinds = [...new Set(current.map((mark) => mark.verdict))];
      if (kinds.length > 1) kinds.push("disagreement");
      if (!current.some((mark) => !marks.rater || mark.rater === marks.rater)) kinds.push("unmarked");
      if (marks.of(entry).some((mark) => !marks.isCurrent(mark, entry))) kinds.push("changed");
      return kinds;
    },

    all: () => [...marks.table.values()].flatMap((found) => [...found.values()]).sort(compareMarks),

    /* The text of review.json. The same marks always give the same bytes. */
    fileText() {
      const list = marks.all();
      const raters = [...new Set(list.map((mark) => mark.rater))].sort(compareText);
      const batch = Review.model.batch.batch;
      return JSON.stringify({ schemaVersion: 1, batch, raters, marks: list }, null, 2) + "\n";
    },

    /* Adds the marks of a file; of two marks of one rater the later one stays. Throws with a readable reason. */
    merge(text) {
      const data = parse(text);
      const counts = { added: 0, known: 0, invalid: 0 };
      for (const value of data.marks) {
        const mark = clean(value);
        if (!mark) {
          counts.invalid += 1;
          continue;
        }
        const found = marks.table.get(mark.item);
        const known = found && found.get(markKey(mark.object, mark.rater));
        if (known && known.time >= mark.time) counts.known += 1;
        else counts.added += 1;
        if (!known || known.time < mark.time) put(mark);
      }
      changed(null);
      return counts;
    },
  });

  function markKey(object, rater) {
    return JSON.stringify([object, rater]);
  }

  function storagePrefix() {
    return `nocturne-review/mark/${Review.model.batch.batch}/`;
  }

  function storageKey(mark) {
    return storagePrefix() + JSON.stringify([mark.item, mark.object, mark.rater]);
  }

  function store(key, value) {
    if (!storage) return;
    try {
      storage.setItem(key, value);
    } catch (error) {
      marks.storageProblem = "The browser's storage for this page is full.";
    }
  }

  function keep(mark) {
    if (!marks.table.has(mark.item)) marks.table.set(mark.item, new Map());
    marks.table.get(mark.item).set(markKey(mark.object, mark.rater), mark);
  }

  function put(mark) {
    keep(mark);
    store(storageKey(mark), JSON.stringify(mark));
  }

  function restore(text) {
    let mark = null;
    try {
      mark = clean(JSON.parse(text));
    } catch (error) {
      return;
    }
    if (!mark) return;
    const found = marks.table.get(mark.item);
    const known = found && found.get(markKey(mark.object, mark.rater));
    if (!known || known.time < mark.time) keep(mark);
  }

  function remove(text) {
    const mark = JSON.parse(text);
    const found = marks.table.get(mark.item);
    if (!found) return;
    found.delete(markKey(mark.object, mark.rater));
    if (found.size === 0) marks.table.delete(mark.item);
  }

  function changed(entry) {
    for (const listener of listeners) listener(entry);
  }

  function parse(text) {
    let data = null;
    try {
      data = JSON.parse(text);
    } catch (error) {
      throw new Error("The file is not JSON.");
    }
    if (!data || data.schemaVersion !== 1 || !Array.isArray(data.marks)) {
      throw new Error("The file is not a review.json of this version.");
    }
    if (data.batch !== Review.model.batch.batch) throw new Error("The file belongs to another batch.");
    return data;
  }

  /* A mark with exactly the known fields, in their order, or null. */
  function clean(value) {
    const isText = (each) => typeof each === "string";
    const isOptional = (each) => each === null || isText(each);
    if (!value || !isText(value.item) || !isText(value.rater) || !VERDICTS.includes(value.verdict)) return null;
    const { item, fingerprint = null, object = null, rater, verdict, comment = "", time } = value;
    if (!isOptional(fingerprint) || !isOptional(object) || !isText(comment) || !isText(time)) return null;
    return { item, fingerprint, object, rater, verdict, comment, time };
  }

  function compareText(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function compareMarks(a, b) {
    return compareText(a.item, b.item) || (a.object !== null) - (b.object !== null)
      || compareText(a.object || "", b.object || "") || compareText(a.rater, b.rater);
  }
})(window.Review);
