// The executions of a trace in columns, and the blocks that a zoomed-out timeline shows instead.

/** Items per block of the next coarser level. */
const PER_BLOCK = 8;

class TimelineData {
  /** @param {Unpacked} data */
  constructor(data) {
    this.data = data;
    /** @type {TimelineFacts} */
    this.facts = data.facts;
    const items = data.count("start");
    /** Start of each item, in nanoseconds; items are in the order of row and start. */
    this.start = data.sums("start", new Float64Array(items));
    this.duration = data.numbers("duration", new Float64Array(items));
    /** Row of each item in the report's table of shapes. */
    this.shape = data.numbers("shape", new Uint32Array(items));
    /** The time of each item that is not self time. */
    this.inside = data.numbers("inside", new Float64Array(items));
    /** One more than the index of the step; 0 for none. */
    this.step = data.sums("step", new Uint32Array(items));
    /** Number of executions of items that join several. @type {Map<number, number>} */
    this.joined = new Map();
    const joined = data.column("joined_item", "sums");
    const counts = data.column("joined_count");
    joined.forEach((item, index) => this.joined.set(item, counts[index]));

    const lengths = data.column("row_lengths");
    /** The first item of each row, and the number of items. */
    this.rowStart = new Uint32Array(lengths.length + 1);
    lengths.forEach((length, row) => (this.rowStart[row + 1] = this.rowStart[row] + length));
    /** The lane of each row. */
    this.laneOfRow = new Uint32Array(lengths.length);
    /** The first row of each lane, and the number of rows. */
    this.laneRows = [0];
    this.facts.lanes.forEach((lane, index) => {
      const first = this.laneRows[index];
      this.laneOfRow.fill(index, first, first + lane.rows);
      this.laneRows.push(first + lane.rows);
    });

    /** Durations of all items before each one, for the time in a block. */
    this.before = new Float64Array(items + 1);
    let last = 1;
    for (let item = 0, sum = 0; item < items; item++) {
      sum += this.duration[item];
      this.before[item + 1] = sum;
      const end = this.start[item] + this.duration[item];
      if (end > last) last = end;
    }
    /** End of the trace. */
    this.end = last;
    for (const [, , , end] of this.facts.steps) this.end = Math.max(this.end, end);

    /** The shape with the most time of each block: see `levels` of each row. */
    this.blocks = data.numbers("levels", new Uint32Array(data.count("levels")));
    /** For each row, the index in `blocks` at which each level begins, finest first. @type {number[][]} */
    this.levels = [];
    let at = 0;
    lengths.forEach((length) => {
      const starts = [];
      for (let size = length; size > PER_BLOCK;) {
        size = Math.ceil(size / PER_BLOCK);
        starts.push(at);
        at += size;
      }
      this.levels.push(starts);
    });

    /** The item with the keyboard's focus. @type {number | null} */
    this.selected = null;
    /** By the chosen steps. @type {Map<string, {ops: OpRow[], shapes: OpRow[]}>} */
    this.stepTables = new Map();
  }

