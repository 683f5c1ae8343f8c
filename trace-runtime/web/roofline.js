// Ops and shapes by FLOP/s and FLOPs per byte, against the peaks of the machine where they are known.

/** @param {Report} shown @returns {{operation: string, input_shapes?: number[][] | null, intensity: number, reached: number, efficiency: number | null, attainable: number | null, bound: string}[]} */
function rooflinePoints(shown) {
  if ((shown.roofline ?? []).length > 0)
    return (shown.roofline ?? []).map((point) => ({
      operation: point.operation,
      input_shapes: point.input_shapes,
      intensity: point.arithmetic_intensity,
      reached: point.flops_per_s,
      efficiency: point.efficiency,
      attainable: point.attainable_flops_per_s,
      bound: point.memory_bound ? "memory" : "compute",
    }));
  return shown.shapes
    .filter((row) => row.flops_per_s && row.arithmetic_intensity)
    .map((row) => ({
      operation: row.operation,
      input_shapes: row.input_shapes,
      intensity: row.arithmetic_intensity ?? 0,
      reached: row.flops_per_s ?? 0,
      efficiency: null,
      attainable: null,
      bound: "",
    }));
}

/** @param {HTMLElement} root */
function renderRoofline(root) {
  const shown = report();
  const points = rooflinePoints(shown);
  const { peaks } = shown;
  const chart = points.length > 0 ? rooflineChart(points, peaks ?? null) : null;
  fill(
    root,
    h(
      "div",
      { class: "toolbar" },
      h("h2", null, "Roofline"),
      h(
        "span",
        { class: "quiet" },
        peaks
          ? `peaks: ${rate(peaks.flops_per_s, "FLOP")}, ${rate(peaks.bytes_per_s, "B")}`
          : "no peaks are known: give them with --peaks, as FLOP/s and B/s or `measured`",
      ),
    ),
    chart ?? h("p", { class: "quiet" }, "no op of this step has known FLOPs"),
    table({
      caption: "Ops and shapes on the roofline",
      limit: 30,
      sort: peaks ? undefined : "reached",
      columns: [
        {
          key: "operation",
          title: "Op",
          text: true,
          value: (point) => point.operation,
          show: (point) => opName(point.operation),
        },
        {
          key: "shape",
          title: "Input shapes",
          text: true,
          value: (point) => shapes(point.input_shapes),
          show: (point) => h("span", { class: "shape" }, shapes(point.input_shapes)),
        },
        {
          key: "intensity",
          title: "FLOP/B",
          value: (point) => point.intensity,
          show: (point) => point.intensity.toPrecision(3),
        },
        { key: "reached", title: "FLOP/s", value: (point) => point.reached, show: (point) => rate(point.reached, "") },
        ...(peaks
          ? [
              {
                key: "efficiency",
                title: "Of attainable",
                value: (/** @type {any} */ point) => point.efficiency,
                show: (/** @type {any} */ point) => percent(point.efficiency),
                bar: (/** @type {any} */ point) => point.efficiency,
              },
              { key: "bound", title: "Bound by", text: true, value: (/** @type {any} */ point) => point.bound },
            ]
          : []),
      ],
      rows: points,
      onSelect: (point) => {
        const row = opByName(point.operation);
        if (row) selectOp(row);
      },
      isSelected: (point) => state.op !== null && state.op.endsWith(` ${point.operation}`),
    }),
  );
}

/** @param {ReturnType<typeof rooflinePoints>} points @param {{flops_per_s: number, bytes_per_s: number} | null} peaks */
function rooflineChart(points, peaks) {
  const [width, height, left, bottom] = [900, 340, 62, 36];
  const ridge = peaks ? peaks.flops_per_s / peaks.bytes_per_s : null;
  const xs = points.map((point) => point.intensity).concat(ridge ? [ridge / 4, ridge * 8] : []);
  const ys = points.map((point) => point.reached).concat(peaks ? [peaks.flops_per_s * 1.5] : []);
  const range = (/** @type {number[]} */ list) => [
    Math.floor(Math.log10(Math.min(...list)) - 0.1),
    Math.ceil(Math.log10(Math.max(...list)) + 0.1),
  ];
  const [x0, x1] = range(xs);
  const [y0, y1] = range(ys);
  const x = (/** @type {number} */ value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - 16);
  const y = (/** @type {number} */ value) =>
    height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - bottom - 14);
  const grid = [];
  for (let power = x0; power <= x1; power++)
    grid.push(
      s("line", { class: "grid", x1: x(10 ** power), x2: x(10 ** power), y1: 14, y2: height - bottom }),
      s("text", { x: x(10 ** power), y: height - bottom + 16, "text-anchor": "middle" }, String(10 ** power)),
    );
  for (let power = y0; power <= y1; power++)
    grid.push(
      s("line", { class: "grid", x1: left, x2: width - 16, y1: y(10 ** power), y2: y(10 ** power) }),
      s("text", { x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end" }, rate(10 ** power, "").replace("/s", "")),
    );
  const roof =
    peaks && ridge
      ? s("polyline", {
          class: "roof",
          points: [
            [10 ** x0, 10 ** x0 * peaks.bytes_per_s],
            [ridge, peaks.flops_per_s],
            [10 ** x1, peaks.flops_per_s],
          ]
            .map(([a, b]) => `${x(a)},${y(Math.max(b, 10 ** y0))}`)
            .join(" "),
        })
      : null;
  const dots = points.slice(0, 400).map((point) => {
    const row = opByName(point.operation);
    const selected = row !== null && opKey(row) === state.op;
    return s(
      "circle",
      {
        class: `point${selected ? " selected" : ""}`,
        cx: x(point.intensity),
        cy: y(point.reached),
        r: selected ? 7 : 5,
        style: row ? { fill: colours.css(row) } : {},
        onclick: () => row && selectOp(row),
      },
      s(
        "title",
        null,
        `${printable(point.operation)} ${shapes(point.input_shapes)}\n${rate(point.reached, "FLOP")}${point.efficiency === null ? "" : `, ${percent(point.efficiency)} of attainable`}`,
      ),
    );
  });
  return h(
    "figure",
    { class: "chart" },
    s(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `Roofline with ${counted(points.length, "point")}; the table below has the figures`,
      },
      grid,
      roof,
      dots,
      s("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "FLOPs per byte"),
      s("text", { x: left + 6, y: 22 }, "FLOP/s"),
    ),
  );
}
