// The positions of rows and moments of the timeline, and the visible part of time.

const RULER = 30;
const LANE_GAP = 10;
const IDLE_HEIGHT = 7;
/** Arrows of a selected op, at most; with more, none are drawn. */
const MOST_ARROWS = 400;
/** The same for all arrows: more would hide the items under them. */
const FEW_ARROWS = 120;
const IDLE_COLOURS = ["#d64545", "#e0a030", "#8a63d2", "#e07030", "#c2458a", "#9aa0a8"];

class TimelineLayout {
  constructor() {
    this.attached = false;
    this.canvas = /** @type {HTMLCanvasElement} */ (/** @type {any} */ (null));
    /** @type {TimelinePainter | null} */
    this.painter = null;
    /** Arrows, critical path and idle causes. @type {any} */
    this.overlay = null;
    /** Visual rows; a row of -1 shows idle causes. @type {{y: number, height: number, row: number, lane: number, idle?: number}[]} */
    this.rows = [];
    /** The position of the name of each lane. @type {{y: number, lane: number}[]} */
    this.names = [];
    this.contentHeight = 0;
    this.scroll = 0;
    this.width = 0;
    this.height = 0;
    /** Width of the names of lanes. */
    this.gutter = 150;
    /** Pixels of the screen per pixel of the page. */
    this.ratio = 1;
    /** @type {ImageData | null} */
    this.image = null;
    this.scheduled = false;
    /** @type {any} */
    this.writing = 0;
    /** The start of a gesture. @type {any} */
    this.gesture = null;
    /** @type {Map<number, {x: number, y: number}>} */
    this.touches = new Map();
    /** @type {ResizeObserver | null} */
    this.resized = null;
  }

  get data() {
    return /** @type {TimelineData} */ (page.timeline);
  }

  /** The visible part, in nanoseconds. @returns {[number, number]} */
  get visible() {
    if (state.visible) return state.visible;
    const steps = chosenSteps();
    const [from, to] = (steps && this.data.stepTimes(steps)) ?? [0, this.data.end];
    const margin = Math.max(1, (to - from) * 0.01);
    return [from - margin, to + margin];
  }

  /** @param {string} overlay */
  shows(overlay) {
    return state.overlays.split(",").includes(overlay);
  }

  /** @param {string} overlay */
  toggle(overlay) {
    const on = state.overlays.split(",").filter(Boolean);
    const list = on.includes(overlay) ? on.filter((one) => one !== overlay) : [...on, overlay];
    change({ overlays: ["path", "idle", "arrows"].filter((one) => list.includes(one)).join(",") });
  }

  /** Places the rows. Rows of lanes with many are flatter. */
  layout() {
    const { data } = this;
    /** @type {typeof this.rows} */
    const rows = [];
    /** @type {typeof this.names} */
    const names = [];
    let y = 4;
    data.facts.lanes.forEach((lane, index) => {
      names.push({ y, lane: index });
      const height = lane.rows > 12 ? 9 : lane.rows > 6 ? 13 : data.laneOfRow.length > 14 ? 17 : 22;
      for (let row = data.laneRows[index]; row < data.laneRows[index + 1]; row++) {
        rows.push({ y, height, row, lane: index });
        y += height;
      }
      y = Math.max(y, names[names.length - 1].y + 17);
      const next = data.facts.lanes[index + 1];
      const last = !next || next.device !== lane.device || next.rank !== lane.rank;
      const idle = this.overlay.idle.findIndex(
        (/** @type {any} */ one) => one.device === lane.device && one.rank === lane.rank,
      );
      if (last && idle >= 0 && this.shows("idle")) {
        rows.push({ y: y + 2, height: IDLE_HEIGHT, row: -1, lane: index, idle });
        y += IDLE_HEIGHT + 2;
      }
      y += LANE_GAP;
    });
    this.rows = rows;
    this.names = names;
    this.contentHeight = y;
    const frame = byId("timeline-frame");
    this.height = Math.round(Math.min(Math.max(y + RULER, 160), Math.max(320, window.innerHeight * 0.62)));
    frame.style.height = `${this.height}px`;
    this.resize();
  }

  resize() {
    const frame = byId("timeline-frame");
    this.width = Math.max(200, frame.clientWidth);
    this.gutter = Math.round(Math.min(190, Math.max(84, this.width * 0.16)));
    this.ratio = Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.image = null;
    this.scroll = Math.min(this.scroll, this.maxScroll());
  }

  maxScroll() {
    return Math.max(0, this.contentHeight + RULER - this.height);
  }

  /** Pixels per nanosecond. */
  get scale() {
    const [from, to] = this.visible;
    return (this.width - this.gutter) / (to - from);
  }

  /** @param {number} time */
  x(time) {
    return this.gutter + (time - this.visible[0]) * this.scale;
  }

  /** @param {number} from @param {number} to @returns {[number, number]} */
  clamped(from, to) {
    return [Math.max(0, from), Math.min(this.data.end, to)];
  }

  /** Shows a part of time; `null` for everything. @param {[number, number] | null} part */
  show(part) {
    if (part) {
      const { end } = this.data;
      const length = Math.min(Math.max(part[1] - part[0], 20), end * 1.2 + 20);
      const middle = (part[0] + part[1]) / 2;
      const from = Math.min(Math.max(middle - length / 2, -end * 0.1 - 10), end * 1.1 + 10 - length);
      part = [from, from + length];
    }
    state.visible = part;
    this.schedule();
    clearTimeout(this.writing);
    this.writing = setTimeout(() => writeState(), 150);
  }

  /** @param {number} factor @param {number} [x] The place that stays where it is; the middle if missing. */
  zoom(factor, x) {
    const [from, to] = this.visible;
    const at = x === undefined ? (from + to) / 2 : from + (x - this.gutter) / this.scale;
    this.show([at - (at - from) * factor, at + (to - at) * factor]);
  }

  /** @param {number} share Of the visible part. */
  pan(share) {
    const [from, to] = this.visible;
    this.show([from + (to - from) * share, to + (to - from) * share]);
  }

  /** @param {[number, number] | null} range */
  setRange(range) {
    change({ range });
    if (range) announce(`the range of ${duration(range[1] - range[0])} is summed up below the timeline`);
  }

  /** Paints in the next frame. */
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      if (this.attached) this.paint();
    });
  }

  paint() {}
}
