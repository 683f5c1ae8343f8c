// The changes between two groups of runs, largest difference first.

const VERDICTS = /** @type {Record<string, string>} */ ({
  same: "no change",
  noise: "within noise",
  slower: "slower",
  faster: "faster",
  more: "more calls",
  fewer: "fewer calls",
  added: "new",
  removed: "gone",
  small: "too small to judge",
});

/** @param {HTMLElement} root */
function renderCompare(root) {
  const diff = /** @type {TraceDiff} */ (page.summary.diff);
  const { total } = diff;
  const word = VERDICTS[total.verdict] ?? total.verdict;
  const parts = /** @type {[string, string, number][]} */ ([
    ["before", "Before", total.before_ns],
    ["after", "After", total.after_ns],
  ]);
  const largest = Math.max(total.before_ns, total.after_ns, 1);
  fill(
    root,
    h(
      "p",
      { class: "headline", data: { verdict: total.verdict, change: total.change_ns } },
      `${signed(total.change)} ${total.change_ns >= 0 ? "more" : "less"} time: ${duration(total.before_ns)} before, ${duration(total.after_ns)} after (${word})`,
    ),
    h(
      "p",
      { class: "quiet", dir: "ltr" },
      `Before: ${printable(page.summary.diff_before)} (${counted(diff.method.runs[0], "run")}). After: ${printable(page.summary.diff_after)} (${counted(diff.method.runs[1], "run")}). Times are ${diff.method.per ? `per ${diff.method.per}` : "of a whole run"}.`,
    ),
    h(
      "div",
      { class: "versus" },
      parts.map(([key, title, ns]) =>
        h(
          "div",
          null,
          h("span", null, title),
          h("span", { class: `versus-bar ${key}`, style: { width: `${(ns / largest) * 100}%` } }),
          h("span", { class: "number" }, duration(ns)),
        ),
      ),
    ),
    h("h2", null, "Differences by op and shapes"),
    table({
      caption: "Differences by op and input shapes",
      limit: 40,
      sort: "size_of_change",
      columns: [
        {
          key: "operation",
          title: "Op",
          text: true,
          value: (row) => row.operation,
          show: (row) => [
            opName(row.operation),
            shapes(row.input_shapes) && h("span", { class: "shape" }, ` ${shapes(row.input_shapes)}`),
          ],
        },
        {
          key: "size_of_change",
          title: "Change",
          value: (row) => Math.abs(row.change_ns),
          show: (row) => changed(row.change_ns),
        },
        { key: "change_ns", title: "Change, signed", value: (row) => row.change_ns, show: (row) => percentChange(row) },
        {
          key: "more_calls_ns",
          title: "More calls",
          value: (row) => row.more_calls_ns,
          show: (row) => changed(row.more_calls_ns),
        },
        {
          key: "slower_calls_ns",
          title: "Slower calls",
          value: (row) => row.slower_calls_ns,
          show: (row) => changed(row.slower_calls_ns),
        },
        { key: "before", title: "Before", value: (row) => row.self_ns[0], show: (row) => duration(row.self_ns[0]) },
        { key: "after", title: "After", value: (row) => row.self_ns[1], show: (row) => duration(row.self_ns[1]) },
        {
          key: "calls",
          title: "Calls",
          value: (row) => row.count[1],
          show: (row) =>
            row.count[0] === row.count[1] ? count(row.count[1]) : `${count(row.count[0])} → ${count(row.count[1])}`,
        },
        {
          key: "verdict",
          title: "Verdict",
          text: true,
          value: (row) => row.verdict,
          show: (row) => h("span", { class: `verdict ${row.verdict}` }, VERDICTS[row.verdict] ?? row.verdict),
        },
      ],
      rows: diff.rows,
      onSelect: (row) => {
        const op = opByName(row.operation);
        if (op) change({ view: "ops", op: opKey(op), shape: null }, "push");
      },
    }),
    h(
      "section",
      { class: "notes" },
      h("h2", null, "How it was compared"),
      h(
        "ul",
        null,
        [diff.method.description, ...diff.notes].filter(Boolean).map((note) => h("li", null, printableText(note))),
      ),
    ),
  );
}

/** @param {number} share */
function signed(share) {
  return percent(Math.abs(share));
}

/** @param {number} ns */
function changed(ns) {
  if (ns === 0) return "";
  return h("span", { class: ns > 0 ? "worse" : "better" }, `${ns > 0 ? "+" : "−"}${duration(Math.abs(ns))}`);
}

/** @param {DiffRow} row */
function percentChange(row) {
  if (row.self_ns[0] <= 0) return "new";
  if (row.self_ns[1] <= 0) return "gone";
  const share = row.change_ns / row.self_ns[0];
  return `${share > 0 ? "+" : share < 0 ? "−" : ""}${percent(Math.abs(share))}`;
}
