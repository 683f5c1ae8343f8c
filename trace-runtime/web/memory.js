// Live memory over time, and the ops that held it at a moment.

/** Curves and blocks of each device. */
function memoryData() {
  const timeline = /** @type {TimelineData & {memory?: any}} */ (page.timeline);
  if (timeline.memory) return timeline.memory;
  const { data, facts } = timeline;
  const at = data.column("curve_at", "sums");
  const live = data.column("curve_bytes", "sums");
  const taken = data.column("block_taken", "sums");
  const lasts = data.column("block_live");
  // The sign is in the lowest bit.
  const size = data.column("block_bytes").map((value) => (value % 2 === 0 ? value / 2 : -(value + 1) / 2));
  const owner = data.column("block_owner");
  let point = 0;
  let block = 0;
  timeline.memory = facts.memory_devices.map((device) => {
    const own = {
      ...device,
      at: at.subarray(point, point + device.points),
      live: live.subarray(point, point + device.points),
      taken: taken.subarray(block, block + device.blocks),
      lasts: lasts.subarray(block, block + device.blocks),
      size: size.subarray(block, block + device.blocks),
      owner: owner.subarray(block, block + device.blocks),
    };
    point += device.points;
    block += device.blocks;
    return own;
  });
  return timeline.memory;
}

/** Bytes that are live at a moment. @param {any} device @param {number} moment */
function liveAt(device, moment) {
  const next = lowerBound(device.at, moment + 0.5, 0);
  return next === 0 ? (device.live[0] ?? 0) : device.live[next - 1];
}

/** The ops and shapes that hold memory at a moment, largest first. @param {any} device @param {number} moment */
function holdersAt(device, moment) {
  const facts = /** @type {TimelineData} */ (page.timeline).facts;
  /** @type {Map<string, {operation: string | null, label: string | null, input_shapes: number[][], bytes: number, blocks: number}>} */
  const sums = new Map();
  const add = (
    /** @type {{operation: string | null, label: string | null, input_shapes: number[][]}} */ owner,
    /** @type {number} */ size,
    /** @type {number} */ blocks,
  ) => {
    const key = JSON.stringify(owner);
    const sum = sums.get(key) ?? { ...owner, bytes: 0, blocks: 0 };
    sum.bytes += size;
    sum.blocks += blocks;
    sums.set(key, sum);
  };
  /** @type {Map<number, number>} */
  const changes = new Map();
  for (let index = 0; index < device.taken.length && device.taken[index] <= moment; index++) {
    const lasts = device.lasts[index];
    if (lasts !== 0 && device.taken[index] + lasts - 1 <= moment) continue;
    const owner = Math.floor(device.owner[index] / 2);
    // For some devices only the changes of each op are known, not the blocks.
    if (device.owner[index] % 2 === 1) changes.set(owner, (changes.get(owner) ?? 0) + device.size[index]);
    else add(facts.memory_owners[owner], device.size[index], 1);
  }
  for (const [owner, size] of changes) if (size > 0) add(facts.memory_owners[owner], size, 0);
  const seen = [...sums.values()].reduce((sum, one) => sum + one.bytes, 0);
  const rest = liveAt(device, moment) - seen;
  if (rest > 0) add({ operation: null, label: null, input_shapes: [] }, rest, 0);
  return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}

