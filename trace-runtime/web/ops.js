// The table of ops; for a selected op also its shapes, its durations and its single executions.

/** Single executions that are listed, longest first. */
const EXECUTIONS = 200;

/** @type {Column[]} */
const OP_COLUMNS = [
  {
    key: "operation",
    title: "Op",
    text: true,
    value: (row) => row.operation,
    show: (row) => [
      dot(row),
      opName(row.operation),
      row.label && h("span", { class: "shape" }, ` ${printable(row.label)}`),
    ],
  },
  { key: "where", title: "On", text: true, value: (row) => (row.accelerator ? "device" : "host") },
  { key: "count", title: "Calls", value: (row) => row.count, show: (row) => count(row.count) },
  {
    key: "self_ns",
    title: "Self",
    hint: "Time in no op inside of it",
    value: (row) => row.self_ns,
    show: (row) => duration(row.self_ns),
  },
  {
    key: "work_ns",
    title: "Working",
    hint: "Self time without waiting for a device, a thread or a rank",
    value: workTime,
    show: (row) => duration(workTime(row)),
  },
  {
    key: "share",
    title: "Share",
    hint: "Self time without waiting, as a share of that of all ops",
    value: (row) => share(row),
    show: (row) => percent(share(row)),
    bar: (row) => share(row),
  },
  {
    key: "total_ns",
    title: "Total",
    hint: "Time in it and in ops inside of it",
    value: (row) => row.total_ns,
    show: (row) => duration(row.total_ns),
  },
  {
    key: "device_ns",
    title: "Device",
    hint: "Device time of the work that it launched",
    value: deviceTime,
    show: (row) => (deviceTime(row) ? duration(deviceTime(row)) : ""),
  },
  { key: "p50_ns", title: "Median", value: (row) => row.p50_ns, show: (row) => duration(row.p50_ns) },
  {
    key: "p95_ns",
    title: "p95",
    hint: "95 % were no longer",
    value: (row) => row.p95_ns,
    show: (row) => duration(row.p95_ns),
  },
  { key: "max_ns", title: "Max", value: (row) => row.max_ns, show: (row) => duration(row.max_ns) },
  {
    key: "flops_per_s",
    title: "FLOP/s",
    value: (row) => row.flops_per_s ?? null,
    show: (row) => (row.flops_per_s ? rate(row.flops_per_s, "") : ""),
  },
  {
    key: "bytes_per_s",
    title: "B/s",
    value: (row) => row.bytes_per_s ?? null,
    show: (row) => (row.bytes_per_s ? rate(row.bytes_per_s, "B") : ""),
  },
];

/** @param {OpRow} row */
function share(row) {
  return workTime(row) / (opsTotal() || 1);
}

/** Self time without waiting. @param {OpRow} row */
function workTime(row) {
  return row.self_ns - (row.waiting_ns ?? 0);
}

/** The time in which all ops that are shown worked. */
function opsTotal() {
  const rows = opRows("ops");
  if (opsTotalOf.rows !== rows) {
    opsTotalOf.rows = rows;
    opsTotalOf.sum = rows.reduce((sum, row) => sum + workTime(row), 0);
  }
  return opsTotalOf.sum;
}
const opsTotalOf = { rows: /** @type {OpRow[] | null} */ (null), sum: 0 };

/** @param {OpRow} row */
function deviceTime(row) {
  return row.accelerator ? row.total_ns : (row.device_total_ns ?? 0);
}

/** Columns that have a value in some row. @param {Column[]} columns @param {OpRow[]} rows */
function usedColumns(columns, rows) {
  return columns.filter((column) => {
    if (column.key === "work_ns") return rows.some((row) => row.waiting_ns);
    if (column.key === "where") return rows.some((row) => row.accelerator) && rows.some((row) => !row.accelerator);
    return column.text || ["count", "self_ns", "share"].includes(column.key) || rows.some((row) => column.value(row));
  });
}

/** The columns that fit next to the details of an op. @param {OpRow[]} rows */
function besideDetails(rows) {
  const time = rows.some((row) => row.waiting_ns) ? "work_ns" : "self_ns";
  const keys = ["operation", "where", "count", time, "share", "total_ns"];
  return OP_COLUMNS.filter((column) => keys.includes(column.key));
}

