// The first section: the headline, cards with the main figures, and each finding with its evidence.

/** Sections that show the evidence of a finding. */
const EVIDENCE = /** @type {Record<string, [string, string]>} */ ({
  host_bound: ["timeline", "Idle time on the timeline"],
  device_idle: ["timeline", "Idle time on the timeline"],
  launch_bound: ["timeline", "Launches on the timeline"],
  synchronisation: ["timeline", "On the timeline"],
  exposed_communication: ["ops", "In the table of ops"],
  straggler: ["ranks", "Ranks"],
  host_op: ["ops", "In the table of ops"],
  outside_ops: ["timeline", "On the timeline"],
  device_category: ["ops", "In the table of ops"],
  device_op: ["ops", "In the table of ops"],
  data_loading: ["ops", "In the table of ops"],
  copies: ["ops", "In the table of ops"],
  allocation: ["timeline", "On the timeline"],
  slow_products: ["roofline", "Roofline"],
  slow_step: ["steps", "Steps"],
  suspended: ["timeline", "On the timeline"],
  too_short: ["ops", "In the table of ops"],
});

/** @param {HTMLElement} root */
function renderFindings(root) {
  const shown = report();
  const { findings } = shown;
  const whole = { steps: "the steps", span: "the trace", ops: "all ops" }[findings.whole] ?? "the trace";
  fill(
    root,
    h("p", { class: "headline", dir: "ltr" }, printableText(shown.answer)),
    cards(shown),
    h(
      "section",
      { "aria-labelledby": "findings-title" },
      h("h2", { id: "findings-title" }, "Findings"),
      findings.list.length === 0
        ? h("p", { class: "quiet" }, "no finding")
        : [
            h(
              "p",
              { class: "quiet" },
              `Costs are shares of ${duration(findings.whole_ns)}, the time of ${whole}. A finding that is part of another follows it.`,
            ),
            h("ol", { class: "findings" }, groupedFindings(findings.list)),
          ],
    ),
    h(
      "section",
      { "aria-labelledby": "top-title" },
      h("h2", { id: "top-title" }, "Ops with the most time of their own"),
      topOps(shown),
    ),
    notes(shown),
  );
}

/** Text that may contain names. @param {string} text */
function printableText(text) {
  const cut = text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
  return cut.replace(HOSTILE, (letter) => `\\u{${(letter.codePointAt(0) ?? 0).toString(16)}}`);
}

/** @param {Report} shown */
function cards(shown) {
  const devices = shown.activity.devices.filter((one) => one.device !== "cpu" && one.device !== "");
  const list = [];
  const steps = shown.steps?.steps ?? [];
  if (steps.length > 0) {
    const table = /** @type {NonNullable<Report["steps"]>} */ (shown.steps);
    const share = table.mean_ns > 0 ? table.deviation_ns / table.mean_ns : 0;
    const figure =
      steps.length === 1 ? duration(table.mean_ns) : `${duration(table.mean_ns)} ± ${duration(table.deviation_ns)}`;
    list.push(
      card(
        "step",
        "Step time",
        figure,
        table.mean_ns,
        steps.length === 1 ? "one step" : `${count(steps.length)} steps, spread ${percent(share)}`,
        "steps",
      ),
    );
  } else {
    list.push(
      card(
        "span",
        "Time",
        duration(shown.span_ns || shown.total_ns),
        shown.span_ns,
        `${duration(shown.total_ns)} in ops`,
        "timeline",
      ),
    );
  }
  if (devices.length > 0) {
    const mean = (/** @type {(one: DeviceActivity) => number} */ figure) =>
      devices.reduce((sum, one) => sum + figure(one), 0) / devices.length;
    const idle = mean((one) => (one.span_ns > 0 ? one.idle_ns / one.span_ns : 0));
    const of = devices.length === 1 ? printable(devices[0].device) : `mean of ${devices.length} devices`;
    list.push(card("idle", "Device idle", percent(idle), idle, of, "timeline"));
  } else {
    list.push(
      card("threads", "Threads", count(shown.threads), shown.threads, counted(shown.entries, "execution"), "timeline"),
    );
  }
  const communicating = (devices.length > 0 ? devices : shown.activity.devices).filter(
    (one) => one.communication_ns > 0,
  );
  if (communicating.length > 0) {
    const exposed = communicating.reduce((sum, one) => sum + one.exposed_communication_ns, 0) / communicating.length;
    const all = communicating.reduce((sum, one) => sum + one.communication_ns, 0) / communicating.length;
    list.push(
      card(
        "exposed",
        "Exposed communication",
        duration(exposed),
        exposed,
        `${percent(exposed / all)} of communication`,
        "ops",
      ),
    );
  } else {
    list.push(
      card(
        "path",
        "Critical path",
        duration(shown.critical_path.length_ns),
        shown.critical_path.length_ns,
        "of work, one after the other",
        "timeline",
      ),
    );
  }
  const memory = shown.memory.reduce(
    (most, one) => (one.peak_bytes > (most?.peak_bytes ?? -1) ? one : most),
    /** @type {Report["memory"][0] | null} */ (null),
  );
  if (memory) {
    list.push(
      card("memory", "Peak memory", bytes(memory.peak_bytes), memory.peak_bytes, printable(memory.device), "memory"),
    );
  } else {
    list.push(
      card(
        "ops",
        "Ops",
        count(shown.ops.length),
        shown.ops.length,
        `${count(shown.shapes.length)} with their shapes`,
        "ops",
      ),
    );
  }
  return h("div", { class: "cards" }, list);
}

