// Waits between ranks: the waiting rank and op, the late rank, and the ops that made it late.

/** The most ranks in the table of waits. */
const MOST_WAITING = 32;

function waitStates() {
  const states = page.summary.wait_states;
  if (!states) return null;
  const heading = h("h3", { id: "waits-title" }, "Waiting between ranks");
  if (states.total_ns === 0)
    return h("section", null, heading, h("p", { class: "quiet" }, "No rank waits for another at a matched call."));
  const unmatched = states.unmatched_messages;
  return h(
    "section",
    { "aria-labelledby": "waits-title" },
    heading,
    h(
      "p",
      { class: "quiet", id: "waits-total", data: { value: states.total_ns } },
      `${duration(states.total_ns)} of waiting, added up over all ranks and steps`,
      unmatched > 0 && `; ${counted(unmatched, "send or receive", "sends and receives")} without the other side`,
    ),
    whoWaits(states),
    h("h4", null, "What the others waited for"),
    table({
      caption: "Ops of late ranks that the others waited for",
      limit: 10,
      sort: "ns",
      columns: [
        { key: "rank", title: "Late rank", text: true, value: (row) => row.rank },
        {
          key: "operation",
          title: "What it did for longer than the others",
          text: true,
          value: (row) => row.operation,
          show: (row) => opName(row.operation),
        },
        { key: "ns", title: "Waiting caused", value: (row) => row.ns, show: (row) => duration(row.ns) },
        {
          key: "share",
          title: "Share",
          value: (row) => row.ns / states.total_ns,
          show: (row) => percent(row.ns / states.total_ns),
          bar: (row) => row.ns / states.total_ns,
        },
      ],
      rows: states.blames,
      onSelect: openOp,
    }),
    h("h4", null, "By kind of wait"),
    table({
      caption: "Waits by kind, waiting rank, op and late rank",
      limit: 15,
      sort: "ns",
      columns: [
        { key: "class", title: "Wait", text: true, value: (row) => row.class.replaceAll("_", " ") },
        { key: "rank", title: "Rank", text: true, value: (row) => row.rank },
        {
          key: "operation",
          title: "Waits in",
          text: true,
          value: (row) => row.operation,
          show: (row) => opName(row.operation),
        },
        { key: "late", title: "For rank", text: true, value: (row) => row.late_rank },
        { key: "count", title: "Times", value: (row) => row.count, show: (row) => count(row.count) },
        { key: "ns", title: "Waiting", value: (row) => row.ns, show: (row) => duration(row.ns) },
      ],
      rows: states.sums,
      onSelect: openOp,
    }),
  );
}

/** Shows an op on the timeline. @param {{operation: string}} row */
function openOp(row) {
  const op = opByName(row.operation);
  if (op) change({ view: "timeline", op: opKey(op), shape: null }, "push");
}

/** A row for each rank that waits, a column for each that is late. @param {WaitStates} states */
function whoWaits(states) {
  const ranks = (/** @type {number[]} */ list) => [...new Set(list)].sort((a, b) => a - b).slice(0, MOST_WAITING);
  const late = ranks(states.sums.map((sum) => sum.late_rank));
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const sum of states.sums) {
    const key = `${sum.rank} ${sum.late_rank}`;
    sums.set(key, (sums.get(key) ?? 0) + sum.ns);
  }
  return heatmap(
    "Waiting time of each rank for each other rank",
    "waits for rank",
    late.map((rank) => ({ key: rank, title: String(rank) })),
    ranks(states.sums.map((sum) => sum.rank)),
    (rank, key) => sums.get(`${rank} ${key}`) ?? null,
    null,
  );
}
