// The ranks as a heatmap, and the waits at collectives.

const RANK_FIGURES = /** @type {[string, string][]} */ ([
  ["length_ns", "step length"],
  ["device_busy_ns", "device busy"],
  ["exposed_communication_ns", "exposed communication"],
  ["device_idle_ns", "device idle"],
  ["host_bound_ns", "idle, nothing launched"],
]);

/** @param {HTMLElement} root */
function renderRanks(root) {
  const whole = page.summary.report;
  const shown = report();
  const steps = (whole.steps?.steps ?? []).filter((step) => step.rank !== null && step.rank !== undefined);
  const parts = [];
  if (steps.length > 0) {
    const used = RANK_FIGURES.filter(([key]) => steps.some((step) => /** @type {any} */ (step)[key]));
    const figure = used.some(([key]) => key === state.ranks) ? state.ranks : "length_ns";
    const numbers = [...new Set(steps.map((step) => step.number))].sort((a, b) => a - b).slice(0, 200);
    const columns = numbers.map((number) => ({ key: number, title: String(number) }));
    parts.push(
      h(
        "div",
        { class: "toolbar" },
        h("h2", null, "Ranks"),
        select("Figure", used, figure, (value) => change({ ranks: value })),
      ),
      heatmap(
        `${used.find(([key]) => key === figure)?.[1]} of each rank and step`,
        "Step",
        columns,
        rankList(whole),
        (rank, number) => {
          const step = steps.find((one) => one.rank === rank && one.number === number);
          return step ? (/** @type {any} */ (step)[figure] ?? null) : null;
        },
        stepChoices().length > 0
          ? (number) => chooseSteps(state.step === number && state.until === null ? null : Number(number))
          : null,
      ),
    );
  } else parts.push(h("div", { class: "toolbar" }, h("h2", null, "Ranks")));
  const activity = shown.activity.devices.filter((one) => one.rank !== null && one.rank !== undefined);
  const figures = /** @type {[keyof DeviceActivity, string][]} */ ([
    ["busy_ns", "busy"],
    ["idle_ns", "idle"],
    ["compute_ns", "compute"],
    ["communication_ns", "communication"],
    ["exposed_communication_ns", "exposed"],
  ]);
  const columns = figures
    .filter(([key]) => activity.some((one) => Number(one[key]) > 0))
    .map(([key, title]) => ({ key, title }));
  parts.push(
    h("h3", null, "Time of each rank"),
    heatmap(
      "Time of the devices of each rank",
      "",
      columns,
      rankList(whole),
      (rank, key) => {
        const own = activity.filter((one) => one.rank === rank);
        return own.length === 0
          ? null
          : own.reduce((sum, one) => sum + Number(/** @type {any} */ (one)[key]), 0) / own.length;
      },
      null,
      Math.max(1, ...activity.map((one) => one.span_ns)),
    ),
  );
  parts.push(stragglers(shown), waitStates());
  fill(root, parts);
}

/** @param {Report} shown */
function rankList(shown) {
  const ranks = shown.activity.devices
    .map((one) => one.rank)
    .concat((shown.steps?.steps ?? []).map((step) => step.rank));
  return [...new Set(ranks.filter((rank) => rank !== null && rank !== undefined))].sort(
    (a, b) => Number(a) - Number(b),
  );
}

/**
 * @param {string} caption
 * @param {string} head
 * @param {{key: any, title: string}[]} columns
 * @param {any[]} ranks
 * @param {(rank: any, key: any) => number | null} value
 * @param {((key: any) => void) | null} onColumn
 * @param {number} [whole] Set if each column has its own scale: a spread of less than a twentieth of this is pale.
 */
