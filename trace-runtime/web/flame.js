// The flame graph: equal stacks of all steps merged, or those of the chosen steps.

/** Figures by stack. A stack comes after the one around it. */
class StackData {
  /** @param {Unpacked} data */
  constructor(data) {
    this.data = data;
    /** Op and label. */
    this.names = /** @type {[string, string | null][]} */ (data.facts.stack_names);
    const above = data.column("stack_above", "sums");
    /** The stack around each one; -1 for none. */
    this.above = Int32Array.from(above, (one) => one - 1);
    this.name = data.numbers("stack_name", new Uint32Array(above.length));
    /** By the chosen steps. @type {Map<string, StackSums>} */
    this.known = new Map();
    /** @type {number[][]} */
    this.children = Array.from({ length: above.length }, () => []);
    /** @type {number[]} */
    this.roots = [];
    this.above.forEach((around, stack) => (around < 0 ? this.roots : this.children[around]).push(stack));
  }

  /** The sums of the chosen steps; of all steps if the page has no sums by step. @param {[number, number] | null} chosen @returns {StackSums} */
  sums(chosen) {
    const steps = /** @type {number[]} */ (this.data.facts.stack_steps);
    const own = chosen && steps.some((step) => step >= chosen[0] && step <= chosen[1]) ? chosen : null;
    const key = own ? own.join("-") : "";
    const found = this.known.get(key);
    if (found) return found;
    const size = this.above.length;
    /** @type {StackSums} */
    const sums = {
      count: new Float64Array(size),
      total: new Float64Array(size),
      self: new Float64Array(size),
      device: new Float64Array(size),
      bytes: new Float64Array(size),
    };
    if (!own) {
      for (const name of STACK_FIGURES) this.data.numbers(`stack_${name}`, sums[name]);
    } else {
      const lengths = this.data.column("step_stacks");
      const stacks = this.data.column("step_stack", "sums");
      for (const name of STACK_FIGURES) {
        const values = this.data.column(`step_stack_${name}`);
        let index = 0;
        steps.forEach((step, at) => {
          const end = index + lengths[at];
          if (step < own[0] || step > own[1]) index = end;
          for (; index < end; index++) sums[name][stacks[index]] += values[index];
        });
      }
    }
    this.known.set(key, sums);
    return sums;
  }

  /** A figure of each stack with those inside it. @param {Float64Array} own */
  whole(own) {
    const sums = Float64Array.from(own);
    for (let stack = sums.length - 1; stack >= 0; stack--)
      if (this.above[stack] >= 0) sums[this.above[stack]] += sums[stack];
    return sums;
  }
}

/** @typedef {{count: Float64Array, total: Float64Array, self: Float64Array, device: Float64Array, bytes: Float64Array}} StackSums */
const STACK_FIGURES = /** @type {("count" | "total" | "self" | "device" | "bytes")[]} */ ([
  "count",
  "total",
  "self",
  "device",
  "bytes",
]);

/** @returns {StackData} */
function stackData() {
  const timeline = /** @type {TimelineData & {stacks?: StackData}} */ (page.timeline);
  timeline.stacks ??= new StackData(timeline.data);
  return timeline.stacks;
}

/** Frames narrower than this share of the width are not drawn. */
const NARROWEST = 0.0012;
/** Rows of frames that are drawn. */
const DEEPEST = 120;