/** @param {HTMLElement} root */
function renderOps(root) {
  const all = opRows("ops");
  const list = h("div");
  const drawList = () => {
    const rows = all.filter((row) => row.operation.toLowerCase().includes(state.filter.toLowerCase()));
    const self = rows.reduce((sum, row) => sum + row.self_ns, 0);
    const waiting = rows.reduce((sum, row) => sum + (row.waiting_ns ?? 0), 0);
    fill(
      list,
      h(
        "p",
        { class: "quiet", id: "ops-count" },
        `${counted(rows.length, "op")}, ${duration(self)} of self time`,
        waiting > 0 && `, of which ${duration(waiting)} is waiting`,
      ),
      table({
        caption: "Ops",
        columns: usedColumns(state.op === null ? OP_COLUMNS : besideDetails(all), all),
        rows,
        // If ops waited, sorted by the time in which they worked.
        sort: state.sort || (all.some((row) => row.waiting_ns) ? "work_ns" : "self_ns"),
        onSort: (sort) => {
          state.sort = sort;
          writeState();
        },
        onSelect: (row) => selectOp(state.op === opKey(row) ? null : row),
        isSelected: (row) => opKey(row) === state.op,
        empty: "no op has this text in its name",
      }),
    );
  };
  const filter = h("input", {
    type: "search",
    id: "op-filter",
    value: state.filter,
    placeholder: "Filter by name",
    "aria-label": "Filter ops by name",
    oninput: (/** @type {any} */ event) => {
      state.filter = event.target.value;
      writeState();
      drawList();
    },
  });
  drawList();
  const row = selectedOp();
  fill(
    root,
    h("div", { class: "toolbar" }, h("h2", null, "Ops"), filter),
    h(
      "div",
      { class: row ? "split" : "" },
      list,
      row && h("aside", { class: "detail", "aria-label": "Selected op" }, opDetail(row)),
    ),
  );
}

/** @param {OpRow} row */
function opDetail(row) {
  const key = opKey(row);
  const rows = opRows("shapes").filter((one) => opKey(one) === key);
  const whole = page.summary.report.shapes;
  const numbers = new Map(whole.map((one, index) => [shapeKey(one), index]));
  const chosen = state.shape !== null ? whole[state.shape] : null;
  const selected = chosen && opKey(chosen) === key ? chosen : null;
  const hasShapes = rows.some((one) => shapes(one.input_shapes) || one.label);
  return [
    h("h3", { class: "name", dir: "ltr" }, printable(row.operation)),
    row.locations && h("p", { class: "site", dir: "ltr" }, row.locations.map(printable).join(", ")),
    h(
      "dl",
      { class: "figures" },
      figure("Calls", count(row.count)),
      figure("Self", duration(row.self_ns)),
      Boolean(row.waiting_ns) && figure("Waiting", duration(row.waiting_ns ?? 0)),
      figure("Total", duration(row.total_ns)),
      deviceTime(row) > 0 && figure("Device", duration(deviceTime(row))),
      figure("Mean", duration(row.mean_ns)),
      figure("p99", duration(row.p99_ns)),
      row.memory_bytes > 0 && figure("Output", bytes(row.memory_bytes)),
      row.flops_per_s && figure("FLOP/s", rate(row.flops_per_s, "")),
    ),
    h(
      "p",
      { class: "actions" },
      h("button", { type: "button", onclick: () => change({ view: "timeline" }, "push") }, "Show on the timeline"),
      h("button", { type: "button", onclick: () => selectOp(null) }, "Close"),
    ),
    h("h4", null, selected ? "Durations of these shapes" : "Durations"),
    histogram(key, selected),
    hasShapes && [
      h("h4", null, "By input shapes"),
      table({
        caption: "Input shapes of the op",
        limit: 25,
        sort: "self_ns",
        columns: [
          {
            key: "shape",
            title: "Input shapes",
            text: true,
            value: (one) => shapes(one.input_shapes),
            show: (one) =>
              h(
                "span",
                { class: "shape" },
                [one.label ? `${printable(one.label)} ` : "", shapes(one.input_shapes) || "none"].join(""),
              ),
          },
          { key: "count", title: "Calls", value: (one) => one.count, show: (one) => count(one.count) },
          { key: "self_ns", title: "Self", value: (one) => one.self_ns, show: (one) => duration(one.self_ns) },
          { key: "p50_ns", title: "Median", value: (one) => one.p50_ns, show: (one) => duration(one.p50_ns) },
          {
            key: "flops_per_s",
            title: "FLOP/s",
            value: (one) => one.flops_per_s ?? null,
            show: (one) => (one.flops_per_s ? rate(one.flops_per_s, "") : ""),
          },
        ],
        rows,
        onSelect: (one) => {
          const number = numbers.get(shapeKey(one)) ?? null;
          change({ shape: number === state.shape ? null : number });
        },
        isSelected: (one) => state.shape !== null && numbers.get(shapeKey(one)) === state.shape,
      }),
    ],
    h("h4", null, selected ? "Executions with these shapes" : "Executions"),
    executions(key, selected),
  ];
}

