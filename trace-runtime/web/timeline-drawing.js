// Draws the timeline: the items, then texts, overlays, arrows, the ruler and the names of lanes.

class TimelineDrawing extends TimelineLayout {
  paint() {
    const begun = performance.now();
    const painter = /** @type {TimelinePainter} */ (this.painter);
    painter.mark();
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const { ratio } = this;
    const width = Math.round((this.width - this.gutter) * ratio);
    const height = Math.round((this.height - RULER) * ratio);
    if (!this.image || this.image.width !== width || this.image.height !== height)
      this.image = context.createImageData(width, height);
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(painter.background);
    if (painter.line.length < width) painter.line = new Uint32Array(width);
    const [from] = this.visible;
    const perNs = this.scale * ratio;
    /** @type {{item: number, left: number, right: number, y: number, height: number}[]} */
    const labels = [];
    for (const one of this.rows) {
      const top = Math.round((one.y - this.scroll) * ratio);
      const bottom = Math.round((one.y + one.height - 1 - this.scroll) * ratio);
      if (bottom <= 0 || top >= height || one.row < 0) continue;
      painter.paintRow(one.row, from, perNs, width, (item, left, right) => {
        if (one.height >= 11) labels.push({ item, left, right, y: one.y - this.scroll, height: one.height });
      });
      const line = painter.line.subarray(0, width);
      for (let y = Math.max(0, top); y < Math.min(height, bottom); y++) pixels.set(line, y * width);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.image, Math.round(this.gutter * ratio), Math.round(RULER * ratio));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paintLabels(context, labels);
    this.paintOverlays(context);
    this.paintFrame(context);
    performance.measure("timeline paint", { start: begun, end: performance.now() });
  }

  readOverlays() {
    const { data } = this.data;
    const arrows = {
      to: data.sums("arrow_to", new Uint32Array(data.count("arrow_to"))),
      from: data.sums("arrow_from", new Uint32Array(data.count("arrow_from"))),
      start: data.column("arrow_start", "sums"),
    };
    let first = 0;
    const idle = this.data.facts.idle_devices.map((device) => {
      const own = { ...device, first, end: first + device.stretches };
      first = own.end;
      return own;
    });
    return {
      arrows,
      idle,
      idleStart: data.column("idle_start", "sums"),
      idleLength: data.column("idle_length"),
      idleClass: data.column("idle_class"),
      pathItem: data.sums("path_item", new Uint32Array(data.count("path_item"))),
      pathStart: data.column("path_start", "sums"),
      pathLength: data.column("path_length"),
    };
  }

  /** @param {CanvasRenderingContext2D} context @param {{item: number, left: number, right: number, y: number, height: number}[]} labels */
  paintLabels(context, labels) {
    const { data } = this;
    context.save();
    context.beginPath();
    context.rect(this.gutter, RULER, this.width - this.gutter, this.height - RULER);
    context.clip();
    context.font = "10.5px system-ui, sans-serif";
    context.textBaseline = "middle";
    const short = page.summary.short_names;
    const dim = state.op !== null;
    for (const { item, left, right, y, height } of labels.slice(0, 600)) {
      const x = this.gutter + left / this.ratio;
      const room = Math.floor(((right - left) / this.ratio - 6) / 5.8);
      if (room < 3 || (dim && !(/** @type {TimelinePainter} */ (this.painter).isMarked(item)))) continue;
      const row = data.row(item);
      const many = data.joined.get(item);
      const name = many ? `${count(many)} executions` : (short[row.operation] ?? row.operation);
      const text = name.length > room ? `${name.slice(0, room - 1)}…` : name;
      context.fillStyle = colours.hsl(row)[2] > 57 && !isDark() ? "rgba(10,20,30,.9)" : "#fff";
      context.fillText(text.replace(HOSTILE, "·"), x + 3, RULER + y + height / 2);
    }
    context.restore();
  }