function heatmap(caption, head, columns, ranks, value, onColumn, whole = 0) {
  const values = ranks.map((rank) => columns.map(({ key }) => value(rank, key)));
  const known = (/** @type {(number | null)[]} */ list) => /** @type {number[]} */ (list.filter((one) => one !== null));
  const scale = (/** @type {number} */ column) => {
    const list = known(whole > 0 ? values.map((row) => row[column]) : values.flat());
    return [Math.min(...list), Math.max(...list)];
  };
  return h(
    "div",
    { class: "table-frame" },
    h(
      "table",
      { class: "heatmap" },
      h("caption", { class: "unseen" }, caption),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, head ? `Rank, ${head.toLowerCase()}` : "Rank"),
          columns.map(({ key, title }) =>
            h(
              "th",
              { scope: "col" },
              onColumn
                ? h(
                    "button",
                    {
                      type: "button",
                      "aria-pressed": String(state.step !== null && isChosen(key)),
                      title: `Show only step ${title}`,
                      onclick: () => onColumn(key),
                    },
                    title,
                  )
                : title,
            ),
          ),
        ),
      ),
      h(
        "tbody",
        null,
        ranks.map((rank, at) =>
          h(
            "tr",
            null,
            h("th", { scope: "row" }, String(rank)),
            columns.map(({ key }, column) => {
              const one = values[at][column];
              if (one === null) return h("td", null);
              const [least, most] = scale(column);
              const heat = most > least ? (one - least) / (most - least) : 0;
              // If the spread is small, all ranks are pale.
              const spread = (most - least) / Math.max(1, most) / 0.1;
              const weight = heat * Math.min(1, spread, whole > 0 ? (most - least) / whole / 0.05 : 1);
              return h(
                "td",
                {
                  class: `heat${weight > 0.6 ? " hot" : ""}`,
                  data: { rank, key, value: one },
                  style: { "--heat": `${(weight * 100).toFixed(0)}%` },
                },
                columns.length > 24 ? "" : duration(one),
              );
            }),
          ),
        ),
      ),
    ),
  );
}

/** The waiting time of each rank at each collective. @param {Report} shown */
function stragglers(shown) {
  const { collectives } = shown;
  if (collectives.length === 0) return null;
  const ranks = [...new Set(collectives.flatMap((one) => one.wait_ns.map(([rank]) => rank)))].sort((a, b) => a - b);
  const waits = ranks.map((rank) => ({
    rank,
    ns: collectives.reduce((sum, one) => sum + (one.wait_ns.find(([own]) => own === rank)?.[1] ?? 0), 0),
  }));
  const least = waits.reduce((best, one) => (one.ns < best.ns ? one : best));
  const most = waits.reduce((best, one) => (one.ns > best.ns ? one : best));
  const found = shown.findings.list.filter((one) => one.kind === "straggler");
  return h(
    "section",
    null,
    h("h3", null, "Waiting at collectives"),
    h(
      "p",
      { id: "straggler", data: { rank: least.rank } },
      found.length > 0
        ? printableText(found[0].sentence)
        : most.ns > 0
          ? `Rank ${least.rank} waits least (${duration(least.ns)}), so the others wait for it; rank ${most.rank} waits ${duration(most.ns)}.`
          : "No rank waits for another.",
    ),
    table({
      caption: "Waiting time of each rank at each collective",
      limit: 30,
      sort: "transfer",
      columns: [
        {
          key: "operation",
          title: "Collective",
          text: true,
          value: (row) => row.operation,
          show: (row) => [row.collective ? `${printable(row.collective)}: ` : "", opName(row.operation)],
        },
        { key: "calls", title: "Calls", value: (row) => row.calls, show: (row) => count(row.calls) },
        {
          key: "transfer",
          title: "Transfer",
          value: (row) => row.transfer_ns,
          show: (row) => duration(row.transfer_ns),
        },
        {
          key: "bus",
          title: "Bus",
          value: (row) => row.bus_bytes_per_s ?? null,
          show: (row) => (row.bus_bytes_per_s ? rate(row.bus_bytes_per_s, "B") : ""),
        },
        ...ranks.slice(0, 16).map((rank) => ({
          key: `wait-${rank}`,
          title: `Wait of ${rank}`,
          value: (/** @type {any} */ row) => row.wait_ns.find((/** @type {any} */ one) => one[0] === rank)?.[1] ?? 0,
          show: (/** @type {any} */ row) =>
            duration(row.wait_ns.find((/** @type {any} */ one) => one[0] === rank)?.[1] ?? 0),
        })),
      ],
      rows: collectives,
      onSelect: (row) => {
        const op = opByName(row.operation);
        if (op) change({ view: "timeline", op: opKey(op), shape: null }, "push");
      },
    }),
  );
}
