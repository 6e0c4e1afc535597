"use strict";
/* Filtering, searching and sorting of items. Pure functions of the items, the marks and a filter. */
(function (Review) {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const texts = new WeakMap();

  function normalize(text) {
    return text.normalize("NFC").toLocaleLowerCase("en");
  }

  /* What the search looks at. Kept, because it is asked for at every key press. */
  function searchText(entry) {
    let text = texts.get(entry);
    if (text === undefined) {
      text = normalize([entry.item, entry.source, entry.model, entry.code, entry.reason, entry.facts, ...(entry.notes || [])]
        .filter(Boolean).join("\n"));
      texts.set(entry, text);
    }
    return text;
  }

  function valuesOf(entry, measure) {
    return entry.measures.filter((each) => each.measure === measure && typeof each.value === "number")
      .map((each) => each.value);
  }

  /* The volume of a label in ml; without a label, the sum of all labels. Regions of interest, whose volumes are in mm³, are not
     added to labels: they count where there is no label. */
  function volumeOf(entry, label) {
    const own = entry.measures.filter((each) => each.measure === "volume" && typeof each.value === "number"
      && (label === null || each.label === label));
    const sum = (list) => list.reduce((total, each) => total + each.value, 0);
    const labels = own.filter((each) => each.unit === "ml");
    if (labels.length > 0) return sum(labels);
    return own.length === 0 ? null : sum(own) / 1000;
  }

  /* Of a classification the score of the leading class; of a volume the lowest mean probability of a label; of several
     objects the lowest score, or mean score where single ones are missing. */
  function confidenceOf(entry) {
    const scores = entry.objects.map((object) => object.score).filter((score) => typeof score === "number");
    const own = (measure) => (scores.length > 0 ? scores : valuesOf(entry, measure));
    const isClasses = entry.kind === "classification";
    const values = isClasses ? own("probability") : entry.kind === "volume" ? valuesOf(entry, "meanProbability")
      : own("confidenceMean");
    if (values.length === 0) return null;
    return values.reduce((a, b) => (isClasses ? Math.max(a, b) : Math.min(a, b)));
  }

  const RISKS = ["high", "moderate", "low"];

  /* The level, and within it the score of the leading class. */
  function riskOf(entry) {
    return entry.risk ? 2 * (RISKS.length - RISKS.indexOf(entry.risk)) + (confidenceOf(entry) || 0) : null;
  }

  /* Each order: the key of an entry, and whether the largest comes first. */
  const ORDERS = {
    unusual: { key: (entry) => Review.model.score(entry), isDescending: true },
    name: { key: (entry) => entry.item, isDescending: false },
    newest: { key: (entry) => (entry.changed ? Date.parse(entry.changed) : null), isDescending: true },
    time: { key: (entry) => entry.seconds, isDescending: true },
    volume: { key: (entry, filter) => volumeOf(entry, filter.label), isDescending: true },
    confidence: { key: confidenceOf, isDescending: false },
    risk: { key: riskOf, isDescending: true },
  };

  function sort(entries, filter) {
    const order = ORDERS[filter.order];
    const direction = order.isDescending !== filter.isReversed ? -1 : 1;
    const compare = filter.order === "name" ? collator.compare : (a, b) => a - b;
    const keyed = entries.map((entry) => ({ entry, key: order.key(entry, filter) }));
    const isMissing = (key) => key === null || key === undefined;
    keyed.sort((a, b) => {
      // Entries without a value come last in both directions.
      if (isMissing(a.key) || isMissing(b.key)) {
        return isMissing(a.key) - isMissing(b.key) || a.entry.index - b.entry.index;
      }
      return direction * compare(a.key, b.key) || a.entry.index - b.entry.index;
    });
    return keyed.map((each) => each.entry);
  }

  function matcher(filter) {
    const words = normalize(filter.search).split(/\s+/).filter(Boolean);
    const only = filter.only;
    return (entry) => {
      if (only && !only.items.has(entry.index)) return false;
      if (filter.states.size > 0 && !filter.states.has(entry.state)) return false;
      if (filter.models.size > 0 && !filter.models.has(entry.model)) return false;
      if (filter.risks.size > 0 && !filter.risks.has(entry.risk)) return false;
      if (filter.isUnusual && !Review.model.scores.has(entry.index)) return false;
      if (filter.isEdited && !entry.edited) return false;
      if (filter.verdicts.size > 0
        && !Review.marks.kinds(entry).some((kind) => filter.verdicts.has(kind))) return false;
      return words.length === 0 || words.every((word) => searchText(entry).includes(word));
    };
  }

  /* How many items each choice stands for, over all items. */
  function count(entries) {
    const counts = { states: new Map(), models: new Map(), risks: new Map(), verdicts: new Map(), unusual: 0, edited: 0 };
    const add = (map, key) => map.set(key, (map.get(key) || 0) + 1);
    for (const entry of entries) {
      add(counts.states, entry.state);
      if (entry.model) add(counts.models, entry.model);
      if (entry.risk) add(counts.risks, entry.risk);
      for (const kind of Review.marks.kinds(entry)) add(counts.verdicts, kind);
      if (Review.model.scores.has(entry.index)) counts.unusual += 1;
      if (entry.edited) counts.edited += 1;
    }
    return counts;
  }

  Review.filter = {
    create: () => ({
      search: "", states: new Set(), models: new Set(), risks: new Set(), verdicts: new Set(), isUnusual: false, isEdited: false,
      /* A set of items with a description, for links from failures and plots. */
      only: null,
      order: "unusual", label: null, isReversed: false,
    }),
    apply: (entries, filter) => sort(entries.filter(matcher(filter)), filter),
    isActive: (filter) => Boolean(filter.search || filter.states.size || filter.models.size || filter.risks.size || filter.verdicts.size
      || filter.isUnusual || filter.isEdited || filter.only),
    count,
    RISKS,
    confidenceOf,
    volumeOf,
  };
})(window.Review);
