// The tables below the timeline: the selected execution, and the sums of a range.

class TimelineTables extends TimelineDrawing {
  showDetail() {
    const item = this.data.selected;
    const box = byId("timeline-detail");
    if (item === null) return fill(box);
    const { data } = this;
    const row = data.row(item);
    const step = data.stepNumber(item);
    fill(
      box,
      h("h3", { class: "name", dir: "ltr" }, printable(row.operation)),
      h(
        "dl",
        { class: "figures" },
        figure("Duration", duration(data.duration[item])),
        figure("Self", duration(data.selfTime(item))),
        figure("Start", duration(data.start[item])),
        figure("On", data.laneName(data.laneOfItem(item))),
        step !== null && figure("Step", String(step)),
        shapes(row.input_shapes) && figure("Inputs", shapes(row.input_shapes)),
        row.label && figure("Label", printable(row.label)),
        data.joined.has(item) && figure("Joined", `${count(data.joined.get(item) ?? 0)} executions`),
      ),
      h(
        "p",
        { class: "actions" },
        h(
          "button",
          { type: "button", onclick: () => change({ view: "ops", op: opKey(row), shape: data.shape[item] }, "push") },
          "Show in the table of ops",
        ),
      ),
    );
  }

  showRange() {
    const box = byId("timeline-range");
    if (!state.range) return fill(box);
    const [from, to] = state.range;
    const sums = this.data.rangeSums(from, to);
    fill(
      box,
      h(
        "div",
        { class: "toolbar" },
        h("h3", null, `From ${duration(from)} to ${duration(to)}: ${duration(to - from)}`),
        h("button", { type: "button", onclick: () => this.setRange(null) }, "Clear"),
      ),
      table({
        caption: "Sums of the range",
        limit: 30,
        sort: "self",
        columns: [
          {
            key: "operation",
            title: "Op",
            text: true,
            value: (row) => row.operation,
            show: (row) => [dot(row), opName(row.operation)],
          },
          { key: "count", title: "Calls", value: (row) => row.count, show: (row) => count(row.count) },
          { key: "self", title: "Self", value: (row) => row.self, show: (row) => duration(row.self) },
          {
            key: "share",
            title: "Share",
            value: (row) => row.self / (sums.self || 1),
            show: (row) => percent(row.self / (sums.self || 1)),
            bar: (row) => row.self / (sums.self || 1),
          },
          { key: "time", title: "With ops inside", value: (row) => row.time, show: (row) => duration(row.time) },
        ],
        rows: sums.rows,
        onSelect: (row) => selectOp(row),
        isSelected: (row) => opKey(row) === state.op,
        empty: "nothing ran in this range",
      }),
    );
  }
}
