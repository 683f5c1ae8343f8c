// The selection and the visible part. Kept in the fragment of the address, so that a link shows the same view.

const state = {
  /** The visible section. */
  view: "findings",
  /** The chosen step, or the first of several; `null` for all. @type {number | null} */
  step: null,
  /** The last of several chosen steps; `null` for one. @type {number | null} */
  until: null,
  /** The selected op, by `opKey`. @type {string | null} */
  op: null,
  /** The selected op and shapes, as the row in the report of the whole trace. @type {number | null} */
  shape: null,
  /** The visible part of the timeline, in nanoseconds. @type {[number, number] | null} */
  visible: null,
  /** The range that is summed up. @type {[number, number] | null} */
  range: null,
  /** Text that names of ops must contain. */
  filter: "",
  /** Column that sorts the ops; `-` before it for ascending. Empty for the default. */
  sort: "",
  /** The figure of the flame graph: time, device or memory. */
  flame: "self",
  /** The stack that the flame graph is zoomed to. @type {number | null} */
  stack: null,
  /** Figure of the heatmap of ranks. */
  ranks: "length_ns",
  /** Moment of the memory curve, in nanoseconds. @type {number | null} */
  moment: null,
  /** Overlays of the timeline. */
  overlays: "path,idle,arrows",
};

const STATE_DEFAULTS = { ...state };

/** Reads the fragment of the address. */
function readState() {
  Object.assign(state, STATE_DEFAULTS);
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (/** @type {string} */ key) => {
    const text = given.get(key);
    const value = Number(text);
    return text === null || text === "" || !Number.isFinite(value) ? null : value;
  };
  const pair = (/** @type {string} */ key) => {
    const parts = (given.get(key) ?? "").split("-").map(Number);
    const fine = parts.length === 2 && parts.every(Number.isFinite) && parts[0] < parts[1];
    return fine ? /** @type {[number, number]} */ ([parts[0], parts[1]]) : null;
  };
  const view = given.get("view");
  if (view && SECTIONS.some((section) => section.id === view && section.shown())) state.view = view;
  const step = number("step");
  if (step !== null && stepChoices().includes(step)) state.step = step;
  const until = number("until");
  if (until !== null && state.step !== null && until > state.step && stepChoices().includes(until)) state.until = until;
  const op = given.get("op");
  if (op !== null && page.summary.report.ops.some((row) => opKey(row) === op)) state.op = op;
  const shape = number("shape");
  if (shape !== null && page.summary.report.shapes[shape]) state.shape = shape;
  state.visible = pair("visible");
  state.range = pair("range");
  state.filter = given.get("filter") ?? "";
  for (const key of /** @type {("sort" | "flame" | "ranks" | "overlays")[]} */ (["sort", "flame", "ranks", "overlays"]))
    state[key] = given.get(key) ?? STATE_DEFAULTS[key];
  state.stack = number("stack");
  state.moment = number("moment");
}

/** Writes the state into the address. @param {"replace" | "push"} [how] */
function writeState(how = "replace") {
  const values = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (value === null || value === /** @type {any} */ (STATE_DEFAULTS)[key]) continue;
    const text = Array.isArray(value) ? value.map(Math.round).join("-") : String(value);
    // A name of 64 KiB does not fit into an address.
    if (text.length <= 2000) values.set(key, text);
  }
  const hash = values.toString();
  const address = `${location.pathname}${location.search}${hash ? `#${hash}` : ""}`;
  if (how === "push") history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/**
 * Changes the state and shows it.
 * @param {Partial<typeof state>} change
 * @param {"replace" | "push"} [how]
 */
function change(change, how = "replace") {
  Object.assign(state, change);
  writeState(how);
  render(new Set(Object.keys(change)));
}

/** Selects an op everywhere. @param {OpRow | {operation: string, accelerator?: boolean} | null} row @param {number | null} [shape] */
function selectOp(row, shape = null) {
  change({ op: row ? opKey(row) : null, shape });
  if (row) announce(`${printable(row.operation)} is selected`);
}

/** The row of the selected op in the report that is shown. */
function selectedOp() {
  return state.op === null ? null : (opRows("ops").find((row) => opKey(row) === state.op) ?? null);
}

/** Finds an op by its name alone; the row of a device comes before that of the host. @param {string} name */
function opByName(name) {
  const found = page.summary.report.ops.filter((row) => row.operation === name);
  return found.find((row) => row.accelerator) ?? found[0] ?? null;
}