  /** @param {CanvasRenderingContext2D} context */
  paintOverlays(context) {
    const { data, overlay } = this;
    const [from, to] = this.visible;
    const scale = this.scale;
    context.save();
    context.beginPath();
    context.rect(this.gutter, RULER, this.width - this.gutter, this.height - RULER);
    context.clip();
    if (state.range) {
      context.fillStyle = isDark() ? "rgba(110,160,255,.16)" : "rgba(40,100,220,.10)";
      context.fillRect(this.x(state.range[0]), RULER, (state.range[1] - state.range[0]) * scale, this.height);
    }
    if (this.shows("idle")) {
      for (const one of this.rows) {
        if (one.idle === undefined) continue;
        const device = overlay.idle[one.idle];
        const y = RULER + one.y - this.scroll;
        let at = Math.max(device.first, lowerBound(overlay.idleStart, from, 0) - 1);
        // Starts are sorted only within a device.
        at = device.first + lowerBound(overlay.idleStart.subarray(device.first, device.end), from, 0);
        at = Math.max(device.first, at - 1);
        let last = -Infinity;
        for (; at < device.end && overlay.idleStart[at] < to; at++) {
          const left = this.x(overlay.idleStart[at]);
          const right = left + overlay.idleLength[at] * scale;
          if (right < last + 0.5) continue;
          last = Math.max(right, left + 0.5);
          context.fillStyle = IDLE_COLOURS[overlay.idleClass[at]] ?? "#888";
          context.fillRect(left, y, Math.max(0.5, right - left), IDLE_HEIGHT);
        }
      }
    }
    const place = this.placeOfRow();
    if (this.shows("path")) this.paintPath(context, place);
    if (this.shows("arrows")) this.paintArrows(context, place);
    if (data.selected !== null) {
      const row = place.get(data.rowOfItem(data.selected));
      if (row) {
        const left = this.x(data.start[data.selected]);
        context.strokeStyle = themeColour("text");
        context.lineWidth = 2;
        context.strokeRect(
          left,
          RULER + row.y - this.scroll,
          Math.max(2, data.duration[data.selected] * scale),
          row.height - 1,
        );
      }
    }
    context.restore();
  }

  placeOfRow() {
    return new Map(this.rows.filter((one) => one.row >= 0).map((one) => [one.row, one]));
  }

  /** @param {CanvasRenderingContext2D} context @param {Map<number, {y: number, height: number}>} place */
  paintPath(context, place) {
    const { data, overlay } = this;
    const [, to] = this.visible;
    const scale = this.scale;
    context.fillStyle = isDark() ? "#ff7a90" : "#c2185b";
    let at = Math.max(0, lowerBound(overlay.pathStart, this.visible[0], 0) - 1);
    /** The right end of the painted part of each row, so that a pixel is painted once. @type {Map<number, number>} */
    const painted = new Map();
    let row = -1;
    let rowEnd = -1;
    for (; at < overlay.pathItem.length && overlay.pathStart[at] < to; at++) {
      const left = this.x(overlay.pathStart[at]);
      const right = left + overlay.pathLength[at] * scale;
      const item = overlay.pathItem[at];
      if (!(item >= data.rowStart[Math.max(0, row)] && item < rowEnd) || row < 0) {
        row = data.rowOfItem(item);
        rowEnd = data.rowStart[row + 1];
      }
      const last = painted.get(row) ?? -Infinity;
      if (right < last + 0.5) {
        // Skips pieces that would be painted on the same pixel.
        if (scale * (overlay.pathLength[at] || 1) < 0.01)
          at = Math.max(at, lowerBound(overlay.pathStart, overlay.pathStart[at] + 0.5 / scale, at) - 1);
        continue;
      }
      const where = place.get(row);
      painted.set(row, Math.max(right, left + 0.5));
      if (where)
        context.fillRect(left, RULER + where.y + where.height - 4 - this.scroll, Math.max(0.5, right - left), 3);
    }
  }

