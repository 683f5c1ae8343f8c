// Paints the items of the timeline into pixels. The time that this takes depends on the size of the canvas and not on
// the number of items: if several are within a pixel, a block of them is painted at once.

class TimelinePainter {
  /** @param {TimelineData} data */
  constructor(data) {
    this.data = data;
    /** Colour of each shape, as a pixel. */
    this.pixels = new Uint32Array(0);
    this.background = 0;
    /** Items of the selected op, in the order of row and start. */
    this.marked = new Uint32Array(0);
    this.markedKey = "";
    this.line = new Uint32Array(0);
    this.themeColours();
  }

  /** Reads the colours of the theme. */
  themeColours() {
    const pixel = (/** @type {number[]} */ [red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red;
    this.pixels = Uint32Array.from(page.summary.report.shapes, (row) => pixel(colours.rgb(row)));
    this.background = pixel(isDark() ? [24, 26, 31] : [255, 255, 255]) >>> 0;
  }

  /** Marks all items of the selected op, or of its selected shapes. */
  mark() {
    const key = `${state.op} ${state.shape} ${state.step} ${state.until}`;
    if (key === this.markedKey) return;
    this.markedKey = key;
    const whole = page.summary.report.shapes;
    const chosen = state.shape === null ? null : whole[state.shape];
    this.marked =
      state.op === null ? new Uint32Array(0) : itemsOf(state.op, chosen && opKey(chosen) === state.op ? chosen : null);
  }

  /**
   * Paints one row into a line of pixels.
   * @param {number} row
   * @param {number} from First moment.
   * @param {number} perNs Pixels per nanosecond.
   * @param {number} width
   * @param {(item: number, left: number, right: number) => void} label Called for items that have room for text.
   */
  paintRow(row, from, perNs, width, label) {
    const { start, duration, shape, before, blocks } = this.data;
    const { line, background } = this;
    line.fill(background, 0, width);
    const first = this.data.rowStart[row];
    const end = this.data.rowStart[row + 1];
    const levels = this.data.levels[row];
    const dim = state.op !== null;
    const until = from + width / perNs;
    // The time in the current pixel, and the shape with the most of it.
    let pixel = -1;
    let busy = 0;
    let most = 0;
    let best = 0;
    const flush = () => {
      if (pixel >= 0 && pixel < width) {
        const share = Math.min(1, 0.3 + 0.7 * busy * perNs);
        line[pixel] = mixed(background, this.pixels[best], dim ? share * 0.22 : share);
      }
      busy = most = 0;
    };
    for (let item = this.data.firstAfter(row, from); item < end && start[item] < until;) {
      const left = (start[item] - from) * perNs;
      // The largest block that begins here and fits a pixel.
      let size = 1;
      let level = 0;
      while (level < levels.length && (item - first) % (size * PER_BLOCK) === 0) {
        const last = Math.min(item + size * PER_BLOCK, end) - 1;
        if ((start[last] + duration[last] - start[item]) * perNs > 1) break;
        size *= PER_BLOCK;
        level++;
      }
      if (level > 0 || duration[item] * perNs < 1) {
        const next = Math.min(item + size, end);
        const time = before[next] - before[item];
        const at = Math.max(0, Math.floor(left));
        if (at !== pixel) {
          flush();
          pixel = at;
        }
        busy += time;
        if (time >= most) {
          most = time;
          best = level > 0 ? blocks[levels[level - 1] + (item - first) / size] : shape[item];
        }
        item = next;
        continue;
      }
      flush();
      pixel = -1;
      const right = left + duration[item] * perNs;
      const x0 = Math.max(0, Math.round(left));
      // A gap between neighbours, where there is room for one.
      const x1 = Math.min(width, Math.max(x0 + 1, Math.round(right) - (right - left > 4 ? 1 : 0)));
      line.fill(dim ? mixed(background, this.pixels[shape[item]], 0.22) : this.pixels[shape[item]], x0, x1);
      if (x1 - x0 > 22) label(item, x0, x1);
      item++;
    }
    flush();
    if (dim) this.paintMarked(row, from, perNs, width);
  }

  /** Paints the marked items of a row over the dimmed line. @param {number} row @param {number} from @param {number} perNs @param {number} width */
  paintMarked(row, from, perNs, width) {
    const { start, duration, shape, rowStart } = this.data;
    const { marked, line } = this;
    const until = from + width / perNs;
    let at = lowerBound(marked, this.data.firstAfter(row, from), 0);
    while (at < marked.length && marked[at] < rowStart[row + 1]) {
      const item = marked[at];
      if (start[item] >= until) return;
      const x0 = Math.max(0, Math.floor((start[item] - from) * perNs));
      const x1 = Math.min(width, Math.max(x0 + 1, Math.round((start[item] + duration[item] - from) * perNs)));
      line.fill(this.pixels[shape[item]], x0, x1);
      // The next item that is on another pixel.
      const next = this.data.firstAfter(row, from + x1 / perNs);
      at = Math.max(at + 1, lowerBound(marked, next, at));
    }
  }

  /** True if an item belongs to the selected op. @param {number} item */
  isMarked(item) {
    const at = lowerBound(this.marked, item, 0);
    return this.marked[at] === item;
  }
}

/** Mixes two pixels. @param {number} a @param {number} b @param {number} share Of the second. */
function mixed(a, b, share) {
  const part = (share * 256) | 0;
  const rest = 256 - part;
  const redBlue = (((a & 0xff00ff) * rest + (b & 0xff00ff) * part) >>> 8) & 0xff00ff;
  const green = (((a & 0xff00) * rest + (b & 0xff00) * part) >>> 8) & 0xff00;
  return (0xff000000 | redBlue | green) >>> 0;
}

/** The first position whose value is not below another. @param {Uint32Array | Float64Array} list @param {number} value @param {number} from */
function lowerBound(list, value, from) {
  let low = from;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
