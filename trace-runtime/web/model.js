// The data of the page, and the part that is shown: all steps, or some.

/** Everything that the sections share. */
const page = {
  /** @type {Summary} */
  summary: /** @type {any} */ (null),
  /** Set when the second part of the data is read. @type {TimelineData | null} */
  timeline: null,
};

/** A key that rows of one op and input shapes share in all reports. @param {OpRow} row */
function shapeKey(row) {
  return JSON.stringify([row.operation, row.label ?? null, row.input_shapes ?? [], row.accelerator ?? false]);
}

/** A key that rows of one op share. @param {{operation: string, accelerator?: boolean}} row */
function opKey(row) {
  return `${row.accelerator ? "device" : "host"} ${row.operation}`;
}

/** The first and the last of the chosen steps; `null` for all steps. @returns {[number, number] | null} */
function chosenSteps() {
  return state.step === null ? null : [state.step, state.until ?? state.step];
}

/** True if a step is shown. @param {number} number */
function isChosen(number) {
  const steps = chosenSteps();
  return !steps || (number >= steps[0] && number <= steps[1]);
}

/** Chooses steps for the whole page. @param {number | null} first @param {number | null} [last] @param {"replace" | "push"} [how] */
function chooseSteps(first, last = null, how = "replace") {
  const until = first === null || last === null || last <= first ? null : last;
  change({ step: first, until, visible: null, range: null, stack: null }, how);
}

/** The report of the chosen steps, if the page has one. */
function ownReport() {
  const { summary } = page;
  const steps = chosenSteps();
  if (!steps) return summary.report;
  if (steps[0] === steps[1]) return summary.step_reports[summary.step_numbers.indexOf(steps[0])] ?? null;
  const warm = summary.after_warm_up;
  return warm && warm.first === steps[0] && warm.last === steps[1] ? warm.report : null;
}

/** The report of the chosen steps, or of the whole trace. */
function report() {
  return ownReport() ?? page.summary.report;
}

/** The steps that can be chosen. */
function stepChoices() {
  const { summary } = page;
  if (summary.step_numbers.length > 0) return summary.step_numbers;
  const numbers = (summary.report.steps?.steps ?? []).map((step) => step.number);
  const distinct = [...new Set(numbers)].sort((a, b) => a - b);
  return distinct.length > 1 ? distinct : [];
}

/**
 * The rows of ops or shapes of the shown part. If the chosen steps have no report, the rows are added up from the
 * executions on the timeline.
 * @param {"ops" | "shapes"} which
 * @returns {OpRow[]}
 */
function opRows(which) {
  const own = ownReport();
  const steps = chosenSteps();
  if (own || !steps || !page.timeline) return report()[which];
  return page.timeline.stepRows(steps)[which];
}

/** Colours of ops: by category, then by name. */
const colours = {
  /** @type {Map<string, [number, number, number]>} */
  known: new Map(),

  /** Hue, saturation and lightness of an op. @param {OpRow} row @returns {[number, number, number]} */
  hsl(row) {
    const key = opKey(row);
    let found = this.known.get(key);
    if (!found) {
      let hash = 2166136261;
      for (let at = 0; at < Math.min(row.operation.length, 200); at++)
        hash = Math.imul(hash ^ row.operation.charCodeAt(at), 16777619);
      const part = ((hash >>> 8) % 1000) / 1000;
      const other = (hash >>> 20) % 3;
      if (row.communication) found = [18 + part * 16, 78, 56];
      else if (/memcpy|memset|copy|transfer/i.test(row.operation)) found = [44 + part * 10, 62, 52];
      else found = [165 + part * 115, row.accelerator ? 48 : 34, 52 + other * 6];
      this.known.set(key, found);
    }
    return found;
  },

  /** A colour for CSS. @param {OpRow} row */
  css(row) {
    const [hue, saturation, lightness] = this.hsl(row);
    return `hsl(${hue.toFixed(0)} ${saturation}% ${isDark() ? lightness - 6 : lightness + 4}%)`;
  },

  /** Red, green and blue. @param {OpRow} row @returns {[number, number, number]} */
  rgb(row) {
    const [hue, saturation, base] = this.hsl(row);
    const lightness = (isDark() ? base - 6 : base + 4) / 100;
    const chroma = (saturation / 100) * Math.min(lightness, 1 - lightness);
    const channel = (/** @type {number} */ n) => {
      const k = (n + hue / 30) % 12;
      return Math.round(255 * (lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
    };
    return [channel(0), channel(8), channel(4)];
  },
};
