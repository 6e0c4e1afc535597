"use strict";
/* How values are written: numbers, measures, states, and how far a value is from the batch's median. */
(function (Review) {
  /* A number without a unit has the unit 1; intensities of images that are not CT have no name. */
  const UNITS = { mm: "mm", mm2: "mm²", mm3: "mm³", ml: "mL", HU: "HU", s: "s", 1: "", "image value": "" };
  const MEASURES = {
    meanProbability: "mean probability",
    uncertainBoundaryShare: "uncertain share of the boundary",
    intensityMean: "mean intensity",
    intensityStandardDeviation: "spread of intensities",
    largestComponentShare: "share of the largest component",
    leftRightRatio: "ratio of left to right",
    relativeRasX: "position to the right",
    relativeRasY: "position to the front",
    relativeRasZ: "position to the head",
    confidenceMean: "mean confidence",
    instances: "objects",
    dice: "Dice",
    meanSurfaceDistance: "mean surface distance",
    hausdorff95: "95 % Hausdorff distance",
    hausdorff: "Hausdorff distance",
    surfaceDice: "surface Dice",
    volumeDifference: "volume difference",
    relativeVolumeDifference: "relative volume difference",
  };
  const STATES = {
    completed: "completed",
    failed: "failed",
    skipped: "skipped",
    cancelled: "cancelled",
    quarantined: "quarantined",
    notReached: "not reached",
  };

  const format = (Review.format = {
    number(value) {
      if (value === null || value === undefined || !Number.isFinite(value)) return "–";
      const size = Math.abs(value);
      if (size !== 0 && (size < 0.001 || size >= 1e12)) return value.toExponential(2);
      const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
      return value.toLocaleString("en", { maximumFractionDigits: digits });
    },

    quantity(value, unit) {
      const text = format.number(value);
      const shown = unit in UNITS ? UNITS[unit] : unit;
      return shown && text !== "–" ? `${text} ${shown}` : text;
    },

    /* Measures that are not in the list above are split into words. */
    measure: (name) => MEASURES[name] || name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase(),

    label: (name) => (name ? name.replace(/_/g, " ") : "whole item"),

    state: (state) => STATES[state] || state,

    plural: (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`,

    /* The robust z of a value in its batch, or null if it is not defined. */
    robustZ(value, spread) {
      if (value === null || value === undefined || !spread || !(spread.spread > 0)) return null;
      if (spread.scale !== "log") return (value - spread.median) / spread.spread;
      if (!(value > 0) || !(spread.median > 0)) return null;
      return (Math.log(value) - Math.log(spread.median)) / spread.spread;
    },

    /* "3.1 times the median", or the difference on a linear scale. */
    deviation(value, spread, unit) {
      if (value === null || value === undefined || !spread) return "–";
      if (spread.scale === "log"
        && spread.median > 0) return `${format.number(value / spread.median)} times the median`;
      const difference = value - spread.median;
      if (difference === 0) return "equal to the median";
      return `${format.quantity(Math.abs(difference), unit)} ${difference > 0 ? "above" : "below"} the median`;
    },

    date: (time) => time.replace("T", " ").replace("Z", " UTC"),
  });
})(window.Review);