  /** Arrows of the selected item, or of the selected op, or all if there are few. @param {CanvasRenderingContext2D} context @param {Map<number, {y: number, height: number}>} place */
  paintArrows(context, place) {
    const { data, overlay } = this;
    const { arrows } = overlay;
    const painter = /** @type {TimelinePainter} */ (this.painter);
    const [from, to] = this.visible;
    const wanted = [];
    const chosen = data.selected;
    const most = chosen === null && state.op === null ? FEW_ARROWS : MOST_ARROWS;
    if (chosen === null && state.op === null && arrows.to.length > 50 * FEW_ARROWS && to - from > data.end / 50) return;
    for (let at = 0; at < arrows.to.length; at++) {
      const end = data.start[arrows.to[at]];
      if (end < from || arrows.start[at] > to) continue;
      if (
        chosen !== null
          ? arrows.to[at] !== chosen && arrows.from[at] !== chosen
          : state.op !== null && !painter.isMarked(arrows.to[at]) && !painter.isMarked(arrows.from[at])
      )
        continue;
      wanted.push(at);
      if (wanted.length > most) return;
    }
    context.strokeStyle = themeColour("arrow");
    context.fillStyle = context.strokeStyle;
    context.lineWidth = 1;
    for (const at of wanted) {
      const source = place.get(data.rowOfItem(arrows.from[at]));
      const target = place.get(data.rowOfItem(arrows.to[at]));
      if (!source || !target) continue;
      const x0 = this.x(arrows.start[at]);
      const x1 = this.x(data.start[arrows.to[at]]);
      const y0 = RULER + source.y + source.height / 2 - this.scroll;
      const y1 = RULER + target.y + target.height / 2 - this.scroll;
      const bend = Math.max(12, Math.abs(x1 - x0) / 2);
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      context.stroke();
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x1 - 5, y1 - 3);
      context.lineTo(x1 - 5, y1 + 3);
      context.fill();
    }
  }

  /** The ruler, the steps and the names of lanes. @param {CanvasRenderingContext2D} context */
  paintFrame(context) {
    const { data } = this;
    const [from, to] = this.visible;
    const [surface, text, quiet, rule] = ["surface", "text", "quiet", "rule"].map(themeColour);
    context.fillStyle = surface;
    context.fillRect(0, 0, this.width, RULER);
    context.fillRect(0, 0, this.gutter, this.height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const step = niceStep(to - from, (this.width - this.gutter) / 110);
    context.fillStyle = quiet;
    context.strokeStyle = rule;
    context.lineWidth = 1;
    for (let time = Math.ceil(Math.max(0, from) / step) * step; time < to; time += step) {
      const x = Math.round(this.x(time)) + 0.5;
      context.beginPath();
      context.moveTo(x, RULER - 5);
      context.lineTo(x, RULER);
      context.stroke();
      const label = duration(time);
      if (x + 3 + context.measureText(label).width < this.width - 4) context.fillText(label, x + 3, 9);
    }
    const many = data.facts.steps.length > 400;
    if (!many) {
      context.save();
      context.beginPath();
      context.rect(this.gutter, 0, this.width - this.gutter, this.height);
      context.clip();
      context.fillStyle = themeColour("accent");
      const rank = data.facts.steps[0]?.[1] ?? null;
      for (const [number, own, start, end] of data.facts.steps) {
        if (own !== rank || end < from || start > to) continue;
        const left = this.x(start);
        const right = this.x(end);
        context.globalAlpha = 0.75;
        context.fillRect(left, RULER - 3, Math.max(1, right - left - 1), 3);
        context.globalAlpha = 1;
        if (right - left > 60) context.fillText(`step ${number}`, Math.max(left, this.gutter) + 3, 21);
      }
      context.restore();
    }
    context.save();
    context.beginPath();
    context.rect(0, RULER, this.gutter - 6, this.height - RULER);
    context.clip();
    /** @type {number | null | undefined} */
    let rank;
    for (const { y, lane } of this.names) {
      const facts = data.facts.lanes[lane];
      const top = RULER + y - this.scroll;
      const changes = facts.rank !== rank;
      rank = facts.rank;
      context.fillStyle = text;
      const own = facts.rank !== null && data.facts.lanes.some((other) => other.rank !== facts.rank);
      const name = `${own ? `${facts.rank} · ` : ""}${laneTitle(facts.name)}`;
      context.fillText(fitted(context, name, this.gutter - 18), 8, top + 8);
      if (changes && lane > 0) {
        context.strokeStyle = rule;
        context.beginPath();
        context.moveTo(0, top - LANE_GAP / 2 + 0.5);
        context.lineTo(this.gutter, top - LANE_GAP / 2 + 0.5);
        context.stroke();
      }
      const device = facts.device;
      if (device && !facts.name.includes(device) && data.laneRows[lane + 1] - data.laneRows[lane] > 1) {
        context.fillStyle = quiet;
        context.fillText(printable(device), 8, top + 22);
      }
    }
    context.restore();
    context.strokeStyle = rule;
    context.beginPath();
    context.moveTo(0, RULER + 0.5);
    context.lineTo(this.width, RULER + 0.5);
    context.moveTo(this.gutter - 0.5, RULER);
    context.lineTo(this.gutter - 0.5, this.height);
    context.stroke();
    if (this.maxScroll() > 0) {
      const part = (this.height - RULER) / this.contentHeight;
      context.fillStyle = quiet;
      context.globalAlpha = 0.5;
      context.fillRect(this.width - 4, RULER + this.scroll * part, 3, (this.height - RULER) * part);
      context.globalAlpha = 1;
    }
  }
}

/** `thread 2910249 (pt_main_thread)` as `pt_main_thread 2910249`: people know the name, not the number. @param {string} name */
function laneTitle(name) {
  const [, number, own] = /^thread (\d+) \((.+)\)$/.exec(name) ?? [];
  return printable(own === undefined ? name : `${own} ${number}`);
}

/** A text that is cut to a width. @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text.slice(0, Math.ceil(width / 4));
  while (cut.length > 1 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}