/** @param {string} title @param {string} value */
function figure(title, value) {
  return h("div", null, h("dt", null, title), h("dd", null, value));
}

/** The items of an op, or of one of its rows. @param {string} key @param {OpRow | null} row */
function itemsOf(key, row) {
  const timeline = page.timeline;
  if (!timeline) return new Uint32Array(0);
  const whole = page.summary.report.shapes;
  const wanted = new Uint8Array(whole.length);
  whole.forEach((one, index) => {
    if (row ? one === row : opKey(one) === key) wanted[index] = 1;
  });
  return timeline.itemsWhere(wanted, chosenSteps());
}

/** Bars of the logarithm of durations. @param {string} key @param {OpRow | null} row */
function histogram(key, row) {
  const timeline = page.timeline;
  if (!timeline) return h("p", { class: "quiet" }, "The timeline is still being read.");
  const durations = [...itemsOf(key, row)]
    .filter((item) => !timeline.joined.has(item))
    .map((item) => timeline.duration[item]);
  if (durations.length === 0) return h("p", { class: "quiet" }, "no single executions");
  let least = Infinity;
  let most = 0;
  for (const value of durations) {
    least = Math.min(least, Math.max(1, value));
    most = Math.max(most, Math.max(1, value));
  }
  const bars = 36;
  const ratio = Math.max(Math.log(most / least), 1e-9);
  const heights = new Array(bars).fill(0);
  for (const value of durations)
    heights[Math.min(bars - 1, Math.floor((Math.log(Math.max(1, value) / least) / ratio) * bars))]++;
  const top = Math.max(...heights);
  const label = `${counted(durations.length, "execution")} from ${duration(least)} to ${duration(most)}`;
  return h(
    "figure",
    { class: "histogram" },
    s(
      "svg",
      { viewBox: `0 0 ${bars * 10} 64`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      heights.map((height, index) =>
        s(
          "rect",
          { x: index * 10 + 1, width: 8, y: 64 - (height / top) * 62, height: (height / top) * 62 },
          s("title", null, `${duration(least * Math.exp((ratio * index) / bars))} and longer: ${count(height)}`),
        ),
      ),
    ),
    h("figcaption", null, h("span", null, duration(least)), h("span", null, label), h("span", null, duration(most))),
  );
}

/** @param {string} key @param {OpRow | null} row */
function executions(key, row) {
  const timeline = page.timeline;
  if (!timeline) return h("p", { class: "quiet" }, "The timeline is still being read.");
  const items = [...itemsOf(key, row)];
  items.sort((a, b) => timeline.duration[b] - timeline.duration[a]);
  const joined = items.reduce((sum, item) => sum + (timeline.joined.get(item) ?? 0), 0);
  return [
    table({
      caption: "Single executions, longest first",
      limit: 10,
      sort: "duration",
      columns: [
        {
          key: "start",
          title: "Start",
          value: (item) => timeline.start[item],
          show: (item) => duration(timeline.start[item]),
        },
        {
          key: "duration",
          title: "Duration",
          value: (item) => timeline.duration[item],
          show: (item) => duration(timeline.duration[item]),
        },
        {
          key: "self",
          title: "Self",
          value: (item) => timeline.selfTime(item),
          show: (item) => duration(timeline.selfTime(item)),
        },
        { key: "lane", title: "On", text: true, value: (item) => timeline.laneName(timeline.laneOfItem(item)) },
      ],
      rows: items.slice(0, EXECUTIONS),
      onSelect: (item) => {
        timeline.selected = item;
        const margin = Math.max(timeline.duration[item] * 4, 1000);
        const from = Math.max(0, timeline.start[item] - margin);
        change({ view: "timeline", visible: [from, timeline.start[item] + timeline.duration[item] + margin] }, "push");
      },
    }),
    items.length > EXECUTIONS && h("p", { class: "quiet" }, `the ${EXECUTIONS} longest of ${count(items.length)}`),
    joined > 0 && h("p", { class: "quiet" }, `${count(joined)} short executions are joined with their neighbours`),
  ];
}