/** @param {HTMLElement} root */
function renderFlame(root) {
  const stacks = stackData();
  const sums = stacks.sums(chosenSteps());
  const choices = /** @type {[string, string, Float64Array][]} */ ([
    ["self", "Time on the host and devices", sums.self],
  ]);
  if (sums.device.some((one) => one > 0)) {
    choices.push(["device", "Device time", sums.device]);
    choices.push(["host", "Host time", sums.self.map((one, index) => one - sums.device[index])]);
  } else choices[0][1] = "Time";
  if (sums.bytes.some((one) => one > 0)) choices.push(["bytes", "Memory of outputs", sums.bytes]);
  const chosen = choices.find(([key]) => key === state.flame) ?? choices[0];
  const whole = stacks.whole(chosen[2]);
  const format = chosen[0] === "bytes" ? bytes : duration;
  const focus = state.stack !== null && state.stack < whole.length && whole[state.stack] > 0 ? state.stack : -1;
  const total = focus < 0 ? stacks.roots.reduce((sum, stack) => sum + whole[stack], 0) : whole[focus];
  /** @type {HTMLElement[]} */
  const frames = [];
  let deepest = 0;
  const frame = (
    /** @type {number} */ stack,
    /** @type {number} */ left,
    /** @type {number} */ width,
    /** @type {number} */ depth,
    /** @type {boolean} */ around,
  ) => {
    const [name, label] = stacks.names[stacks.name[stack]];
    const row = opByName(name);
    const text = `${label ? `${printable(label)}: ` : ""}${printable(page.summary.short_names[name] ?? name)}`;
    const marked = state.op !== null && state.op.replace(/^(host|device) /, "") === name;
    deepest = Math.max(deepest, depth);
    frames.push(
      h(
        "button",
        {
          type: "button",
          id: `frame-${stack}`,
          tabindex: frames.length === 0 ? 0 : -1,
          class: `frame${marked ? " marked" : ""}${around ? " around" : ""}${state.op !== null && !marked ? " dimmed" : ""}`,
          title: `${label ? `${printable(label)}: ` : ""}${printable(name)}\n${format(whole[stack])}, ${percent(whole[stack] / (total || 1))}; ${counted(sums.count[stack], "call")}`,
          data: { value: whole[stack], stack },
          style: {
            left: `${left * 100}%`,
            width: `${width * 100}%`,
            top: `${depth * 21}px`,
            background: row ? colours.css(row) : "",
          },
          onclick: () =>
            change({ stack: focus === stack ? (stacks.above[stack] < 0 ? null : stacks.above[stack]) : stack }),
          ondblclick: () => row && selectOp(row),
        },
        width > 0.02 ? text : "",
      ),
    );
  };
  // The stacks around the focus, then those inside it.
  const path = [];
  for (let stack = focus < 0 ? -1 : stacks.above[focus]; stack >= 0; stack = stacks.above[stack]) path.unshift(stack);
  path.forEach((stack, depth) => frame(stack, 0, 1, depth, true));
  /** @type {[number, number, number][]} */
  const open = [];
  const children = (/** @type {number[]} */ list, /** @type {number} */ left, /** @type {number} */ depth) => {
    const ordered = [...list].sort((a, b) => whole[b] - whole[a]);
    let at = left;
    for (const stack of ordered) {
      const width = whole[stack] / (total || 1);
      if (width >= NARROWEST) open.push([stack, at, depth]);
      at += width;
    }
  };
  if (focus < 0) children(stacks.roots, 0, 0);
  else open.push([focus, 0, path.length]);
  for (let next = open.pop(); next; next = open.pop()) {
    const [stack, left, depth] = next;
    frame(stack, left, whole[stack] / (total || 1), depth, false);
    if (depth < DEEPEST) children(stacks.children[stack], left, depth + 1);
  }
  const graph = h(
    "div",
    {
      class: "flame",
      role: "group",
      "aria-label": "Flame graph; arrow keys move, Enter zooms",
      style: { height: `${(deepest + 1) * 21}px` },
      onkeydown: flameKeys,
    },
    frames,
  );
  fill(
    root,
    h(
      "div",
      { class: "toolbar" },
      h("h2", null, "Flame graph"),
      select(
        "Width is",
        choices.map(([key, title]) => [key, title]),
        chosen[0],
        (value) => change({ flame: value, stack: null }),
      ),
      focus >= 0 &&
        h("button", { type: "button", id: "flame-all", onclick: () => change({ stack: null }) }, "Show all"),
      h("span", { class: "grow" }),
      h("span", { class: "quiet", id: "flame-total", data: { value: total } }, `${format(total)} in all`),
    ),
    frames.length > 0 ? graph : h("p", { class: "quiet" }, "nothing to show"),
    h(
      "p",
      { class: "quiet hint" },
      "Click to zoom, double-click to select the op. An op is below the op that called or launched it.",
    ),
  );
}

/** Moves the focus to the frame that is next in a direction. @param {KeyboardEvent} event */
function flameKeys(event) {
  const frames = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (event.currentTarget).children]);
  const active = /** @type {HTMLElement} */ (event.target);
  const place = (/** @type {HTMLElement} */ one) => ({
    left: parseFloat(one.style.left),
    width: parseFloat(one.style.width),
    top: parseFloat(one.style.top),
  });
  const own = place(active);
  const fits = /** @type {Record<string, (one: ReturnType<typeof place>) => boolean>} */ ({
    ArrowDown: (one) => one.top === own.top + 21 && one.left >= own.left - 1e-6 && one.left < own.left + own.width,
    ArrowUp: (one) => one.top === own.top - 21 && one.left <= own.left + 1e-6 && one.left + one.width > own.left + 1e-6,
    ArrowRight: (one) => one.top === own.top && one.left > own.left + 1e-6,
    ArrowLeft: (one) => one.top === own.top && one.left < own.left - 1e-6,
  })[event.key];
  if (!fits) return;
  event.preventDefault();
  const found = frames.filter((one) => one !== active && fits(place(one)));
  found.sort((a, b) => Math.abs(place(a).left - own.left) - Math.abs(place(b).left - own.left));
  if (!found[0]) return;
  active.tabIndex = -1;
  found[0].tabIndex = 0;
  found[0].focus();
  announce(found[0].title.replace("\n", ", "));
}
