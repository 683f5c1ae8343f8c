// The steps as bars. A click restricts the whole page to a step, a click with Shift to all steps up to it.

/** @param {HTMLElement} root */
function renderSteps(root) {
  const whole = page.summary.report;
  const all = whole.steps?.steps ?? [];
  const ranks = [...new Set(all.map((step) => step.rank ?? null))];
  const longest = all.reduce((most, step) => Math.max(most, step.length_ns), 1);
  const steps = /** @type {NonNullable<Report["steps"]>} */ (whole.steps);
  const choices = stepChoices();
  const list = all.length > 400 ? all.slice(0, 400) : all;
  const hasDevices = all.some((step) => step.device_busy_ns !== null && step.device_busy_ns !== undefined);
  const bars = list.map((step) => {
    const exposed = step.exposed_communication_ns ?? 0;
    const busy = Math.max(0, (step.device_busy_ns ?? 0) - exposed);
    const rest = Math.max(0, step.length_ns - busy - exposed);
    const name = ranks.length > 1 ? `step ${step.number} of rank ${step.rank}` : `step ${step.number}`;
    const text = `${name}: ${duration(step.length_ns)}${hasDevices ? `, device busy ${duration(step.device_busy_ns ?? 0)}, exposed communication ${duration(exposed)}` : ""}`;
    const part = (/** @type {string} */ kind, /** @type {number} */ ns) =>
      h("span", { class: `part ${kind}`, style: { width: `${(ns / longest) * 100}%` } });
    const can = choices.includes(step.number);
    return h(
      "li",
      null,
      h(
        "button",
        {
          type: "button",
          class: "step-bar",
          title: text,
          disabled: !can && choices.length > 0,
          "aria-pressed": String(state.step !== null && isChosen(step.number)),
          "aria-label": text,
          data: { step: step.number, value: step.length_ns },
          onclick: (/** @type {MouseEvent} */ event) => {
            const { number } = step;
            const only = state.step === number && state.until === null;
            if (choices.length === 0 || (only && !event.shiftKey)) chooseSteps(null);
            else if (event.shiftKey && state.step !== null)
              chooseSteps(Math.min(state.step, number), Math.max(state.step, number));
            else chooseSteps(number);
          },
        },
        h(
          "span",
          { class: "step-name" },
          ranks.length > 1 ? `${step.number} · rank ${step.rank}` : String(step.number),
        ),
        h(
          "span",
          { class: "step-parts" },
          hasDevices
            ? [part("busy", busy), part("exposed", exposed), part("rest", rest)]
            : part("busy", step.length_ns),
        ),
        h("span", { class: "step-length number" }, duration(step.length_ns)),
      ),
    );
  });
  fill(
    root,
    h(
      "div",
      { class: "toolbar" },
      h("h2", null, "Steps"),
      h(
        "span",
        { class: "quiet" },
        `mean ${duration(steps.mean_ns)}, standard deviation ${duration(steps.deviation_ns)}${choices.length > 0 ? "; click a bar to show only that step, Shift + click for a range" : ""}`,
      ),
    ),
    hasDevices &&
      h(
        "ul",
        { class: "legend" },
        [
          ["busy", "device busy"],
          ["exposed", "exposed communication"],
          ["rest", "device idle"],
        ].map(([kind, title]) => h("li", null, h("span", { class: `dot part ${kind}` }), title)),
      ),
    h("ol", { class: "step-bars" }, bars),
    list.length < all.length && h("p", { class: "quiet" }, `the first ${list.length} of ${count(all.length)} steps`),
    steps.slower_ops.length > 0 && [
      h(
        "h3",
        null,
        `Longer in the slowest step${steps.slowest === null || steps.slowest === undefined ? "" : ` (${all[steps.slowest].number})`}`,
      ),
      table({
        caption: "Ops that took longer in the slowest step",
        limit: 10,
        columns: [
          {
            key: "operation",
            title: "Op",
            text: true,
            value: (row) => row.operation,
            show: (row) => opName(row.operation),
          },
          {
            key: "shape",
            title: "Input shapes",
            text: true,
            value: (row) => shapes(row.input_shapes),
            show: (row) => h("span", { class: "shape" }, shapes(row.input_shapes)),
          },
          {
            key: "longer",
            title: "Longer by",
            value: (row) => row.self_ns - row.usual_ns,
            show: (row) => duration(row.self_ns - row.usual_ns),
          },
          { key: "self_ns", title: "Self", value: (row) => row.self_ns, show: (row) => duration(row.self_ns) },
          { key: "usual_ns", title: "Usual", value: (row) => row.usual_ns, show: (row) => duration(row.usual_ns) },
        ],
        rows: steps.slower_ops.slice(0, 40),
        onSelect: (row) => {
          const op = opByName(row.operation);
          if (op) change({ view: "ops", op: opKey(op), shape: null }, "push");
        },
      }),
    ],
  );
}