/** @param {HTMLElement} root */
function renderMemory(root) {
  const timeline = /** @type {TimelineData} */ (page.timeline);
  const steps = chosenSteps();
  const step = steps && timeline.stepTimes(steps);
  const parts = memoryData().map((/** @type {any} */ device, /** @type {number} */ index) => {
    const fact = page.summary.report.memory[index];
    const title =
      device.rank === null ? printable(device.device) : `${printable(device.device)} of rank ${device.rank}`;
    const from = step ? step[0] : Math.min(0, device.at[0]);
    const to = step ? step[1] : timeline.end;
    const peakAt = fact.peak_at_ns - timeline.facts.origin_ns;
    let moment = state.moment ?? peakAt;
    moment = Math.max(from, Math.min(to, moment));
    const holders = h("div");
    const [width, height, left, bottom] = [900, 200, 62, 24];
    const top = Math.max(1, fact.peak_bytes) * 1.08;
    const x = (/** @type {number} */ time) => left + ((time - from) / Math.max(1, to - from)) * (width - left - 8);
    const y = (/** @type {number} */ value) => height - bottom - (value / top) * (height - bottom - 8);
    const points = [`${x(from)},${y(liveAt(device, from))}`];
    let last = liveAt(device, from);
    for (let at = lowerBound(device.at, from, 0); at < device.at.length && device.at[at] <= to; at++) {
      points.push(
        `${x(device.at[at]).toFixed(1)},${y(last).toFixed(1)}`,
        `${x(device.at[at]).toFixed(1)},${y(device.live[at]).toFixed(1)}`,
      );
      last = device.live[at];
    }
    points.push(`${x(to)},${y(last)}`);
    const mark = s("line", { class: "moment", y1: 4, y2: height - bottom });
    const grid = [];
    const step_bytes = niceStep(top, 4);
    for (let value = 0; value < top; value += step_bytes)
      grid.push(
        s("line", { class: "grid", x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
        s("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, bytes(value)),
      );
    const step_ns = niceStep(to - from, 7);
    for (let time = Math.ceil(from / step_ns) * step_ns; time <= to; time += step_ns)
      grid.push(s("text", { x: x(time), y: height - 6, "text-anchor": "middle" }, duration(time)));
    const slider = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "range",
        id: `moment-${index}`,
        min: 0,
        max: 1000,
        step: 1,
        "aria-label": `Moment of ${title}`,
        oninput: () => show(from + (Number(slider.value) / 1000) * (to - from)),
        onchange: () => {
          state.moment = moment;
          writeState();
        },
      })
    );
    const show = (/** @type {number} */ at) => {
      moment = at;
      mark.setAttribute("x1", String(x(at)));
      mark.setAttribute("x2", String(x(at)));
      slider.value = String(((at - from) / Math.max(1, to - from)) * 1000);
      const live = liveAt(device, at);
      slider.setAttribute("aria-valuetext", `${duration(at)}: ${bytes(live)}`);
      fill(
        holders,
        h("h4", { data: { live, at } }, `At ${duration(at)}: ${bytes(live)}`, at === peakAt ? ", the peak" : ""),
        table({
          caption: `What holds the memory of ${title}`,
          limit: 20,
          columns: [
            {
              key: "operation",
              title: "Held by",
              text: true,
              value: (row) => row.operation ?? "",
              show: (row) => [
                opName(row.operation),
                row.label && h("span", { class: "shape" }, ` ${printable(row.label)}`),
                shapes(row.input_shapes) && h("span", { class: "shape" }, ` ${shapes(row.input_shapes)}`),
              ],
            },
            { key: "bytes", title: "Bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
            {
              key: "share",
              title: "Share",
              value: (row) => row.bytes / (live || 1),
              show: (row) => percent(row.bytes / (live || 1)),
              bar: (row) => row.bytes / (live || 1),
            },
            {
              key: "blocks",
              title: "Blocks",
              value: (row) => row.blocks,
              show: (row) => (row.blocks ? count(row.blocks) : ""),
            },
          ],
          rows: holdersAt(device, at),
          onSelect: (row) => {
            const op = row.operation === null ? null : opByName(row.operation);
            if (op) selectOp(op);
          },
          isSelected: (row) => state.op !== null && row.operation !== null && state.op.endsWith(` ${row.operation}`),
          empty: "nothing is live",
        }),
      );
    };
    const drawing = s(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `Live memory of ${title}; the peak is ${bytes(fact.peak_bytes)}`,
        onclick: (/** @type {MouseEvent} */ event) => {
          const box = drawing.getBoundingClientRect();
          const at = (((event.clientX - box.left) / box.width) * width - left) / (width - left - 8);
          show(from + Math.max(0, Math.min(1, at)) * (to - from));
          state.moment = Math.round(moment);
          writeState();
        },
      },
      grid,
      s("polygon", { class: "area", points: `${x(from)},${y(0)} ${points.join(" ")} ${x(to)},${y(0)}` }),
      s("polyline", { class: "curve", points: points.join(" ") }),
      mark,
    );
    show(moment);
    return h(
      "section",
      { class: "memory-device", data: { peak: fact.peak_bytes } },
      h(
        "div",
        { class: "toolbar" },
        h("h3", null, title),
        h("span", { class: "quiet" }, `peak ${bytes(fact.peak_bytes)}`),
        h("span", { class: "grow" }),
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              state.moment = null;
              writeState();
              show(Math.max(from, Math.min(to, peakAt)));
            },
          },
          "Go to the peak",
        ),
      ),
      h("figure", { class: "chart" }, drawing, slider),
      holders,
    );
  });
  fill(
    root,
    h(
      "div",
      { class: "toolbar" },
      h("h2", null, "Memory"),
      h("span", { class: "quiet" }, "click the curve to see what is live at that moment"),
    ),
    parts,
  );
}
