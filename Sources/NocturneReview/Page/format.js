"use strict";
/* How values are written: numbers, measures, states, and how far a value is from the batch's median. */
(function (Review) {
  /* Numbers without a unit, and values whose unit the file does not say, stand alone. */
  const UNITS = { mm: "mm", mm2: "mm²", mm3: "mm³", ml: "ml", HU: "HU", "g/ml": "g/ml", "Bq/ml": "Bq/ml", s: "s", px: "px", 1: "", "image value": "" };
  /* The measures that the program writes. */
  const MEASURES = {
    volume: "volume",
    leftRightRatio: "ratio of left to right",
    relativeRasX: "position to the right",
    relativeRasY: "position to the front",
    relativeRasZ: "position to the head",
    components: "components",
    largestComponentShare: "share of the largest component",
    intensityMean: "mean intensity",
    intensityStandardDeviation: "spread of intensities",
    meanProbability: "mean probability",
    uncertainBoundaryShare: "uncertain share of the boundary",
    passAgreement: "agreement of passes",
    secondImageMean: "mean of the second image",
    secondImageMaximum: "maximum of the second image",
    pixels: "pixels",
    share: "share of the photo",
    centroidX: "centroid from the left",
    centroidY: "centroid from the top",
    meanRed: "mean red",
    meanGreen: "mean green",
    meanBlue: "mean blue",
    instances: "objects",
    confidenceMean: "mean confidence",
    "radiomics:QCFX": "sphericity",
    "radiomics:2PR5": "ratio of surface to volume",
    "radiomics:TLU2": "entropy of intensities",
    "radiomics:KE2A": "skewness of intensities",
    dice: "Dice coefficient",
    surfaceDice: "surface Dice coefficient",
    hausdorff95: "Hausdorff distance, 95 %",
    hausdorff: "Hausdorff distance",
    meanSurfaceDistance: "mean surface distance",
    volumeDifference: "volume difference",
    relativeVolumeDifference: "relative volume difference",
  };
  /* Agreement with a reference. */
  const COMPARISONS = new Set(["dice", "surfaceDice", "hausdorff95", "hausdorff", "meanSurfaceDistance",
    "volumeDifference", "relativeVolumeDifference"]);
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
      const name = format.unit(unit);
      return name && text !== "–" ? `${text} ${name}` : text;
    },

    /* Radiomic features have the digest of their settings for a unit. */
    unit: (unit) => (unit in UNITS ? UNITS[unit] : /^[0-9a-f]{64}$/.test(unit) ? "" : unit || ""),

    /* Measures that are not in the list above are split into words. */
    measure: (name) => MEASURES[name] || Review.model.features.get(name) || name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase(),

    /* The head of a column: "Volume (ml)", "Mean intensity (values of the image)". */
    measureHead(name, unit) {
      const text = format.measure(name);
      const words = unit === "image value" ? "values of the image" : format.unit(unit);
      return text[0].toUpperCase() + text.slice(1) + (words ? ` (${words})` : "");
    },

    isComparison: (name) => COMPARISONS.has(name),

    label: (name) => (name ? name.replace(/_/g, " ") : "whole item"),

    state: (state) => STATES[state] || state,

    /* With a sign, so that it does not depend on colours. */
    risk: (level) => ({ high: "▲ high risk score", moderate: "◆ moderate risk score", low: "▽ low risk score" }[level] || level),

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