/** @param {string} id @param {string} title @param {string} figure @param {number} value @param {string} detail @param {string} view */
function card(id, title, figure, value, detail, view) {
  return h(
    "button",
    { type: "button", class: "card", data: { card: id, value }, onclick: () => change({ view }, "push") },
    h("span", { class: "card-title" }, title),
    h("span", { class: "card-figure" }, figure),
    h("span", { class: "card-detail" }, detail),
  );
}

/** All findings, those that are part of another one right after it. @param {Finding[]} list */
function groupedFindings(list) {
  const isWithin = (/** @type {Finding} */ inner, /** @type {Finding} */ outer) =>
    inner.within?.[0] === outer.kind && inner.within[1] === outer.subject;
  return list
    .filter((one) => !list.some((other) => isWithin(one, other)))
    .flatMap((outer) => [
      finding(outer, false),
      ...list.filter((inner) => isWithin(inner, outer)).map((inner) => finding(inner, true)),
    ]);
}

/** @param {Finding} one @param {boolean} within True if it is part of the finding before it. */
function finding(one, within) {
  const [view, label] = EVIDENCE[one.kind] ?? ["ops", "In the table of ops"];
  const row = opByName(one.subject) ?? (one.parts ?? []).map((part) => opByName(part.name)).find(Boolean) ?? null;
  const open = () => {
    const step = one.kind === "slow_step" ? Number(one.subject.replace(/\D+/g, "")) : null;
    change(
      {
        view: SECTIONS.some((section) => section.id === view && section.shown()) ? view : "ops",
        ...(row ? { op: opKey(row), shape: null } : {}),
        ...(step !== null && stepChoices().includes(step) ? { step, until: null } : {}),
      },
      "push",
    );
  };
  return h(
    "li",
    { class: within ? "within" : "", data: { kind: one.kind, share: one.share } },
    h(
      "div",
      { class: "finding-cost" },
      h("span", { class: "finding-share" }, percent(one.share)),
      h("span", { class: "finding-time" }, duration(one.cost_ns)),
      h("span", { class: "meter", style: { "--bar": `${Math.min(100, one.share * 100).toFixed(1)}%` } }),
    ),
    h(
      "div",
      { class: "finding-text" },
      h(
        "p",
        { class: "finding-sentence", dir: "ltr" },
        within && h("span", { class: "quiet" }, "Of this: "),
        printableText(one.sentence),
      ),
      one.advice && h("p", { class: "advice" }, `Try: ${one.advice}`),
      (one.parts ?? []).length > 0 &&
        h(
          "details",
          null,
          h("summary", null, "What it is made of"),
          h(
            "table",
            { class: "parts" },
            h(
              "tbody",
              null,
              (one.parts ?? []).map((part) =>
                h(
                  "tr",
                  null,
                  h("td", { class: "number" }, duration(part.ns)),
                  h("td", { class: "number" }, percent(part.share)),
                  h("td", { class: "text" }, partName(part)),
                ),
              ),
            ),
          ),
        ),
      h("button", { type: "button", class: "link", onclick: open }, label),
    ),
  );
}

/** @param {FindingPart} part */
function partName(part) {
  const row = opByName(part.name);
  const shape = shapes(part.input_shapes);
  const name = [opName(part.name), shape && h("span", { class: "shape" }, ` ${shape}`)];
  return row
    ? h(
        "button",
        { type: "button", class: "link", onclick: () => change({ view: "ops", op: opKey(row) }, "push") },
        name,
      )
    : h("span", null, name);
}

/** @param {Report} shown */
function topOps(shown) {
  const whole = shown.ops.reduce((sum, row) => sum + workTime(row), 0) || 1;
  return table({
    caption: "Ops with the most self time",
    limit: 8,
    columns: [
      {
        key: "operation",
        title: "Op",
        text: true,
        value: (row) => row.operation,
        show: (row) => [dot(row), opName(row.operation)],
      },
      {
        key: "self_ns",
        title: "Self",
        hint: "Self time without waiting",
        value: workTime,
        show: (row) => duration(workTime(row)),
      },
      {
        key: "share",
        title: "Share",
        value: (row) => workTime(row) / whole,
        show: (row) => percent(workTime(row) / whole),
        bar: (row) => workTime(row) / whole,
      },
      { key: "count", title: "Calls", value: (row) => row.count, show: (row) => count(row.count) },
      { key: "p50_ns", title: "Median", value: (row) => row.p50_ns, show: (row) => duration(row.p50_ns) },
    ],
    rows: shown.ops.slice(0, 8),
    onSelect: (row) => change({ view: "ops", op: opKey(row), shape: null }, "push"),
  });
}

/** A dot in the colour of an op. @param {OpRow} row */
function dot(row) {
  return h("span", { class: "dot", "aria-hidden": "true", style: { background: colours.css(row) } });
}

/** @param {Report} shown */
function notes(shown) {
  const list = [
    ...shown.notes,
    ...(page.timeline?.facts.joined ?? []).map((note) => `to keep the page small, ${note}`),
  ];
  const { step_numbers: numbers } = page.summary;
  const all = new Set((page.summary.report.steps?.steps ?? []).map((step) => step.number)).size;
  if (numbers.length > 0 && numbers.length < all)
    list.push(
      `to keep the page small, ${numbers.length} of ${count(all)} steps have their own figures: the slowest, and others spread over the run`,
    );
  if (!ownReport())
    list.push(
      "to keep the page small, findings are those of the whole trace; ops, timeline, flame graph and call tree are those of the chosen steps",
    );
  if (list.length === 0) return null;
  return h(
    "section",
    { class: "notes", "aria-labelledby": "notes-title" },
    h("h2", { id: "notes-title" }, "Notes"),
    h(
      "ul",
      null,
      list.map((note) => h("li", { dir: "ltr" }, printableText(note))),
    ),
  );
}
