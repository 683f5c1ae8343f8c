// Mouse, touch and keyboard of the timeline.

class TimelineInput extends TimelineTables {
  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    canvas.addEventListener("pointerup", (event) => this.onUp(event));
    canvas.addEventListener("pointercancel", (event) => {
      this.touches.delete(event.pointerId);
      this.gesture = null;
    });
    canvas.addEventListener("pointerleave", () => (byId("tooltip").hidden = true));
    canvas.addEventListener("dblclick", () => {
      const item = this.data.selected;
      if (item === null) return;
      const margin = this.data.duration[item] * 0.1 + 1;
      this.show([this.data.start[item] - margin, this.data.start[item] + this.data.duration[item] + margin]);
    });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.resized = new ResizeObserver(() => {
      if (!this.attached || byId("timeline-frame").clientWidth === this.width) return;
      this.resize();
      this.paint();
    });
    this.resized.observe(byId("timeline-frame"));
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.004))), event.offsetX);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan((event.deltaX || event.deltaY) / (this.width - this.gutter));
    } else {
      const to = Math.max(0, Math.min(this.maxScroll(), this.scroll + event.deltaY));
      if (to === this.scroll) return;
      event.preventDefault();
      this.scroll = to;
      this.schedule();
    }
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    this.canvas.focus();
    try {
      this.canvas.setPointerCapture(event.pointerId);
    } catch {
      // The pointer does not exist any more.
    }
    this.touches.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.gesture = {
      x: event.offsetX,
      y: event.offsetY,
      visible: this.visible,
      scroll: this.scroll,
      range: event.shiftKey,
      moved: false,
      spread: this.spread(),
    };
  }

  /** Distance and middle of two fingers. */
  spread() {
    const [a, b] = [...this.touches.values()];
    return b ? { distance: Math.max(10, Math.abs(a.x - b.x)), x: (a.x + b.x) / 2 } : null;
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    if (!this.gesture) return this.hover(event);
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    const { gesture } = this;
    const spread = this.spread();
    if (spread && gesture.spread) {
      gesture.moved = true;
      state.visible = gesture.visible;
      return this.zoom(gesture.spread.distance / spread.distance, gesture.spread.x);
    }
    const dx = event.offsetX - gesture.x;
    const dy = event.offsetY - gesture.y;
    if (!gesture.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
    gesture.moved = true;
    byId("tooltip").hidden = true;
    if (gesture.range) {
      const [a, b] = [gesture.x, event.offsetX]
        .sort((one, other) => one - other)
        .map((x) => gesture.visible[0] + (x - this.gutter) / this.scale);
      state.range = this.clamped(a, b);
      return this.schedule();
    }
    const time = dx / this.scale;
    this.scroll = Math.max(0, Math.min(this.maxScroll(), gesture.scroll - dy));
    this.show([gesture.visible[0] - time, gesture.visible[1] - time]);
  }

  /** @param {PointerEvent} event */
  onUp(event) {
    this.touches.delete(event.pointerId);
    const { gesture } = this;
    this.gesture = null;
    if (!gesture) return;
    if (gesture.range && gesture.moved) return this.setRange(state.range);
    if (gesture.moved) return;
    const item = this.itemAt(event.offsetX, event.offsetY);
    this.data.selected = item;
    if (item === null) change({ op: null, shape: null, range: null });
    else selectOp(this.data.row(item));
  }

  /** @param {number} x @param {number} y */
  itemAt(x, y) {
    if (x < this.gutter || y < RULER) return null;
    const at = y - RULER + this.scroll;
    const one = this.rows.find((row) => row.row >= 0 && at >= row.y && at < row.y + row.height);
    return one ? this.data.itemAt(one.row, this.visible[0] + (x - this.gutter) / this.scale, 2 / this.scale) : null;
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const tooltip = byId("tooltip");
    const item = this.itemAt(event.offsetX, event.offsetY);
    tooltip.hidden = item === null;
    if (item === null) return;
    const row = this.data.row(item);
    const many = this.data.joined.get(item);
    fill(
      tooltip,
      h("strong", { dir: "ltr" }, printable(page.summary.short_names[row.operation] ?? row.operation)),
      h(
        "span",
        null,
        many
          ? `${count(many)} executions within ${duration(this.data.duration[item])}`
          : `${duration(this.data.duration[item])}, self ${duration(this.data.selfTime(item))}`,
      ),
      shapes(row.input_shapes) && h("span", { class: "shape" }, shapes(row.input_shapes)),
    );
    tooltip.style.left = `${Math.min(event.offsetX + 14, this.width - 240)}px`;
    tooltip.style.top = `${event.offsetY + 16}px`;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = /** @type {Record<string, () => void>} */ ({
      w: () => this.zoom(0.7),
      s: () => this.zoom(1 / 0.7),
      a: () => this.pan(-0.15),
      d: () => this.pan(0.15),
      "+": () => this.zoom(0.7),
      "-": () => this.zoom(1 / 0.7),
      0: () => this.show(null),
      r: () => this.setRange(this.clamped(...this.visible)),
      ArrowRight: () => this.walk(1),
      ArrowLeft: () => this.walk(-1),
      ArrowDown: () => this.climb(1),
      ArrowUp: () => this.climb(-1),
      Enter: () => this.data.selected !== null && selectOp(this.data.row(this.data.selected)),
      Escape: () => {
        this.data.selected = null;
        change({ op: null, shape: null, range: null });
      },
    });
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Goes to the next or the previous execution of the row. @param {number} by */
  walk(by) {
    const { data } = this;
    if (data.selected === null) return this.focusItem(this.firstVisible(0));
    const row = data.rowOfItem(data.selected);
    const to = data.selected + by;
    if (to >= data.rowStart[row] && to < data.rowStart[row + 1]) this.focusItem(to);
  }

  /** Goes to a deeper or a higher row. @param {number} by */
  climb(by) {
    const { data } = this;
    if (data.selected === null) return this.focusItem(this.firstVisible(0));
    const time = data.start[data.selected];
    for (let row = data.rowOfItem(data.selected) + by; row >= 0 && row < data.laneOfRow.length; row += by) {
      const item = data.itemAt(row, time, (this.visible[1] - this.visible[0]) / 4);
      if (item !== null) return this.focusItem(item);
    }
  }

  /** @param {number} row */
  firstVisible(row) {
    for (let at = row; at < this.data.laneOfRow.length; at++) {
      const item = this.data.firstAfter(at, this.visible[0]);
      if (item < this.data.rowStart[at + 1]) return item;
    }
    return null;
  }

  /** @param {number | null} item */
  focusItem(item) {
    if (item === null) return;
    const { data } = this;
    data.selected = item;
    const [from, to] = this.visible;
    const end = data.start[item] + data.duration[item];
    if (end < from || data.start[item] > to) {
      const length = to - from;
      this.show([data.start[item] - length * 0.2, data.start[item] + length * 0.8]);
    }
    const place = this.placeOfRow().get(data.rowOfItem(item));
    if (place)
      this.scroll = Math.max(
        0,
        Math.min(this.maxScroll(), Math.min(Math.max(this.scroll, place.y + 40 - (this.height - RULER)), place.y - 10)),
      );
    const row = data.row(item);
    announce(
      `${printable(row.operation)}, ${duration(data.duration[item])}, on ${data.laneName(data.laneOfItem(item))}`,
    );
    this.showDetail();
    this.schedule();
  }
}