  /** @param {number} item */
  rowOfItem(item) {
    let low = 0;
    let high = this.rowStart.length - 1;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.rowStart[middle] <= item) low = middle;
      else high = middle;
    }
    // Rows may be empty.
    while (this.rowStart[low + 1] <= item) low++;
    return low;
  }

  /** @param {number} item */
  laneOfItem(item) {
    return this.laneOfRow[this.rowOfItem(item)];
  }

  /** @param {number} lane */
  laneName(lane) {
    const facts = this.facts.lanes[lane];
    const name = laneTitle(facts.name);
    return page.summary.report.ranks > 1 ? `rank ${facts.rank}: ${name}` : name;
  }

  /** @param {number} item */
  selfTime(item) {
    return this.duration[item] - this.inside[item];
  }

  /** @param {number} item */
  row(item) {
    return page.summary.report.shapes[this.shape[item]];
  }

  /** The number of the step of an item. @param {number} item */
  stepNumber(item) {
    const index = this.step[item];
    return index === 0 ? null : this.facts.steps[index - 1][0];
  }

  /** The first item of a row that ends after a moment. @param {number} row @param {number} time */
  firstAfter(row, time) {
    let low = this.rowStart[row];
    let high = this.rowStart[row + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle] + this.duration[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The item of a row at a moment, or within a distance of it. @param {number} row @param {number} time @param {number} near */
  itemAt(row, time, near) {
    const item = this.firstAfter(row, time - near);
    return item < this.rowStart[row + 1] && this.start[item] <= time + near ? item : null;
  }

  /** The first start and the last end of steps, over all ranks. @param {[number, number]} steps @returns {[number, number] | null} */
  stepTimes([first, last]) {
    let from = Infinity;
    let to = -Infinity;
    for (const [number, , start, end] of this.facts.steps) {
      if (number < first || number > last) continue;
      from = Math.min(from, start);
      to = Math.max(to, end);
    }
    return from < to ? [from, to] : null;
  }

  /** For each step that items refer to, whether it is chosen. @param {[number, number] | null} steps */
  ownSteps(steps) {
    const own = new Uint8Array(this.facts.steps.length + 1);
    this.facts.steps.forEach(
      ([number], index) => (own[index + 1] = !steps || (number >= steps[0] && number <= steps[1]) ? 1 : 0),
    );
    if (!steps) own[0] = 1;
    return own;
  }

  /** The items whose shape is wanted. @param {Uint8Array} wanted By shape. @param {[number, number] | null} steps */
  itemsWhere(wanted, steps) {
    const own = this.ownSteps(steps);
    const found = [];
    for (let item = 0; item < this.shape.length; item++)
      if (wanted[this.shape[item]] && own[this.step[item]]) found.push(item);
    return Uint32Array.from(found);
  }

  /**
   * Calls, total and self time by op between two moments. If the range cuts an item, the part inside the range counts.
   * @param {number} from
   * @param {number} to
   */
  rangeSums(from, to) {
    const shapesOf = page.summary.report.shapes;
    const sums = new Map();
    let self = 0;
    for (let row = 0; row < this.laneOfRow.length; row++) {
      for (let item = this.firstAfter(row, from); item < this.rowStart[row + 1] && this.start[item] < to; item++) {
        const end = this.start[item] + this.duration[item];
        const time = Math.min(end, to) - Math.max(this.start[item], from);
        const whole = this.start[item] >= from && end <= to;
        const own = whole ? this.selfTime(item) : this.selfWithin(row, item, from, to);
        const shape = shapesOf[this.shape[item]];
        const key = opKey(shape);
        let sum = sums.get(key);
        if (!sum)
          sums.set(
            key,
            (sum = {
              operation: shape.operation,
              accelerator: shape.accelerator,
              communication: shape.communication,
              count: 0,
              time: 0,
              self: 0,
            }),
          );
        sum.count += this.joined.get(item) ?? 1;
        sum.time += time;
        sum.self += own;
        self += own;
      }
    }
    return { rows: [...sums.values()].sort((a, b) => b.self - a.self), self };
  }

  /** The part of an item between two moments that no deeper row of its lane covers. @param {number} row @param {number} item @param {number} from @param {number} to */
  selfWithin(row, item, from, to) {
    const begin = Math.max(this.start[item], from);
    const end = Math.min(this.start[item] + this.duration[item], to);
    const next = row + 1;
    if (next >= this.laneOfRow.length || this.laneOfRow[next] !== this.laneOfRow[row]) return end - begin;
    let covered = 0;
    for (let inner = this.firstAfter(next, begin); inner < this.rowStart[next + 1] && this.start[inner] < end; inner++)
      covered += Math.min(end, this.start[inner] + this.duration[inner]) - Math.max(begin, this.start[inner]);
    return end - begin - covered;
  }

  /** The tables of steps that have no report. @param {[number, number]} steps */
  stepRows(steps) {
    let tables = this.stepTables.get(steps.join("-"));
    if (tables) return tables;
    const own = this.ownSteps(steps);
    const whole = page.summary.report.shapes;
    /** @type {Map<number, number[]>} */
    const byShape = new Map();
    const selfTimes = new Float64Array(whole.length);
    const joined = new Float64Array(whole.length);
    for (let item = 0; item < this.shape.length; item++) {
      if (!own[this.step[item]]) continue;
      const shape = this.shape[item];
      const durations = byShape.get(shape);
      if (durations) durations.push(this.duration[item]);
      else byShape.set(shape, [this.duration[item]]);
      selfTimes[shape] += this.selfTime(item);
      joined[shape] += (this.joined.get(item) ?? 1) - 1;
    }
    /** @type {Map<string, {row: OpRow, durations: number[], self: number, joined: number}>} */
    const byOp = new Map();
    const rows = [];
    for (const [shape, durations] of byShape) {
      const row = whole[shape];
      rows.push(this.summedRow(row, durations, selfTimes[shape], joined[shape]));
      const sum = byOp.get(opKey(row)) ?? {
        row: { ...row, input_shapes: null, label: null },
        durations: /** @type {number[]} */ ([]),
        self: 0,
        joined: 0,
      };
      for (const one of durations) sum.durations.push(one);
      sum.self += selfTimes[shape];
      sum.joined += joined[shape];
      byOp.set(opKey(row), sum);
    }
    const ops = [...byOp.values()].map((sum) => this.summedRow(sum.row, sum.durations, sum.self, sum.joined));
    const bySelf = (/** @type {OpRow} */ a, /** @type {OpRow} */ b) => b.self_ns - a.self_ns;
    tables = { ops: ops.sort(bySelf), shapes: rows.sort(bySelf) };
    this.stepTables.set(steps.join("-"), tables);
    return tables;
  }

  /** @param {OpRow} row @param {number[]} durations @param {number} self @param {number} joined @returns {OpRow} */
  summedRow(row, durations, self, joined) {
    const ordered = Float64Array.from(durations).sort();
    const sum = ordered.reduce((total, one) => total + one, 0);
    // Nearest rank, as the report defines it.
    const rank = (/** @type {number} */ share) => ordered[Math.max(0, Math.ceil((share / 100) * ordered.length) - 1)];
    return {
      operation: row.operation,
      label: row.label,
      input_shapes: row.input_shapes,
      accelerator: row.accelerator,
      communication: row.communication,
      count: ordered.length + joined,
      total_ns: sum,
      self_ns: self,
      sum_ns: sum,
      min_ns: ordered[0],
      mean_ns: Math.floor(sum / ordered.length),
      p50_ns: rank(50),
      p95_ns: rank(95),
      p99_ns: rank(99),
      max_ns: ordered[ordered.length - 1],
      memory_bytes: 0,
      bytes_moved: 0,
    };
  }
}
